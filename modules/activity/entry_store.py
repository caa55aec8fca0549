"""What was synchronized: a person's own rows, by stream, and for each stream the time of which all rows are there.

A change first writes the stream's row in `activity_syncs`, which is its lock: two syncs of one person come one after
the other, and the later one replaces what it has read.
"""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from modules.activity.periods import TimeSpan
from modules.activity.streams import MAX_ROWS, ActivityRow, ActivityStream
from modules.kit import Store, ToolError

KEEP = timedelta(days=400)
"""How long rows are kept."""
MAX_VALUE_BYTES = 32_768
MAX_KEY = 1_200

FIND_SYNC = """
SELECT account, covered_from, covered_until, synced_at FROM modules.activity_syncs
WHERE tenant_id = $1 AND user_id = $2 AND stream = $3
"""
LOCK_SYNC = """
INSERT INTO modules.activity_syncs (tenant_id, user_id, stream, account, covered_from, covered_until, synced_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (tenant_id, user_id, stream) DO UPDATE SET stream = excluded.stream
RETURNING account, covered_from, covered_until
"""
SAVE_SYNC = """
UPDATE modules.activity_syncs SET account = $4, covered_from = $5, covered_until = $6, synced_at = $7
WHERE tenant_id = $1 AND user_id = $2 AND stream = $3
"""
REMOVE_REPLACED = """
DELETE FROM modules.activity_entries WHERE tenant_id = $1 AND user_id = $2 AND stream = $3
    AND starts_at >= $4 AND starts_at < $6 AND (ends_at > $5 OR starts_at >= $5)
"""
REMOVE_OUTSIDE = """
DELETE FROM modules.activity_entries WHERE tenant_id = $1 AND user_id = $2 AND stream = $3
    AND (ends_at < $4 OR starts_at > $5)
"""
REMOVE_ROWS = """
DELETE FROM modules.activity_entries WHERE tenant_id = $1 AND user_id = $2 AND stream = $3
"""
SAVE_ROWS = """
INSERT INTO modules.activity_entries (tenant_id, user_id, stream, key, starts_at, ends_at, value)
SELECT $1, $2, $3, r.key, r.starts_at, r.ends_at, r.value
FROM unnest($4::text[], $5::timestamptz[], $6::timestamptz[], $7::text[]) AS r (key, starts_at, ends_at, value)
ON CONFLICT (tenant_id, user_id, stream, key)
    DO UPDATE SET starts_at = excluded.starts_at, ends_at = excluded.ends_at, value = excluded.value
"""
LIST_ROWS = """
SELECT key, starts_at, ends_at, value FROM modules.activity_entries
WHERE tenant_id = $1 AND user_id = $2 AND stream = $3 AND starts_at < $5 AND (ends_at > $4 OR starts_at >= $4)
ORDER BY starts_at, key LIMIT $6
"""
DELETE_STREAMS = """
WITH gone AS (
    DELETE FROM modules.activity_entries WHERE tenant_id = $1 AND user_id = $2 AND stream = ANY ($3::text[]) RETURNING 1
), forgotten AS (
    DELETE FROM modules.activity_syncs WHERE tenant_id = $1 AND user_id = $2 AND stream = ANY ($3::text[])
)
SELECT count(*) FROM gone
"""


class StreamSync(NamedTuple):
    """The time of which all rows of a stream are stored, by which account they were read, and when."""

    account: UUID
    covered: TimeSpan
    synced_at: datetime


class SyncedRows(NamedTuple):
    """Stored rows, and when they were read."""

    rows: list[ActivityRow]
    synced_at: datetime


async def find_sync(store: Store, stream: ActivityStream, account: UUID) -> StreamSync | None:
    """Find what is stored of a stream; None where nothing is that this account has read."""
    row = await store.fetchrow(FIND_SYNC, stream.name)
    if row is None or row["account"] != account:
        return None
    return StreamSync(row["account"], TimeSpan(row["covered_from"], row["covered_until"]), row["synced_at"])


async def list_synced(store: Store, stream: ActivityStream, account: UUID, span: TimeSpan) -> SyncedRows | None:
    """List the rows of a time; None where not all of it is stored."""
    sync = await find_sync(store, stream, account)
    if sync is None or span.start < sync.covered.start or span.end > sync.covered.end:
        return None
    found = await store.fetch(LIST_ROWS, stream.name, *span, MAX_ROWS)
    rows = [ActivityRow(row["key"], row["starts_at"], row["ends_at"], json.loads(row["value"])) for row in found]
    return SyncedRows(rows, sync.synced_at)


async def replace_rows(
    store: Store, stream: ActivityStream, account: UUID, span: TimeSpan, rows: Sequence[ActivityRow], now: datetime
) -> int:
    """Store all rows of a time in the place of those that are there; what is not among them was deleted at the source.
    Rows of another account go, and rows that are older than they are kept.

    Raises:
        ToolError: there are too many.
    """
    if len(rows) > MAX_ROWS:
        raise ToolError(f"more than {MAX_ROWS} entries; give fewer days")
    before = await store.fetchrow(LOCK_SYNC, stream.name, account, *span, now)
    assert before is not None
    covered = span
    if before["account"] == account:
        covered = _join(TimeSpan(before["covered_from"], before["covered_until"]), span)
    else:
        await store.execute(REMOVE_ROWS, stream.name)
    covered = TimeSpan(max(covered.start, now - KEEP), covered.end)
    await store.execute(REMOVE_REPLACED, stream.name, span.start - stream.lead, *span)
    storable = [(one, text) for one in rows if (text := _write_value(one)) is not None]
    columns = [
        [one.key for one, _ in storable],
        [one.starts_at for one, _ in storable],
        [one.ends_at for one, _ in storable],
        [text for _, text in storable],
    ]
    await store.execute(SAVE_ROWS, stream.name, *columns)
    await store.execute(REMOVE_OUTSIDE, stream.name, covered.start - stream.lead, covered.end + stream.lead)
    await store.execute(SAVE_SYNC, stream.name, account, *covered, now)
    return len(storable)


async def delete_streams(store: Store, streams: Sequence[ActivityStream]) -> int:
    """Delete all that is stored of streams; the number of rows."""
    return await store.fetchval(DELETE_STREAMS, [one.name for one in streams])


def _join(before: TimeSpan, span: TimeSpan) -> TimeSpan:
    """Join two times that touch each other; the later one alone where they do not."""
    if span.start > before.end or span.end < before.start:
        return span
    return TimeSpan(min(before.start, span.start), max(before.end, span.end))


def _write_value(row: ActivityRow) -> str | None:
    """Write the value of a row; None for one that is too large to keep."""
    text = json.dumps(row.value, ensure_ascii=False, separators=(",", ":"))
    fits = len(row.key) <= MAX_KEY and len(text.encode()) <= MAX_VALUE_BYTES
    return text if fits else None
