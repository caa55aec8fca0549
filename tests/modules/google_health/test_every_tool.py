"""What every tool of Google Health's goes through."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta

import pytest

from modules.google_health import MODULE
from tests.support.google_health_double import (
    GoogleHealthDouble,
    HealthRefused,
    HealthToken,
    google_health_double,
)
from tests.support.module_app import make_app_fixtures
from tests.support.tool_calls import Calls
from tests.support.tool_walk import ToolWalk

pytestmark = pytest.mark.asyncio(loop_scope="module")

vendor, app = make_app_fixtures(MODULE, google_health_double, eves="stranger")
DAYS = {"start_date": "2026-03-02", "end_date": "2026-03-08"}
MONDAY = date(2026, 3, 2)


class TestEveryTool(ToolWalk):
    module = MODULE
    eves = "stranger"
    secret = "散歩|時計"
    limited = r"try again in (5\d|60) s"
    reads = ":dailyRollUp"

    def furnish(self, vendor: GoogleHealthDouble) -> Calls:
        vendor.reset()
        for number in range(3):
            day, night = MONDAY + timedelta(days=number), datetime(2026, 3, 2 + number, 22, 40, tzinfo=UTC)
            vendor.add_day(day, steps=8_000 + number, beats=(50, 70, 130))
            vendor.add_sleep(night, night + timedelta(hours=7), 400, mainSleep=True)
            vendor.add_exercise(night - timedelta(hours=6), night - timedelta(hours=5), "散歩 مشي", notes="散歩")
            vendor.add_resting_heart_rate(day, 55 + number)
            vendor.add_device("時計 ساعة")
        return {
            "list_daily_totals": {**DAYS, "measures": ["steps"]},
            "list_body_measurements": {**DAYS, "measures": ["heart_rate"]},
            "list_sleep": DAYS,
            "list_exercises": DAYS,
            "list_resting_heart_rates": DAYS,
            "get_health_profile": {},
            "get_health_settings": {},
            "list_paired_devices": {},
        }

    def make_keys(self, vendor: GoogleHealthDouble) -> Mapping[str, str]:
        vendor.tokens["powerless"] = HealthToken(vendor.account, frozenset())
        vendor.tokens["limited"] = vendor.tokens["full"]
        return {name: name for name in ("powerless", "reader", "stranger", "limited")}

    def make_limit(self, seconds: int) -> HealthRefused:
        return HealthRefused(429, "RESOURCE_EXHAUSTED", "Quota exceeded.", "RATE_LIMIT_EXCEEDED")
