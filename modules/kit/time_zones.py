"""Times of people: each has a zone, exists, and means one moment.

A vendor's calendar takes a time that the clocks skip, or that they show twice, without a word, and moves it by an hour.
So such a time is refused here, with what to give instead.
"""

import re
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field

from modules.kit.errors import ToolError
from modules.kit.parameters import OptionalParameter, limit_length
from modules.kit.windows_zones import WINDOWS_ZONES

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?(?:[Zz]|[+-][0-9]{2}:?[0-9]{2})?",
    re.ASCII,
)
_ZONE = re.compile(r"[A-Za-z0-9_+-]{1,32}(?:/[A-Za-z0-9_+-]{1,32}){0,2}", re.ASCII)
# Files beside the zones in a system's folder of them; "right" counts leap seconds.
_NO_ZONES = frozenset({"posix", "right", "posixrules", "localtime", "factory"})
_WANTED = "give a time such as 2026-01-31T09:00 with time_zone, or with its offset as in 2026-01-31T09:00:00+01:00"


@lru_cache(maxsize=64)
def load_zone(name: str) -> ZoneInfo | None:
    """Load a zone of the IANA database; None where there is none of that name."""
    if not _ZONE.fullmatch(name) or name.partition("/")[0].lower() in _NO_ZONES:
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError):  # no such file, a folder of zones, no zone in it
        return None


def find_iana_zone(name: str) -> str:
    """Find the IANA zone that a vendor's name means, which may be one of Windows; "" for an unknown one."""
    return WINDOWS_ZONES.get(name.lower(), "") or (name if load_zone(name) else "")


def _check_zone(name: str) -> str:
    if load_zone(name) is not None:
        return name
    if name.lower() in WINDOWS_ZONES:
        raise ValueError(f"{name!r} is a name of Windows: give {WINDOWS_ZONES[name.lower()]!r}")
    raise ValueError(f"{name[:60]!r} is no IANA time zone, such as 'Europe/Berlin' or 'Asia/Tokyo'")


ZoneName = Annotated[str, limit_length(1, 100), AfterValidator(_check_zone)]
OptionalZone = Annotated[OptionalParameter[ZoneName], Field(description="IANA zone")]


def is_date(text: str) -> bool:
    """Check whether a text has the form of a date without a time; it may name a day that does not exist."""
    return bool(_DATE.fullmatch(text))


def parse_date(parameter: str, text: str) -> date:
    """Parse a date such as 2026-01-31.

    Raises:
        ToolError: it is none, or no calendar has it; the text names `parameter`.
    """
    if not _DATE.fullmatch(text):
        raise ToolError(f"{parameter}: {text[:40]!r} is not a date; give one such as 2026-01-31")
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ToolError(f"{parameter}: the date {text} does not exist; give another one") from None


def parse_time(parameter: str, text: str, zone_name: str | None) -> datetime:
    """Parse a time with its offset, or one that the clocks of a zone show.

    Raises:
        ToolError: it is no time, has neither offset nor zone, does not exist in the zone or exists twice; the text
            names `parameter`.
    """
    if not _TIME.fullmatch(text):
        raise ToolError(f"{parameter}: {text[:40]!r} is not a time; {_WANTED}")
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError:
        raise ToolError(f"{parameter}: the time {text} does not exist; {_WANTED}") from None
    if moment.tzinfo is not None:
        return _place_in_zone(moment, zone_name)
    if zone_name is None:
        raise ToolError(f"{parameter}: {text} has no offset; give time_zone, such as Europe/Berlin, or add the offset")
    return _resolve(parameter, moment, zone_name)


def parse_bound(parameter: str, text: str, zone_name: str | None) -> datetime:
    """Parse a bound of a span: a time as :func:`parse_time` takes it, or a date, which begins in its zone.

    Raises:
        ToolError: it is neither, or a date without a zone; the text names `parameter`.
    """
    if not is_date(text):
        return parse_time(parameter, text, zone_name)
    day = parse_date(parameter, text)
    zone = load_zone(zone_name) if zone_name else None
    if zone is None:
        raise ToolError(f"{parameter}: {text} begins elsewhere at another time; give time_zone, such as Europe/Berlin")
    return datetime.combine(day, time(), zone)


def _place_in_zone(moment: datetime, zone_name: str | None) -> datetime:
    """`moment` as the clocks of the zone show it, where one is given: the same moment."""
    zone = load_zone(zone_name) if zone_name else None
    try:
        return moment.astimezone(zone) if zone else moment
    except OverflowError:  # in the first or last hours of the calendar
        return moment


def _resolve(parameter: str, local: datetime, zone_name: str) -> datetime:
    zone = load_zone(zone_name)
    if zone is None:
        raise ToolError(f"time_zone: {zone_name[:60]!r} is no IANA time zone, such as Europe/Berlin")
    first, second = local.replace(tzinfo=zone), local.replace(tzinfo=zone, fold=1)
    before, after = first.utcoffset(), second.utcoffset()
    if before == after or before is None or after is None:
        return first
    shown = local.strftime("%Y-%m-%dT%H:%M")
    if after > before:
        skipped = int((after - before) / timedelta(minutes=1))
        raise ToolError(
            f"{parameter}: {shown} does not exist in {zone_name}: the clocks skip {skipped} min; give a later time"
        )
    offsets = f"{_format_offset(first)} or {_format_offset(second)}"
    raise ToolError(
        f"{parameter}: {shown} comes twice in {zone_name}, as the clocks go back; add its offset, {offsets}"
    )


def _format_offset(moment: datetime) -> str:
    return moment.isoformat(timespec="minutes")[16:]


def format_in_zone(moment: datetime, zone_name: str) -> str:
    """Format a moment as the clocks of a zone show it, with the offset; in UTC where the zone is not known."""
    return moment.astimezone(load_zone(zone_name) or UTC).isoformat(timespec="seconds")
