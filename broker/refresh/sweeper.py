"""Refreshes ahead of time what is in use, and keeps alive what is not, for all tenants.

Every broker process may run one: the lease decides who refreshes, and nobody waits for anybody.
"""

import asyncio
import logging
import random
from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import asyncpg

from broker.accounts.accounts import Accounts
from broker.refresh.timing import Timing
from core.db import Database
from core.errors import MCPistError, Unavailable

EVERY = 15.0
TIDY_EVERY = 3600.0
MOST_AT_ONCE = 50
PARALLEL = 8

log = logging.getLogger(__name__)


class Sweeper:
    """Looks for due accounts every :data:`EVERY` seconds, each time a little earlier or later than the others."""

    def __init__(
        self,
        accounts: Accounts,
        database: Database,
        timing: Timing,
        *,
        every: float = EVERY,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._accounts = accounts
        self._database = database
        self._timing = timing
        self._every = every
        self._chance = chance
        self._parallel = asyncio.Semaphore(PARALLEL)

    async def run(self) -> None:
        """Until cancelled. What it has begun goes on: cancel it first, then drain the accounts."""
        until_tidy = 0.0
        while True:
            pause = self._every * (0.5 + self._chance())
            await asyncio.sleep(pause)
            until_tidy -= pause
            try:
                while await self.sweep() == MOST_AT_ONCE:
                    pass
                if until_tidy <= 0:
                    await self._database.call("SELECT vault.sweep()")
                    until_tidy = TIDY_EVERY
            except (Unavailable, asyncpg.PostgresError) as error:
                log.warning("accounts were not swept", extra={"error": type(error).__name__})

    async def sweep(self) -> int:
        """Refresh what is due now, at most :data:`MOST_AT_ONCE`; how many of those are not due any more.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        used_within = timedelta(seconds=self._timing.used_within)
        due = await self._database.fetch(_DUE, used_within, MOST_AT_ONCE)
        return sum(await asyncio.gather(*(self._refreshed(row["tenant_id"], row["account_id"]) for row in due)))

    async def _refreshed(self, tenant_id: UUID, account_id: UUID) -> bool:
        """Whether it got an outcome, good or bad; without one it is due still, and waits for the next look."""
        async with self._parallel:
            try:
                await self._accounts.refresh(tenant_id, account_id)
                return True
            except (MCPistError, asyncpg.PostgresError) as error:
                log.warning(
                    "an account was not refreshed", extra={"error": type(error).__name__, "account": str(account_id)}
                )
                return False


_DUE = "SELECT tenant_id, account_id FROM vault.due_accounts($1, $2)"
