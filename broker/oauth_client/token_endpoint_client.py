"""Client of vendors' token endpoints. It never retries, and no vendor behaviour raises an exception."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from broker.oauth_client.error_classifier import ClassifiedError, classify_error, has_error, utc_now
from broker.oauth_client.requests import build_code_request, build_refresh_request, build_revocation_request
from broker.oauth_client.token_response import UnusableTokens, parse_fields, read_tokens
from broker.oauth_client.types import (
    ErrorClass,
    GrantKind,
    OAuthClientConfig,
    RedactedExchange,
    TokenResponse,
    TokenResult,
    VendorFailure,
    VendorRevocation,
    allow_sending,
)
from broker.oauth_client.vendor_http import TransportFailure, VendorHttpClient, VendorRequest, VendorResponse
from broker.providers import error_reasons
from broker.providers.schema import OAuthServer, Provider
from core.errors import Invalid
from core.secret import Secret

SUCCESS_STATUSES = frozenset({200, 201})
LONGEST_PATH = 200


class HttpTokenEndpointClient:
    """Implements :class:`broker.oauth_client.types.TokenEndpointClient`. `now` is for signed assertions
    and for dates in Retry-After."""

    def __init__(self, http: VendorHttpClient, *, now: Callable[[], datetime] = utc_now) -> None:
        self._http = http
        self._now = now

    async def redeem_code(
        self, provider: Provider, client: OAuthClientConfig, code: Secret, redirect_uri: str, verifier: Secret | None
    ) -> TokenResult:
        try:
            request = build_code_request(provider, client, code, redirect_uri, verifier, now=self._now())
        except Invalid:
            return _build_settings_failure("authorization_code")
        return await self._request_tokens(provider, client, "authorization_code", request, allow_sending)

    async def refresh(
        self,
        provider: Provider,
        client: OAuthClientConfig,
        refresh: Secret,
        *,
        may_send: Callable[[], bool] = allow_sending,
    ) -> TokenResult:
        try:
            request = build_refresh_request(provider, client, refresh, now=self._now())
        except Invalid:
            return _build_settings_failure("refresh_token")
        return await self._request_tokens(provider, client, "refresh_token", request, may_send)

    async def revoke(
        self, provider: Provider, client: OAuthClientConfig, *, access: Secret, refresh: Secret | None
    ) -> VendorRevocation:
        try:
            request = build_revocation_request(provider, client, access=access, refresh=refresh, now=self._now())
        except Invalid:
            return VendorRevocation(False, _build_settings_failure("revoke").exchange)
        if request is None:
            return VendorRevocation(False)
        assert provider.oauth is not None, "build_revocation_request saw to it"
        gone_statuses = provider.oauth.revoke.gone if provider.oauth.revoke else ()
        began = self._http.clock()
        reply = await self._http.send(request)
        seconds = self._http.clock() - began
        if isinstance(reply, VendorResponse) and (200 <= reply.status < 300 or reply.status in gone_statuses):
            return VendorRevocation(True, _redact_exchange(request, "revoke", seconds, reply.status))
        failed = self._classify_reply(provider.oauth, "revoke", request, reply, None, seconds)
        return VendorRevocation(False, failed.exchange)

    async def _request_tokens(
        self,
        provider: Provider,
        client: OAuthClientConfig,
        grant: GrantKind,
        request: VendorRequest,
        may_send: Callable[[], bool],
    ) -> TokenResult:
        assert provider.oauth is not None, "a request was made of it"
        began = self._http.clock()
        reply = await self._http.send(request, may_send)
        seconds = self._http.clock() - began
        answer = parse_fields(reply.body) if isinstance(reply, VendorResponse) else None
        if isinstance(reply, TransportFailure) or reply.status not in SUCCESS_STATUSES or answer is None:
            return self._classify_reply(provider.oauth, grant, request, reply, answer, seconds)
        if has_error(provider.oauth, answer) and not answer.get("access_token"):
            return self._classify_reply(provider.oauth, grant, request, reply, answer, seconds)
        return _build_result(provider, client, grant, request, reply.status, answer, seconds)

    def _classify_reply(
        self,
        oauth: OAuthServer,
        grant: GrantKind,
        request: VendorRequest,
        reply: VendorResponse | TransportFailure,
        answer: Mapping[str, Any] | None,
        seconds: float,
    ) -> VendorFailure:
        if isinstance(reply, TransportFailure):
            return _build_failure(
                request, grant, reply.status, ClassifiedError(reply.error_class, reply.reason), seconds
            )
        fields = answer if answer is not None else parse_fields(reply.body)
        return _build_failure(
            request, grant, reply.status, classify_error(oauth, grant, reply, fields, self._now()), seconds
        )


def _build_result(
    provider: Provider,
    client: OAuthClientConfig,
    grant: GrantKind,
    request: VendorRequest,
    status: int,
    answer: Mapping[str, Any],
    seconds: float,
) -> TokenResult:
    """The tokens of an answer that seems to have some. What cannot be read may still have spent the old ones."""
    try:
        if provider.oauth is not None and has_error(provider.oauth, answer):
            raise UnusableTokens
        tokens = read_tokens(provider, client.client_id, answer)
    except UnusableTokens as problem:
        cls = ErrorClass.SERVICE if problem.other_type else ErrorClass.UNCERTAIN
        reason = error_reasons.TOKEN_TYPE if problem.other_type else error_reasons.UNREADABLE
        return _build_failure(request, grant, status, ClassifiedError(cls, reason), seconds)
    return TokenResponse(tokens, _redact_exchange(request, grant, seconds, status))


def _build_settings_failure(grant: GrantKind) -> VendorFailure:
    exchange = RedactedExchange("", "", grant, 0.0, None, ErrorClass.SERVICE, error_reasons.SETTINGS)
    return VendorFailure(ErrorClass.SERVICE, error_reasons.SETTINGS, exchange)


def _build_failure(
    request: VendorRequest, grant: GrantKind, status: int | None, classified: ClassifiedError, seconds: float
) -> VendorFailure:
    exchange = _redact_exchange(request, grant, seconds, status, classified)
    return VendorFailure(classified.error_class, classified.reason, exchange, classified.retry_after, status)


def _redact_exchange(
    request: VendorRequest,
    grant: GrantKind,
    seconds: float,
    status: int | None,
    classified: ClassifiedError | None = None,
) -> RedactedExchange:
    """Return host and path only: a query could contain anything."""
    parts = urlsplit(request.url)
    return RedactedExchange(
        host=parts.netloc,
        path=parts.path[:LONGEST_PATH],
        grant=grant,
        seconds=seconds,
        status=status,
        error_class=classified.error_class if classified else None,
        reason=classified.reason if classified else "",
        vendor_error=classified.vendor_error if classified else "",
    )
