"""The double on a socket: calendars with roles, events, guests and scopes, and refusals in Google's form."""

import contextlib
import itertools
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

from aiohttp import web

from modules.google_calendar.parameters import (
    READ_CALENDARS,
    READ_EVENTS,
    READ_FREE_BUSY,
    WRITE_CALENDARS,
    WRITE_EVENTS,
)
from tests.support.google_calendar_double.events import (
    GoogleRefused,
    check_event,
    check_status,
    expand,
    merge,
    page,
    read_bound,
    read_moment,
    show,
)
from tests.support.vendor_contract import DESCRIPTIONS, Contract, Sent, contract
from tests.support.vendor_double import Operation, VendorCall, VendorDouble, VendorRefusal, VendorReply, serve_double

Json = dict[str, Any]
MOMENT = "2026-01-01T00:00:00.000Z"
ALL_SCOPES = frozenset({READ_CALENDARS, READ_EVENTS, READ_FREE_BUSY, WRITE_CALENDARS, WRITE_EVENTS})
OWNER, SHARED, STRANGER = "ada@acme.test", "team@group.calendar.google.com", "eve@globex.test"
CALENDAR, EVENTS = "/calendars/{calendarId}", "/calendars/{calendarId}/events"
EVENT = f"{EVENTS}/{{eventId}}"


@cache
def load_description() -> Contract:
    """The description, and what it leaves out, as Google's discovery document has it: ``calendars.patch`` with Calendar
    in the body and in the answer, ``calendars.delete`` with neither."""
    contract("google-calendar")  # skips without the descriptions
    document = json.loads((DESCRIPTIONS / "google-calendar.openapi.json").read_text())
    known, made = document["paths"]["/calendars/{calendarId}"], document["paths"]["/calendars"]["post"]
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Calendar"}}}
    known["patch"] = {
        "parameters": known["get"].get("parameters", []), "requestBody": {"required": True, "content": content},
        "responses": made["responses"], "security": made["security"],
    }  # fmt: skip
    removed = document["paths"]["/calendars/{calendarId}/events/{eventId}"]["delete"]
    named = {"parameters": known["get"].get("parameters", []), "security": made["security"]}
    known["delete"] = {**named, "responses": removed["responses"]}
    return Contract(document)


class PatchContract:
    """The description, and what it leaves out: null in a PATCH removes a field (Google's guide on partial updates)."""

    def __init__(self, whole: Contract) -> None:
        self._whole = whole

    def wrong(self, sent: Sent) -> str | None:
        body = json.dumps(without_nulls(json.loads(sent.body))).encode() if sent.body else sent.body
        patched = Sent(sent.method, sent.template, sent.values, sent.query, sent.headers, body)
        return self._whole.wrong(patched if sent.method == "patch" else sent)

    def list_refusals(self, method: str, template: str) -> list[int]:
        return self._whole.list_refusals(method, template)

    def wrong_answer(self, method: str, template: str, status: int, value: Any) -> str | None:
        return self._whole.wrong_answer(method, template, status, value)


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_nulls(one) for name, one in value.items() if one is not None}
    return value


@dataclass
class GoogleAccount:
    """What one person sees: `calendars` by id; `events` by calendar and id, as Google answers them."""

    email: str
    calendars: dict[str, Json] = field(default_factory=dict[str, Json])
    events: dict[str, dict[str, Json]] = field(default_factory=dict[str, dict[str, Json]])


@dataclass(frozen=True)
class GoogleToken:
    account: GoogleAccount
    scopes: frozenset[str]


