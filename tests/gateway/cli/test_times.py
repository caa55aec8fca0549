from datetime import UTC, datetime, timedelta

import pytest

from core.errors import Invalid
from gateway.cli.times import after, before

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def test_spans() -> None:
    assert before("90s", NOW) == NOW - timedelta(seconds=90)
    assert before("2h", NOW) == NOW - timedelta(hours=2)
    assert after("30d", NOW) == NOW + timedelta(days=30)
    assert after("1w", NOW) == NOW + timedelta(days=7)
    assert after(None, NOW) is None


def test_moments() -> None:
    assert after("2027-01-31T09:00+02:00", NOW) == datetime(2027, 1, 31, 7, tzinfo=UTC)
    local = after("2027-01-31T09:00", NOW)
    assert local is not None
    assert local.replace(tzinfo=None) == datetime(2027, 1, 31, 9)  # noqa: DTZ001 the clock on the wall


@pytest.mark.parametrize("text", ["", "soon", "1y", "-1h", "1", "9999999d", "2027-13-01"])
def test_nonsense(text: str) -> None:
    with pytest.raises(Invalid, match="30m, 12h, 30d"):
        before(text, NOW)
