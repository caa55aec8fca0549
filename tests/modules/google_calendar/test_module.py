"""The module as it is declared: names, hints, scopes, and what its schemas cost."""

from typing import Any

import orjson
import pytest
from pydantic import BaseModel

from broker.providers.catalogue import load_builtin_providers
from gateway.catalogue import build_catalogue
from modules.google_calendar import MODULE
from modules.google_calendar.calendar_changes import SavedCalendar
from modules.google_calendar.calendars import CalendarRow
from modules.google_calendar.parameters import (
    READ_CALENDARS,
    READ_EVENTS,
    READ_FREE_BUSY,
    WRITE_CALENDARS,
    WRITE_EVENTS,
)
from modules.google_calendar.results import CalendarEvent, EventRow, SavedEvent
from tests.support.google_calendar_double import ROUTES, GoogleCalendarDouble, google_calendar_double
from tests.support.google_calendar_double.server import load_description
from tests.support.module_check import check_module, list_troubles
from tests.support.odd_answers import find_losses
from tests.support.tokens import tokens

# (read-only, destructive, idempotent) of the design's table, with the least scope.
READS, ADDS, CHANGES = (True, False, False), (False, False, False), (False, True, True)
TOOLS = {
    "list_calendars": (READS, READ_CALENDARS),
    "get_current_time": (READS, READ_CALENDARS),
    "list_colors": (READS, READ_CALENDARS),
    "query_freebusy": (READS, READ_FREE_BUSY),
    "create_calendar": (ADDS, WRITE_CALENDARS),
    "update_calendar": (CHANGES, WRITE_CALENDARS),
    "delete_calendar": (CHANGES, WRITE_CALENDARS),
    "list_events": (READS, READ_EVENTS),
    "get_event": (READS, READ_EVENTS),
    "list_event_instances": (READS, READ_EVENTS),
    "create_event": (ADDS, WRITE_EVENTS),
    "quick_add_event": (ADDS, WRITE_EVENTS),
    "update_event": (CHANGES, WRITE_EVENTS),
    "move_event": (CHANGES, WRITE_EVENTS),
    "delete_event": (CHANGES, WRITE_EVENTS),
    "respond_to_event": (CHANGES, WRITE_EVENTS),
}
# o200k tokens of name, description and parameters. Above other modules': half of the tools take a calendar, an event,
# a span and its zone, and an event has a dozen fields that people set.
MOST_TOKENS = 330
MOST_ON_AVERAGE = 130  # create_event: focus time and absence
SPAN = {"start": "09", "end": "10"}


def test_every_tool_with_its_hints_and_least_scope() -> None:
    found = {
        tool.name: ((tool.hints.read_only, tool.hints.destructive, tool.hints.idempotent), *tool.scopes)
        for tool in MODULE.tools
    }
    assert found == TOOLS
    assert all(tool.hints.open_world for tool in MODULE.tools)


def test_the_provider_asks_for_these_scopes_and_no_others() -> None:
    scopes = load_builtin_providers().known["google"].modules["google_calendar"]
    assert set(scopes.reading) == {scope for hints, scope in TOOLS.values() if hints == READS}
    assert set(scopes.writing) == {scope for hints, scope in TOOLS.values() if hints != READS}


def test_what_the_schemas_cost() -> None:
    listed = build_catalogue([MODULE]).tools["google_calendar"]
    sizes = {
        one.tool.name: tokens(orjson.dumps([one.tool.name, one.tool.description, one.input_schema]).decode())
        for one in listed
    }
    assert max(sizes.values()) <= MOST_TOKENS, sizes
    assert sum(sizes.values()) / len(sizes) <= MOST_ON_AVERAGE, sizes


def test_the_double_serves_what_the_module_asks_for() -> None:
    assert set(ROUTES) <= set(load_description().operations())


def make_rows() -> dict[type[BaseModel], dict[str, Any]]:
    """A row of each kind as Google sends it."""
    double = GoogleCalendarDouble()
    person = {"email": "bo@acme.test", "displayName": "Bo", "responseStatus": "accepted"}
    event = double.add_event(
        summary="Meeting", location="Room", description="<b>Agenda</b>", colorId="3", transparency="transparent",
        start={"dateTime": "2030-03-04T09:00:00+01:00", "timeZone": "Europe/Berlin"}, visibility="private",
        end={"dateTime": "2030-03-04T10:00:00+01:00"}, attendees=[{**person, "self": True}], recurringEventId="event1",
        recurrence=["RRULE:FREQ=DAILY"], reminders={"overrides": [{"method": "popup", "minutes": 10}]},
        conferenceData={"entryPoints": [{"entryPointType": "phone", "uri": "tel:1", "pin": "2"}]}, organizer=person,
        attachments=[{"title": "a", "fileUrl": "https://a.test"}], eventType="focusTime", hangoutLink="https://m.test",
    )  # fmt: skip
    calendar = double.add_calendar(
        "x@group.calendar.google.com", "Other", "writer", summaryOverride="Mine", description="x"
    )
    return {CalendarRow: calendar, EventRow: event, CalendarEvent: event, SavedEvent: event, SavedCalendar: calendar}


@pytest.mark.parametrize("shape", make_rows())
def test_an_odd_field_costs_itself_only(shape: type[BaseModel]) -> None:
    assert find_losses(shape, make_rows()[shape]) == []


async def test_the_check_runs_every_reading_tool() -> None:
    async with google_calendar_double() as google:
        times: Any = {name: {"dateTime": f"2030-03-04T{hour}:00:00Z", "timeZone": "UTC"} for name, hour in SPAN.items()}
        google.add_event(summary="Daily", recurrence=["RRULE:FREQ=DAILY;COUNT=2"], **times)
        assert list_troubles(await check_module(MODULE, google.url, "full")) == []
