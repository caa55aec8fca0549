"""When a schedule is due: by a cron expression in a time zone, at an interval, or once.

A cron expression has five fields and is read as Debian's cron does (cronsim): a run at a fixed hour that falls into the
hour skipped in spring comes right after it, and one in the hour that autumn repeats comes once.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from core.errors import Invalid

MIN_INTERVAL = timedelta(minutes=1)
MAX_INTERVAL = timedelta(days=366)
MAX_AHEAD = timedelta(days=366)
MAX_CRON_LENGTH = 100
MAX_ZONE_LENGTH = 64
_CRON_FIELDS = 5


@dataclass(frozen=True, slots=True)
class ScheduleRule:
    """Rule of a schedule: exactly one of `cron`, `interval` and `at`."""

    cron: str = ""
    interval: timedelta | None = None
    at: datetime | None = None
    time_zone: str = "UTC"

    def find_next_run(self, after: datetime) -> datetime | None:
        """Find the first time after `after` at which the schedule is due, in UTC; None where there is none. Of several
        times that have gone by, none is made up for."""
        if self.at is not None:
            return self.at if self.at > after else None
        if self.interval is not None:
            return after + self.interval
        return next(CronSim(self.cron, after.astimezone(ZoneInfo(self.time_zone)))).astimezone(UTC)


def parse_rule(
    *, cron: str = "", every_seconds: int | None = None, at: datetime | None = None, time_zone: str, now: datetime
) -> ScheduleRule:
    """Check what a person has given.

    Raises:
        Invalid: it is none of the three kinds, or more than one; a cron expression or time zone that does not exist, or
            a time that has gone by.
    """
    if (bool(cron), every_seconds is not None, at is not None).count(True) != 1:
        raise Invalid("give exactly one of cron, every_seconds and at")
    zone = _parse_time_zone(time_zone)
    if cron:
        return ScheduleRule(cron=_parse_cron(cron, now.astimezone(zone)), time_zone=time_zone)
    if every_seconds is not None:
        if not MIN_INTERVAL.total_seconds() <= every_seconds <= MAX_INTERVAL.total_seconds():
            raise Invalid("every_seconds is 60 (a minute) to 31622400 (366 days)")
        return ScheduleRule(interval=timedelta(seconds=every_seconds), time_zone=time_zone)
    assert at is not None
    local = at if at.tzinfo is not None else _place_in_zone(at, zone)
    if not now < local <= now + MAX_AHEAD:
        raise Invalid("at has to be a time to come, at most 366 days ahead")
    return ScheduleRule(at=local.astimezone(UTC), time_zone=time_zone)


def parse_time(text: str) -> datetime | None:
    """Parse the time of a single run, which may have an offset; None for an empty text.

    Raises:
        Invalid: it is no time.
    """
    try:
        return datetime.fromisoformat(text) if text else None
    except ValueError:
        raise Invalid("at is no time such as 2026-12-31T09:00") from None


def change_rule(
    rule: ScheduleRule,
    *,
    cron: str = "",
    every_seconds: int | None = None,
    at: datetime | None = None,
    time_zone: str | None = None,
    now: datetime,
) -> ScheduleRule:
    """Return `rule` with what a person has given instead; without anything it stays, also where its time has gone by.

    Raises:
        Invalid: as :func:`parse_rule`; or a single run would come again and again, or the other way round.
    """
    if not cron and every_seconds is None and at is None:
        if time_zone is None or time_zone == rule.time_zone:
            return rule
        if rule.at is not None:
            raise Invalid("give at with time_zone: the time of a single run is kept without its zone")
        cron = rule.cron
        every_seconds = None if rule.interval is None else round(rule.interval.total_seconds())
    zone = rule.time_zone if time_zone is None else time_zone
    changed = parse_rule(cron=cron, every_seconds=every_seconds, at=at, time_zone=zone, now=now)
    if (changed.at is None) != (rule.at is None):
        raise Invalid(
            "a single run stays one, and a schedule that repeats goes on repeating: the permission of each has another "
            "end; create a new schedule"
        )
    return changed


def _parse_time_zone(name: str) -> ZoneInfo:
    try:
        if not 0 < len(name) <= MAX_ZONE_LENGTH:
            raise ValueError
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # ZoneInfoNotFoundError is a KeyError
        raise Invalid("time_zone is no IANA time zone, such as Asia/Tokyo or Europe/Berlin") from None


def _parse_cron(cron: str, now: datetime) -> str:
    fields = cron.split()
    text = " ".join(fields)
    if len(fields) != _CRON_FIELDS or len(text) > MAX_CRON_LENGTH or not text.isascii():
        raise Invalid(
            "cron has five fields: minute, hour, day of the month, month, day of the week, such as '30 9 * * MON-FRI'"
        )
    try:
        next(CronSim(text, now))
    except CronSimError as error:
        raise Invalid(f"cron cannot be read: {_CRON_FAULTS.get(str(error), 'look at its fields')}") from None
    except StopIteration:
        raise Invalid("cron names no day that exists") from None
    return text


def _place_in_zone(local: datetime, zone: ZoneInfo) -> datetime:
    """Place a wall-clock time. One that spring skips is as late as the clocks have gone forward."""
    return local.replace(tzinfo=zone).astimezone(UTC)


_CRON_FAULTS = {
    f"Bad {name}": f"the {shown} is wrong"
    for name, shown in (
        ("minute", "minute"),
        ("hour", "hour"),
        ("day-of-month", "day of the month"),
        ("month", "month"),
        ("day-of-week", "day of the week"),
    )
}
