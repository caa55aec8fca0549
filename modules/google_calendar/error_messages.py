"""Error texts for Google's refusals, in our own words (https://developers.google.com/workspace/calendar/api/guides/errors).

Google's messages repeat what was sent, and a model takes the text of an error for ours. So none is passed on: its
`reason` chooses a text, and of a message only a known sentence or the name of a parameter counts.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from modules.kit import RateLimit, VendorAnswer, VendorProblem
from modules.kit.vendor import VendorProblemKind

MINUTE, HOUR = 60.0, 3600.0
# Quotas of requests count by minutes. Calendar's own limits on invitations and new events hold for hours, but not for
# reading, which the session cannot tell apart: so it waits no longer for them.
_PAUSES: Mapping[str, float] = {
    "rateLimitExceeded": MINUTE,
    "userRateLimitExceeded": MINUTE,
    "quotaExceeded": MINUTE,
    "dailyLimitExceeded": HOUR,
    "calendarUsageLimitsExceeded": MINUTE,
}
_WRITING_LIMITS = frozenset({"quotaExceeded", "calendarUsageLimitsExceeded"})
_MAX_MESSAGE_LENGTH = 2000
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_.]{0,60}", re.ASCII)

NOT_FOUND = (
    "Google Calendar has no such calendar or event, or the connected account has no access to it: check calendar_id "
    "and event_id"
)
_TEXTS: Mapping[str, tuple[VendorProblemKind, str]] = {
    "insufficientPermissions": (
        "forbidden",
        "the account was connected without the permission for this: connect it again and leave every box ticked",
    ),
    "accessNotConfigured": (
        "forbidden",
        "the Google Calendar API is not enabled in your organisation's Google Cloud project: an administrator enables "
        "it at APIs & Services > Library",
    ),
    "forbiddenForNonOrganizer": (
        "forbidden",
        "only the organizer may change this of an event: change the event in the organizer's calendar, or answer it",
    ),
    "requiredAccessLevel": (
        "forbidden",
        "the connected account may only read this calendar: choose one with the role writer or owner",
    ),
    "domainPolicy": ("forbidden", "an administrator of the Google Workspace does not allow this to apps"),
    "eventTypeRestriction": ("forbidden", "events of this type (birthday, from Gmail) cannot be changed so"),
    "malformedWorkingLocationEvent": ("invalid", "an event of a working place cannot be changed so"),
    "duplicate": ("conflict", "an event of this identity exists already: read it"),
    "deleted": ("not_found", "the event was deleted before; nothing is left to change"),
    "conditionNotMet": (
        "conflict",
        "somebody changed the event meanwhile: read it again, and give the etag that it has now, if any",
    ),
    "fullSyncRequired": ("invalid", "the cursor is too old: start at the beginning"),
    "timeRangeEmpty": ("invalid", "the end is not after the start: give a later end"),
    "cannotChangeOrganizer": ("forbidden", "this event cannot be moved: only events that the calendar organizes can"),
    "cannotChangeOrganizerOfInstance": ("invalid", "one instance cannot be moved: give the id of the recurring event"),
    "tooManyCalendarsRequested": ("invalid", "too many calendars at once: give at most 50"),
    "groupTooBig": ("invalid", "the group has too many members: give the calendars of its members"),
}  # fmt: skip

# What is known of the messages of a 400; the first that is found counts.
_KNOWN = [
    (re.compile(pattern, re.IGNORECASE), text)
    for pattern, text in (
        (r"attendee email", "an address of the guests is none: check attendees"),
        (r"recurrence", "the recurrence does not fit: check its rule, and that start is one of its days"),
        (r"time ?zone", "the time zone is not known to Google: give an IANA zone such as Europe/Berlin"),
        (r"time range is empty", "the end is not after the start: give a later end"),
        (r"start time", "the start does not fit: check start and time_zone"),
        (r"end time", "the end does not fit: check end; start and end are both dates or both times"),
        (r"page ?token", "the cursor does not belong to this list any more: start at the beginning"),
        (r"conference", "the calendar has no Google Meet: leave add_meet out"),
        (r"colou?r", "there is no such color: list the colors for their ids"),
        (r"resource id|event id", "the id is no id of an event: take one from a list of events"),
    )
]  # fmt: skip
_NAMES: Mapping[str, str] = {
    "timeMin": "time_min", "timeMax": "time_max", "maxResults": "per_page", "pageToken": "cursor", "q": "query",
    "sendUpdates": "notify", "calendarId": "calendar_id", "eventId": "event_id", "destination": "to_calendar_id",
    "text": "text", "orderBy": "order", "timeZone": "time_zone",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CalendarRefusal:
    """Google's refusal taken apart. `message` is only ever compared, never shown."""

    reason: str
    location: str
    message: str