class GoogleCalendarDouble(VendorDouble):
    """`account` is that of most tokens, `stranger` that of the token `stranger`."""

    def __init__(self) -> None:
        routes = {operation: getattr(self, name) for operation, (name, _) in ROUTES.items()}
        super().__init__(load_description(), routes)
        self.contract: Any = PatchContract(load_description())
        self.account, self.stranger = GoogleAccount(OWNER), GoogleAccount(STRANGER)
        self._numbers = itertools.count(1)
        self.reset()
        self.tokens = {
            "full": GoogleToken(self.account, ALL_SCOPES),
            "reader": GoogleToken(self.account, ALL_SCOPES - {WRITE_EVENTS, WRITE_CALENDARS}),
            "stranger": GoogleToken(self.stranger, ALL_SCOPES),
        }

    def reset(self) -> None:
        """Take away all but the calendars that the accounts began with."""
        for account in (self.account, self.stranger):
            account.calendars.clear()
            account.events.clear()
        self.add_calendar(OWNER, "Ada", "owner", primary=True)
        self.add_calendar(SHARED, "Team", "reader")
        self.add_calendar(STRANGER, "Eve", "owner", account=self.stranger, primary=True)

    @property
    def calendars(self) -> dict[str, Json]:
        return self.account.calendars

    @property
    def events(self) -> dict[str, dict[str, Json]]:
        return self.account.events

    def add_calendar(
        self, calendar_id: str, summary: str, role: str, *, account: GoogleAccount | None = None, **more: Any
    ) -> Json:
        account = account or self.account
        made = {
            "kind": "calendar#calendarListEntry", "etag": '"1"', "id": calendar_id, "summary": summary,
            "timeZone": "Europe/Berlin", "accessRole": role, "colorId": "1", "backgroundColor": "#ac725e",
            "foregroundColor": "#1d1d1d", "selected": True, "defaultReminders": [], **more,
        }  # fmt: skip
        account.calendars[calendar_id], account.events[calendar_id] = made, {}
        return made

    def add_event(self, calendar_id: str = OWNER, *, account: GoogleAccount | None = None, **fields: Any) -> Json:
        """A new event with Google's own fields around `fields`."""
        account, number = account or self.account, next(self._numbers)
        event = {
            "kind": "calendar#event", "id": f"event{number:05}", "status": "confirmed", "created": MOMENT,
            "htmlLink": f"https://www.google.com/calendar/event?eid=made{number}", "updated": MOMENT,
            "creator": {"email": account.email, "self": True}, "organizer": {"email": calendar_id, "self": True},
            "iCalUID": f"event{number}@google.com", "sequence": 0, "reminders": {"useDefault": True},
            "eventType": "default", "etag": f'"{number}00"', **fields,
        }  # fmt: skip
        account.events[calendar_id][event["id"]] = event
        return event

    def authenticate(self, request: web.Request) -> GoogleToken:
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        token = self.tokens.get(secret) if scheme == "Bearer" else None
        if token is None:
            raise GoogleRefused(
                401, "authError", "Invalid Credentials", locationType="header", location="Authorization"
            )
        return token

    def build_refusal(self, status: int, reason: str) -> VendorRefusal:
        return GoogleRefused(status, "notFound" if status == 404 else "invalid", reason)

    def check_call(self, operation: Operation, call: VendorCall) -> None:
        needed = ROUTES[operation][1]
        if not needed & call.caller.scopes:
            refused = GoogleRefused(403, "insufficientPermissions", "Insufficient Permission")
            refused.body["error"]["details"] = [{"reason": "ACCESS_TOKEN_SCOPE_INSUFFICIENT"}]
            raise refused

    def _calendar(self, call: VendorCall, name: str = "", *, writes: bool = False) -> str:
        """Find the calendar that a request names, among those that its caller sees."""
        account, name = call.caller.account, name or call.values["calendarId"]
        found = account.email if name == "primary" else name
        if found not in account.calendars:
            raise GoogleRefused(404, "notFound", "Not Found")
        if writes and account.calendars[found]["accessRole"] not in ("owner", "writer"):
            raise GoogleRefused(403, "requiredAccessLevel", "You need to have writer access to this calendar.")
        return found

    def _event(self, call: VendorCall, *, writes: bool = False) -> Json:
        known = call.caller.account.events[self._calendar(call, writes=writes)]
        event = known.get(call.values["eventId"]) or self._find_instance(known, call.values["eventId"])
        if event is None:
            raise GoogleRefused(404, "notFound", "Not Found")
        if writes and event["status"] == "cancelled":
            raise GoogleRefused(410, "deleted", "Resource has been deleted")
        if writes and call.headers.get("If-Match", event["etag"]) != event["etag"]:
            raise GoogleRefused(
                412, "conditionNotMet", "Precondition Failed", locationType="header", location="If-Match"
            )
        return event

    def _find_instance(self, known: Mapping[str, Json], event_id: str) -> Json | None:
        series = known.get(event_id.partition("_")[0])
        return next((one for one in expand(series) if one["id"] == event_id), None) if series else None

    def list_calendars(self, call: VendorCall) -> Json:
        roles = ("owner", "writer") if call.query.get("minAccessRole") == "writer" else ("owner", "writer", "reader")
        found = [one for one in call.caller.account.calendars.values() if one["accessRole"] in roles]
        return {"kind": "calendar#calendarList", "etag": '"1"', **page(call, found, 250)}

    def get_calendar(self, call: VendorCall) -> Json:
        return call.caller.account.calendars[self._calendar(call)]

    def create_calendar(self, call: VendorCall) -> Json:
        account, body = call.caller.account, dict(call.body)
        identity = f"c_{next(self._numbers):08}@group.calendar.google.com"
        more = {"timeZone": "UTC", "dataOwner": account.email}
        made = self.add_calendar(identity, body.pop("summary"), "owner", account=account, **{**more, **body})
        return show_calendar(made)

    def patch_calendar(self, call: VendorCall) -> Json:
        known, name = call.caller.account.calendars, self._calendar(call)
        if known[name]["accessRole"] != "owner":
            raise GoogleRefused(403, "requiredAccessLevel", "You need to have owner access to this calendar.")
        known[name].update(call.body)
        return show_calendar(known[name])

    def get_calendar_itself(self, call: VendorCall) -> Json:
        return show_calendar(self.get_calendar(call))

    def delete_calendar(self, call: VendorCall) -> VendorReply:
        account, name = call.caller.account, self._calendar(call)
        if account.calendars[name].get("primary"):
            raise GoogleRefused(400, "invalid", "Cannot delete primary calendars.")
        if account.calendars[name]["accessRole"] != "owner":
            raise GoogleRefused(403, "requiredAccessLevel", "You need to have owner access to this calendar.")
        del account.calendars[name], account.events[name]
        return VendorReply(204)

    def list_events(self, call: VendorCall) -> Json:
        calendar = self._calendar(call)
        events = [one for one in call.caller.account.events[calendar].values() if one["status"] != "cancelled"]
        if call.query.get("singleEvents") == "true":
            events = [instance for one in events for instance in expand(one)]
        elif call.query.get("orderBy") == "startTime":
            raise GoogleRefused(400, "invalid", "The requested ordering is not available", location="orderBy")
        words = call.query.get("q", "").lower()
        return self._listed(
            call, calendar, [one for one in events if words in json.dumps(one, ensure_ascii=False).lower()]
        )

    def list_instances(self, call: VendorCall) -> Json:
        event = self._event(call)
        return self._listed(call, self._calendar(call), expand(event))

    def _listed(self, call: VendorCall, calendar: str, events: list[Json]) -> Json:
        low, high = read_bound(call, "timeMin"), read_bound(call, "timeMax")
        if low and high and high <= low:
            raise GoogleRefused(400, "timeRangeEmpty", "The specified time range is empty.", location="timeMax")
        kept = [
            one for one in sorted(events, key=lambda one: read_moment(one["start"]))
            if (low is None or read_moment(one["end"]) > low) and (high is None or read_moment(one["start"]) < high)
        ]  # fmt: skip
        zone = str(call.query.get("timeZone") or call.caller.account.calendars[calendar]["timeZone"])
        shown = [show(one, zone) for one in kept]
        head = {"kind": "calendar#events", "etag": '"1"', "summary": "x", "timeZone": zone, "accessRole": "owner"}
        return {**head, "updated": MOMENT, "defaultReminders": [], **page(call, shown, 2500)}

    def get_event(self, call: VendorCall) -> Json:
        return show(self._event(call), call.query.get("timeZone") or "Europe/Berlin")

    def create_event(self, call: VendorCall) -> Json:
        calendar, account = self._calendar(call, writes=True), call.caller.account
        check_event(call.body)
        check_status(call.body, calendar == account.email)
        made = self.add_event(calendar, account=account, **self._completed(call, call.body))
        return show(made, "Europe/Berlin")

    def quick_add(self, call: VendorCall) -> Json:
        calendar = self._calendar(call, writes=True)
        start = {"dateTime": "2030-03-01T12:00:00+01:00", "timeZone": "Europe/Berlin"}
        end = {"dateTime": "2030-03-01T13:00:00+01:00", "timeZone": "Europe/Berlin"}
        account = call.caller.account
        return self.add_event(calendar, account=account, summary=call.query["text"], start=start, end=end)

    def patch_event(self, call: VendorCall) -> Json:
        event = self._event(call, writes=True)
        changed = merge(event, self._completed(call, call.body))
        check_event(changed)
        known = call.caller.account.events[self._calendar(call)]
        if call.body.get("attendeesOmitted"):
            mine = changed.pop("attendees")
            changed["attendees"] = [*mine, *(one for one in event["attendees"] if not one.get("self"))]
        known[event["id"]] = {**changed, "etag": f'"{next(self._numbers)}00"'}
        return show(known[event["id"]], "Europe/Berlin")

    def _completed(self, call: VendorCall, body: Json) -> Json:
        made = dict(body)
        if "attendees" in made:
            made["attendees"] = [{"responseStatus": "needsAction", **one} for one in made["attendees"]]
        if "conferenceData" in made:
            if call.query.get("conferenceDataVersion") != "1":
                raise GoogleRefused(400, "invalid", "Invalid conference type value.")
            made["hangoutLink"] = "https://meet.google.com/abc-defg-hij"
        return made

    def delete_event(self, call: VendorCall) -> VendorReply:
        self._event(call, writes=True)["status"] = "cancelled"
        return VendorReply(204)

    def move_event(self, call: VendorCall) -> Json:
        event = self._event(call, writes=True)
        target = self._calendar(call, call.query["destination"], writes=True)
        if event["organizer"].get("self") is not True:
            raise GoogleRefused(403, "cannotChangeOrganizer", "The operation can be performed by the organizer only.")
        events = call.caller.account.events
        del events[self._calendar(call)][event["id"]]
        events[target][event["id"]] = event
        return event

    def query_free_busy(self, call: VendorCall) -> Json:
        low, high = (datetime.fromisoformat(call.body[name]) for name in ("timeMin", "timeMax"))
        zone, found, account = ZoneInfo(call.body.get("timeZone", "UTC")), {}, call.caller.account
        for name in (one["id"] for one in call.body["items"]):
            if name not in account.calendars:
                found[name] = {"busy": [], "errors": [{"domain": "global", "reason": "notFound"}]}
                continue
            spans = [(read_moment(one["start"]), read_moment(one["end"])) for one in account.events[name].values()]
            within = [(max(start, low), min(end, high)) for start, end in sorted(spans) if end > low and start < high]
            busy = [
                {"start": start.astimezone(zone).isoformat(), "end": end.astimezone(zone).isoformat()}
                for start, end in within
            ]
            found[name] = {"busy": busy}
        return {"kind": "calendar#freeBusy", "timeMin": MOMENT, "timeMax": MOMENT, "calendars": found}

    def get_colors(self, call: VendorCall) -> Json:
        shades = {"background": "#a4bdfc", "foreground": "#1d1d1d"}
        return {"kind": "calendar#colors", "updated": MOMENT, "event": {"1": shades, "99": shades}, "calendar": {}}


