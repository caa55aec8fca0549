"""When schedules are due, above all where clocks change."""

import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from core.errors import Invalid
from jobs.schedule_times import ScheduleRule, parse_rule

NOW = datetime(2026, 3, 20, 12, 0, tzinfo=UTC)


def wall(text: str) -> datetime:
    """A time as a clock on the wall shows it, of no zone."""
    return datetime.fromisoformat(text)


def runs(rule: ScheduleRule, after: datetime, number: int) -> list[datetime]:
    found: list[datetime] = []
    while len(found) < number and (due := rule.find_next_run(after)) is not None:
        found.append(after := due)
    return found


def local_runs(cron: str, zone: str, first: datetime, number: int) -> list[str]:
    rule = parse_rule(cron=cron, time_zone=zone, now=NOW)
    place = ZoneInfo(zone)
    after = first.replace(tzinfo=place).astimezone(UTC)
    return [f"{due.astimezone(place):%d %H:%M %Z}" for due in runs(rule, after, number)]


@pytest.mark.parametrize(
    ("cron", "zone", "first", "expected"),
    [
        ("30 2 * * *", "Europe/Berlin", wall("2026-03-28 00:00"), ["28 02:30 CET", "29 03:00 CEST", "30 02:30 CEST"]),
        ("30 2 * * *", "Europe/Berlin", wall("2026-10-24 00:00"), ["24 02:30 CEST", "25 02:30 CEST", "26 02:30 CET"]),
        (
            "*/30 * * * *",
            "Europe/Berlin",
            wall("2026-10-25 01:45"),
            ["25 02:00 CEST", "25 02:30 CEST", "25 02:00 CET", "25 02:30 CET", "25 03:00 CET"],
        ),
        ("*/30 * * * *", "Europe/Berlin", wall("2026-03-29 01:15"), ["29 01:30 CET", "29 03:00 CEST"]),
        ("15 2 * * *", "Australia/Lord_Howe", wall("2026-10-03 00:00"), ["03 02:15 +1030", "04 02:30 +11"]),
        ("0 9 * * MON-FRI", "Asia/Tokyo", wall("2026-03-20 10:00"), ["23 09:00 JST", "24 09:00 JST"]),
        ("0 0 29 2 *", "Asia/Tokyo", wall("2026-01-01 00:00"), ["29 00:00 JST"]),
        ("0 18 L * *", "Asia/Tokyo", wall("2026-02-01 00:00"), ["28 18:00 JST", "31 18:00 JST"]),
    ],
)
def test_cron_in_a_time_zone(cron: str, zone: str, first: datetime, expected: list[str]) -> None:
    assert local_runs(cron, zone, first, len(expected)) == expected


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Tokyo", "UTC"])
@pytest.mark.parametrize("cron", ["30 2 * * *", "0 * * * *", "*/7 1-3 * * *", "59 23 L * *"])
def test_a_year_of_runs_is_in_order(cron: str, zone: str) -> None:
    rule = parse_rule(cron=cron, time_zone=zone, now=NOW)
    found = runs(rule, NOW, 200)
    assert all(before < after for before, after in pairwise(found))
    assert all(due.tzinfo is UTC and due.second == 0 for due in found)


def test_an_interval_counts_from_the_last_run() -> None:
    rule = parse_rule(every_seconds=3600, time_zone="Asia/Tokyo", now=NOW)
    assert rule.find_next_run(NOW) == NOW + timedelta(hours=1)


@pytest.mark.parametrize(
    ("at", "zone", "expected"),
    [
        (wall("2026-04-01 09:00"), "Asia/Tokyo", datetime(2026, 4, 1, 0, tzinfo=UTC)),
        (datetime(2026, 4, 1, 9, tzinfo=UTC), "Asia/Tokyo", datetime(2026, 4, 1, 9, tzinfo=UTC)),
        (wall("2026-03-29 02:30"), "Europe/Berlin", datetime(2026, 3, 29, 1, 30, tzinfo=UTC)),
    ],
)
def test_a_single_time(at: datetime, zone: str, expected: datetime) -> None:
    rule = parse_rule(at=at, time_zone=zone, now=NOW)
    assert rule.find_next_run(NOW) == expected
    assert rule.find_next_run(expected) is None


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "exactly one"),
        ({"cron": "* * * * *", "every_seconds": 60}, "exactly one"),
        ({"every_seconds": 59}, "every_seconds is 60"),
        ({"every_seconds": 10**12}, "every_seconds is 60"),
        ({"at": NOW}, "a time to come"),
        ({"at": NOW + timedelta(days=367)}, "a time to come"),
        ({"cron": "* * * *"}, "five fields"),
        ({"cron": "* * * * * *"}, "five fields"),
        ({"cron": "@daily"}, "five fields"),
        ({"cron": "60 * * * *"}, "the minute is wrong"),
        ({"cron": "0 24 * * *"}, "the hour is wrong"),
        ({"cron": "0 0 30 2 *"}, "the day of the month is wrong"),
        ({"cron": "0 0 * 13 *"}, "the month is wrong"),
        ({"cron": "0 0 * * FUN"}, "the day of the week is wrong"),
        ({"cron": "毎 * * * *"}, "five fields"),
        ({"cron": "1," * 5_000 + "1 * * * *"}, "five fields"),
        ({"cron": "0 0 * * *", "time_zone": "Mars/Olympus"}, "IANA"),
        ({"cron": "0 0 * * *", "time_zone": "../../etc/passwd"}, "IANA"),
        ({"cron": "0 0 * * *", "time_zone": ""}, "IANA"),
        ({"cron": "0 0 * * *", "time_zone": "x" * 100_000}, "IANA"),
        ({"cron": "0 0 * * *", "time_zone": "Asia/\0"}, "IANA"),
    ],
)
def test_what_is_no_rule(given: dict[str, object], problem: str) -> None:
    with pytest.raises(Invalid, match=problem):
        parse_rule(**{"time_zone": "Asia/Tokyo", "now": NOW, **given})  # type: ignore[arg-type]


@pytest.mark.parametrize("cron", ["0 0 29 2 MON#5", "0 0 31 * *", ",".join(["*"] * 40) + " * * * *", "0 0 29 2 SUN"])
def test_a_hostile_expression_takes_no_time(cron: str) -> None:
    began = time.thread_time()
    try:
        rule = parse_rule(cron=cron, time_zone="Europe/Berlin", now=NOW)
    except Invalid:
        pass
    else:
        runs(rule, NOW, 2)
    assert time.thread_time() - began < 0.5
