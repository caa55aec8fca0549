from datetime import UTC, datetime, timedelta

import pytest

from cli.time_arguments import parse_future_time, parse_past_time
from core.errors import Invalid

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def test_spans() -> None:
    assert parse_past_time("90s", NOW) == NOW - timedelta(seconds=90)
    assert parse_past_time("2h", NOW) == NOW - timedelta(hours=2)
    assert parse_future_time("30d", NOW) == NOW + timedelta(days=30)
    assert parse_future_time("1w", NOW) == NOW + timedelta(days=7)
    assert parse_future_time(None, NOW) is None


def test_moments() -> None:
    assert parse_future_time("2027-01-31T09:00+02:00", NOW) == datetime(2027, 1, 31, 7, tzinfo=UTC)
    local = parse_future_time("2027-01-31T09:00", NOW)
    assert local is not None
    assert local.replace(tzinfo=None) == datetime(2027, 1, 31, 9)  # noqa: DTZ001 the clock on the wall


@pytest.mark.parametrize("text", ["", "soon", "1y", "-1h", "1", "9999999d", "2027-13-01"])
def test_nonsense(text: str) -> None:
    with pytest.raises(Invalid, match="30m, 12h, 30d"):
        parse_past_time(text, NOW)
