"""Tools that show time entries and events, named as in the knowledge server whose interface this is."""

from collections.abc import Sequence
from datetime import date
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from modules.activity.models import (
    NO_EVENTS,
    NO_TIME_ENTRIES,
    ActivityEvents,
    EndDate,
    ProjectName,
    StartDate,
    TimeZone,
    TogglEntries,
)
from modules.activity.periods import Period, build_period, count_minutes, find_zone
from modules.activity.reading import StreamReading, read_required
from modules.activity.rows import build_event, build_toggl_entry, get_span, get_text, is_within
from modules.activity.sources import CURRENT_TIME, EVENTS, TIME_ENTRIES
from modules.activity.streams import BY_NAME, ActivityRow
from modules.kit import Context, Hints, tool
from modules.kit.paging import parse_cursor
from modules.kit.parameters import CursorText, drop_bounds
from modules.kit.whole_lists import WHOLE, check_start, format_cursor_from, get_start

READ = "activity:read"
WRITE = "activity:write"
READ_HINTS = Hints(read_only=True, destructive=False, idempotent=True, open_world=True)

Limit = Annotated[int, Field(ge=1, le=500, description="At most 500", json_schema_extra=drop_bounds)]


class Shown(NamedTuple):
    """A page of rows, and the cursor for the next."""

    rows: list[ActivityRow]
    next_cursor: str | None


@tool(
    hints=READ_HINTS,
    scopes=[READ],
    aliases=["activity_get_toggl_entries"],
    reads=[TIME_ENTRIES, CURRENT_TIME],
    keywords="tracked time, worked, hours, timesheet; 作業時間, 記録",
)
async def get_toggl_entries(
    context: Context,
    start_date: StartDate,
    end_date: EndDate,
    project_name: ProjectName = None,
    time_zone: TimeZone = None,
    limit: Limit = 100,
    cursor: CursorText = None,
) -> TogglEntries:
    """Time entries of Toggl that began on these days, newest first."""
    period = await _find_period(context, start_date, end_date, time_zone)
    reading = await read_required(context, BY_NAME["time_entries"], period)
    wanted = project_name.strip().casefold() if project_name is not None else None
    rows = [
        one
        for one in reading.rows
        if period.span.start <= one.starts_at < period.span.end
        and (wanted is None or get_text(one.value, "project").strip().casefold() == wanted)
    ]
    rows.sort(key=lambda one: (one.starts_at, one.key), reverse=True)
    shown = _cut(rows, limit, cursor, "time entries", period, project_name)
    minutes = count_minutes(map(get_span, rows))
    return TogglEntries(
        message=f"{len(rows)} Toggl entries, {minutes} min." if rows else NO_TIME_ENTRIES,
        entries=[build_toggl_entry(one, period.zone.key) for one in shown.rows],
        total=len(rows),
        tracked_minutes=minutes,
        nextCursor=shown.next_cursor,
        time_zone=period.zone.key,
        **describe_reading(reading),
    )


@tool(
    hints=READ_HINTS,
    scopes=[READ],
    aliases=["activity_get_calendar_events"],
    reads=[EVENTS, CURRENT_TIME],
    keywords="meetings, appointments, agenda; 会議",
)
async def get_calendar_events(
    context: Context,
    start_date: StartDate,
    end_date: EndDate,
    time_zone: TimeZone = None,
    limit: Limit = 100,
    cursor: CursorText = None,
) -> ActivityEvents:
    """Events of one's own Google calendar on these days, oldest first."""
    period = await _find_period(context, start_date, end_date, time_zone)
    reading = await read_required(context, BY_NAME["events"], period)
    rows = [one for one in reading.rows if is_within(one, period)]
    rows.sort(key=lambda one: (one.starts_at, one.key))
    shown = _cut(rows, limit, cursor, "events", period)
    return ActivityEvents(
        message=f"{len(rows)} calendar events." if rows else NO_EVENTS,
        events=[build_event(one, period.zone.key) for one in shown.rows],
        total=len(rows),
        nextCursor=shown.next_cursor,
        time_zone=period.zone.key,
        **describe_reading(reading),
    )


ENTRY_TOOLS = (get_toggl_entries, get_calendar_events)


def describe_reading(reading: StreamReading) -> dict[str, Any]:
    """Describe how something was read, as fields of a result."""
    return {"origin": "live" if reading.synced_at is None else "synced", "synced_at": reading.synced_at}


async def _find_period(context: Context, first: date, last: date, time_zone: str | None) -> Period:
    return build_period(first, last, (await find_zone(context, time_zone)).zone)


def _cut(rows: Sequence[ActivityRow], limit: int, cursor: str | None, name: str, period: Period, *more: Any) -> Shown:
    """Cut the page that is asked for.

    Raises:
        ToolError: the cursor was not made for this list.
    """
    asked = parse_cursor(cursor, WHOLE, repr((name, period.first, period.last, period.zone.key, *more)), limit)
    start, end = get_start(asked), get_start(asked) + asked.size
    check_start(asked, len(rows))
    return Shown(list(rows[start:end]), format_cursor_from(asked, end, len(rows)) or None)
