"""The routes of the authorization server (docs/decisions and RFC 6749, 7009, 7517, 7591, 8414 say what each is)."""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from broker.identity.sessions import Sessions
from broker.oauth.authorization import Authorization
from broker.oauth.consents import Consents
from broker.oauth.errors import OAuthError
from broker.oauth.grants import Grants
from broker.oauth.metadata import authorization_server, openid_configuration
from broker.oauth.registration import CLOSED
from broker.oauth.revocation import Revocation
from broker.oauth.token_endpoint import TokenEndpoint
from broker.web import requests
from broker.web.authorize import PATH, AuthorizePages
from broker.web.cross_origin import Endpoint, open_route
from broker.web.parts import WebParts
from core.errors import Invalid
from core.limits import AttemptLimits

TALKATIVE = ("authlib", "joserfc")
"""Libraries that write tokens to their log below INFO."""
MORE_TOKENS = 5
"""How many times as many refusals the token endpoint stands as the others: one address may be a whole company's, whose
programs all come back with tokens that have ended when somebody ends them all."""
CODES_PER_MINUTE = 60
"""For one person, who has several clients that all come back after an outage."""
PUBLIC = {"Cache-Control": "public, max-age=300"}


class PublishesKeys(Protocol):
    """Has the keys that access tokens are signed by."""

    async def document(self) -> bytes: ...


class RegistersClients(Protocol):
    """Takes clients that come by themselves (RFC 7591)."""

    async def register(self, document: bytes, address: str) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True)
class AuthorizationServer:
    """Everything that the routes lead to. `registration` is None where clients cannot register themselves."""

    authorization: Authorization
    token_endpoint: TokenEndpoint
    revocation: Revocation
    sessions: Sessions
    consents: Consents
    grants: Grants
    keys: PublishesKeys
    registration: RegistersClients | None = None


def routes(
    parts: WebParts, server: AuthorizationServer, *, monotonic: Callable[[], float] = time.monotonic
) -> list[Route]:
    """The authorization server's routes; none where it is switched off."""
    settings = parts.identity.authorization_server
    if not settings.enabled:
        return []
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(logging.INFO)
    per_minute = parts.settings.failed_auth_per_minute

    def limits(times: int = 1) -> AttemptLimits:
        return AttemptLimits(per_minute * times, per_minute * times, clock=monotonic)

    people = AttemptLimits(CODES_PER_MINUTE, CODES_PER_MINUTE, clock=monotonic)
    services = (server.authorization, server.sessions, server.consents, server.grants)
    pages = AuthorizePages(parts, *services, limits(), people)
    programs = _Programs(parts, server, limits(MORE_TOKENS), limits(), limits())
    resource = parts.url("/mcp")
    document = authorization_server(parts.issuer, resource, settings)
    found = [
        Route(PATH, pages.ask, methods=["GET"]),
        Route(PATH, pages.decide, methods=["POST"]),
        open_route("/oauth/token", programs.token, ["POST"]),
        open_route("/oauth/revoke", programs.revoke, ["POST"]),
        open_route("/oauth/jwks.json", programs.keys, ["GET"]),
        open_route("/.well-known/oauth-authorization-server", _published(document), ["GET"]),
        open_route(
            "/.well-known/openid-configuration",
            _published(openid_configuration(parts.issuer, resource, settings)),
            ["GET"],
        ),
    ]
    open_to_all = settings.dynamic_registration and server.registration is not None
    return [*found, *_registration(parts, programs.register if open_to_all else None)]


def _registration(parts: WebParts, register: Endpoint | None) -> list[Route]:
    """Where clients register themselves. SDKs ask at /register where the metadata names no registration endpoint."""
    closed = _refusing("access_denied", CLOSED, 403)
    elsewhere = _refusing("invalid_request", f"clients register at {parts.url('/oauth/register')}", 404)
    return [
        open_route("/oauth/register", register or closed, ["POST"]),
        open_route("/register", elsewhere if register else closed, ["POST"]),
    ]


class _Programs:
    """The endpoints that only programs call; whoever is refused too often has to wait."""

    def __init__(
        self,
        parts: WebParts,
        server: AuthorizationServer,
        tokens: AttemptLimits,
        revocations: AttemptLimits,
        registrations: AttemptLimits,
    ) -> None:
        self._parts = parts
        self._server = server
        self._tokens = tokens
        self._revocations = revocations
        self._registrations = registrations

    async def token(self, request: Request) -> Response:
        async def answer(_address: str) -> Response:
            form = await requests.form(request)
            found = await self._server.token_endpoint.answer(request.headers, form)
            return JSONResponse(dict(found), headers={"Cache-Control": "no-store", "Pragma": "no-cache"})

        return await self._counted(request, self._tokens, answer)

    async def revoke(self, request: Request) -> Response:
        async def answer(_address: str) -> Response:
            await self._server.revocation.revoke(request.headers, await requests.form(request))
            return Response(headers={"Cache-Control": "no-store"})

        return await self._counted(request, self._revocations, answer)

    async def register(self, request: Request) -> Response:
        registration = self._server.registration
        assert registration is not None, "there is no route without it"

        async def answer(address: str) -> Response:
            found = await registration.register(await _json(request), address)
            return JSONResponse(dict(found), 201, headers={"Cache-Control": "no-store"})

        return await self._counted(request, self._registrations, answer)

    async def keys(self, request: Request) -> Response:
        return Response(await self._server.keys.document(), media_type="application/json", headers=PUBLIC)

    async def _counted(self, request: Request, limits: AttemptLimits, answer: Callable[[str], Any]) -> Response:
        address = requests.client_address(request, self._parts.proxies)
        limits.check(address)
        try:
            return await answer(address)
        except (OAuthError, Invalid):
            limits.failed(address)
            raise


async def _json(request: Request) -> bytes:
    """The body of a registration (RFC 7591 §3.1)."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise OAuthError("invalid_client_metadata", "send a JSON object with Content-Type: application/json")
    return await requests.body(request)


def _refusing(code: str, description: str, status: int) -> Endpoint:
    async def answer(_request: Request) -> Response:
        raise OAuthError(code, description, status)

    return answer


def _published(document: Mapping[str, Any]) -> Endpoint:
    async def answer(_request: Request) -> Response:
        return JSONResponse(dict(document), headers=PUBLIC)

    return answer
