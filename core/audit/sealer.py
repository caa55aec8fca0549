"""Move appended records into the sealed log: unpacked, without doubles, chained, all in one transaction.

Any number of sealers may run; an advisory lock lets one work at a time. A sealer that dies leaves the queue as it was.
"""

import asyncio
import contextlib
import hashlib
import logging
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from core.audit.chain import GENESIS_HASH, SealedEvent, hash_event
from core.audit.event import AuditEvent, AuditEventKind
from core.audit.truncation import to_datetime, truncate_if_needed, unpack
from core.concurrency.background import report_turn
from core.db import CONNECTION_ERRORS, Database, Row
from core.errors import Unavailable
from core.log_events import describe_error

LOCK_KEY = 1835233380
"""The advisory lock under which records are sealed (audit.take in the migrations)."""
MAX_SEAL_ROUNDS = 20
"""Of :func:`seal_pending_events`: on a busy product there is always one more record, which nobody waits for."""
SEAL_BATCH_SIZE = 250
"""Records a transaction: about 5 ms of this process, which may be serving calls meanwhile."""
MAX_BUSY_SHARE = 0.1
"""The part of the time that sealing may take while records come faster than it seals: calls go first."""
DUPLICATE_WINDOW = timedelta(days=35)
"""A record that was appended twice, on both sides of an outage, is recognised for so long."""

_TAKE = "SELECT number, tenant, packed FROM audit.take($1)"
_HEADS = "SELECT tenant, newest, newest_hash, newest_at FROM audit.anchors($1)"
_DOUBLES = "SELECT known FROM audit.doubles($1, $2, $3, $4)"
_SEAL = """SELECT audit.seal($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
    $20, $21)"""
_PREPARE = "SELECT audit.prepare_month($1)"

log = logging.getLogger(__name__)
_json = msgspec.json.Encoder(order="deterministic").encode

_Head = tuple[int, bytes, datetime]
_ReadRecord = tuple[UUID, datetime, AuditEvent]


class AuditSealer:
    """`database` is logged in as the console's role; `clock` gives the time in UTC.

    `run` looks for records `min_pause` seconds after the last were found or :meth:`wake` was called, and less and less
    often, down to once in `max_pause` seconds, while there are none.
    """

    def __init__(
        self, database: Database, clock: Callable[[], datetime], *, min_pause: float = 0.25, max_pause: float = 5.0
    ) -> None:
        self._database = database
        self._clock = clock
        self._min_pause = min_pause
        self._max_pause = max_pause
        self._woken = asyncio.Event()
        self._prepared_month: tuple[int, int] | None = None

    def wake(self) -> None:
        """Wake the sealer: a record is ready to be sealed."""
        self._woken.set()

    async def run(self) -> None:
        """Seal whatever is appended, until cancelled."""
        pause = self._min_pause
        while True:
            started_at = time.monotonic()
            sealed = await self._try_seal_once()
            if sealed == SEAL_BATCH_SIZE:
                await asyncio.sleep((time.monotonic() - started_at) * (1 / MAX_BUSY_SHARE - 1))
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
        now = self._clock()
        try:
            async with self._database.connection() as connection:
                await self._prepare_partitions(connection, now)
                async with connection.transaction():
                    rows = await connection.fetch(_TAKE, limit)
                    if rows:
                        await _seal_rows(connection, rows, now)
        except (*CONNECTION_ERRORS, asyncpg.InternalClientError) as error:
            raise Unavailable() from error
        return len(rows)

    async def _try_seal_once(self) -> int:
        self._woken.clear()
        try:
            taken = await self.seal_once()
        except Exception as error:  # noqa: BLE001 nothing may end the sealer: asyncpg has many errors of its own
            log.warning(
                "sealing audit records failed; trying again",
                extra={"event": "audit_sealing_failed", **describe_error(error)},
            )
            report_turn(failed=True)
            return 0
        report_turn(failed=False)
        return taken

    async def _wait_for_work(self, pause: float) -> None:
        await asyncio.sleep(self._min_pause)  # a busy process wakes often, and a batch is cheaper than single records
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._woken.wait(), pause - self._min_pause)

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


async def _seal_rows(connection: Any, rows: Sequence[Row], now: datetime) -> None:
    records = [_read_record(row, now) for row in rows]
    tenants = list({row["tenant"] for row in rows})
    heads: dict[UUID, _Head] = {
        row["tenant"]: (row["newest"], row["newest_hash"], row["newest_at"])
        for row in await connection.fetch(_HEADS, tenants)
    }
    new_records = await _drop_duplicates(connection, records, now)
    entries, hashes = _chain_events(new_records, heads, now)
    columns: list[tuple[Any, ...]] = list(zip(*entries, strict=True)) if entries else [()] * len(SealedEvent._fields)
    columns[SealedEvent._fields.index("detail")] = tuple(
        _json(e.detail).decode() if e.detail else None for e in entries
    )
    await connection.fetchval(_SEAL, [row["number"] for row in rows], *columns, hashes)


def _read_record(row: Row, now: datetime) -> _ReadRecord:
    """Decode a record. Its tenant is the one that it was appended for, whatever the record says."""
    try:
        event = truncate_if_needed(unpack(row["packed"]))
    except (msgspec.MsgspecError, ValueError):
        event = _build_unreadable_event(row["packed"])
    at = to_datetime(event.at)
    if at is None:
        return row["tenant"], now, msgspec.structs.replace(event, detail={**(event.detail or {}), "at": str(event.at)})
    return row["tenant"], at, event


def _build_unreadable_event(record: bytes) -> AuditEvent:
    """Build the event that replaces an unreadable record, which must neither vanish nor hold up the others."""
    digest = hashlib.sha256(record)
    detail: dict[str, str | int] = {"bytes": len(record), "sha256": digest.hexdigest()}
    return AuditEvent(at=-1, kind=AuditEventKind.AUDIT_UNREADABLE, id=digest.digest()[:16], detail=detail)


async def _drop_duplicates(connection: Any, records: Sequence[_ReadRecord], now: datetime) -> list[_ReadRecord]:
    rows = await connection.fetch(
        _DOUBLES,
        [tenant for tenant, _, _ in records],
        [at for _, at, _ in records],
        [event.id for _, _, event in records],
        now - DUPLICATE_WINDOW,
    )
    known_ids: set[bytes] = {row["known"] for row in rows}
    new: list[_ReadRecord] = []
    for item in records:
        if item[2].id not in known_ids:
            known_ids.add(item[2].id)
            new.append(item)
    return new


def _chain_events(
    records: Sequence[_ReadRecord], heads: dict[UUID, _Head], now: datetime
) -> tuple[list[SealedEvent], list[bytes]]:
    entries: list[SealedEvent] = []
    hashes: list[bytes] = []
    for tenant, at, event in records:
        seq, previous, sealed_at = heads.get(tenant, (0, GENESIS_HASH, now))
        entry = _build_sealed_event(event, tenant, seq + 1, max(now, sealed_at), at)
        digest = hash_event(previous, entry)
        heads[tenant] = (entry.seq, digest, entry.sealed_at)
        entries.append(entry)
        hashes.append(digest)
    return entries, hashes


def _build_sealed_event(event: AuditEvent, tenant: UUID, seq: int, sealed_at: datetime, at: datetime) -> SealedEvent:
    return SealedEvent(
        tenant, seq, sealed_at, at, event.id, event.intent, event.kind, event.user_id, event.credential_id,
        event.client, event.request_id, event.module, event.tool, event.outcome, event.duration_us, event.digest,
        event.arguments, event.detail or None, event.actor,
    )  # fmt: skip
