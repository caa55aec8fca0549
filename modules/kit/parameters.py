"""Parameters that tools of several modules share, and the hints of the kinds of tools.

Their schemas are kept small: a parameter that may be left out has no null (a model then leaves it out instead of
sending null), and limits that no real value comes near are checked without being listed. What is beyond them is refused
with the limit in the text.
"""

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import Annotated, Any, TypeVar

from pydantic import AwareDatetime, BeforeValidator, Field
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from modules.kit.declarations import Hints

# MCP gives `idempotent` no meaning where nothing is changed.
READ_HINTS = Hints(read_only=True, destructive=False, idempotent=False, open_world=True)
ADD_HINTS = Hints(read_only=False, destructive=False, idempotent=False, open_world=True)
CHANGE_HINTS = Hints(read_only=False, destructive=True, idempotent=True, open_world=True)
ACTION_HINTS = Hints(read_only=False, destructive=True, idempotent=False, open_world=True)


def drop_bounds(schema: dict[str, Any]) -> None:
    """Remove the limits from a schema: for `json_schema_extra` of a field whose limits are checked only."""
    for keyword in ("maxItems", "minItems", "maxProperties", "maxLength", "minLength", "maximum", "minimum", "pattern"):
        schema.pop(keyword, None)


def _drop_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


Value = TypeVar("Value")
_Day = TypeVar("_Day", bound=date)
OptionalParameter = Annotated[Value | SkipJsonSchema[None], Field(json_schema_extra=_drop_default)]


def limit_length(minimum: int = 0, maximum: int = 256) -> Any:
    """Return a field whose limits on length the schema does not show."""
    return Field(min_length=minimum, max_length=maximum, json_schema_extra=drop_bounds)


def limit_items(minimum: int = 0, maximum: int = 100) -> Any:
    """Return the field of a list whose limits the schema does not show, and of whose items the first wrong one is told:
    a thousand errors would take long to write, and nobody reads them."""
    return Field(min_length=minimum, max_length=maximum, fail_fast=True, json_schema_extra=drop_bounds)


ShortText = Annotated[str, limit_length()]
Title = Annotated[str, limit_length(1)]
Positive = Annotated[int, Field(ge=1, le=2**31 - 1, json_schema_extra=drop_bounds)]
PerPage = Annotated[int, Field(ge=1, le=100, description="At most 100", json_schema_extra=drop_bounds)]
CursorText = Annotated[
    OptionalParameter[Annotated[str, limit_length(maximum=4000)]], Field(description="Last nextCursor")
]
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?(?:[Zz]|[+-][0-9]{2}:?[0-9]{2})?",
    re.ASCII,
)


# Pydantic reads a number, also one in a text such as "2026" or "20260131", as seconds since 1970.
def parse_moment(value: Any) -> datetime:
    """Parse a text such as ``2026-01-31T09:00:00+01:00``; it has no time zone where it names none.

    Raises:
        PydanticCustomError: it is none, or does not exist.
    """
    return _parse(value, _MOMENT, datetime.fromisoformat, "datetime, such as 2026-01-31T09:00:00+01:00")


def parse_date(value: Any) -> date:
    """Parse a text such as ``2026-01-31``.

    Raises:
        PydanticCustomError: it is none, or does not exist.
    """
    return _parse(value, _DATE, date.fromisoformat, "date, such as 2026-01-31")


def _parse(value: Any, form: re.Pattern[str], parse: Callable[[str], _Day], wanted: str) -> _Day:
    if isinstance(value, str) and form.fullmatch(value):
        with suppress(ValueError):  # it does not exist
            return parse(value.upper())
    raise PydanticCustomError("date_and_time", "Input should be a valid {wanted}", {"wanted": wanted})


CalendarDate = Annotated[date, BeforeValidator(parse_date)]
"""A date such as 2026-01-31."""
Timestamp = OptionalParameter[Annotated[AwareDatetime, BeforeValidator(parse_moment)]]
"""A moment such as 2026-01-31T09:00:00+01:00."""


def format_timestamp(value: datetime | None) -> str | None:
    """Format a moment in UTC, as in ``2026-01-31T12:00:00Z``; None for None."""
    return value and value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
