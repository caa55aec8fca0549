"""Refreshes ahead of time what is in use, and keeps alive what is not, for all tenants.

Every broker process may run one: the lease decides who refreshes, and nobody waits for anybody: what one tenant's
vendor keeps waiting delays no other's, neither in a look nor from one look to the next.
"""

import asyncio
import logging
import random
from collections import defaultdict
from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import asyncpg

from broker.accounts.accounts import Accounts
from broker.refresh.timing import Timing
from broker.refresh.turns import Turns
from core.db import Database
from core.errors import Unavailable

EVERY = 15.0
SOON = 1.0
"""Seconds until the next look where more was due than one look takes."""
TIDY_EVERY = 3600.0
MOST_EACH = 50
"""Of one OAuth client, in one look."""
MOST_AT_ONCE = 1000
EACH_PARALLEL = 4
TENANT_PARALLEL = 8
PARALLEL = 64

log = logging.getLogger(__name__)

_Client = tuple[UUID, UUID]
"""A tenant and one of its OAuth clients: one token endpoint."""


class Sweeper:
    """Looks for due accounts every :data:`EVERY` seconds, each time a little earlier or later than the others.

    In a copy of another's database that nobody has adopted it leaves all of them alone, and says so once.
    """

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
        self._is_idle = False
        self._every = every
        self._chance = chance
        self._turns = Turns(each=EACH_PARALLEL, tenant=TENANT_PARALLEL, all=PARALLEL)
        self._under_way: dict[_Client, asyncio.Task[int]] = {}
        self._more = asyncio.Event()

    async def run(self) -> None:
        """Until cancelled. What it has begun goes on: cancel it first, then drain the accounts."""
        until_tidy = 0.0
        try:
            while True:
                pause = self._every * (0.5 + self._chance())
                await self._pause(pause)
                until_tidy -= pause
                try:
                    await self._begin()
                    if until_tidy <= 0:
                        await self._tidy()
                        until_tidy = TIDY_EVERY
                except (Unavailable, asyncpg.PostgresError) as error:
                    log.warning("accounts were not swept", extra={"error": type(error).__name__})
        finally:
            for task in self._under_way.values():
                task.cancel()

    async def sweep(self) -> int:
        """Refresh what is due now, and wait for it; how many of those are not due any more.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        return sum(await asyncio.gather(*(await self._begin())))

    async def _pause(self, seconds: float) -> None:
        self._more.clear()
        await asyncio.sleep(min(SOON, seconds))
        try:
            async with asyncio.timeout(max(0.0, seconds - SOON)):
                await self._more.wait()
        except TimeoutError:
            pass

    async def _tidy(self) -> None:
        await self._database.call("SELECT vault.sweep()")
        await self._database.call("SELECT vault.announce_ends()")

    async def _begin(self) -> list["asyncio.Task[int]"]:
        """Begin with what is due, of each OAuth client that has nothing under way."""
        if not self._awake():
            return []
        used_within = timedelta(seconds=self._timing.used_within)
        due: defaultdict[_Client, list[UUID]] = defaultdict(list)
        listed = self._accounts.now()
        for row in await self._database.fetch(_DUE, used_within, MOST_EACH, MOST_AT_ONCE):
            due[row["tenant_id"], row["client_id"]].append(row["account_id"])
        idle = {client: accounts for client, accounts in due.items() if client not in self._under_way}
        return [self._start(client, accounts, listed) for client, accounts in idle.items()]

    def _awake(self) -> bool:
        was_idle, self._is_idle = self._is_idle, not self._accounts.may_ask_vendors
        if self._is_idle and not was_idle:
            log.warning("accounts are not kept fresh: this is a copy of another's database that nobody has adopted")
        return not self._is_idle

    def _start(self, client: _Client, accounts: list[UUID], listed: float) -> "asyncio.Task[int]":
        task = self._under_way[client] = asyncio.create_task(self._batch(client, accounts, listed))
        task.add_done_callback(lambda _: self._under_way.pop(client, None))
        return task

    async def _batch(self, client: _Client, accounts: list[UUID], listed: float) -> int:
        count = sum(await asyncio.gather(*(self._refreshed(client, one, listed) for one in accounts)))
        if count == len(accounts) == MOST_EACH:
            self._more.set()
        return count

    async def _refreshed(self, client: _Client, account_id: UUID, listed: float) -> bool:
        """Whether it got an outcome, good or bad; without one it is due still, and waits for the next look.

        Another process may have refreshed it since it was listed, which is an outcome as well."""
        tenant_id, client_id = client
        async with self._turns.turn(tenant_id, client_id):
            try:
                await self._accounts.refresh(tenant_id, account_id, listed=listed)
                return True
            except Exception as error:  # noqa: BLE001 what is wrong with one account ends no other's turn
                log.warning(
                    "an account was not refreshed", extra={"error": type(error).__name__, "account": str(account_id)}
                )
                return False


_DUE = "SELECT tenant_id, account_id, client_id FROM vault.due_accounts($1, $2, $3)"