def read_rate_limit(answer: VendorAnswer) -> RateLimit | None:
    """Google's limits stand in the body of a 403 or 429
    (https://developers.google.com/workspace/calendar/api/guides/quota)."""
    if answer.status not in (403, 429):
        return None
    reason = _parse_refusal(answer).reason
    seconds = _PAUSES.get(reason)
    if seconds is None:
        return RateLimit(MINUTE) if answer.status == 429 else None
    return RateLimit(seconds, everything=reason not in _WRITING_LIMITS)


def explain_problem(problem: VendorProblem) -> VendorProblem:
    """`problem` with a text that says what to do."""
    if problem.answer is None or problem.unknown or problem.answer.status == 401:
        return problem  # the session knows more: about the way, or about the credential
    refusal = _parse_refusal(problem.answer)
    if problem.kind == "rate_limited":
        return _explain_rate_limit(refusal, problem)
    kind, text = _choose_text(problem.answer.status, problem.kind, refusal)
    if not text:
        return problem
    return VendorProblem(kind, text, retry_after=problem.retry_after, answer=problem.answer)


def is_conflict(problem: VendorProblem) -> bool:
    """Check whether the event has another version than the change was for; nothing was changed."""
    answer = problem.answer
    return answer is not None and answer.status == 412 and _parse_refusal(answer).reason == "conditionNotMet"


def _choose_text(status: int, kind: VendorProblemKind, refusal: CalendarRefusal) -> tuple[VendorProblemKind, str]:
    if refusal.reason in _TEXTS:
        return _TEXTS[refusal.reason]
    match status:
        case 400:
            return "invalid", f"Google Calendar refuses the values: {_explain_values(refusal)}"
        case 403:
            return "forbidden", (
                "Google Calendar refuses: the connected account may not do this in this calendar; look at its role in "
                "the list of calendars"
            )
        case 404:
            return "not_found", NOT_FOUND
        case 410:
            return _TEXTS["deleted"]
        case 412:
            return _TEXTS["conditionNotMet"]
        case _:
            return kind, ""


def _explain_values(refusal: CalendarRefusal) -> str:
    known = next((text for form, text in _KNOWN if form.search(refusal.message)), "")
    if known:
        return known
    name = _NAMES.get(refusal.location, refusal.location if _WORD.fullmatch(refusal.location) else "")
    return f"look at {name}" if name else "check them against the tool schema"


def _explain_rate_limit(refusal: CalendarRefusal, problem: VendorProblem) -> VendorProblem:
    if refusal.reason not in _WRITING_LIMITS:
        return problem
    text = "the account has reached Google Calendar's own limit on new events and invitations, which ends within hours"
    retry = f"reading works, and writing is worth another try in {round((problem.retry_after or MINUTE) / MINUTE)} min"
    return VendorProblem("rate_limited", text, retry=retry, retry_after=problem.retry_after, answer=problem.answer)


def _parse_refusal(answer: VendorAnswer) -> CalendarRefusal:
    """Take a body apart: the old form names a reason at `errors`, the new one at `details`."""
    try:
        raw = answer.json()
    except VendorProblem:
        raw = None  # a proxy's page, perhaps
    error = _get_mapping(_get_mapping(raw).get("error"))
    first = _get_first(error.get("errors"))
    detail = str(_get_first(error.get("details")).get("reason") or "")
    reason = str(first.get("reason") or "")
    if detail == "ACCESS_TOKEN_SCOPE_INSUFFICIENT":
        reason = "insufficientPermissions"
    elif detail == "SERVICE_DISABLED":
        reason = "accessNotConfigured"
    elif detail == "RATE_LIMIT_EXCEEDED":
        reason = "rateLimitExceeded"
    message = str(error.get("message") or "")[:_MAX_MESSAGE_LENGTH]
    return CalendarRefusal(reason, str(first.get("location") or ""), message)


def _get_mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _get_first(value: Any) -> Mapping[str, Any]:
    return _get_mapping(cast("list[Any]", value)[0]) if isinstance(value, list) and value else {}
