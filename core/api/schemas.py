"""The forms of what goes in and out: every text is bounded, unknown fields are refused, times are RFC 3339 in UTC."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Generic, TypeVar

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, StringConstraints

from core.directory.account_revocation import RevocationResult

MAX_REMAINING_ACCOUNTS = 100
NO_CONTROL_CHARACTERS = r"^[^\x00-\x1f\x7f]*$"
"""No control characters: PostgreSQL stores no NUL, and a line break in a name forges lines elsewhere."""


def _to_utc(time: datetime) -> datetime:
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise ValueError("this time lies outside the calendar") from None


UtcDatetime = Annotated[AwareDatetime, AfterValidator(_to_utc)]
Name = Annotated[str, StringConstraints(max_length=200, pattern=NO_CONTROL_CHARACTERS)]
NotEmptyName = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=NO_CONTROL_CHARACTERS)]
ShortName = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=NO_CONTROL_CHARACTERS)]
Email = Annotated[str, StringConstraints(min_length=3, max_length=320, pattern=NO_CONTROL_CHARACTERS)]
ShortText = Annotated[str, StringConstraints(max_length=200, pattern=NO_CONTROL_CHARACTERS)]


class RequestModel(BaseModel):
    """Base of request bodies."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ResponseModel(BaseModel):
    """Base of response bodies, built from the directory's values; fields that it does not declare are left out."""

    model_config = ConfigDict(extra="forbid", frozen=True, from_attributes=True)


class RemainingAccountView(ResponseModel):
    """An account whose vendor could not be told that it is over, or has no way to be; `manage_url` is where somebody
    can end it by hand, "" where nobody knows."""

    provider: str
    account: str
    manage_url: str


class RemovalView(ResponseModel):
    """Vendor accounts that were removed with their owner: their number, and those that stay active at the vendor (at
    most 100)."""

    accounts: int
    remaining_accounts: list[RemainingAccountView]


def build_removal_view(said: Sequence[RevocationResult]) -> RemovalView:
    """Describe the vendor accounts that were removed with their owner."""
    left = [RemainingAccountView.model_validate(one) for one in said if one.still_active]
    return RemovalView(accounts=len(said), remaining_accounts=left[:MAX_REMAINING_ACCOUNTS])


_View = TypeVar("_View")


class PageOf(ResponseModel, Generic[_View]):
    """Some items, and the `cursor` of the next request; null at the end."""

    items: list[_View]
    next_cursor: str | None
