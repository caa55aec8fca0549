"""Parameters that are a moment or a date, as a strict validation of JSON reads them (modules/kit/parameters.py)."""

from datetime import UTC, date, datetime
from typing import Any

import orjson
import pytest
from pydantic import BaseModel, ValidationError

from modules.kit.parameters import CalendarDate, Timestamp


class Given(BaseModel):
    at: Timestamp = None
    day: CalendarDate = date.min


def read(**values: Any) -> Given:
    return Given.model_validate_json(orjson.dumps(values), strict=True)


def test_a_moment_and_a_date_are_read() -> None:
    assert read(at="2026-01-31T09:00:00+01:00").at == datetime(2026, 1, 31, 8, tzinfo=UTC)
    assert read(day="2026-01-31").day == date(2026, 1, 31)


@pytest.mark.parametrize("name", ["at", "day"])
@pytest.mark.parametrize("value", ["2026", "20260131", "1767225600", 1767225600, 0, "-1", "", True, "2026-02-30", "x"])
def test_numbers_are_neither(name: str, value: Any) -> None:
    with pytest.raises(ValidationError):
        read(**{name: value})


def test_the_schema_of_a_moment_stays_small() -> None:
    assert Given.model_json_schema()["properties"]["at"] == {"format": "date-time", "title": "At", "type": "string"}
