"""Step `settle`: what the vendor answered gets into the database, however long that takes.

The call is over and cannot be made again, so the write is repeated until the database is back. What was granted lies in
the spool meanwhile.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import asyncpg

from broker.refresh import marks
from broker.refresh.attempt import Attempt, Boottime
from broker.refresh.breakers import client_works, failed_for_now
from broker.refresh.outcome import Outcome, outcome_of
from broker.refresh.spool import Spool
from broker.refresh.store import Stored, store
from broker.refresh.timing import Timing
from broker.vault.vault import Vault
from broker.vendor_oauth.exchange import Answer, ErrorClass, Failed, Granted
from core.db import Database, UnitOfWork
from core.errors import Unavailable
from core.failpoints import failpoint

log = logging.getLogger(__name__)

IDLE_MILLISECONDS = "3000"

T = TypeVar("T")


class Settler:
    """Writes outcomes, to the spool and to the database."""

    def __init__(
        self, database: Database, vault: Vault, spool: Spool | None, timing: Timing, boottime: Boottime
    ) -> None:
        self._database = database
        self._vault = vault
        self._spool = spool
        self._timing = timing
        self._boottime = boottime

    async def settle(self, attempt: Attempt, answer: Answer) -> Stored | None:
        """Store what the answer means; what became of tokens, if it has any. Raises nothing that repeating could
        mend."""
        if isinstance(answer, Granted):
            return await self._granted(attempt, answer)
        await self._until_written(attempt, lambda work: self._failed(work, attempt, answer))
        return None

    async def replay(self) -> int:
        """Store what processes before this one could not: how many answers there were.

        Raises:
            core.errors.Unavailable: the database is away; what is not stored yet stays in the spool.
        """
        if self._spool is None:
            return 0
        count = 0
        for path, outcome in self._spool.waiting():
            if await self._replayed(outcome):
                self._spool.remove(path)
                count += 1
        return count

    async def _granted(self, attempt: Attempt, granted: Granted) -> Stored:
        outcome = outcome_of(attempt, granted.tokens, attempt.database_time(self._boottime()))
        spooled = None if self._spool is None else self._spool.keep(outcome)
        await failpoint("spooled")
        stored = await self._until_written(attempt, lambda work: self._store(work, attempt, outcome, granted), spooled)
        await failpoint("stored")
        if stored is not Stored.STORED:
            log.warning("an answer came late", extra={"account": str(attempt.ref.id), "became": stored.name.lower()})
        if spooled is not None and self._spool is not None:
            self._spool.remove(spooled)
        return stored

    async def _store(self, work: UnitOfWork, attempt: Attempt, outcome: Outcome, granted: Granted) -> Stored:
        await work.fetchval(_IDLE_LIMIT, IDLE_MILLISECONDS)
        await client_works(work, attempt)
        return await store(work, outcome, granted.exchange)

    async def _failed(self, work: UnitOfWork, attempt: Attempt, failed: Failed) -> None:
        if failed.cls is ErrorClass.PERMANENT:
            await client_works(work, attempt)
            await marks.refused(work, self._vault, attempt, failed, self._timing)
        else:
            await failed_for_now(work, attempt, failed, self._timing)

    async def _until_written(
        self, attempt: Attempt, write: Callable[[UnitOfWork], Awaitable[T]], spooled: Path | None = None
    ) -> T:
        """Repeat a transaction until the database has taken it. A server that is up and refuses it is asked until the
        lease is over: a standby that just became the primary is no longer read-only then, a wrong statement stays
        wrong."""
        synced = False
        while True:
            try:
                async with self._database.tenant(attempt.ref.tenant_id) as work:
                    return await write(work)
            except Unavailable:
                pass
            except asyncpg.PostgresError as error:
                log.error("an answer is not taken", extra={"error": type(error).__name__, "id": str(attempt.ref.id)})
                if self._boottime() > attempt.began + self._timing.lease:
                    raise
            if spooled is not None and self._spool is not None and not synced:
                synced = await asyncio.to_thread(self._spool.sync, spooled) is None
            await asyncio.sleep(self._timing.poll)

    async def _replayed(self, outcome: Outcome) -> bool:
        try:
            async with self._database.tenant(outcome.ref.tenant_id) as work:
                await store(work, outcome)
        except asyncpg.PostgresError as error:
            log.error("an answer of the spool is not taken", extra={"error": type(error).__name__})
            return False
        return True


# A process that is stopped in the middle of its transaction would keep the account's row from everybody else.
_IDLE_LIMIT = "SELECT set_config('idle_in_transaction_session_timeout', $2, true) WHERE $1::uuid IS NOT NULL"
