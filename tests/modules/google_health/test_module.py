"""The module as it is declared: names, hints, scopes, and what its schemas cost."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import orjson
import pytest
from pydantic import BaseModel

from broker.providers.catalogue import load_builtin_providers
from gateway.catalogue import build_catalogue
from modules.google_health import MODULE
from modules.google_health.parameters import (
    READ_ACTIVITY,
    READ_MEASUREMENTS,
    READ_PROFILE,
    READ_SETTINGS,
    READ_SLEEP,
)
from modules.google_health.results import (
    Exercise,
    HealthProfile,
    HealthSettings,
    PairedDevice,
    RestingHeartRate,
    Sleep,
)
from tests.support.google_health_double import ROUTES, GoogleHealthDouble, google_health_double
from tests.support.module_check import check_module, list_troubles
from tests.support.odd_answers import find_losses
from tests.support.tokens import tokens
from tests.support.vendor_contract import contract
from tests.support.vendor_double import VendorCall

TOOLS = {
    "list_daily_totals": READ_ACTIVITY,
    "list_body_measurements": READ_MEASUREMENTS,
    "list_sleep": READ_SLEEP,
    "list_exercises": READ_ACTIVITY,
    "list_resting_heart_rates": READ_MEASUREMENTS,
    "get_health_profile": READ_PROFILE,
    "get_health_settings": READ_SETTINGS,
    "list_paired_devices": READ_SETTINGS,
}
MOST_TOKENS = 200
MOST_ON_AVERAGE = 120
NIGHT = datetime(2026, 2, 3, 22, tzinfo=UTC)


def test_every_tool_reads_with_its_least_scope() -> None:
    assert {tool.name: next(iter(tool.scopes)) for tool in MODULE.tools} == TOOLS
    for tool in MODULE.tools:
        assert (tool.hints.read_only, tool.hints.open_world, len(tool.scopes)) == (True, True, 1)


def test_the_provider_asks_for_these_scopes_and_no_others() -> None:
    scopes = load_builtin_providers().known["google_health"].modules["google_health"]
    assert set(scopes.reading) == set(TOOLS.values())
    assert not scopes.writing


def test_what_the_schemas_cost() -> None:
    listed = build_catalogue([MODULE]).tools["google_health"]
    sizes = {
        one.tool.name: tokens(orjson.dumps([one.tool.name, one.tool.description, one.input_schema]).decode())
        for one in listed
    }
    assert max(sizes.values()) <= MOST_TOKENS, sizes
    assert sum(sizes.values()) / len(sizes) <= MOST_ON_AVERAGE, sizes


def test_the_double_serves_what_the_module_asks_for() -> None:
    assert set(ROUTES) <= set(contract("google-health").operations())


def make_rows() -> dict[type[BaseModel], dict[str, Any]]:
    """A row of each kind as Google sends it."""
    double = GoogleHealthDouble()
    asked: Any = VendorCall(double.tokens["full"], {}, {}, {}, b"")
    return {
        Sleep: double.add_sleep(NIGHT, NIGHT + timedelta(hours=8), 430, mainSleep=True),
        Exercise: double.add_exercise(NIGHT, NIGHT + timedelta(hours=1), "Walk", notes="nice"),
        RestingHeartRate: double.add_resting_heart_rate(date(2026, 2, 3), 58),
        PairedDevice: double.add_device("Pixel Watch 4"),
        HealthProfile: double.get_profile(asked),
        HealthSettings: double.get_settings(asked),
    }


NEEDED = {Sleep: "end", Exercise: "start"}
"""What a row cannot be without."""


@pytest.mark.parametrize("shape", make_rows())
def test_an_odd_field_costs_itself_only(shape: type[BaseModel]) -> None:
    losses = find_losses(shape, make_rows()[shape])
    assert [loss for loss in losses if NEEDED.get(shape, "\0") not in str(loss).lower()] == []


async def test_the_check_runs_every_reading_tool() -> None:
    async with google_health_double() as health:
        health.add_day(date(2026, 2, 3), steps=100, meters=80, active=10, kcal=2_000, beats=(50, 60, 90), grams=70_500)
        health.add_sleep(NIGHT, NIGHT + timedelta(hours=8), 430)
        health.add_exercise(NIGHT, NIGHT + timedelta(hours=1), "Walk")
        health.add_resting_heart_rate(date(2026, 2, 3), 58)
        health.add_device("Pixel Watch 4")
        assert list_troubles(await check_module(MODULE, health.url, "full")) == []
