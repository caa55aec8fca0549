"""Values in Google Health's JSON: whole numbers are texts, times are in UTC with the person's offset beside them."""

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any, cast

_NUMBER = re.compile(r"-?[0-9]{1,15}", re.ASCII)
_SECONDS = re.compile(r"(-?[0-9]{1,6})(?:\.[0-9]{1,9})?s", re.ASCII)
_DAY_SECONDS = 86_400


def get_object(value: Any) -> Mapping[str, Any]:
    """Return an object of Google's JSON; an empty one for anything else."""
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def get_objects(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a list of Google's JSON."""
    return [get_object(one) for one in cast("list[Any]", value)] if isinstance(value, list) else []


def read_whole(value: Any) -> int | None:
    """Read a whole number, which Google writes as a text (int64 in JSON)."""
    if type(value) is int:
        return value if abs(value) < 10**15 else None
    return int(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else None


def read_number(value: Any, digits: int = 1) -> float | None:
    """Read a number, rounded."""
    return round(float(value), digits) if type(value) in (int, float) and abs(value) < 10**15 else None


def divide(value: float | None, by: float, digits: int) -> float | None:
    """Convert a value to a larger unit; None stays None."""
    return None if value is None else round(value / by, digits)


def read_duration(value: Any) -> int | None:
    """Read a duration such as ``"3600s"``, in seconds."""
    found = _SECONDS.fullmatch(value) if isinstance(value, str) else None
    return int(found[1]) if found else None


def read_civil_date(value: Any) -> date | None:
    """Read a date, or that of a civil time."""
    found = get_object(value)
    parts = get_object(found.get("date")) or found
    try:
        return date(parts["year"], parts["month"], parts["day"])
    except (KeyError, TypeError, ValueError):
        return None


def write_civil_date(day: date) -> dict[str, Any]:
    """Write the beginning of a day as a civil time."""
    return {"date": {"year": day.year, "month": day.month, "day": day.day}}


def read_local_time(interval: Mapping[str, Any], which: str) -> datetime | None:
    """Read the ``start`` or ``end`` of an interval as the person's clock showed it."""
    try:
        moment = datetime.fromisoformat(str(interval.get(f"{which}Time")))
    except ValueError:
        return None
    offset = read_duration(interval.get(f"{which}UtcOffset")) or 0
    if moment.tzinfo is None or abs(offset) >= _DAY_SECONDS:
        return None
    try:
        return moment.astimezone(timezone(timedelta(seconds=offset)) if offset else UTC)
    except OverflowError:  # in the first or last hours of the calendar
        return None
