"""What people attach to a chat from Google Calendar: an event, the next days of a calendar."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from modules.google_calendar.calendars import Calendars, list_calendars
from modules.google_calendar.events import Events, get_event, list_events
from modules.google_calendar.parameters import READ_EVENTS, CalendarId, EventId
from modules.kit import FOR_MODELS, Context, ResourceContents, read_json_resource, resource
from modules.kit.completions import MAX_VALUES, Option, ask_tool, choose_values

DAYS = 7
PRIMARY = "primary"


async def complete_calendar(context: Context, typed: str, known: Mapping[str, str]) -> list[str]:
    """Complete the id of a calendar, by its id or its name."""
    found = await ask_tool(context, list_calendars, Calendars)
    return choose_values([Option(PRIMARY), *(Option(row.id, row.summary) for row in found.calendars)], typed)


async def complete_event(context: Context, typed: str, known: Mapping[str, str]) -> list[str]:
    """Complete the id of an event that is still to come, by its id or its title."""
    calendar = known.get("calendar") or PRIMARY
    found = await ask_tool(context, list_events, Events, calendar_id=calendar, per_page=MAX_VALUES)
    return choose_values((Option(row.id, row.summary) for row in found.events), typed)


async def _read_agenda(context: Context, calendar_id: str) -> ResourceContents:
    now = datetime.now(UTC).replace(microsecond=0)
    window = {"time_min": now.isoformat(), "time_max": (now + timedelta(days=DAYS)).isoformat()}
    return read_json_resource(await list_events.run(context, calendar_id=calendar_id, per_page=100, **window))


@resource(
    "resource://google_calendar/agenda",
    mime_type="application/json",
    annotations=FOR_MODELS,
    scopes=[READ_EVENTS],
    title="My next seven days",
)
async def my_agenda(context: Context) -> ResourceContents:
    """The events of the next seven days in one's own calendar."""
    return await _read_agenda(context, PRIMARY)


@resource(
    "resource://google_calendar/calendars/{calendar}/agenda",
    mime_type="application/json",
    annotations=FOR_MODELS,
    scopes=[READ_EVENTS],
    title="Next seven days of a calendar",
    complete={"calendar": complete_calendar},
)
async def agenda(context: Context, calendar: CalendarId) -> ResourceContents:
    """The events of the next seven days in a calendar."""
    return await _read_agenda(context, calendar)


@resource(
    "resource://google_calendar/calendars/{calendar}/events/{event}",
    mime_type="application/json",
    annotations=FOR_MODELS,
    scopes=[READ_EVENTS],
    title="Event",
    complete={"calendar": complete_calendar, "event": complete_event},
)
async def event(context: Context, calendar: CalendarId, event: EventId) -> ResourceContents:
    """An event with its description, guests and their answers."""
    return read_json_resource(await get_event.run(context, calendar_id=calendar, event_id=event))


RESOURCES = (my_agenda, agenda, event)
