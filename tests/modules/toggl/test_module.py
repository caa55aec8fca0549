"""The module as it is declared: names, hints, and what its schemas cost."""

from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from pydantic import BaseModel

from broker.providers.catalogue import load_builtin_providers
from gateway.catalogue import build_catalogue
from modules.toggl import MODULE
from modules.toggl.parameters import READ, WRITE
from modules.toggl.results import Project, TimeEntry, TogglProfile, TogglWorkspace
from tests.support.module_check import check_module, list_troubles
from tests.support.odd_answers import find_losses
from tests.support.toggl_double import ROUTES, TOGGL_SCHEME, TogglDouble, load_toggl_description, toggl_double
from tests.support.tokens import tokens
from tests.support.vendor_double import VendorCall

READS, ADDS, CHANGES = (True, False, False), (False, False, False), (False, True, True)
TOOLS = {
    "get_profile": (READS, READ),
    "list_workspaces": (READS, READ),
    "list_projects": (READS, READ),
    "list_time_entries": (READS, READ),
    "get_running_timer": (READS, READ),
    "start_timer": (ADDS, WRITE),
    "stop_timer": (CHANGES, WRITE),
}
MOST_TOKENS = 240
MOST_ON_AVERAGE = 100


def test_every_tool_with_its_hints_and_scope() -> None:
    found = {
        tool.name: ((tool.hints.read_only, tool.hints.destructive, tool.hints.idempotent), *tool.scopes)
        for tool in MODULE.tools
    }
    assert found == TOOLS
    assert all(tool.hints.open_world for tool in MODULE.tools)


def test_the_provider_sends_the_key_as_the_double_takes_it() -> None:
    provider = load_builtin_providers().known["toggl"]
    assert provider.key is not None
    assert provider.key.credential_scheme == TOGGL_SCHEME


def test_what_the_schemas_cost() -> None:
    listed = build_catalogue([MODULE]).tools["toggl"]
    sizes = {
        one.tool.name: tokens(orjson.dumps([one.tool.name, one.tool.description, one.input_schema]).decode())
        for one in listed
    }
    assert max(sizes.values()) <= MOST_TOKENS, sizes
    assert sum(sizes.values()) / len(sizes) <= MOST_ON_AVERAGE, sizes


def test_the_double_serves_what_the_module_asks_for() -> None:
    assert set(ROUTES) == set(load_toggl_description().operations())


def make_rows() -> dict[type[BaseModel], dict[str, Any]]:
    """A row of each kind as Toggl sends it."""
    double = TogglDouble()
    asked: Any = VendorCall(double.tokens["full"], {}, {}, {}, b"")
    entry = double.add_entry(datetime.now(UTC), 60, "Report", project_id=1, tags=["a"], billable=True)
    names = {"project_name": "Site", "client_name": "Acme"}
    return {
        TogglProfile: double.get_me(asked),
        TogglWorkspace: double.list_workspaces(asked)[0],
        Project: double.add_project("Site", client_name="Acme", billable=True),
        TimeEntry: {**entry, **names},
    }


@pytest.mark.parametrize("shape", make_rows())
def test_an_odd_field_costs_itself_only(shape: type[BaseModel]) -> None:
    assert find_losses(shape, make_rows()[shape]) == []


async def test_the_check_runs_every_reading_tool() -> None:
    async with toggl_double() as toggl:
        toggl.add_project("Site")
        toggl.add_entry(datetime.now(UTC) - timedelta(hours=2), -1, "Report")
        checked = await check_module(MODULE, toggl.url, "full", scheme=TOGGL_SCHEME)
        assert list_troubles(checked) == []
