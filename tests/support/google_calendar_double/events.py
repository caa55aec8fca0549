"""Events as Google keeps and shows them: spans, recurrence, pages, partial updates."""

import re
from datetime import date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from tests.support.vendor_double import VendorCall, VendorRefusal

Json = dict[str, Any]


class GoogleRefused(VendorRefusal):
    """A refusal in Google's form."""

    def __init__(self, status: int, reason: str, message: str = "made-up", **entry: Any) -> None:
        errors = [{"domain": "global", "reason": reason, "message": message, **entry}]
        super().__init__(status, {"error": {"code": status, "message": message, "errors": errors}})


def page(call: VendorCall, items: list[Json], limit: int) -> Json:
    """The page that was asked for. A token is good for the parameters of its first page only."""
    size, token = int(call.query.get("maxResults", 100)), call.query.get("pageToken")
    others = "&".join(f"{name}={value}" for name, value in sorted(call.query.items()) if name != "pageToken")
    if not 1 <= size <= limit or (token and token.partition("-")[2] != str(sum(others.encode()))):
        raise GoogleRefused(400, "invalid", "Invalid page token value.", location="pageToken")
    place = int(token.partition("-")[0]) if token else 0
    more = place + size < len(items)
    after = {"nextPageToken": f"{place + size}-{sum(others.encode())}"} if more else {"nextSyncToken": "sync"}
    return {"items": items[place : place + size], **after}


def read_moment(value: Json) -> datetime:
    if "dateTime" in value:
        return datetime.fromisoformat(value["dateTime"])
    return datetime.combine(date.fromisoformat(value["date"]), time(), ZoneInfo("Europe/Berlin"))


def read_bound(call: VendorCall, name: str) -> datetime | None:
    if name not in call.query:
        return None
    bound = datetime.fromisoformat(call.query[name])
    if bound.tzinfo is None:
        raise GoogleRefused(400, "badRequest", "Bad Request", location=name)
    return bound


def check_status(event: Json, is_primary: bool) -> None:
    """Refuse a status event that Google refuses: for all day, in another calendar, with another type's properties."""
    kind = event.get("eventType", "default")
    named = {name.removesuffix("Properties") for name in event if name.endswith("Properties")}
    if kind not in ("default", "focusTime", "outOfOffice") or named - {kind, "extended"}:
        raise GoogleRefused(400, "malformedFocusTimeEvent", "Malformed event.")
    is_plain = "dateTime" in event["start"] and not {"attendees", "conferenceData"} & event.keys()
    if kind != "default" and not (is_plain and is_primary and event.get("transparency") == "opaque"):
        raise GoogleRefused(400, "eventTypeRestriction", "Event type does not allow it.")


def check_event(event: Json) -> None:
    """Refuse what the description allows and Google does not."""
    start, end = event["start"], event["end"]
    for name, one in (("start", start), ("end", end)):
        if ("date" in one) == ("dateTime" in one):
            raise GoogleRefused(400, "invalid", f"Invalid {name} time.")
    if ("date" in start) != ("date" in end) or read_moment(end) <= read_moment(start):
        raise GoogleRefused(400, "timeRangeEmpty", "The specified time range is empty.")
    if event.get("recurrence") and "dateTime" in start and "timeZone" not in start:
        raise GoogleRefused(400, "required", "Missing time zone definition for start time.")
    if not all(re.fullmatch(r"\S+@\S+", one.get("email", "")) for one in event.get("attendees", [])):
        raise GoogleRefused(400, "invalid", "Invalid attendee email.")


def merge(old: Any, new: Any) -> Any:
    """PATCH: objects are merged, arrays are replaced, null removes."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    kept = {name: value for name, value in old.items() if name not in new}
    return kept | {name: merge(old.get(name), value) for name, value in new.items() if value is not None}


def expand(event: Json) -> list[Json]:
    """Instances of an event: those of DAILY or WEEKLY with COUNT, which is all that the tests have."""
    rule = re.fullmatch(r"RRULE:FREQ=(DAILY|WEEKLY);COUNT=(\d+)", (event.get("recurrence") or [""])[0])
    if rule is None:
        return [event]
    made: list[Json] = []
    for number in range(int(rule[2])):
        pause = timedelta(days=number * (7 if rule[1] == "WEEKLY" else 1))
        zone = ZoneInfo(event["start"]["timeZone"])
        moments = {name: (read_moment(event[name]).astimezone(zone) + pause).isoformat() for name in ("start", "end")}
        times = {name: {**event[name], "dateTime": moment} for name, moment in moments.items()}
        instance = {name: value for name, value in event.items() if name != "recurrence"}
        stamp = re.sub(r"[-:]", "", moments["start"][:19])
        made.append({**instance, **times, "id": f"{event['id']}_{stamp}Z", "recurringEventId": event["id"]})
    return made


def show(event: Json, zone: str) -> Json:
    """An event with its times in a zone."""
    shown = dict(event)
    for name in ("start", "end"):
        if "dateTime" in event[name]:
            moment = read_moment(event[name]).astimezone(ZoneInfo(zone)).isoformat()
            shown[name] = {"timeZone": zone, **event[name], "dateTime": moment}
    return shown
