"""The routes of the authorization server (docs/decisions and RFC 6749, 7009, 7517, 7591, 8414 say what each is)."""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from broker.authorization_server.authorization_request import AuthorizationRequestParser
from broker.authorization_server.client_trust import ClientTrustReader
from broker.authorization_server.consents import Consents
from broker.authorization_server.errors import OAuthError
from broker.authorization_server.grants import Grants
from broker.authorization_server.server_metadata import build_openid_configuration, build_server_metadata
from broker.authorization_server.token_endpoint import TokenEndpoint, TokenRevocation
from broker.identity.browser_sessions import Sessions
from broker.web import request_parsing
from broker.web.authorize_pages import AUTHORIZE_PATH, AuthorizePages
from broker.web.cors import Endpoint, build_public_route
from broker.web.web_dependencies import WebDependencies
from core.concurrency.rate_limits import AttemptLimits
from core.errors import Invalid

VERBOSE_LOGGERS = ("authlib", "joserfc")
"""Libraries that write tokens to their log below INFO."""
TOKEN_LIMIT_FACTOR = 5
"""How many times as many refusals the token endpoint stands as the others: one address may be a whole company's, whose
programs all come back with tokens that have ended when somebody ends them all."""
CODES_PER_MINUTE = 60
"""For one person, who has several clients that all come back after an outage."""
PUBLIC_CACHE_HEADERS = {"Cache-Control": "public, max-age=300"}


class KeyPublisher(Protocol):
    """Has the keys that access tokens are signed by."""

    async def get_jwks(self) -> bytes: ...


class ClientRegistrar(Protocol):
    """Takes clients that come by themselves (RFC 7591)."""

    async def check_open(self) -> None: ...

    async def register(self, document: bytes, address: str) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True)
class AuthorizationServerServices:
    """Services behind the OAuth routes."""

    authorization: AuthorizationRequestParser
    token_endpoint: TokenEndpoint
    revocation: TokenRevocation
    sessions: Sessions
    consents: Consents
    grants: Grants
    keys: KeyPublisher
    registration: ClientRegistrar
    trust: ClientTrustReader


def build_oauth_routes(
    parts: WebDependencies, server: AuthorizationServerServices, *, monotonic: Callable[[], float] = time.monotonic
) -> list[Route]:
    """The authorization server's routes; none where it is switched off."""
    settings = parts.identity.authorization_server
    if not settings.enabled:
        return []
    for name in VERBOSE_LOGGERS:
        logging.getLogger(name).setLevel(logging.INFO)
    per_minute = parts.settings.failed_auth_per_minute

    def create_limits(times: int = 1) -> AttemptLimits:
        return AttemptLimits(per_minute * times, per_minute * times, clock=monotonic)

    people = AttemptLimits(CODES_PER_MINUTE, CODES_PER_MINUTE, clock=monotonic)
    services = (server.authorization, server.sessions, server.consents, server.grants)
    pages = AuthorizePages(parts, *services, create_limits(), people)
    programs = _OAuthEndpoints(parts, server, create_limits(TOKEN_LIMIT_FACTOR), create_limits(), create_limits())
    resource = parts.build_url("/mcp")

    async def build_metadata() -> Mapping[str, Any]:
        return build_server_metadata(parts.issuer, resource, await server.trust.get())

    async def build_configuration() -> Mapping[str, Any]:
        return build_openid_configuration(parts.issuer, resource, await server.trust.get())

    return [
        Route(AUTHORIZE_PATH, pages.begin, methods=["GET"]),
        Route(AUTHORIZE_PATH, pages.decide, methods=["POST"]),
        build_public_route("/oauth/token", programs.issue_token, ["POST"]),
        build_public_route("/oauth/revoke", programs.revoke, ["POST"]),
        build_public_route("/oauth/jwks.json", programs.serve_keys, ["GET"]),
        build_public_route("/.well-known/oauth-authorization-server", _serve(build_metadata), ["GET"]),
        build_public_route("/.well-known/openid-configuration", _serve(build_configuration), ["GET"]),
        build_public_route("/oauth/register", programs.register, ["POST"]),
        build_public_route("/register", programs.refuse_registration, ["POST"]),
    ]


class _OAuthEndpoints:
    """The endpoints that only programs call; whoever is refused too often has to wait."""

    def __init__(
        self,
        parts: WebDependencies,
        server: AuthorizationServerServices,
        tokens: AttemptLimits,
        revocations: AttemptLimits,
        registrations: AttemptLimits,
    ) -> None:
        self._parts = parts
        self._server = server
        self._tokens = tokens
        self._revocations = revocations
        self._registrations = registrations

    async def issue_token(self, request: Request) -> Response:
        async def answer(_address: str) -> Response:
            form = await request_parsing.read_form(request)
            issued = await self._server.token_endpoint.handle_request(request.headers, form)
            return JSONResponse(dict(issued), headers={"Cache-Control": "no-store", "Pragma": "no-cache"})

        return await self._answer_limited(request, self._tokens, answer)

    async def revoke(self, request: Request) -> Response:
        async def answer(_address: str) -> Response:
            await self._server.revocation.revoke(request.headers, await request_parsing.read_form(request))
            return Response(headers={"Cache-Control": "no-store"})

        return await self._answer_limited(request, self._revocations, answer)

    async def register(self, request: Request) -> Response:
        registration = self._server.registration
        await registration.check_open()

        async def answer(address: str) -> Response:
            registered = await registration.register(await _read_json_body(request), address)
            return JSONResponse(dict(registered), 201, headers={"Cache-Control": "no-store"})

        return await self._answer_limited(request, self._registrations, answer)

    async def refuse_registration(self, _request: Request) -> Response:
        """Answer at the address that clients try where there is no metadata."""
        await self._server.registration.check_open()
        raise OAuthError("invalid_request", f"clients register at {self._parts.build_url('/oauth/register')}", 404)

    async def serve_keys(self, request: Request) -> Response:
        return Response(await self._server.keys.get_jwks(), media_type="application/json", headers=PUBLIC_CACHE_HEADERS)

    async def _answer_limited(self, request: Request, limits: AttemptLimits, answer: Callable[[str], Any]) -> Response:
        address = request_parsing.get_client_address(request, self._parts.proxies)
        limits.check(address)
        try:
            return await answer(address)
        except (OAuthError, Invalid):
            limits.record_failure(address)
            raise


async def _read_json_body(request: Request) -> bytes:
    """The body of a registration (RFC 7591 §3.1)."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise OAuthError("invalid_client_metadata", "send a JSON object with Content-Type: application/json")
    return await request_parsing.read_body(request)


def _serve(build: Callable[[], Awaitable[Mapping[str, Any]]]) -> Endpoint:
    async def answer(_request: Request) -> Response:
        return JSONResponse(dict(await build()), headers=PUBLIC_CACHE_HEADERS)

    return answer
