"""Move appended records into the sealed log: unpacked, without doubles, chained, all in one transaction.

Any number of sealers may run; an advisory lock lets one work at a time. A sealer that dies leaves the queue as it was.
The process may be serving calls meanwhile: a batch is worked on in slices, each in a turn of the event loop of its own.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg

from core.audit.seal_batch import ChainHead, SealBatch
from core.audit.slices import split_into_slices
from core.audit.truncation import to_microseconds
from core.concurrency.background import report_turn
from core.concurrency.cooperative_steps import wait_for_turn
from core.db import CONNECTION_ERRORS, Database, Row
from core.errors import Unavailable
from core.log_events import describe_error

LOCK_KEY = 1835233380
"""The advisory lock under which records are sealed (audit.take in the migrations)."""
MAX_SEAL_ROUNDS = 20
"""Of :func:`seal_pending_events`: on a busy product there is always one more record, which nobody waits for."""
SEAL_BATCH_SIZE = 1_000
"""Records a transaction: what it costs beside its records is shared by as many."""
SEAL_BATCH_BYTES = 512 * 1024
"""Bytes a transaction, which records reach that hold a call's arguments."""
STATEMENT_BYTES = 96 * 1024
"""Bytes, as slices count them, after which a transaction writes what it has: about 250 records. The statement has to
fit into the socket's buffer, else the loop stands still while PostgreSQL reads."""
MAX_BUSY_SHARE = 0.1
"""The part of the time that sealing may take while records come faster than it seals: calls go first."""
DUPLICATE_WINDOW = timedelta(days=35)
"""A record that was appended twice, on both sides of an outage, is recognised for so long."""

# Packed records are not read before they are sent: what the batch has no room for costs nothing.
_TAKE = """SELECT number, tenant, packed FROM (
        SELECT *, sum(octet_length(packed)) OVER (ORDER BY number) - octet_length(packed) AS bytes_before
        FROM audit.take($1)
    ) AS taken WHERE bytes_before < $2 ORDER BY number"""
_HEADS = "SELECT tenant, newest, newest_hash, newest_at FROM audit.anchors($1::text::uuid[])"
_DOUBLES = """SELECT known FROM audit.doubles($1::text::uuid[], $2::text::timestamptz[], $3::text::bytea[], $4)"""
_SEAL = """SELECT audit.seal(
    $1::text::bigint[], $2::text::uuid[], $3::text::bigint[], $4::text::timestamptz[], $5::text::timestamptz[],
    $6::text::bytea[], $7::text::bytea[], $8::text::text[], $9::text::uuid[], $10::text::text[], $11::text::text[],
    $12::text::text[], $13::text::text[], $14::text::text[], $15::text::text[], $16::text::bigint[],
    $17::text::bytea[], $18::text::bytea[], $19::text::text[], $20::text::text[], $21::text::bytea[])"""
_PREPARE = "SELECT audit.prepare_month($1)"

log = logging.getLogger(__name__)

NextTurn = Callable[[int], Awaitable[None]]
"""Waits until work on so many bytes may begin."""


