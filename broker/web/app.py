"""The pages and endpoints of identity as one ASGI application: what is checked of every request, and how errors end."""

import logging
from collections.abc import Sequence

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from broker.oauth.asker import ADDRESS
from broker.oauth.errors import OAuthError
from broker.web import same_origin
from broker.web.connect_paths import CLIENT_DOCUMENTS
from broker.web.parts import WebParts
from broker.web.problems import Problem
from broker.web.requests import client_address
from broker.web.security_headers import EVERY_ANSWER
from core.errors import MCPistError

PROGRAM_PATHS = (
    "/.well-known/",
    "/oauth/token",
    "/oauth/revoke",
    "/oauth/register",
    "/oauth/jwks.json",
    "/api/",
    CLIENT_DOCUMENTS,
)
"""What programs call; everything else is for people, and errors are pages."""

COOKIE_PATHS = ("/sign-in", "/oauth/authorize", "/account", "/connect")

log = logging.getLogger(__name__)


def identity_app(parts: WebParts, routes: Sequence[BaseRoute]) -> ASGIApp:
    """The application of these routes; every path that has none answers 404."""
    return _IdentityApp(parts, Router(routes, redirect_slashes=False, default=_nowhere))


class _IdentityApp:
    def __init__(self, parts: WebParts, router: ASGIApp) -> None:
        self._parts = parts
        self._router = router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # the server sends nothing else
        request = Request(scope, receive)
        answer = _Answer(send)
        ADDRESS.set(client_address(request, self._parts.proxies))
        try:
            moved = self._admitted(request)
            # Starlette raises for a wrong method, rather than answering by itself, where there is an "app".
            await (moved or self._router)({**scope, "app": self}, receive, answer)
        except ClientDisconnect:
            return
        except Exception as error:  # noqa: BLE001 a fault of ours must not be shown, nor its text logged
            if answer.has_begun:
                log.error("an answer broke off", extra={"cause": type(error).__name__})
                raise ConnectionAbortedError from None  # the server closes the connection: half an answer is none
            await self._refusal(request, error)(scope, receive, answer)

    def _admitted(self, request: Request) -> Response | None:
        """Checks that do not depend on the route; a redirect for a browser that uses another name of this machine.

        Raises:
            Problem: the request is for another host, from another site, or over a connection without cookies.
        """
        parts = self._parts
        host = _host(request, parts)
        server = request.scope.get("server")
        if not parts.hosts.allows(host, server[1] if server else None):
            raise Problem("other_host", 421, url=parts.settings.public_url)
        same_origin.check(request, parts.settings.public_url)
        if _is_for_programs(request):
            return None
        if request.method == "GET" and parts.hosts.is_loopback and not parts.hosts.is_public(host):
            return RedirectResponse(parts.url(_target(request)), 307)
        if not parts.cookies.usable and _path(request).startswith(COOKIE_PATHS):
            raise Problem("plain_http", 403, url=parts.settings.public_url)
        return None

    def _refusal(self, request: Request, error: Exception) -> Response:
        if isinstance(error, OAuthError):
            return JSONResponse(error.as_json(), error.status, dict(error.headers))
        expected = _expected(error)
        if _is_for_programs(request):
            return _json(request, expected)
        return self._parts.pages.problem(request, expected)


class _Answer:
    """Adds the headers that every answer has to have, where the route has not set its own."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            message["headers"] = _completed(list(message.get("headers", ())))
        await self._send(message)


def _completed(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    given = {name.lower() for name, _ in headers}
    more = [(name.lower().encode(), value.encode()) for name, value in EVERY_ANSWER.items()]
    return headers + [(name, value) for name, value in more if name not in given]


def _expected(error: Exception) -> MCPistError:
    if isinstance(error, HTTPException):
        return Problem("wrong_method", 405) if error.status_code == 405 else Problem("invalid", error.status_code)
    if isinstance(error, MCPistError):
        return error
    log.error("a request failed", extra={"cause": type(error).__name__})
    return Problem("internal", 500)


def _json(request: Request, error: MCPistError) -> Response:
    status = error.http_status if isinstance(error, Problem) else error.status
    retry_after = getattr(error, "retry_after", None)
    headers = {"Retry-After": str(max(1, int(retry_after)))} if retry_after is not None else {}
    if _path(request).startswith("/api/"):
        code = error.key if isinstance(error, Problem) else error.code
        told = {"type": "about:blank", "status": status, "code": code, "detail": str(error)}
        return JSONResponse(told, status, headers, media_type="application/problem+json")
    oauth = OAuthError(_oauth_code(status), str(error), status)
    return JSONResponse(oauth.as_json(), status, headers)


def _oauth_code(status: int) -> str:
    """RFC 6749 §4.1.2.1 and §5.2 know these; clients try again at the first two."""
    if status in (429, 503):
        return "temporarily_unavailable"
    return "server_error" if status >= 500 else "invalid_request"


def _host(request: Request, parts: WebParts) -> str:
    peer = request.client.host if request.client else ""
    if parts.proxies.trusts(peer) and (forwarded := request.headers.get("x-forwarded-host")) is not None:
        return forwarded.strip()
    return request.headers.get("host", "")


def _target(request: Request) -> str:
    """Path and query as they came; behind our own host they cannot lead anywhere else."""
    path: bytes = request.scope["raw_path"]
    asked: bytes = request.scope["query_string"]
    return (path + b"?" * bool(asked) + asked).decode("latin-1")


def _path(request: Request) -> str:
    return request.scope["path"]  # request.url would be put together with a host that nobody has checked


def _is_for_programs(request: Request) -> bool:
    return _path(request).startswith(PROGRAM_PATHS)


async def _nowhere(scope: Scope, receive: Receive, send: Send) -> None:
    raise Problem("not_found", 404)
