"""Times with their zones, and rules of recurrence."""

import os
import subprocess
import sys

import pytest

from modules.kit import ToolError
from modules.kit.recurrence_rules import describe_recurrence_rule, parse_recurrence_rule
from modules.kit.time_zones import find_iana_zone, load_zone, parse_bound, parse_time
from modules.kit.windows_zones import WINDOWS_ZONES

BERLIN = "Europe/Berlin"


def test_every_zone_of_windows_is_one_of_the_database() -> None:
    assert len(WINDOWS_ZONES) >= 138
    assert [zone for zone in WINDOWS_ZONES.values() if load_zone(zone) is None] == []


def test_zones_are_known_where_the_system_has_none() -> None:
    script = (
        "from modules.kit.time_zones import load_zone, parse_time\n"
        "print(parse_time('start', '2026-07-01T09:00', 'Asia/Tokyo').isoformat(), load_zone('Europe'))"
    )
    environment = {**os.environ, "PYTHONTZPATH": ""}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["2026-07-01T09:00:00+09:00", "None"]


@pytest.mark.parametrize(
    ("name", "zone"),
    [
        ("W. Europe Standard Time", BERLIN),
        ("tokyo standard time", "Asia/Tokyo"),
        ("Asia/Tokyo", "Asia/Tokyo"),
        ("UTC", "UTC"),
        ("Customized Time Zone", ""),
        ("../../etc/passwd", ""),
        ("posix/Europe/Berlin", ""),
        ("Europe", ""),
        ("", ""),
    ],
)
def test_names_of_zones(name: str, zone: str) -> None:
    assert find_iana_zone(name) == zone


@pytest.mark.parametrize(
    ("text", "zone", "moment"),
    [
        ("2026-03-29T01:59", BERLIN, "2026-03-29T01:59:00+01:00"),
        ("2026-03-29T03:00", BERLIN, "2026-03-29T03:00:00+02:00"),
        ("2026-10-25T02:30+01:00", BERLIN, "2026-10-25T02:30:00+01:00"),
        ("2026-10-25T02:30+02:00", BERLIN, "2026-10-25T02:30:00+02:00"),
        ("2026-07-01t09:00z", "Asia/Tokyo", "2026-07-01T18:00:00+09:00"),
        ("2026-07-01 09:00:30.5+0530", None, "2026-07-01T09:00:30.500000+05:30"),
    ],
)
def test_a_time_means_one_moment(text: str, zone: str | None, moment: str) -> None:
    assert parse_time("start", text, zone).isoformat() == moment


@pytest.mark.parametrize(
    ("text", "zone", "reason"),
    [
        ("2026-03-29T02:00", BERLIN, "does not exist in Europe/Berlin: the clocks skip 60 min"),
        ("2026-10-04T02:15", "Australia/Lord_Howe", "the clocks skip 30 min"),
        ("2026-10-25T02:59:59", BERLIN, r"comes twice .* its offset, \+02:00 or \+01:00"),
        ("2026-02-29T09:00", BERLIN, "does not exist"),
        ("2026-01-01T24:01", BERLIN, "does not exist"),
        ("2026-01-01T09:00", None, "has no offset"),
        ("2026-01-01", BERLIN, "is not a time"),
        ("٢٠٢٦-01-01T09:00", BERLIN, "is not a time"),
        ("2026-01-01T09:00", "Nowhere/At_All", "is no IANA time zone"),
    ],
)
def test_a_time_that_is_none_is_refused_by_name(text: str, zone: str | None, reason: str) -> None:
    with pytest.raises(ToolError, match=rf"(?s)^(start|time_zone).*{reason}"):
        parse_time("start", text, zone)


def test_a_day_begins_in_its_zone() -> None:
    assert parse_bound("time_min", "2026-03-29", BERLIN).isoformat() == "2026-03-29T00:00:00+01:00"
    with pytest.raises(ToolError, match="time_min: 2026-03-29 begins elsewhere at another time"):
        parse_bound("time_min", "2026-03-29", None)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("FREQ=DAILY", "every day"),
        ("RRULE:FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,WE;UNTIL=20261231",
         "every 2 weeks on Monday and Wednesday until 2026-12-31"),
        ("freq=monthly;byday=-1FR;count=10", "every month on the last Friday 10 times"),
        ("FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=-1", "every month on the last Monday or Tuesday"),
        ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=-1;WKST=SU", "every year in February on the last day"),
        ("FREQ=WEEKLY;UNTIL=20261231T225959Z", "every week until 2026-12-31"),
        ("FREQ=YEARLY;BYWEEKNO=20", ""),
    ],
)  # fmt: skip
def test_a_rule_in_words(rule: str, words: str) -> None:
    assert describe_recurrence_rule(parse_recurrence_rule("recurrence", rule)) == words


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("", "is no part"),
        ("FREQ=HOURLY", "FREQ must be one of DAILY"),
        ("FREQ=DAILY;COUNT=0", "COUNT must be a number"),
        ("FREQ=DAILY;COUNT=2;UNTIL=20260101", "COUNT or UNTIL"),
        ("FREQ=DAILY;UNTIL=20260230", "does not exist"),
        ("FREQ=DAILY;UNTIL=soon", "UNTIL must be a day"),
        ("FREQ=WEEKLY;BYDAY=XX", "'XX' is no day"),
        ("FREQ=WEEKLY;BYDAY=99MO", "is no day"),
        ("FREQ=MONTHLY;BYMONTHDAY=32", "BYMONTHDAY must be numbers"),
        ("FREQ=YEARLY;BYMONTH=-1", "BYMONTH must be numbers from 1"),
        ("FREQ=DAILY;FREQ=DAILY", "twice"),
        ("FREQ=DAILY;X=1", "is no part"),
    ],
)
def test_a_rule_that_is_none(rule: str, reason: str) -> None:
    with pytest.raises(ToolError, match=f"^recurrence: .*{reason}"):
        parse_recurrence_rule("recurrence", rule)
