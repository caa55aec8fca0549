"""Parameters that several of Google Calendar's tools share, and the scopes."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from modules.kit.parameters import OptionalParameter, limit_items, limit_length

_PREFIX = "https://www.googleapis.com/auth/"
READ_CALENDARS = f"{_PREFIX}calendar.calendarlist.readonly"
READ_EVENTS = f"{_PREFIX}calendar.events.readonly"
READ_FREE_BUSY = f"{_PREFIX}calendar.freebusy"
WRITE_CALENDARS = f"{_PREFIX}calendar.calendars"
WRITE_EVENTS = f"{_PREFIX}calendar.events"

_EMAIL = re.compile(r"[^\s@<>,;]{1,64}@[^\s@<>,;]{1,255}")
# Holidays have a "#": ja.japanese#holiday@group.v.calendar.google.com.
_CALENDAR = re.compile(r"primary|[^\s/?<>,@]{1,200}@[^\s/?<>,@]{1,100}")
_EVENT = re.compile(r"[A-Za-z0-9_-]{4,1100}", re.ASCII)


def _check_email(text: str) -> str:
    if not _EMAIL.fullmatch(text):
        raise ValueError(f"{text[:60]!r} is no e-mail address, such as ada@example.com, without a name around it")
    return text


def _check_calendar(text: str) -> str:
    if not _CALENDAR.fullmatch(text) or not text.isprintable():
        raise ValueError("is no id of a calendar: give primary, or an id from the list of calendars, not a title")
    return text


def _check_event(text: str) -> str:
    if not _EVENT.fullmatch(text):
        raise ValueError("is no id of an event: take one from a list of events, not its title or address")
    return text


Email = Annotated[str, limit_length(maximum=320), AfterValidator(_check_email)]
Emails = Annotated[list[Email], limit_items(maximum=200)]
_Calendar = Annotated[str, limit_length(maximum=320), AfterValidator(_check_calendar)]
CalendarId = Annotated[_Calendar, Field(description="Calendar")]
CalendarIds = Annotated[list[_Calendar], limit_items(1, 50)]
EventId = Annotated[
    str, limit_length(maximum=1200), AfterValidator(_check_event), Field(description="Event or instance")
]
TimeText = Annotated[str, limit_length(maximum=64)]
OptionalTime = OptionalParameter[TimeText]
Notify = Annotated[bool, Field(description="Mail the guests")]
Description = Annotated[str, limit_length(maximum=8192)]
Summary = Annotated[str, limit_length(1, 1024)]


def write_send_updates(notify: bool) -> str:
    """Write who gets mail about a change (`sendUpdates`); it is always stated, as Google's default has changed."""
    return "all" if notify else "none"
