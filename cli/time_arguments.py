"""Times as people write them: ``1h``, ``30d``, or ISO 8601."""

import re
from datetime import datetime, timedelta

from core.errors import Invalid

_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
_DURATION = re.compile(r"([0-9]{1,6})([smhdw])")


def parse_past_time(text: str | None, now: datetime) -> datetime | None:
    """`text` as a moment of the past: a span counts back from `now`.

    Raises:
        Invalid: neither a span nor ISO 8601.
    """
    return _parse_time(text, now, -1)


def parse_future_time(text: str | None, now: datetime) -> datetime | None:
    """`text` as a moment to come: a span counts from `now` on.

    Raises:
        Invalid: neither a span nor ISO 8601.
    """
    return _parse_time(text, now, 1)


def _parse_time(text: str | None, now: datetime, direction: int) -> datetime | None:
    if text is None:
        return None
    if span := _DURATION.fullmatch(text.strip()):
        return now + direction * timedelta(seconds=int(span[1]) * _UNIT_SECONDS[span[2]])
    try:
        # A time without an offset is meant as the clock on the wall shows it.
        return datetime.fromisoformat(text.strip()).astimezone()
    except (ValueError, OverflowError):
        raise Invalid(f"not a time: {text[:40]!r}; write 30m, 12h, 30d or 2027-01-31T09:00") from None
