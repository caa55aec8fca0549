"""Requests and results of vendor token endpoints, used by refreshing and connecting.

Vendor failures are values, not exceptions. The part of a request that may be shown, logged and stored is its
RedactedExchange.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Literal, Protocol

from broker.providers.schema import Provider
from core.secret import Secret

GrantKind = Literal["authorization_code", "refresh_token", "revoke", "account", "sites", "reach", "key", "register"]
"""Purpose of a request; the last ones are not grants, and are redacted in the same way."""


class ErrorClass(StrEnum):
    """Meaning of a failed request for the account, by the table of threat-model.md §3.2."""

    PERMANENT = "permanent"
    """The vendor says of this very grant that it is dead, or needs its person."""
    SERVICE = "service"
    """The vendor refuses our client or our request: no person can mend it, an administrator can."""
    NOT_SENT = "not_sent"
    """The request never left: nothing can have been rotated."""
    THROTTLED = "throttled"
    """The vendor has not processed it and says so."""
    UNCERTAIN = "uncertain"
    """It may have been processed: a rotating token may be spent."""


@dataclass(frozen=True, slots=True)
class OAuthClientConfig:
    """Our OAuth client at a provider. `auth_method` is "" where the provider's counts, else as in
    :data:`broker.providers.schema.ClientAuth`; `settings` fill the provider's templates."""

    client_id: str
    secret: Secret | None = None
    auth_method: str = ""
    settings: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class TokenSet:
    """Tokens and account data of a token response. Times are in seconds from the response on.

    `refresh` is None where the response has none: at a refresh, the old one stays valid. `expires_in` is the provider's
    default where the vendor sends none; None means unknown. `scopes` is None where the vendor does not list them, which
    means as requested (RFC 6749 §5.1). `extra` holds only the values that the provider's `account` names: texts under
    ``id``, ``name`` and the keys of `details`.
    """

    access_token: Secret
    refresh_token: Secret | None
    expires_in: float | None
    scopes: tuple[str, ...] | None
    refresh_expires_in: float | None = None
    extra: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class RedactedExchange:
    """All that may be known of a request later. `vendor_error` is a code of a list that we know, or empty."""

    host: str
    path: str
    grant: GrantKind
    seconds: float
    status: int | None = None
    error_class: ErrorClass | None = None
    reason: str = ""
    vendor_error: str = ""

    def as_json(self) -> dict[str, Any]:
        """For events and the doctor; keys without a value are left out."""
        fields = {
            "host": self.host,
            "path": self.path,
            "grant": self.grant,
            "status": self.status,
            "class": None if self.error_class is None else self.error_class.value,
            "reason": self.reason,
            "vendor_error": self.vendor_error,
            "seconds": round(self.seconds, 3),
        }
        return {key: value for key, value in fields.items() if value not in (None, "")}


@dataclass(frozen=True, slots=True)
class TokenResponse:
    """The vendor gave tokens: whatever is presented from now on, the old refresh token may be spent."""

    tokens: TokenSet
    exchange: RedactedExchange


@dataclass(frozen=True, slots=True)
class VendorFailure:
    """A refused or failed request. `reason`: see :mod:`broker.providers.error_reasons`; `retry_after` in seconds."""

    error_class: ErrorClass
    reason: str
    exchange: RedactedExchange
    retry_after: float | None = None
    status: int | None = None


TokenResult = TokenResponse | VendorFailure


@dataclass(frozen=True, slots=True)
class VendorRevocation:
    """`done` says that the vendor knows the grant no more; `exchange` is None where it has no way to tell it."""

    done: bool
    exchange: RedactedExchange | None = None


def allow_sending() -> bool:
    """For whoever has no reason left not to send."""
    return True


class TokenEndpointClient(Protocol):
    """Asks a vendor: one request, no redirect followed, nothing asked twice; 3 s to connect, 10 s in all, 256 KiB.

    `may_send` is asked as the very last thing, with the connection open and nothing written on it: where it says no,
    the answer is Failed(NOT_SENT, "withdrawn").
    """

    async def redeem_code(
        self, provider: Provider, client: OAuthClientConfig, code: Secret, redirect_uri: str, verifier: Secret | None
    ) -> TokenResult:
        """Redeem an authorization code (RFC 6749 §4.1.3)."""
        ...

    async def refresh(
        self,
        provider: Provider,
        client: OAuthClientConfig,
        refresh: Secret,
        *,
        may_send: Callable[[], bool] = allow_sending,
    ) -> TokenResult:
        """Present a refresh token (RFC 6749 §6)."""
        ...

    async def revoke(
        self, provider: Provider, client: OAuthClientConfig, *, access: Secret, refresh: Secret | None
    ) -> VendorRevocation:
        """Tell the vendor that the grant is over, in the way that it has (RFC 7009 or its own)."""
        ...
