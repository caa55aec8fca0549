"""When an item starts and ends: a date, or a moment with a time, kept as it was written."""

from contextlib import suppress
from datetime import UTC, date, datetime
from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from modules.kit.parameters import parse_date, parse_moment


def _check_item_date(value: Any) -> Any:
    if value == "" or _parse_item_date(value) is not None:
        return value
    raise PydanticCustomError(
        "item_date", "Input should be a date such as 2026-01-31, or a moment such as 2026-01-31T09:00:00Z"
    )


ItemDate = Annotated[str, BeforeValidator(_check_item_date)]
"""A date or a moment as it was written; empty for none."""


def is_before(end: str, start: str) -> bool:
    """Check whether an end is before a start. Two moments are compared as such, in UTC where they name no zone; else
    the dates that are written."""
    first, last = _parse_item_date(start), _parse_item_date(end)
    if isinstance(first, datetime) and isinstance(last, datetime):
        return last < first
    return end[:10] < start[:10]


def _parse_item_date(value: Any) -> date | None:
    """Parse a date or a moment; return None where it is neither, or does not exist."""
    with suppress(PydanticCustomError):
        return parse_date(value)
    with suppress(PydanticCustomError):
        moment = parse_moment(value)
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return None
