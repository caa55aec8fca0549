"""Days in zones: their lengths where the clocks change and at the date line, and minutes within them."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from modules.activity.periods import (
    Period,
    TimeSpan,
    begin_day,
    build_period,
    count_covered_minutes,
    count_minutes,
    get_today,
)
from modules.kit import ToolError

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("Europe/Berlin", date(2026, 3, 28), 24),
        ("Europe/Berlin", date(2026, 3, 29), 23),
        ("Europe/Berlin", date(2026, 10, 25), 25),
        ("America/New_York", date(2026, 3, 8), 23),
        ("America/New_York", date(2026, 11, 1), 25),
        ("Pacific/Kiritimati", date(2026, 3, 29), 24),
        ("Pacific/Pago_Pago", date(2026, 3, 29), 24),
        ("Asia/Tokyo", date(2026, 3, 29), 24),
        ("Australia/Lord_Howe", date(2026, 4, 5), 24.5),
        ("Asia/Beirut", date(2026, 3, 29), 23),  # the clocks skip midnight itself
        ("America/Sao_Paulo", date(2018, 11, 4), 23),
        ("America/Havana", date(2026, 11, 1), 25),  # midnight comes twice
        ("Pacific/Apia", date(2011, 12, 30), 0),  # a day that the islands skipped
        ("Pacific/Kwajalein", date(1993, 8, 21), 0),
    ],
)
def test_a_day_is_as_long_as_its_zone_has_it(zone: str, day: date, hours: float) -> None:
    assert Period(day, day, ZoneInfo(zone)).span.seconds == hours * 3_600


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Pacific/Apia", "Asia/Beirut", "America/Havana"])
def test_days_follow_each_other_without_a_gap(zone: str) -> None:
    place = ZoneInfo(zone)
    for year in (2011, 2026):
        for number in range(366):
            day = date(year, 1, 1) + timedelta(days=number)
            following = day + timedelta(days=1)
            assert Period(day, day, place).span.end == begin_day(following, place)
            assert begin_day(day, place) <= begin_day(following, place)


def test_what_day_it_is_depends_on_where_one_is() -> None:
    days = {zone: get_today(NOON, ZoneInfo(zone)) for zone in ("Pacific/Kiritimati", "Pacific/Pago_Pago", "UTC")}
    assert days == {
        "Pacific/Kiritimati": date(2026, 3, 3), "Pacific/Pago_Pago": date(2026, 3, 2), "UTC": date(2026, 3, 2),
    }  # fmt: skip


def test_minutes_are_counted_by_moments() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    spans = [
        TimeSpan(datetime(2026, 3, 29, 1, tzinfo=berlin), datetime(2026, 3, 29, 4, tzinfo=berlin).astimezone(UTC)),
        TimeSpan(NOON, NOON + timedelta(seconds=59)),
    ]
    spans[0] = TimeSpan(spans[0].start.astimezone(UTC), spans[0].end)
    assert count_minutes(spans) == 120


def test_meetings_at_once_count_once() -> None:
    def span(first: int, last: int) -> TimeSpan:
        return TimeSpan(NOON + timedelta(minutes=first), NOON + timedelta(minutes=last))

    assert count_covered_minutes([]) == 0
    assert count_covered_minutes([span(0, 60), span(30, 90), span(10, 20), span(120, 130)]) == 100
    assert count_covered_minutes([span(0, 60), span(60, 90)]) == 90


def test_a_span_is_cut_to_what_is_within() -> None:
    day = TimeSpan(NOON, NOON + timedelta(days=1))
    assert day.cut(NOON - timedelta(hours=1), NOON + timedelta(hours=2)).seconds == 7_200
    assert day.cut(NOON - timedelta(hours=2), NOON - timedelta(hours=1)).seconds == 0
    assert day.cut(NOON + timedelta(days=2), NOON + timedelta(days=3)).seconds == 0
    assert day.has(NOON, NOON)
    assert not day.has(NOON - timedelta(hours=1), NOON)
    assert not day.has(NOON + timedelta(days=1), NOON + timedelta(days=2))


def test_days_have_an_order_and_an_end() -> None:
    zone = ZoneInfo("UTC")
    assert len(list(build_period(date(2024, 1, 1), date(2024, 12, 31), zone).days)) == 366
    for first, last in ((date(2024, 1, 2), date(2024, 1, 1)), (date(2024, 1, 1), date(2025, 1, 1))):
        with pytest.raises(ToolError, match="end_date"):
            build_period(first, last, zone)
