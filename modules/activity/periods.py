"""Days of a person: what is asked for in dates, as spans of moments, right across changes of summer time and of the
date line.

A day begins when the clocks of its zone show midnight, and ends when the next one begins: it has 23 or 25 hours where
the clocks change, and none where its zone has skipped it (30 December 2011 in Apia).
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfo

from modules.activity.sources import CURRENT_TIME
from modules.kit import Context, ToolError
from modules.kit.time_zones import load_zone

ZoneOrigin = Literal["given", "profile", "calendar", "default"]
MAX_DAYS = 366
ZONE_SECONDS = 10.0
"""How long the calendar is waited for that names the zone."""
FIRST_DAY, LAST_DAY = date(1970, 1, 1), date(2200, 1, 1)


class TimeSpan(NamedTuple):
    """Moments from `start` to before `end`, in UTC."""

    start: datetime
    end: datetime

    @property
    def seconds(self) -> float:
        return (self.end - self.start).total_seconds()

    def cut(self, start: datetime, end: datetime) -> "TimeSpan":
        """Return what of `start` to `end` lies within this span; an empty span where nothing does."""
        first = max(self.start, start)
        return TimeSpan(first, max(first, min(self.end, end)))

    def has(self, start: datetime, end: datetime) -> bool:
        """Check whether something that lasts from `start` to `end` touches this span."""
        return start < self.end and (end > self.start or start >= self.start)


class Period(NamedTuple):
    """Whole days in a zone; `last` belongs to them."""

    first: date
    last: date
    zone: ZoneInfo

    @property
    def days(self) -> Iterator[date]:
        return (self.first + timedelta(days=number) for number in range((self.last - self.first).days + 1))

    @property
    def span(self) -> TimeSpan:
        """The moments of the days."""
        return TimeSpan(begin_day(self.first, self.zone), begin_day(self.last + timedelta(days=1), self.zone))

    @property
    def civil_span(self) -> TimeSpan:
        """The days as those of what has a date and no moment: such a day counts as one of UTC."""
        return TimeSpan(begin_day(self.first, UTC), begin_day(self.last + timedelta(days=1), UTC))


class FoundZone(NamedTuple):
    """A time zone, and how it was found."""

    zone: ZoneInfo
    origin: ZoneOrigin


def begin_day(day: date, zone: tzinfo) -> datetime:
    """Return the moment at which a day begins, in UTC. A midnight that the clocks skip is that of the change."""
    return datetime.combine(day, time(), zone).astimezone(UTC)


def get_today(now: datetime, zone: ZoneInfo) -> date:
    """Return the date that the calendars of a zone show."""
    return now.astimezone(zone).date()


def build_period(first: date, last: date, zone: ZoneInfo, most: int = MAX_DAYS) -> Period:
    """Build a period of whole days.

    Raises:
        ToolError: its days are not in order, or too many.
    """
    if last < first:
        raise ToolError("end_date is before start_date; give a later end_date")
    if (last - first).days >= most:
        raise ToolError(f"end_date: a period has at most {most} days; give an earlier end_date")
    for name, day in (("start_date", first), ("end_date", last)):
        if not FIRST_DAY < day < LAST_DAY:
            raise ToolError(f"{name}: give a date from 1970 to 2199")
    return Period(first, last, zone)


async def find_zone(context: Context, given: str | None) -> FoundZone:
    """Find the person's time zone: the one that is given, that of their profile, that of their calendar; else UTC."""
    named = given or await context.get_time_zone()
    zone = load_zone(named) if named else None
    if zone is not None:
        return FoundZone(zone, "given" if given else "profile")
    zone = await _find_calendar_zone(context)
    return FoundZone(zone, "calendar") if zone is not None else FoundZone(ZoneInfo("UTC"), "default")


async def _find_calendar_zone(context: Context) -> ZoneInfo | None:
    try:
        if not (await context.check_read(CURRENT_TIME)).is_usable:
            return None
        async with asyncio.timeout(ZONE_SECONDS):
            return load_zone(str((await context.read(CURRENT_TIME)).get("time_zone", "")))
    except (ToolError, TimeoutError):
        return None  # nothing but the zone depends on it


def count_minutes(spans: Iterable[TimeSpan]) -> int:
    """Count the whole minutes of spans, each of them for itself."""
    return int(sum(one.seconds for one in spans) // 60)


def count_covered_minutes(spans: Sequence[TimeSpan]) -> int:
    """Count the whole minutes that are within any of the spans: two meetings at once take the time of one."""
    total, end = 0.0, datetime.min.replace(tzinfo=UTC)
    for one in sorted(spans):
        begin = max(one.start, end)
        total += max(0.0, (one.end - begin).total_seconds())
        end = max(end, one.end)
    return int(total // 60)
