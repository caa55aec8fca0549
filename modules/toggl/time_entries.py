"""The account's own time entries."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, cast

from pydantic import Field

from modules.kit import Context, ToolError, tool
from modules.kit.paging import parse_cursor
from modules.kit.parameters import (
    READ_HINTS,
    CursorText,
    OptionalParameter,
    drop_bounds,
    format_timestamp,
    limit_length,
)
from modules.kit.results import ReadRows, read_rows
from modules.kit.time_zones import OptionalZone, parse_bound
from modules.kit.whole_lists import WHOLE, cut_page
from modules.toggl.parameters import READ
from modules.toggl.rest_client import read_list, send_request
from modules.toggl.results import TimeEntries, TimeEntry

ADDRESS = "/me/time_entries"
MAX_AT_ONCE = 1_000
"""Time entries that Toggl gives at once; it has no pages here."""
USUAL_DAYS = 7

_TimeText = OptionalParameter[Annotated[str, limit_length(maximum=64)]]
EntryPage = Annotated[int, Field(ge=1, le=MAX_AT_ONCE, description="At most 1000", json_schema_extra=drop_bounds)]


@tool(hints=READ_HINTS, scopes=[READ], keywords="tracked time, hours, timesheet, worked; 作業時間, 記録")
async def list_time_entries(
    context: Context,
    start_date: Annotated[
        _TimeText, Field(description="Started at or after this time or date; default 7 days ago")
    ] = None,
    end_date: Annotated[_TimeText, Field(description="Started before")] = None,
    time_zone: OptionalZone = None,
    per_page: EntryPage = 100,
    cursor: CursorText = None,
) -> TimeEntries:
    """One's own time entries of the last three months at most, newest first."""
    now = datetime.now(UTC).replace(microsecond=0)
    start = parse_bound("start_date", start_date, time_zone) if start_date else now - timedelta(days=USUAL_DAYS)
    end = parse_bound("end_date", end_date, time_zone) if end_date else now + timedelta(days=1)
    if end <= start:
        raise ToolError("end_date is not after start_date; give a later end_date")
    asked = parse_cursor(cursor, WHOLE, f"{ADDRESS} {start_date} {end_date} {time_zone}", per_page)
    query = {"meta": True, "start_date": format_timestamp(start), "end_date": format_timestamp(end)}
    answer = await send_request(context, "GET", ADDRESS, query=query)
    listed = read_list(answer)
    read = await read_rows(answer, TimeEntry, [one for one in listed if not _is_outside(one, start, end)])
    read.rows.sort(key=lambda one: (one.start, one.id), reverse=True)
    page = cut_page(asked, ReadRows(read.rows, read.unreadable))
    return TimeEntries(time_entries=page.rows, incomplete=len(listed) >= MAX_AT_ONCE, **page.fields)


def _is_outside(raw: Any, start: datetime, end: datetime) -> bool:
    """Check whether an entry began at another time, or was deleted: Toggl's own bounds are of whole days or moments,
    and its documents do not say whether the end belongs to them."""
    if not isinstance(raw, dict):
        return False
    found = cast("dict[str, Any]", raw)
    try:
        began = datetime.fromisoformat(str(found.get("start")))
    except ValueError:
        return False
    return bool(found.get("server_deleted_at")) or (began.tzinfo is not None and not start <= began < end)


TOOLS = (list_time_entries,)
