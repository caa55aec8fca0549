"""One batch of records on its way into the sealed log: decoded, without doubles, chained, and encoded for PostgreSQL.

Each method works on one slice of the batch and waits for nothing, so that a caller may give the event loop a turn
between two of them (core.audit.slices).
"""

import hashlib
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any
from uuid import UUID

import msgspec

from core.audit.chain import GENESIS_HASH, SealedEvent, build_fields, format_uuid, hash_fields
from core.audit.event import AuditEvent, AuditEventKind
from core.audit.truncation import to_event_time, truncate_if_needed, unpack
from core.db import Row
from core.postgres_arrays import (
    encode_hex,
    encode_integers,
    encode_texts,
    encode_times,
    encode_uuids,
    join_parts,
)

ChainHead = tuple[int, bytes, int]
"""Number and hash of a chain's newest event, and when it was sealed, in microseconds since 1970."""

_ReadRecord = tuple[UUID, int, AuditEvent]
_json = msgspec.json.Encoder(order="deterministic").encode


def _encode_details(details: Sequence[dict[str, str | int] | None]) -> str:
    return encode_texts([None if detail is None else _json(detail).decode() for detail in details])


_ENCODERS: dict[str, Callable[[Sequence[Any]], str]] = {
    "tenant_id": encode_uuids,
    "seq": encode_integers,
    "sealed_at": encode_times,
    "at": encode_times,
    "id": encode_hex,
    "intent": encode_hex,
    "user_id": encode_uuids,
    "duration_us": encode_integers,
    "digest": encode_hex,
    "arguments": encode_hex,
    "detail": _encode_details,
}
_COLUMN_ENCODERS = tuple(_ENCODERS.get(name, encode_texts) for name in SealedEvent._fields)


class SealBatch:
    """The records of one transaction; `now` is the time of sealing in microseconds since 1970."""

    def __init__(self, now: int) -> None:
        self._now = now
        self._records: deque[_ReadRecord] = deque()
        self._tenants: set[UUID] = set()
        self._lookups: tuple[list[str], list[str], list[str]] = ([], [], [])
        self._parts: tuple[list[str], ...] = tuple([] for _ in range(len(_COLUMN_ENCODERS) + 2))
        """Of the arguments of ``audit.seal``: the numbers that were taken, the columns of `SealedEvent`, the hashes."""

    @property
    def tenants(self) -> str:
        """The tenants that the records belong to, as an array of PostgreSQL's."""
        return join_parts([encode_uuids(list(map(str, self._tenants)))])

    @property
    def lookups(self) -> tuple[str, ...]:
        """Tenants, times and ids of the records, as arrays of PostgreSQL's."""
        return tuple(map(join_parts, self._lookups))

    def read(self, rows: Sequence[Row]) -> None:
        """Decode rows of ``audit.take``."""
        records = [_read_record(row, self._now) for row in rows]
        tenants, times, ids = self._lookups
        tenants.append(encode_uuids([format_uuid(tenant) for tenant, _, _ in records]))
        times.append(encode_times([at for _, at, _ in records]))
        ids.append(encode_hex([event.id.hex() for _, _, event in records]))
        self._tenants.update([tenant for tenant, _, _ in records])
        self._records += records

    def chain(self, rows: Sequence[Row], heads: dict[UUID, ChainHead], known_ids: set[bytes]) -> None:
        """Chain the records of the next rows that were read, but not those whose ids are known; `heads` and `known_ids`
        include them afterwards."""
        entries: list[Sequence[Any]] = []
        hashes: list[str] = []
        for _ in rows:
            tenant, at, event = self._records.popleft()
            if event.id in known_ids:
                continue
            known_ids.add(event.id)
            seq, previous, sealed_at = heads.get(tenant, (0, GENESIS_HASH, 0))
            entry = _build_sealed_event(event, tenant, seq + 1, max(self._now, sealed_at), at)
            fields = build_fields(entry)
            digest = hash_fields(previous, fields)
            heads[tenant] = (entry.seq, digest, entry.sealed_at)
            entries.append(fields)
            hashes.append(digest.hex())
        self._parts[0].append(encode_integers([row["number"] for row in rows]))
        self._parts[-1].append(encode_hex(hashes))
        self._encode(entries)

    def _encode(self, entries: Sequence[Sequence[Any]]) -> None:
        """Encode what is hashed: the texts of UUIDs and bytes serve both."""
        if not entries:
            return
        _format, *columns = zip(*entries, strict=True)
        for parts, encode, values in zip(self._parts[1:-1], _COLUMN_ENCODERS, columns, strict=True):
            parts.append(encode(values))

    def take_columns(self) -> list[str]:
        """Take the arguments of ``audit.seal`` for what was chained since the last time, as arrays of PostgreSQL's."""
        columns = list(map(join_parts, self._parts))
        for parts in self._parts:
            parts.clear()
        return columns


def _read_record(row: Row, now: int) -> _ReadRecord:
    """Decode a record. Its tenant is the one that it was appended for, whatever the record says."""
    try:
        event = truncate_if_needed(unpack(row["packed"]))
    except (msgspec.MsgspecError, ValueError):
        event = _build_unreadable_event(row["packed"])
    at = to_event_time(event.at)
    if at is None:
        return row["tenant"], now, msgspec.structs.replace(event, detail={**(event.detail or {}), "at": str(event.at)})
    return row["tenant"], at, event


def _build_unreadable_event(record: bytes) -> AuditEvent:
    """Build the event that replaces an unreadable record, which must neither vanish nor hold up the others."""
    digest = hashlib.sha256(record)
    detail: dict[str, str | int] = {"bytes": len(record), "sha256": digest.hexdigest()}
    return AuditEvent(at=-1, kind=AuditEventKind.AUDIT_UNREADABLE, id=digest.digest()[:16], detail=detail)


def _build_sealed_event(event: AuditEvent, tenant: UUID, seq: int, sealed_at: int, at: int) -> SealedEvent:
    return SealedEvent(
        tenant, seq, sealed_at, at, event.id, event.intent, event.kind, event.user_id, event.credential_id,
        event.client, event.request_id, event.module, event.tool, event.outcome, event.duration_us, event.digest,
        event.arguments, event.detail or None, event.actor,
    )  # fmt: skip
