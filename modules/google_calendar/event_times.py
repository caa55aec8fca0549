"""When an event is: a span of times with their zone, or of whole days, as Google writes and reads it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, cast

from modules.kit import ToolError
from modules.kit.time_zones import is_date, parse_date, parse_time

Moment = date | datetime


@dataclass(frozen=True, slots=True)
class EventSpan:
    """Start and end of an event: both times, or both days; the end of days is the day after the last."""

    start: Moment
    end: Moment

    @property
    def is_all_day(self) -> bool:
        return not isinstance(self.start, datetime)


def parse_event_moment(parameter: str, text: str, zone: str | None) -> Moment:
    """Parse a day, or a time with an offset or a zone.

    Raises:
        ToolError: it is neither; the text names `parameter`.
    """
    return parse_date(parameter, text) if is_date(text) else parse_time(parameter, text, zone)


def parse_span(start_text: str, end_text: str | None, zone: str | None) -> EventSpan:
    """Parse the span of a new event; one day where an all-day event has no end.

    Raises:
        ToolError: start or end is wrong, they are of two kinds, or the end is not after the start.
    """
    start = parse_event_moment("start", start_text, zone)
    if end_text is not None:
        return check_span(EventSpan(start, parse_event_moment("end", end_text, zone)))
    if isinstance(start, datetime):
        raise ToolError("end is missing: give the time at which the event ends")
    return EventSpan(start, start + timedelta(days=1))


def check_span(span: EventSpan) -> EventSpan:
    """Check that the two are of one kind, and in order.

    Raises:
        ToolError: they are not.
    """
    start, end = span.start, span.end
    if isinstance(start, datetime) != isinstance(end, datetime):
        raise ToolError("start and end must be both times, or both dates for an all-day event")
    if isinstance(start, datetime) and isinstance(end, datetime):
        if end <= start:
            raise ToolError(f"end: {end.isoformat()} is not after start, {start.isoformat()}; give a later end")
    elif end <= start:
        raise ToolError(
            f"end of an all-day event is the day after its last, so {end.isoformat()} is too early; for one day give "
            f"{(start + timedelta(days=1)).isoformat()}, or leave end out"
        )
    return span


def read_span(start: Any, end: Any) -> EventSpan | None:
    """Read the span of an event as Google sends it; None where it is not as documented."""
    first, last = _read_moment(start), _read_moment(end)
    if first is None or last is None or isinstance(first, datetime) != isinstance(last, datetime):
        return None
    return EventSpan(first, last)


def _read_moment(value: Any) -> Moment | None:
    if not isinstance(value, Mapping):
        return None
    found = cast("Mapping[str, Any]", value)
    try:
        if found.get("dateTime"):
            moment = datetime.fromisoformat(str(found["dateTime"]))
            return moment if moment.tzinfo else None
        return date.fromisoformat(str(found.get("date")))
    except ValueError:
        return None


def write_moment(moment: Moment, zone: str | None) -> dict[str, Any]:
    """Write a start or end for a new event."""
    if not isinstance(moment, datetime):
        return {"date": moment.isoformat()}
    return {"dateTime": moment.isoformat(), **({"timeZone": zone} if zone else {})}


def write_changed_moment(moment: Moment, zone: str | None) -> dict[str, Any]:
    """Write a start or end for a PATCH, whose objects are merged: null removes what is of the other kind. The event
    keeps its zone where none is given."""
    if not isinstance(moment, datetime):
        return {"date": moment.isoformat(), "dateTime": None, "timeZone": None}
    return {**write_moment(moment, zone), "date": None}


def move_span(span: EventSpan, start: Moment) -> EventSpan:
    """Move a span to another start with its length as it was. A day that replaces a time is one day.

    Raises:
        ToolError: a time replaces a day, so that no length is known.
    """
    if isinstance(start, datetime):
        if not isinstance(span.start, datetime) or not isinstance(span.end, datetime):
            raise ToolError("end is missing: an all-day event that gets a time needs both start and end")
        return EventSpan(start, start + (span.end - span.start))
    if isinstance(span.start, datetime) or isinstance(span.end, datetime):
        return EventSpan(start, start + timedelta(days=1))
    return EventSpan(start, start + (span.end - span.start))


def get_last_day(span: EventSpan | None) -> str:
    """Return the last day of an all-day event; "" for one with times."""
    if span is None or not span.is_all_day:
        return ""
    return (span.end - timedelta(days=1)).isoformat() if span.end > span.start else span.start.isoformat()
