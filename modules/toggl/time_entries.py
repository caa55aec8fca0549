"""The account's own time entries."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, NamedTuple, cast

from pydantic import Field

from modules.kit import Context, ToolError, VendorAnswer, tool
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
from modules.toggl.reports import MAX_ENTRIES, fetch_reported_entries
from modules.toggl.rest_client import read_list, send_request
from modules.toggl.results import TimeEntries, TimeEntry

ADDRESS = "/me/time_entries"
MAX_AT_ONCE = 1_000
"""Time entries that Toggl gives at once; it has no pages here."""
RECENT = timedelta(days=88)
"""For how long Toggl gives them there, which is about three months; what is older is read from reports."""
USUAL_DAYS = 7
MAX_DAYS = 400

_TimeText = OptionalParameter[Annotated[str, limit_length(maximum=64)]]
EntryPage = Annotated[int, Field(ge=1, le=MAX_ENTRIES, description="At most 10000", json_schema_extra=drop_bounds)]


class _FoundEntries(NamedTuple):
    """Raw time entries of Toggl's, an answer that they came with, and whether there are more."""

    entries: list[Any]
    answer: VendorAnswer
    is_incomplete: bool


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
    """One's own time entries, newest first; at most 400 days at once."""
    now = datetime.now(UTC).replace(microsecond=0)
    start = parse_bound("start_date", start_date, time_zone) if start_date else now - timedelta(days=USUAL_DAYS)
    end = parse_bound("end_date", end_date, time_zone) if end_date else now + timedelta(days=1)
    if end <= start:
        raise ToolError("end_date is not after start_date; give a later end_date")
    if end - start > timedelta(days=MAX_DAYS):
        raise ToolError(f"start_date: at most {MAX_DAYS} days at once; give a later start_date or an earlier end_date")
    asked = parse_cursor(cursor, WHOLE, f"{ADDRESS} {start_date} {end_date} {time_zone}", per_page)
    found = await _fetch_entries(context, start, end, now - RECENT)
    wanted = [one for one in found.entries if not _is_outside(one, start, end)]
    read = await read_rows(found.answer, TimeEntry, wanted)
    rows = list({one.id: one for one in read.rows}.values())
    rows.sort(key=lambda one: (one.start, one.id), reverse=True)
    page = cut_page(asked, ReadRows(rows, read.unreadable))
    return TimeEntries(time_entries=page.rows, incomplete=found.is_incomplete, **page.fields)


async def _fetch_entries(context: Context, start: datetime, end: datetime, recent: datetime) -> _FoundEntries:
    """Fetch the entries of a time: those from `recent` on as Toggl lists them, those before it by reports."""
    entries: list[Any] = []
    answer: VendorAnswer | None = None
    if end > recent:
        query = {"meta": True, "start_date": format_timestamp(max(start, recent)), "end_date": format_timestamp(end)}
        answer = await send_request(context, "GET", ADDRESS, query=query)
        entries = read_list(answer)
        if len(entries) >= MAX_AT_ONCE:
            return _FoundEntries(entries, answer, is_incomplete=True)
    if start >= recent:
        assert answer is not None
        return _FoundEntries(entries, answer, is_incomplete=False)
    reported = await fetch_reported_entries(context, start, min(end, recent))
    last = reported.answer or answer
    if last is None:
        raise ToolError("the account has no workspace at Toggl: there is nothing to read")
    return _FoundEntries([*entries, *reported.entries], last, reported.is_incomplete)


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
