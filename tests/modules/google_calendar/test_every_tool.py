"""What every tool of Google Calendar's goes through."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from modules.google_calendar import MODULE
from tests.support.google_calendar_double import OWNER, GoogleCalendarDouble, GoogleRefused, google_calendar_double
from tests.support.google_calendar_double.server import GoogleToken
from tests.support.module_app import make_app_fixtures
from tests.support.resource_walk import ResourceWalk
from tests.support.tool_calls import Calls
from tests.support.tool_walk import ToolWalk

pytestmark = pytest.mark.asyncio(loop_scope="module")
BERLIN = "Europe/Berlin"
TIMES: dict[str, Any] = {
    "start": {"dateTime": "2030-03-04T09:00:00+01:00", "timeZone": BERLIN},
    "end": {"dateTime": "2030-03-04T10:00:00+01:00", "timeZone": BERLIN},
}
GUEST = {"email": OWNER, "self": True, "responseStatus": "needsAction"}
OTHER = "other@group.calendar.google.com"
DAY = {"time_min": "2030-03-04", "time_max": "2030-03-05", "time_zone": BERLIN}

vendor, app = make_app_fixtures(MODULE, google_calendar_double, eves="stranger")


class TestEveryTool(ToolWalk):
    module = MODULE
    eves = "stranger"
    own = frozenset({"create_calendar", "create_event", "quick_add_event"})
    secret = "会議|毎週|その他"
    limited = r"try again in (5\d|60) s"
    apart = frozenset({"event", "calendars"})
    ids = frozenset({"event_id", "calendar_id", "to_calendar_id"})
    reads = "/freeBusy"
    rowless = frozenset({"list_colors"})

    def furnish(self, vendor: GoogleCalendarDouble) -> Calls:
        vendor.reset()
        vendor.add_calendar(OTHER, "その他 أخرى", "owner")
        event = vendor.add_event(summary="会議 اجتماع", attendees=[GUEST], **TIMES)
        vendor.add_event(summary="Two", **TIMES)
        series = vendor.add_event(summary="毎週", recurrence=["RRULE:FREQ=WEEKLY;COUNT=3"], **TIMES)
        one = {"event_id": event["id"]}
        return {
            "list_calendars": {},
            "get_current_time": {},
            "list_colors": {},
            "query_freebusy": {"calendar_ids": [OWNER, OTHER], **DAY},
            "create_calendar": {"summary": "休暇 إجازة"},
            "update_calendar": {"calendar_id": OTHER, "summary": "New"},
            "delete_calendar": {"calendar_id": OTHER, "summary": "その他 أخرى"},
            "list_events": {"time_min": "2030-01-01", "time_zone": BERLIN},
            "get_event": one,
            "list_event_instances": {"event_id": series["id"], "time_min": "2030-01-01", "time_zone": BERLIN},
            "create_event": {"summary": "会議", "start": "2030-03-04", "description": "<b>予算</b>"},
            "quick_add_event": {"text": "Mittagessen mit 坊"},
            "update_event": {**one, "summary": "New", "add_attendees": ["bo@acme.test"]},
            "move_event": {**one, "to_calendar_id": OTHER},
            "delete_event": one,
            "respond_to_event": {**one, "response": "accepted"},
        }

    def make_keys(self, vendor: GoogleCalendarDouble) -> Mapping[str, str]:
        vendor.tokens["powerless"] = GoogleToken(vendor.account, frozenset())
        vendor.tokens["limited"] = vendor.tokens["full"]
        return {name: name for name in ("powerless", "reader", "stranger", "limited")}

    def make_limit(self, seconds: int) -> GoogleRefused:
        return GoogleRefused(403, "rateLimitExceeded", "Rate Limit Exceeded")


class TestEveryResource(ResourceWalk):
    walk = TestEveryTool()
    typed = {"event": "会議"}  # noqa: RUF012

    def prepare(self, vendor: GoogleCalendarDouble) -> None:
        soon = datetime.now(UTC).replace(microsecond=0) + timedelta(days=1)
        when = {"dateTime": soon.isoformat()}
        vendor.add_event(summary="会議 قريبا", start=when, end=when)

    def attach(self, calls: Calls) -> Mapping[str, Mapping[str, str]]:
        calendar = {"calendar": "primary"}
        return {"my_agenda": {}, "agenda": calendar, "event": {**calendar, "event": calls["get_event"]["event_id"]}}
