"""Results of Google Calendar's tools: compact, with names beside addresses and times with their offset."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, cast

from pydantic import Field, model_validator

from modules.google_calendar.event_times import get_last_day, read_span
from modules.kit import ToolError
from modules.kit.markup.html_reading import convert_html_to_markdown
from modules.kit.recurrence_rules import describe_recurrence_rule, parse_recurrence_rule
from modules.kit.results import (
    LEFT_OUT_IF_EMPTY,
    Count,
    Flag,
    Identifier,
    ListPage,
    OptionalIdentifier,
    OptionalUrl,
    ResultModel,
    Text,
    Word,
)
from modules.kit.text_cleaning import clean_line, clean_name, clean_url

MAX_GUESTS = 100
"""Guests of one event that are shown at once."""
Lines = Annotated[list[str], LEFT_OUT_IF_EMPTY]
Raw = Mapping[str, Any]


class EventRow(ResultModel):
    """An event. `last_day` stands at all-day events only, whose `end` is the day after it."""

    id: OptionalIdentifier = ""
    summary: Word = ""
    start: Word = ""
    end: Word = ""
    last_day: Word = ""
    location: Word = ""
    status: Word = ""
    type: Word = ""
    free: Flag = False
    my_response: Word = ""
    guests: Count = 0
    organizer: Word = ""
    series_id: OptionalIdentifier = ""
    repeats: Word = ""
    meeting: OptionalUrl = ""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        return read_event(cast("Raw", raw)) if isinstance(raw, Mapping) else raw


class Events(ListPage):
    """`time_zone` is that of the times."""

    time_zone: Word = ""
    events: list[EventRow]


class CalendarEvent(EventRow):
    """One event in full, with a title and a place that a list cuts. `recurrence` is as it can be given again, `repeats`
    the same in words."""

    # Google's own limit of a description is 8,192; of the others it has none.
    longest = {"description": 20_000, "summary": 8_192, "location": 8_192}  # noqa: RUF012
    markdown_fields = frozenset({"description"})

    summary: Text = ""
    location: Text = ""
    time_zone: Word = ""
    description: Text = ""
    attendees: Lines = []  # noqa: RUF012
    more_guests: Count = 0
    recurrence: Lines = []  # noqa: RUF012
    reminders: Lines = []  # noqa: RUF012
    dial_in: Lines = []  # noqa: RUF012
    attachments: Lines = []  # noqa: RUF012
    visibility: Word = ""
    color_id: OptionalIdentifier = ""
    creator: Word = ""
    updated: Word = ""
    url: OptionalUrl = ""
    etag: OptionalIdentifier = ""
    truncated: Flag = False


class SavedEvent(ResultModel):
    """What was made or changed."""

    id: Identifier
    summary: Word = ""
    start: Word = ""
    end: Word = ""
    last_day: Word = ""
    time_zone: Word = ""
    my_response: Word = ""
    meeting: OptionalUrl = ""
    url: OptionalUrl = ""
    etag: OptionalIdentifier = ""
    mailed: Annotated[bool, Field(description="Whether guests got mail")] = False

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        return read_event(cast("Raw", raw)) if isinstance(raw, Mapping) else raw


class DeletedEvent(ResultModel):
    id: Identifier
    deleted: Annotated[bool, Field(description="Always true")] = True
    mailed: Annotated[bool, Field(description="Whether guests got mail")] = False


def format_description(raw: Raw) -> Raw:
    """An event of Google's with its description, which may be HTML, as Markdown."""
    text = str(raw.get("description") or "")
    if "<" in text or "&" in text:
        text = convert_html_to_markdown(text, keep_line_breaks=True)
    return {**raw, "description": text}


