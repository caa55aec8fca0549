"""Asks vendors' token endpoints and sorts what they answer. Nothing here retries, and nothing a vendor does raises."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from broker.providers.model import OAuth, Provider
from broker.vendor_oauth import reasons
from broker.vendor_oauth.asking import code_request, refresh_request, revoke_request
from broker.vendor_oauth.exchange import (
    Answer,
    ErrorClass,
    Failed,
    Granted,
    GrantKind,
    RedactedExchange,
    Revocation,
    VendorClient,
    always,
)
from broker.vendor_oauth.fields import fields
from broker.vendor_oauth.sorting import Sorted, has_error, sorted_failure, utc_now
from broker.vendor_oauth.tokens import NotUsable, read_tokens
from broker.vendor_oauth.wire import NoReply, Reply, Request, VendorHttp
from core.errors import Invalid
from core.secret import Secret

GIVEN = frozenset({200, 201})
LONGEST_PATH = 200


class VendorTokenEndpoint:
    """Implements :class:`broker.vendor_oauth.exchange.TokenEndpoint`. `now` is for dates in Retry-After only."""

    def __init__(self, http: VendorHttp, *, now: Callable[[], datetime] = utc_now) -> None:
        self._http = http
        self._now = now

    async def code(
        self, provider: Provider, client: VendorClient, code: Secret, redirect_uri: str, verifier: Secret | None
    ) -> Answer:
        try:
            request = code_request(provider, client, code, redirect_uri, verifier)
        except Invalid:
            return _not_asked("authorization_code")
        return await self._tokens(provider, client, "authorization_code", request, always)

    async def refresh(
        self, provider: Provider, client: VendorClient, refresh: Secret, *, may_send: Callable[[], bool] = always
    ) -> Answer:
        try:
            request = refresh_request(provider, client, refresh)
        except Invalid:
            return _not_asked("refresh_token")
        return await self._tokens(provider, client, "refresh_token", request, may_send)

    async def revoke(
        self, provider: Provider, client: VendorClient, *, access: Secret, refresh: Secret | None
    ) -> Revocation:
        try:
            request = revoke_request(provider, client, access=access, refresh=refresh)
        except Invalid:
            return Revocation(False, _not_asked("revoke").exchange)
        if request is None:
            return Revocation(False)
        assert provider.oauth is not None, "revoke_request saw to it"
        gone = provider.oauth.revoke.gone if provider.oauth.revoke else ()
        began = self._http.clock()
        reply = await self._http.ask(request)
        seconds = self._http.clock() - began
        if isinstance(reply, Reply) and (200 <= reply.status < 300 or reply.status in gone):
            return Revocation(True, _exchange(request, "revoke", seconds, reply.status))
        failed = self._failed(provider.oauth, "revoke", request, reply, None, seconds)
        return Revocation(False, failed.exchange)

    async def _tokens(
        self,
        provider: Provider,
        client: VendorClient,
        grant: GrantKind,
        request: Request,
        may_send: Callable[[], bool],
    ) -> Answer:
        assert provider.oauth is not None, "a request was made of it"
        began = self._http.clock()
        reply = await self._http.ask(request, may_send)
        seconds = self._http.clock() - began
        answer = fields(reply.body) if isinstance(reply, Reply) else None
        if isinstance(reply, NoReply) or reply.status not in GIVEN or answer is None:
            return self._failed(provider.oauth, grant, request, reply, answer, seconds)
        if has_error(provider.oauth, answer) and not answer.get("access_token"):
            return self._failed(provider.oauth, grant, request, reply, answer, seconds)
        return _granted(provider, client, grant, request, reply.status, answer, seconds)

    def _failed(
        self,
        oauth: OAuth,
        grant: GrantKind,
        request: Request,
        reply: Reply | NoReply,
        answer: Mapping[str, Any] | None,
        seconds: float,
    ) -> Failed:
        if isinstance(reply, NoReply):
            return _as_failed(request, grant, reply.status, Sorted(reply.cls, reply.reason), seconds)
        found = answer if answer is not None else fields(reply.body)
        return _as_failed(
            request, grant, reply.status, sorted_failure(oauth, grant, reply, found, self._now()), seconds
        )


def _granted(
    provider: Provider,
    client: VendorClient,
    grant: GrantKind,
    request: Request,
    status: int,
    answer: Mapping[str, Any],
    seconds: float,
) -> Answer:
    """The tokens of an answer that seems to have some. What cannot be read may still have spent the old ones."""
    try:
        if provider.oauth is not None and has_error(provider.oauth, answer):
            raise NotUsable
        tokens = read_tokens(provider, client.client_id, answer)
    except NotUsable as problem:
        cls = ErrorClass.SERVICE if problem.other_type else ErrorClass.UNCERTAIN
        reason = reasons.TOKEN_TYPE if problem.other_type else reasons.UNREADABLE
        return _as_failed(request, grant, status, Sorted(cls, reason), seconds)
    return Granted(tokens, _exchange(request, grant, seconds, status))


def _not_asked(grant: GrantKind) -> Failed:
    exchange = RedactedExchange("", "", grant, 0.0, None, ErrorClass.SERVICE, reasons.SETTINGS)
    return Failed(ErrorClass.SERVICE, reasons.SETTINGS, exchange)


def _as_failed(request: Request, grant: GrantKind, status: int | None, found: Sorted, seconds: float) -> Failed:
    exchange = _exchange(request, grant, seconds, status, found)
    return Failed(found.cls, found.reason, exchange, found.retry_after, status)


def _exchange(
    request: Request, grant: GrantKind, seconds: float, status: int | None, found: Sorted | None = None
) -> RedactedExchange:
    """Host and path only: a query could hold anything."""
    parts = urlsplit(request.url)
    return RedactedExchange(
        host=parts.netloc,
        path=parts.path[:LONGEST_PATH],
        grant=grant,
        seconds=seconds,
        status=status,
        error_class=found.cls if found else None,
        reason=found.reason if found else "",
        vendor_error=found.vendor_error if found else "",
    )
