"""Reading events: those of a span, one, and the instances of one that recurs."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import Field

from modules.google_calendar import rest_client
from modules.google_calendar.parameters import READ_EVENTS, CalendarId, EventId, OptionalTime
from modules.google_calendar.results import MAX_GUESTS, CalendarEvent, EventRow, Events, format_description, get_mapping
from modules.kit import Context, ToolError, build_path, run_in_turns, tool
from modules.kit.paging import parse_cursor
from modules.kit.parameters import READ_HINTS, CursorText, PerPage, drop_bounds, limit_length
from modules.kit.results import read_part
from modules.kit.time_zones import OptionalZone, parse_bound

EVENTS = "/calendars/{}/events"
EVENT = "/calendars/{}/events/{}"
TimeMin = Annotated[OptionalTime, Field(description="Time or date; default now")]
TimeMax = Annotated[OptionalTime, Field(description="Before")]


@tool(hints=READ_HINTS, scopes=[READ_EVENTS], keywords="agenda, schedule, today, tomorrow, this week; 今日, 明日")
async def list_events(
    context: Context,
    calendar_id: CalendarId = "primary",
    time_min: TimeMin = None,
    time_max: TimeMax = None,
    time_zone: OptionalZone = None,
    query: Annotated[str, limit_length(maximum=500), Field(description="Words in any field")] = "",
    series: Annotated[bool, Field(description="Series once, not each instance")] = False,
    per_page: PerPage = 25,
    cursor: CursorText = None,
) -> Events:
    """Events of a calendar in order of time. All-day events end before their end date."""
    start, end = _parse_window(time_min, time_max, time_zone)
    wanted: dict[str, Any] = {
        "timeMin": start, "timeMax": end, "timeZone": time_zone, "q": query or None, "singleEvents": not series,
        "orderBy": None if series else "startTime",
    }  # fmt: skip
    return await _fetch_events(context, build_path(EVENTS, calendar_id), wanted, cursor, per_page)


@tool(hints=READ_HINTS, scopes=[READ_EVENTS])
async def get_event(
    context: Context,
    event_id: EventId,
    calendar_id: CalendarId = "primary",
    guests_from: Annotated[
        int, Field(ge=0, le=10_000, description="Guests to skip", json_schema_extra=drop_bounds)
    ] = 0,
) -> CalendarEvent:
    """One event with description, guests and their answers."""
    answer = await rest_client.send_request(context, "GET", build_path(EVENT, calendar_id, event_id))
    found = await run_in_turns(format_description, get_mapping(answer.json()), size=len(answer.body))
    event = read_part(answer, CalendarEvent, found)
    shown = event.attendees[guests_from : guests_from + MAX_GUESTS]
    if len(shown) == event.guests:
        return event
    more = max(0, event.guests - guests_from - len(shown))
    return event.model_copy(update={"attendees": shown, "more_guests": more})


@tool(hints=READ_HINTS, scopes=[READ_EVENTS])
async def list_event_instances(
    context: Context,
    event_id: Annotated[EventId, Field(description="Recurring event (series_id)")],
    calendar_id: CalendarId = "primary",
    time_min: TimeMin = None,
    time_max: TimeMax = None,
    time_zone: OptionalZone = None,
    per_page: PerPage = 25,
    cursor: CursorText = None,
) -> Events:
    """Instances of a recurring event; each can be changed, answered or deleted by its own id."""
    start, end = _parse_window(time_min, time_max, time_zone)
    wanted = {"timeMin": start, "timeMax": end, "timeZone": time_zone}
    address = build_path(f"{EVENT}/instances", calendar_id, event_id)
    return await _fetch_events(context, address, wanted, cursor, per_page)


def _parse_window(time_min: str | None, time_max: str | None, zone: str | None) -> tuple[str, str | None]:
    """Parse the bounds of a list; it begins now where no time is given, as nobody asks for the oldest events.

    Raises:
        ToolError: a bound is wrong, or they are not in order.
    """
    start = parse_bound("time_min", time_min, zone) if time_min else datetime.now(UTC).replace(microsecond=0)
    end = parse_bound("time_max", time_max, zone) if time_max else None
    if end is not None and end <= start:
        raise ToolError(
            "time_max is not after time_min; give a later time_max"
            if time_min
            else "time_max is in the past and time_min is missing, which means now; give time_min too"
        )
    return start.isoformat(), end.isoformat() if end else None


async def _fetch_events(
    context: Context, address: str, wanted: dict[str, Any], cursor: str | None, per_page: int
) -> Events:
    asked = parse_cursor(cursor, rest_client.EVENT_PAGING, address, per_page)
    if cursor is None:
        asked = replace(asked, place={"timeMin": wanted["timeMin"]})
    page = await rest_client.fetch_page(context, EventRow, address, asked, query=wanted)
    zone = page.document.get("timeZone")
    return Events(events=page.rows, time_zone=zone if isinstance(zone, str) else "", **page.fields)


TOOLS = (list_events, get_event, list_event_instances)