def read_event(raw: Raw) -> dict[str, Any]:
    """Read an event of Google's as the fields of :class:`CalendarEvent`, of which the other shapes take some."""
    start, end = get_mapping(raw.get("start")), get_mapping(raw.get("end"))
    guests = [get_mapping(one) for one in get_list(raw.get("attendees"))]
    me = next((one for one in guests if one.get("self")), get_mapping(None))
    organizer = get_mapping(raw.get("organizer"))
    recurrence = [clean_name(str(one)) for one in get_list(raw.get("recurrence"))]
    fields = {
        "id": raw.get("id"),
        "summary": raw.get("summary"),
        "start": start.get("dateTime") or start.get("date"),
        "end": "" if raw.get("endTimeUnspecified") else end.get("dateTime") or end.get("date"),
        "last_day": get_last_day(read_span(start, end)),
        "time_zone": start.get("timeZone"),
        "location": raw.get("location"),
        "status": _leave_out(raw.get("status"), "confirmed"),
        "type": _leave_out(raw.get("eventType"), "default"),
        "free": raw.get("transparency") == "transparent",
        "my_response": me.get("responseStatus"),
        "guests": len(guests),
        "organizer": "" if organizer.get("self") else format_person(organizer),
        "series_id": raw.get("recurringEventId"),
        "repeats": describe_recurrence(recurrence),
        "recurrence": recurrence,
        "meeting": raw.get("hangoutLink") or _find_video(raw),
        "description": raw.get("description"),
        "attendees": [format_guest(one) for one in guests],
        "reminders": list(_list_reminders(raw)),
        "dial_in": list(_list_dial_ins(raw)),
        "attachments": [format_attachment(get_mapping(one)) for one in get_list(raw.get("attachments"))],
        "visibility": _leave_out(raw.get("visibility"), "default"),
        "color_id": raw.get("colorId"),
        "creator": format_person(get_mapping(raw.get("creator"))),
        "updated": raw.get("updated"),
        "url": raw.get("htmlLink"),
        "etag": raw.get("etag"),
    }
    return {name: value for name, value in fields.items() if value is not None}


def describe_recurrence(lines: list[str]) -> str:
    """Describe the rules of an event in words; "" where a part of them has no words."""
    rules = [line for line in lines if line.upper().startswith("RRULE:")]
    try:
        texts = [describe_recurrence_rule(parse_recurrence_rule("recurrence", line)) for line in rules]
    except ToolError:
        return ""
    if not texts or not all(texts):
        return ""
    exceptions = sum(1 for line in lines if line.upper().startswith("EXDATE"))
    return ", and ".join(texts) + (" but for some days (EXDATE)" if exceptions else "")


def format_person(person: Raw) -> str:
    """Format somebody as ``Name <address>``, not cleaned; what is not known is left out."""
    name = str(person.get("displayName") or "").replace("<", "").replace(">", "")
    email = str(person.get("email") or "")
    return f"{name} <{email}>" if name and email else name or email


def format_guest(guest: Raw) -> str:
    """Format a guest with the answer to the invitation: ``Ada <ada@acme.test>: accepted``."""
    notes = [str(guest.get("responseStatus") or "unknown")]
    notes += [word for word in ("optional", "organizer", "resource") if guest.get(word)]
    if guest.get("self"):
        notes.append("this calendar")
    if guest.get("additionalGuests"):
        notes.append(f"and {guest['additionalGuests']} more")
    comment = guest.get("comment")
    return clean_line(f"{format_person(guest)}: {', '.join(notes)}" + (f" ({comment})" if comment else ""))


def format_attachment(attachment: Raw) -> str:
    """Format a file with its address."""
    title = clean_line(str(attachment.get("title") or "file"))
    return f"{title}: {clean_url(str(attachment.get('fileUrl') or ''))}"


def _list_reminders(raw: Raw) -> Iterator[str]:
    reminders = get_mapping(raw.get("reminders"))
    if reminders.get("useDefault"):
        yield "those of the calendar"
    for one in map(get_mapping, get_list(reminders.get("overrides"))):
        yield clean_line(f"{one.get('method')} {one.get('minutes')} min before")


def _list_dial_ins(raw: Raw) -> Iterator[str]:
    points = get_mapping(raw.get("conferenceData")).get("entryPoints")
    for point in map(get_mapping, get_list(points)):
        if point.get("entryPointType") != "video":
            codes = [
                f"{name} {point[name]}" for name in ("pin", "accessCode", "passcode", "meetingCode") if name in point
            ]
            yield " ".join([clean_url(str(point.get("uri") or "")), *map(clean_line, codes)])


def _find_video(raw: Raw) -> Any:
    points = map(get_mapping, get_list(get_mapping(raw.get("conferenceData")).get("entryPoints")))
    return next((point.get("uri") for point in points if point.get("entryPointType") == "video"), "")


def _leave_out(value: Any, usual: str) -> Any:
    return "" if value == usual else value


def get_mapping(value: Any) -> Raw:
    """Return an object of Google's JSON; an empty one for anything else."""
    return cast("Raw", value) if isinstance(value, dict) else {}


def get_list(value: Any) -> list[Any]:
    """Return a list of Google's JSON; an empty one for anything else."""
    return cast("list[Any]", value) if isinstance(value, list) else []
