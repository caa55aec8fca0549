"""Metadata of OpenID providers (OpenID Connect Discovery 1.0), with a cache."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar, cast
from urllib.parse import urlsplit

from broker.authorization_server import jose
from broker.identity.providers.identity_provider import SignInFailed

CACHE_TTL = timedelta(hours=1)
STALE_TTL = timedelta(hours=24)
FAILURE_PAUSE = timedelta(seconds=5)
"""After a failure, before the provider is asked again."""

log = logging.getLogger(__name__)

Clock = Callable[[], datetime]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ProviderMetadata:
    """Used fields of the metadata; every URL is https, or http where the issuer itself is."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str
    algorithms: frozenset[str]
    """Those that its ID tokens are signed with and that we believe: asymmetric ones."""
    auth_methods: frozenset[str]
    sends_issuer: bool
    """Every authorization answer has `iss` (RFC 9207 §3)."""


def read_metadata(document: Mapping[str, Any], configured: str) -> ProviderMetadata:
    """Parse and check the metadata.

    Raises:
        SignInFailed: a URL is missing or of another kind, or no algorithm is left.
    """
    plain = urlsplit(configured).scheme == "http"
    algorithms = _read_texts(document, "id_token_signing_alg_values_supported", ("RS256",)) & jose.ASYMMETRIC_ALGORITHMS
    if not algorithms:
        raise SignInFailed("provider", "algorithms")
    return ProviderMetadata(
        issuer=_read_text(document, "issuer"),
        authorization_endpoint=_read_url(document, "authorization_endpoint", plain),
        token_endpoint=_read_url(document, "token_endpoint", plain),
        jwks_uri=_read_url(document, "jwks_uri", plain),
        userinfo_endpoint=_read_url(document, "userinfo_endpoint", plain) if document.get("userinfo_endpoint") else "",
        algorithms=algorithms,
        auth_methods=_read_texts(document, "token_endpoint_auth_methods_supported", ("client_secret_basic",)),
        sends_issuer=document.get("authorization_response_iss_parameter_supported") is True,
    )


class CachedDocument(Generic[_T]):
    """Something fetched that is kept for an hour, and for a day where its source is away; one fetch at a time."""

    def __init__(self, fetch: Callable[[], Awaitable[_T]], clock: Clock) -> None:
        self._fetch = fetch
        self._clock = clock
        self._turn = asyncio.Lock()
        self._value: _T | None = None
        self._fetched: datetime | None = None
        self._failed: datetime | None = None

    async def get(self) -> _T:
        """Return the cached document, or fetch it again if it is older than an hour.

        Raises:
            SignInFailed: there is nothing, or nothing of the last day.
        """
        async with self._turn:
            now = self._clock()
            if self._value is not None and self._is_within(self._fetched, CACHE_TTL, now):
                return self._value
            if not self._is_within(self._failed, FAILURE_PAUSE, now):
                try:
                    self._value, self._fetched = await self._fetch(), now
                except SignInFailed as error:
                    self._failed = now
                    log.warning(
                        "metadata of an identity provider cannot be fetched",
                        extra={"event": "idp_metadata_failed", "cause": error.why},
                    )
            if self._value is not None and self._is_within(self._fetched, STALE_TTL, now):
                return self._value
            raise SignInFailed("provider_away", "metadata")

    @staticmethod
    def _is_within(moment: datetime | None, limit: timedelta, now: datetime) -> bool:
        return moment is not None and now - moment < limit


def _read_text(document: Mapping[str, Any], name: str) -> str:
    value = document.get(name)
    if not isinstance(value, str) or not 1 <= len(value) <= 2_000:
        raise SignInFailed("provider", "metadata")
    return value


def _read_url(document: Mapping[str, Any], name: str, plain: bool) -> str:
    value = _read_text(document, name)
    try:
        parts = urlsplit(value)
    except ValueError:
        raise SignInFailed("provider", "metadata") from None
    if not parts.hostname or parts.fragment or not (parts.scheme == "https" or (plain and parts.scheme == "http")):
        raise SignInFailed("provider", "metadata")
    return value


def _read_texts(document: Mapping[str, Any], name: str, default: tuple[str, ...]) -> frozenset[str]:
    value = document.get(name, default)
    entries = cast("list[Any]", value) if isinstance(value, list | tuple) else []
    return frozenset(entry for entry in entries if isinstance(entry, str))
