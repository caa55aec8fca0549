"""Result of a request for an account's access token."""

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from core.secret import Secret


@dataclass(frozen=True, slots=True)
class AccountRef:
    """Names one account."""

    tenant_id: UUID
    id: UUID


@dataclass(frozen=True, slots=True)
class AccessToken:
    """An access token that the vendor takes for `expires_in` more seconds; None where it has no end. It is `renewable`
    where the vendor gave a refresh token."""

    token: Secret
    version: int
    expires_in: float | None
    renewable: bool = True


class UnavailableReason(StrEnum):
    """Why there is no access token, by who can do something about it."""

    MISSING = "missing"
    """There is no such account."""

    NEEDS_REAUTH = "needs_reauth"
    """Its owner has to connect it again; the cause is the account's reason."""

    DISABLED = "disabled"
    MISCONFIGURED = "misconfigured"
    """The administrator has to look at the OAuth client; the account is fine."""

    VENDOR = "vendor"
    """The vendor cannot be reached or asks to wait; this passes by itself."""

    REFUSED = "refused"
    """The vendor's API refuses a token that its OAuth server has just given: asking for another would not help."""

    REFRESHING = "refreshing"
    """A refresh is under way and took longer than the caller could wait."""


@dataclass(frozen=True, slots=True)
class TokenUnavailable:
    """There is no access token now. `cause` is a fixed word; asking again helps in `retry_after` seconds, if ever."""

    reason: UnavailableReason
    cause: str = ""
    retry_after: float | None = None
