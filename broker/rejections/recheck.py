"""Asks vendors again about credentials that they have refused, for all tenants: what they take goes on, and what they
refuse for long becomes broken; also then it comes back by itself if the vendor takes it after all.

Every broker process may run one: who asks is decided by the row, so each question is asked once.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

import asyncpg

from broker.refresh.turns import Turns
from broker.rejections.settle import Settled, settle
from broker.rejections.suspects import Suspect, claim
from broker.rejections.timing import RejectionTiming
from broker.rejections.verdicts import Asked
from broker.vault.vault import Vault
from core.db import Database
from core.errors import Unavailable

EVERY = 15.0
MOST_EACH = 50
"""Of one vendor, in one look."""
MOST_AT_ONCE = 500
EACH_PARALLEL = 4
TENANT_PARALLEL = 8
PARALLEL = 32

log = logging.getLogger(__name__)


class Asker(Protocol):
    """Asks a module's vendor, by the module's own harmless request, whether it takes a credential."""

    async def __call__(self, suspect: Suspect, settings: Mapping[str, Any]) -> Asked:
        """The vendor's verdict; `settings` are the tenant's of the service. It raises nothing, and takes less than
        `RejectionTiming.claim`."""
        ...


@dataclass(frozen=True, slots=True)
class Parts:
    """What a question needs. `database` is in the broker's role; `base_urls` are those that the modules' code names."""

    database: Database
    vault: Vault
    ask: Asker
    base_urls: Mapping[str, str]
    timing: RejectionTiming


class Rechecker:
    """Looks for what is due every :data:`EVERY` seconds, each time a little earlier or later than the others."""

    def __init__(self, parts: Parts, *, chance: Callable[[], float] = random.random) -> None:
        self._parts = parts
        self._chance = chance
        self._refusing: set[str] = set()
        self._turns = Turns(each=EACH_PARALLEL, tenant=TENANT_PARALLEL, all=PARALLEL)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await asyncio.sleep(EVERY * (0.5 + self._chance()))
            try:
                await self.sweep()
            except (Unavailable, asyncpg.PostgresError) as error:
                log.warning("refused credentials were not asked about", extra={"error": type(error).__name__})

    async def sweep(self) -> int:
        """Ask about all that is due; how many questions were answered. In a copy of another's database that nobody has
        adopted, none.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        if not self._parts.vault.may_ask_vendors:
            return 0
        due = await self._parts.database.fetch(_DUE, MOST_EACH, MOST_AT_ONCE)
        asked = (self._asked(row["tenant_id"], row["credential_id"], row["endpoint"]) for row in due)
        settled = await asyncio.gather(*asked)
        self._tell([(row["endpoint"], one) for row, one in zip(due, settled, strict=True)])
        return sum(one is not None for one in settled)

    def _tell(self, settled: list[tuple[str, Settled | None]]) -> None:
        """Log each vendor that refuses many once, until it takes one again."""
        for endpoint in {endpoint for endpoint, one in settled if one is Settled.HELD} - self._refusing:
            self._refusing.add(endpoint)
            log.error(
                "a vendor refuses many credentials at once: nobody is asked for a new one until it refuses few",
                extra={"endpoint": endpoint},
            )
        self._refusing -= {endpoint for endpoint, one in settled if one is Settled.WORKS}

    async def _asked(self, tenant_id: UUID, credential_id: UUID, endpoint: str) -> Settled | None:
        async with self._turns.turn(tenant_id, endpoint):
            try:
                return await self._recheck(tenant_id, credential_id)
            except Exception as error:  # noqa: BLE001 what is wrong with one credential ends no other's turn
                log.warning(
                    "a refused credential was not asked about",
                    extra={"error": type(error).__name__, "credential": str(credential_id)},
                )
                return None

    async def _recheck(self, tenant_id: UUID, credential_id: UUID) -> Settled | None:
        parts = self._parts
        async with parts.database.tenant(tenant_id) as work:
            found = await claim(work, parts.vault, credential_id, parts.base_urls, parts.timing)
        if found is None:
            return None
        suspect, settings = found
        answer = await parts.ask(suspect, settings)
        async with parts.database.tenant(tenant_id) as work:
            return await settle(work, suspect, answer, parts.timing, self._chance)


_DUE = "SELECT tenant_id, credential_id, endpoint FROM vault.due_rechecks($1, $2)"
