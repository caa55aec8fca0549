"""The module as it is declared: names, hints, scopes, and what its schemas cost."""

import orjson

from broker.providers.catalogue import load_builtin_providers
from gateway.catalogue import build_catalogue
from modules.google_calendar import MODULE
from modules.google_calendar.parameters import READ_CALENDARS, READ_EVENTS, READ_FREE_BUSY, WRITE_EVENTS
from tests.support.google_calendar_double import ROUTES
from tests.support.tokens import tokens
from tests.support.vendor_contract import contract

# (read-only, destructive, idempotent) of the design's table, with the least scope.
READS, ADDS, CHANGES = (True, False, False), (False, False, False), (False, True, True)
TOOLS = {
    "list_calendars": (READS, READ_CALENDARS),
    "get_current_time": (READS, READ_CALENDARS),
    "list_colors": (READS, READ_CALENDARS),
    "query_freebusy": (READS, READ_FREE_BUSY),
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
    assert set(ROUTES) <= set(contract("google-calendar").operations())
