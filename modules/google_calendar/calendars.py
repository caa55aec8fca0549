"""Calendars, their colors, who is free when, and what time it is for the caller."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, cast

from pydantic import BaseModel, Field, model_validator

from modules.google_calendar import rest_client
from modules.google_calendar.parameters import READ_CALENDARS, READ_FREE_BUSY, CalendarIds, TimeText
from modules.google_calendar.results import Lines, get_list, get_mapping
from modules.kit import Context, ToolError, tool
from modules.kit.paging import parse_cursor
from modules.kit.parameters import READ_HINTS, CursorText
from modules.kit.results import Flag, Line, ListPage, OptionalIdentifier, ResultModel, Word
from modules.kit.text_cleaning import clean_line
from modules.kit.time_zones import OptionalZone, format_in_zone, parse_bound

# The API gives numbers and shades; the names are those that people see in Google Calendar.
_COLOR_NAMES: Mapping[str, str] = {
    "1": "Lavender", "2": "Sage", "3": "Grape", "4": "Flamingo", "5": "Banana", "6": "Tangerine", "7": "Peacock",
    "8": "Graphite", "9": "Blueberry", "10": "Basil", "11": "Tomato",
}  # fmt: skip
_FREE_BUSY_ERRORS: Mapping[str, str] = {
    "notFound": "no such calendar, or it is not shared with the connected account",
    "groupTooBig": "the group has too many members: give their calendars",
    "tooManyCalendarsRequested": "too many calendars at once: give fewer",
}
_UNKNOWN_BUSY_TIMES = "Google could not read this calendar; try again later"
CALENDARS = "/users/me/calendarList"


class CalendarRow(ResultModel):
    """A calendar. `role`: owner and writer may change events, reader may read, freeBusyReader sees busy times only."""

    id: OptionalIdentifier = ""
    summary: Word = ""
    role: Word = ""
    time_zone: Word = ""
    primary: Flag = False
    hidden: Flag = False
    description: Word = ""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        found = cast("dict[str, Any]", raw)
        name = found.get("summaryOverride") or found.get("summary")
        return {**found, "summary": name, "role": found.get("accessRole"), "time_zone": found.get("timeZone")}


class Calendars(ListPage):
    calendars: list[CalendarRow]


class CurrentTime(ResultModel):
    time: str
    weekday: str
    time_zone: Word = ""


class EventColors(ResultModel):
    """By `color_id`: the name that people see, and the shade."""

    colors: dict[str, str]


class CalendarBusyTimes(ResultModel):
    """Busy times as ``start/end``, or why they are not known."""

    id: str
    busy: Lines = []  # noqa: RUF012
    error: Word = ""


class BusyTimes(ResultModel):
    """`incomplete`: some calendars could not be read; their `error` says why."""

    calendars: list[CalendarBusyTimes]
    incomplete: Flag = False


class _FreeBusyAnswer(BaseModel):
    calendars: dict[str, Any]


class _Palette(BaseModel):
    event: dict[str, Any]


class _PrimaryCalendar(BaseModel):
    timeZone: Line = ""  # noqa: N815


@tool(hints=READ_HINTS, scopes=[READ_CALENDARS])
async def list_calendars(
    context: Context,
    writable: Annotated[bool, Field(description="Only where events can be changed")] = False,
    cursor: CursorText = None,
) -> Calendars:
    """Calendars of the connected account, with their ids and zones."""
    asked = parse_cursor(cursor, rest_client.PAGING, CALENDARS, 100)
    query = {"minAccessRole": "writer" if writable else None}
    page = await rest_client.fetch_page(context, CalendarRow, CALENDARS, asked, query=query)
    return Calendars(calendars=page.rows, **page.fields)


@tool(hints=READ_HINTS, scopes=[READ_CALENDARS])
async def get_current_time(context: Context, time_zone: OptionalZone = None) -> CurrentTime:
    """Get the time and day of the caller: in the zone of the primary calendar, or in another one."""
    zone = time_zone
    if zone is None:
        zone = (await rest_client.fetch_one(context, _PrimaryCalendar, f"{CALENDARS}/primary")).timeZone
    now = format_in_zone(datetime.now(UTC), zone)
    return CurrentTime(time=now, weekday=f"{datetime.fromisoformat(now):%A}", time_zone=zone)


@tool(hints=READ_HINTS, scopes=[READ_CALENDARS])
async def list_colors(context: Context) -> EventColors:
    """Colors that events can have."""
    palette = await rest_client.fetch_one(context, _Palette, "/colors")
    colors = {
        clean_line(number): clean_line(f"{_COLOR_NAMES.get(number, '')} {get_mapping(shades).get('background') or ''}")
        for number, shades in palette.event.items()
    }
    return EventColors(colors=colors)


@tool(hints=READ_HINTS, scopes=[READ_FREE_BUSY])
async def query_freebusy(
    context: Context,
    calendar_ids: Annotated[CalendarIds, Field(description="Ids or people's addresses")],
    time_min: Annotated[TimeText, Field(description="Time or date")],
    time_max: Annotated[TimeText, Field(description="Before this")],
    time_zone: OptionalZone = None,
) -> BusyTimes:
    """When calendars are busy; the rest of the span is free."""
    start, end = parse_bound("time_min", time_min, time_zone), parse_bound("time_max", time_max, time_zone)
    if end <= start:
        raise ToolError("time_max is not after time_min; give a later time_max")
    wanted = list(dict.fromkeys(calendar_ids))
    body: dict[str, Any] = {
        "timeMin": start.isoformat(), "timeMax": end.isoformat(), "items": [{"id": one} for one in wanted],
    }  # fmt: skip
    if time_zone:
        body["timeZone"] = time_zone
    answer = await rest_client.fetch_one(
        context, _FreeBusyAnswer, "/freeBusy", method="POST", json=body, repeatable=True
    )
    found = [_read_busy_times(one, answer.calendars.get(one)) for one in wanted]
    return BusyTimes(calendars=found, incomplete=any(one.error for one in found))


def _read_busy_times(calendar_id: str, value: Any) -> CalendarBusyTimes:
    """What is not of the documented form counts as an error: it must not look as if the calendar were free."""
    if value is None:
        return CalendarBusyTimes(id=calendar_id, error="Google says nothing of this calendar")
    found = get_mapping(value)
    spans = [get_mapping(one) for one in get_list(found.get("busy"))]
    times = [clean_line(f"{one['start']}/{one['end']}") for one in spans if one.get("start") and one.get("end")]
    reasons = [str(get_mapping(one).get("reason")) for one in get_list(found.get("errors"))]
    error = _FREE_BUSY_ERRORS.get(reasons[0], _UNKNOWN_BUSY_TIMES) if reasons else ""
    if len(times) < len(spans) or not isinstance(found.get("busy", []), list) or not found:
        error = error or _UNKNOWN_BUSY_TIMES
    return CalendarBusyTimes(id=calendar_id, busy=times, error=error)


TOOLS = (list_calendars, get_current_time, list_colors, query_freebusy)