def show_calendar(entry: Json) -> Json:
    """A calendar as it is, without what is only in somebody's list."""
    names = ("etag", "id", "summary", "timeZone", "description", "location", "dataOwner")
    return {"kind": "calendar#calendar", **{name: entry[name] for name in names if name in entry}}


_READ, _WRITE = frozenset({READ_EVENTS, WRITE_EVENTS}), frozenset({WRITE_EVENTS})
ROUTES: dict[Operation, tuple[str, frozenset[str]]] = {
    ("get", "/users/me/calendarList"): ("list_calendars", frozenset({READ_CALENDARS})),
    ("get", "/users/me/calendarList/{calendarId}"): ("get_calendar", frozenset({READ_CALENDARS})),
    ("post", "/calendars"): ("create_calendar", frozenset({WRITE_CALENDARS})),
    ("get", CALENDAR): ("get_calendar_itself", frozenset({READ_CALENDARS, WRITE_CALENDARS})),
    ("delete", CALENDAR): ("delete_calendar", frozenset({WRITE_CALENDARS})),
    ("patch", CALENDAR): ("patch_calendar", frozenset({WRITE_CALENDARS})),
    ("get", EVENTS): ("list_events", _READ),
    ("post", EVENTS): ("create_event", _WRITE),
    ("post", f"{EVENTS}/quickAdd"): ("quick_add", _WRITE),
    ("get", EVENT): ("get_event", _READ),
    ("patch", EVENT): ("patch_event", _WRITE),
    ("delete", EVENT): ("delete_event", _WRITE),
    ("post", f"{EVENT}/move"): ("move_event", _WRITE),
    ("get", f"{EVENT}/instances"): ("list_instances", _READ),
    ("post", "/freeBusy"): ("query_free_busy", frozenset({READ_FREE_BUSY})),
    ("get", "/colors"): ("get_colors", frozenset({READ_CALENDARS})),
}


@contextlib.asynccontextmanager
async def google_calendar_double() -> AsyncIterator[GoogleCalendarDouble]:
    """Serve a double with the tokens `full` and `reader` of one account, and `stranger` of another."""
    async with serve_double(GoogleCalendarDouble()) as double:
        yield double
