"""The forms of what goes in and out: every text is bounded, unknown fields are refused, times are RFC 3339 in UTC."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Generic, TypeVar

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
)

from core.directory.account_revocation import RevocationResult
from core.errors import Invalid
from core.known_clients import LEAST_RESULT_TOKENS, MOST_RESULT_TOKENS
from core.tool_exposure import MAX_TEXT_LENGTH, parse_exposure_setting

MAX_REMAINING_ACCOUNTS = 100
NO_CONTROL_CHARACTERS = r"^[^\x00-\x1f\x7f]*$"
"""No control characters: PostgreSQL stores no NUL, and a line break in a name forges lines elsewhere."""


_DATE_FIRST = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


# Pydantic reads a number, also one in a text such as "2026" or "20260131", as seconds since 1970.
def _refuse_numbers(value: Any) -> Any:
    if isinstance(value, datetime) or (isinstance(value, str) and _DATE_FIRST.match(value)):
        return value
    raise ValueError("send a time with its zone, such as 2026-01-31T09:00:00+01:00")


def _to_utc(time: datetime) -> datetime:
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise ValueError("this time lies outside the calendar") from None


UtcDatetime = Annotated[AwareDatetime, BeforeValidator(_refuse_numbers), AfterValidator(_to_utc)]
Name = Annotated[str, StringConstraints(max_length=200, pattern=NO_CONTROL_CHARACTERS)]
NotEmptyName = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=NO_CONTROL_CHARACTERS)]
ShortName = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=NO_CONTROL_CHARACTERS)]
Email = Annotated[str, StringConstraints(min_length=3, max_length=320, pattern=NO_CONTROL_CHARACTERS)]
ResultTokens = Annotated[int, Field(ge=LEAST_RESULT_TOKENS, le=MOST_RESULT_TOKENS)]


def _normalize_exposure(text: str) -> str:
    try:
        return parse_exposure_setting(text).text
    except Invalid as error:
        raise ValueError(str(error)) from None


ToolExposureText = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MAX_TEXT_LENGTH, pattern=NO_CONTROL_CHARACTERS),
    AfterValidator(_normalize_exposure),
]
ShortText = Annotated[str, StringConstraints(max_length=200, pattern=NO_CONTROL_CHARACTERS)]


class RequestModel(BaseModel):
    """Base of request bodies."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ResponseModel(BaseModel):
    """Base of response bodies, built from the attributes of domain values."""

    # Answers hold every field, so the OpenAPI document says that each is there, those with a default too.
    model_config = ConfigDict(
        extra="forbid", frozen=True, from_attributes=True, json_schema_serialization_defaults_required=True
    )


class RemainingAccountView(ResponseModel):
    """An account at a vendor whose access could not be revoked."""

    provider: str = Field(description="Identifier of the provider.")
    account: str = Field(description="Name of the account at the vendor.")
    manage_url: str = Field(
        description="Page of the vendor on which the access can be revoked by hand; empty if unknown."
    )


class RemovalView(ResponseModel):
    """Result of a removal: the accounts at vendors that were removed with their owner."""

    accounts: int = Field(description="Number of removed accounts.")
    remaining_accounts: list[RemainingAccountView] = Field(
        description="Accounts that are still active at their vendor, 100 at most."
    )


def build_removal_view(results: Sequence[RevocationResult]) -> RemovalView:
    """Describe the vendor accounts that were removed with their owner."""
    remaining = [RemainingAccountView.model_validate(result) for result in results if result.still_active]
    return RemovalView(accounts=len(results), remaining_accounts=remaining[:MAX_REMAINING_ACCOUNTS])


_View = TypeVar("_View")


class PageOf(ResponseModel, Generic[_View]):
    """One page of a list."""

    # A parametrized generic has no docstring of its own.
    model_config = ConfigDict(json_schema_extra={"description": "One page of a list."})

    items: list[_View] = Field(description="Items of the page.")
    next_cursor: str | None = Field(description="Cursor of the next page; null on the last page.")
