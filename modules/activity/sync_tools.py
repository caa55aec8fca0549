"""Tools that store what the sources know, so that it is there at once and stays when the sources forget it."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import Field

from modules.activity.entry_store import delete_streams, find_sync, replace_rows
from modules.activity.entry_tools import WRITE
from modules.activity.models import ActivitySync, DeletedActivity, SourceSync, describe_error
from modules.activity.periods import MAX_DAYS, TimeSpan, begin_day, find_zone, get_today
from modules.activity.reading import NO_ACCOUNT
from modules.activity.sources import READS, ActivitySource
from modules.activity.streams import STREAMS, ActivityStream
from modules.kit import Context, Execution, Hints, ToolError, tool
from modules.kit.parameters import OptionalParameter

SYNC_HINTS = Hints(read_only=False, destructive=False, idempotent=True, open_world=True)
DELETE_HINTS = Hints(read_only=False, destructive=True, idempotent=True, open_world=False)
FIRST_DAYS = 30
"""Days of the first sync."""
AGAIN = timedelta(days=7)
"""Time before the last sync that is read again: people correct what they did, and devices send it late."""

Sources = Annotated[
    OptionalParameter[
        Annotated[list[ActivitySource], Field(min_length=1, max_length=len(ActivitySource), fail_fast=True)]
    ],
    Field(description="Only these; without it all"),
]


class _Clock(NamedTuple):
    """The moment of a sync, and the zone of the person's days."""

    now: datetime
    zone: ZoneInfo


@tool(
    hints=SYNC_HINTS,
    scopes=[WRITE],
    execution=Execution.ASYNC,
    reads=READS,
    title="Sync activity",
    keywords="update, refresh, store; 同期",
)
async def sync_activity(
    context: Context,
    sources: Sources = None,
    days: Annotated[
        OptionalParameter[Annotated[int, Field(ge=1, le=MAX_DAYS)]],
        Field(description="Days back that are read again; without it those since the last time, at first 30"),
    ] = None,
) -> ActivitySync:
    """Store what the person's connected sources know, for themselves alone: what is new or has changed there, without
    what was deleted there. Rows are kept for 400 days."""
    clock = _Clock(datetime.now(UTC), (await find_zone(context, None)).zone)
    wanted = [one for one in ActivitySource if sources is None or one in sources]
    synced: list[SourceSync] = []
    for number, source in enumerate(wanted):
        await context.report_progress(number, len(wanted), source.label)
        synced.append(await _sync_source(context, source, days, clock))
    await context.report_progress(len(wanted), len(wanted))
    if all(one.error is not None and not one.entries for one in synced):
        raise ToolError(" ".join(describe_error(one.source, one.error or "") for one in synced))
    return ActivitySync(message=" ".join(map(_describe_sync, synced)), synced_at=clock.now, sources=synced)


@tool(hints=DELETE_HINTS, scopes=[WRITE], keywords="forget, remove")
async def delete_synced_activity(context: Context, sources: Sources = None) -> DeletedActivity:
    """Delete what is stored of the person's activity. Nothing changes at the sources."""
    streams = [one for one in STREAMS if sources is None or one.source in sources]
    async with context.store() as store:
        deleted = await delete_streams(store, streams)
    return DeletedActivity(message=f"Deleted {deleted} stored entries.", deleted=deleted)


SYNC_TOOLS = (sync_activity, delete_synced_activity)


async def _sync_source(context: Context, source: ActivitySource, days: int | None, clock: _Clock) -> SourceSync:
    """Sync the streams of a source; what goes wrong is told, and the other streams go on."""
    made = SourceSync(source=source, connected=False)
    errors: list[str] = []
    for stream in (one for one in STREAMS if one.source is source):
        try:
            access = await context.check_read(stream.tool)
            if not access.is_usable:
                errors.append(access.reason)
                made.connect_url = made.connect_url or access.connect_url or None
                continue
            made.connected = True
            made.entries += await _sync_stream(context, stream, access.account or NO_ACCOUNT, days, clock)
        except ToolError as error:
            errors.append(str(error))
    made.error = " ".join(dict.fromkeys(errors)) or None
    return made


async def _sync_stream(context: Context, stream: ActivityStream, account: UUID, days: int | None, clock: _Clock) -> int:
    """Read a stream for the time that is not stored or may have changed, and store it; how many rows were read.

    Raises:
        ToolError: it cannot be read; nothing was changed.
    """
    async with context.store() as store:
        known = await find_sync(store, stream, account)
    span = _choose_span(stream, known.covered if known else None, days, clock)
    rows = [one for one in await stream.fetch(context, span) if one.starts_at < span.end]
    async with context.store() as store:
        return await replace_rows(store, stream, account, span, rows, clock.now)


def _choose_span(stream: ActivityStream, known: TimeSpan | None, days: int | None, clock: _Clock) -> TimeSpan:
    """Choose the time to read: to now, or of a stream of days to the end of yesterday, which is the last whole day."""
    today = get_today(clock.now, clock.zone)
    first = today - timedelta(days=days or FIRST_DAYS)
    start = begin_day(first, UTC if stream.is_civil else clock.zone)
    end = begin_day(today, UTC) if stream.is_civil else clock.now
    if known is not None and known.end <= end:
        again = known.end - AGAIN
        start = min(start, again) if days is not None else max(again, end - timedelta(days=MAX_DAYS))
    return TimeSpan(max(start, end - timedelta(days=MAX_DAYS + 1)), end)


def _describe_sync(one: SourceSync) -> str:
    told = [f"{one.source.label}: {one.entries} entries."] if one.connected else []
    return " ".join(told if one.error is None else [*told, describe_error(one.source, one.error)])
