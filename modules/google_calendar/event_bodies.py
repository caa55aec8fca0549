"""Bodies of requests that make or change an event."""

import re
from typing import Annotated, Any, Literal
from uuid import uuid4

from pydantic import AfterValidator, Field

from modules.kit import ToolError
from modules.kit.parameters import OptionalParameter, drop_bounds, limit_items, limit_length
from modules.kit.recurrence_rules import check_recurrence_dates, parse_recurrence_rule

_DATES = re.compile(r"(?:EXDATE|RDATE)(?:;[A-Za-z=/_+-]{1,80})?:[0-9TZ,/P:]{8,2000}", re.ASCII)
MAX_REMINDER_MINUTES = 40_320


def _check_recurrence(lines: list[str]) -> list[str]:
    checked: list[str] = []
    for line in lines:
        if line.upper().startswith(("EXDATE", "RDATE")):
            _check_dates(line)
            checked.append(line)
            continue
        try:
            parse_recurrence_rule("a rule", line)
        except ToolError as error:
            raise ValueError(error.text) from None
        checked.append(line if line.upper().startswith("RRULE:") else f"RRULE:{line}")
    return checked


def _check_dates(line: str) -> None:
    if not _DATES.fullmatch(line):
        raise ValueError(f"{line[:60]!r} is no list of dates, such as EXDATE;VALUE=DATE:20260131")
    name, _, dates = line.partition(":")
    try:
        check_recurrence_dates(name.partition(";")[0], dates)
    except ToolError as error:
        raise ValueError(error.text) from None


Minutes = Annotated[int, Field(ge=0, le=MAX_REMINDER_MINUTES, json_schema_extra=drop_bounds)]
Recurrence = Annotated[
    OptionalParameter[
        Annotated[
            list[Annotated[str, limit_length(1, 2100)]], limit_items(maximum=20), AfterValidator(_check_recurrence)
        ]
    ],
    Field(description="RRULE or EXDATE lines"),
]
Reminders = Annotated[
    OptionalParameter[Annotated[list[Minutes], limit_items(maximum=5)]],
    Field(description="Minutes before"),
]
ColorId = OptionalParameter[Annotated[str, Field(pattern=r"^[0-9]{1,2}$", json_schema_extra=drop_bounds)]]


StatusKind = Annotated[
    OptionalParameter[Literal["focus_time", "out_of_office"]], Field(description="Status in the own calendar")
]


def build_details(
    *,
    summary: str | None,
    description: str | None,
    location: str | None,
    recurrence: list[str] | None,
    reminders: list[int] | None,
    color_id: str | None,
    free: bool | None = None,
) -> dict[str, Any]:
    """Build what a body says of an event beside its times and guests; what is None is left as it is."""
    body: dict[str, Any] = {
        "summary": summary, "description": description, "location": location, "recurrence": recurrence,
        "colorId": color_id,
    }  # fmt: skip
    if free is not None:
        body["transparency"] = "transparent" if free else "opaque"
    if reminders is not None:
        overrides = [{"method": "popup", "minutes": minutes} for minutes in reminders]
        body["reminders"] = {"useDefault": False, "overrides": overrides}
    return {name: value for name, value in body.items() if value is not None}


def build_meeting() -> dict[str, Any]:
    """Build the request for a Google Meet; its id must be new each time."""
    return {
        "createRequest": {"requestId": uuid4().hex, "conferenceSolutionKey": {"type": "hangoutsMeet"}},
    }


def build_status(kind: str, declines: bool) -> dict[str, Any]:
    """Build what makes an event a focus time or an absence
    (https://developers.google.com/workspace/calendar/api/guides/calendar-status)."""
    mode = {"autoDeclineMode": "declineOnlyNewConflictingInvitations" if declines else "declineNone"}
    if kind == "focus_time":
        return {
            "eventType": "focusTime", "transparency": "opaque",
            "focusTimeProperties": {**mode, "chatStatus": "doNotDisturb"},
        }  # fmt: skip
    return {"eventType": "outOfOffice", "transparency": "opaque", "outOfOfficeProperties": mode}