class AuditSealer:
    """`database` is logged in as the console's role; `clock` gives the time in UTC.

    `run` looks for records `min_pause` seconds after the last were found or :meth:`wake` was called, and less and less
    often, down to once in `max_pause` seconds, while there are none. `next_turn` is awaited before each slice of work.
    """

    def __init__(
        self,
        database: Database,
        clock: Callable[[], datetime],
        *,
        min_pause: float = 0.25,
        max_pause: float = 5.0,
        next_turn: NextTurn = wait_for_turn,
    ) -> None:
        self._database = database
        self._clock = clock
        self._min_pause = min_pause
        self._max_pause = max_pause
        self._next_turn = next_turn
        self._waited_seconds = 0.0
        """Of the last batch: what other work took between its slices."""
        self._woken = asyncio.Event()
        self._caught_up_at = time.monotonic()
        self._prepared_month: tuple[int, int] | None = None

    @property
    def lag_seconds(self) -> float:
        """Seconds since no record was left: :meth:`run` looks every few seconds."""
        return time.monotonic() - self._caught_up_at

    def wake(self) -> None:
        """Wake the sealer: a record is ready to be sealed."""
        self._woken.set()

    async def run(self) -> None:
        """Seal whatever is appended, until cancelled."""
        pause, is_idle = self._min_pause, False
        while True:
            started_at = time.monotonic()
            sealed, is_full = await self._try_seal_batch(is_idle=is_idle)
            is_idle = not sealed
            if is_full:
                busy = time.monotonic() - started_at - self._waited_seconds
                await asyncio.sleep(busy * (1 / MAX_BUSY_SHARE - 1))
            else:
                pause = self._min_pause if sealed else min(pause * 2, self._max_pause)
                await self._wait_for_work(pause)

    async def seal_all(self) -> int:
        """Seal what is there now; how many records that was.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        total = 0
        while sealed := await self.seal_once():
            total += sealed
        return total

    async def seal_once(self, limit: int = SEAL_BATCH_SIZE) -> int:
        """Seal at most `limit` records; how many. 0 also where another sealer is at work.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        sealed, _is_full = await self._seal_batch(limit)
        return sealed

    async def _seal_batch(self, limit: int, *, is_idle: bool = False) -> tuple[int, bool]:
        """Seal at most `limit` records; how many, and whether there was no room for more.

        `is_idle`: there were none last time. They are first asked for without a transaction, so that an idle product
        pays for one round trip, by the same statement, so that PostgreSQL has one plan of it.
        """
        now = self._clock()
        self._waited_seconds = 0.0
        try:
            async with self._database.connection() as connection:
                await self._prepare_partitions(connection, now)
                if is_idle and not await connection.fetch(_TAKE, limit, SEAL_BATCH_BYTES):
                    return 0, False
                async with connection.transaction():
                    rows = await connection.fetch(_TAKE, limit, SEAL_BATCH_BYTES)
                    if rows:
                        await self._seal_rows(connection, rows, now)
        except (*CONNECTION_ERRORS, asyncpg.InternalClientError) as error:
            raise Unavailable() from error
        return len(rows), len(rows) == limit or sum(map(_measure_row, rows)) >= SEAL_BATCH_BYTES

    async def _seal_rows(self, connection: Any, rows: Sequence[Row], now: datetime) -> None:
        batch = SealBatch(to_microseconds(now))
        slices = list(split_into_slices(rows, _measure_row))
        for taken, size in slices:
            await self._wait_for_turn(size)
            batch.read(taken)
        heads = await _fetch_heads(connection, batch)
        known_ids = await _fetch_known_ids(connection, batch, now)
        unwritten = 0
        for number, (taken, size) in enumerate(slices, 1):
            await self._wait_for_turn(size)
            batch.chain(taken, heads, known_ids)
            unwritten += size
            if unwritten >= STATEMENT_BYTES or number == len(slices):
                await self._wait_for_turn(unwritten)
                await connection.fetchval(_SEAL, *batch.take_columns())
                unwritten = 0

    async def _wait_for_turn(self, size: int) -> None:
        started_at = time.monotonic()
        await self._next_turn(size)
        self._waited_seconds += time.monotonic() - started_at

    async def _try_seal_batch(self, *, is_idle: bool) -> tuple[int, bool]:
        self._woken.clear()
        try:
            taken = await self._seal_batch(SEAL_BATCH_SIZE, is_idle=is_idle)
        except Exception as error:  # noqa: BLE001 nothing may end the sealer: asyncpg has many errors of its own
            log.warning(
                "sealing audit records failed; trying again",
                extra={"event": "audit_sealing_failed", **describe_error(error)},
            )
            report_turn(failed=True)
            return 0, False
        report_turn(failed=False)
        if not taken[1]:
            self._caught_up_at = time.monotonic()
        return taken

    async def _wait_for_work(self, pause: float) -> None:
        least_until = time.monotonic() + self._min_pause
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), pause)
        # A busy process wakes often, and a batch is cheaper than single records.
        await asyncio.sleep(max(0.0, least_until - time.monotonic()))

    async def _prepare_partitions(self, connection: Any, now: datetime) -> None:
        """Create the partitions of this month and the next where they are missing."""
        month = (now.year, now.month)
        if month != self._prepared_month:
            await connection.fetchval(_PREPARE, now)
            await connection.fetchval(_PREPARE, now.replace(day=1) + timedelta(days=31))
            self._prepared_month = month


async def seal_pending_events(database: Database, clock: Callable[[], datetime]) -> None:
    """Seal what was appended up to now, and wait for another sealer that is at work on it; `database` is logged in as
    the console's role."""
    sealer = AuditSealer(database, clock)
    for _ in range(MAX_SEAL_ROUNDS):
        await sealer.seal_all()
        async with database.connection() as connection, connection.transaction():
            await connection.fetchval("SELECT pg_advisory_xact_lock($1)", LOCK_KEY)
            if not await connection.fetch("SELECT FROM audit.take(1)"):
                return


async def _fetch_heads(connection: Any, batch: SealBatch) -> dict[UUID, ChainHead]:
    return {
        row["tenant"]: (row["newest"], row["newest_hash"], to_microseconds(row["newest_at"]))
        for row in await connection.fetch(_HEADS, batch.tenants)
    }


async def _fetch_known_ids(connection: Any, batch: SealBatch, now: datetime) -> set[bytes]:
    """Fetch the ids of those records that were sealed before."""
    rows = await connection.fetch(_DOUBLES, *batch.lookups, now - DUPLICATE_WINDOW)
    return {row["known"] for row in rows}


def _measure_row(row: Row) -> int:
    return len(row["packed"])
