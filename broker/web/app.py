"""The pages and endpoints of identity as one ASGI application: what is checked of every request, and how errors end."""

import logging
from collections.abc import Sequence

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Match, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from broker.authorization_server.client_registry import CLIENT_ADDRESS
from broker.authorization_server.errors import OAuthError
from broker.web import security_headers
from broker.web.connect_urls import CLIENT_DOCUMENTS_PATH
from broker.web.i18n import PageError, Translations
from broker.web.request_parsing import get_client_address
from broker.web.security_headers import DEFAULT_HEADERS
from broker.web.web_dependencies import WebDependencies
from core.disk_errors import DiskFull, is_disk_full
from core.errors import MCPistError
from core.http.same_origin import SAFE_METHODS
from core.log_events import describe_error

PROGRAM_PATHS = (
    "/.well-known/",
    "/oauth/token",
    "/oauth/revoke",
    "/oauth/register",
    "/register",
    "/oauth/jwks.json",
    "/api/",
    "/scim/",
    CLIENT_DOCUMENTS_PATH,
)
"""What programs call: errors are JSON. Elsewhere errors are pages; an unknown path answers as `Accept` says."""

COOKIE_PATHS = ("/sign-in", "/oauth/authorize", "/account", "/connect", "/console", "/docs")

log = logging.getLogger(__name__)


def build_identity_app(parts: WebDependencies, routes: Sequence[BaseRoute]) -> ASGIApp:
    """The application of these routes; every path that has none answers 404."""
    return _IdentityApp(parts, routes)


class _PathNotFound(PageError):
    """Raised for a path that has no route."""

    def __init__(self) -> None:
        super().__init__("not_found", 404)


class _IdentityApp:
    def __init__(self, parts: WebDependencies, routes: Sequence[BaseRoute]) -> None:
        self._parts = parts
        self._routes = routes
        self._router: ASGIApp = Router(routes, redirect_slashes=False, default=_raise_not_found)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # the server sends nothing else
        request = Request(scope, receive)
        answer = _ResponseSender(send)
        CLIENT_ADDRESS.set(get_client_address(request, self._parts.proxies))
        try:
            moved = self._check_request(request)
            # Starlette raises for a wrong method, rather than answering by itself, where there is an "app".
            scope["app"] = self
            await (moved or self._router)(scope, receive, answer)
        except ClientDisconnect:
            return
        except Exception as error:  # noqa: BLE001 a fault of ours must not be shown, nor its text logged
            if answer.has_begun:
                log.error("a response was cut off", extra={"event": "web_response_aborted", **describe_error(error)})
                raise ConnectionAbortedError from None  # the server closes the connection: half an answer is none
            await self._build_error_response(request, error)(scope, receive, answer)

    def _check_request(self, request: Request) -> Response | None:
        """Checks that do not depend on the route; a redirect for a browser that uses another name of this machine, or
        that asks for nothing in particular.

        Raises:
            Problem: the request is for another host or an unknown path, from another site, or over a connection
                without cookies.
        """
        parts = self._parts
        host = _get_host(request, parts)
        server = request.scope.get("server")
        if not parts.hosts.allows(host, server[1] if server else None):
            raise PageError("other_host", 421, url=parts.settings.public_url)
        # Before the origin: a program that asks for what does not exist would read of cross-site requests otherwise.
        if request.method not in SAFE_METHODS and not self._has_route(request):
            raise _PathNotFound
        security_headers.check_same_origin(request, parts.settings.public_url)
        if _is_for_programs(request):
            return None
        if request.method == "GET" and parts.hosts.is_loopback and not parts.hosts.is_public(host):
            return RedirectResponse(parts.build_url(_get_target(request)), 307)
        if not parts.cookies.usable and _get_path(request).startswith(COOKIE_PATHS):
            raise PageError("plain_http", 403, url=parts.settings.public_url)
        if _get_path(request) == "/" and request.method in SAFE_METHODS and _wants_page(request):
            return RedirectResponse(parts.get_home_path(), 303)  # on to the sign-in, where nobody is signed in
        return None

    def _has_route(self, request: Request) -> bool:
        return any(route.matches(request.scope)[0] is not Match.NONE for route in self._routes)

    def _build_error_response(self, request: Request, error: Exception) -> Response:
        if isinstance(error, OAuthError):
            return JSONResponse(error.as_json(), error.status, dict(error.headers))
        if isinstance(error, _PathNotFound):
            return self._build_not_found_response(request, error)
        expected = _to_expected_error(error)
        if _is_for_programs(request):
            return _build_json_error(request, expected)
        return self._parts.pages.render_error(request, expected)

    def _build_not_found_response(self, request: Request, error: _PathNotFound) -> Response:
        """A page for a browser, which asks for one; for every other client JSON that names the endpoint of MCP."""
        if not _is_for_programs(request) and _wants_page(request):
            response = self._parts.pages.render_error(request, error)
        else:
            message = f"there is nothing at this address; MCP clients connect to {self._parts.build_url('/mcp')}"
            response = JSONResponse(OAuthError("not_found", message).as_json(), error.http_status)
        response.headers.add_vary_header("Accept")
        return response


class _ResponseSender:
    """Adds the headers that every answer has to have, where the route has not set its own."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            message["headers"] = _add_default_headers(list(message.get("headers", ())))
        await self._send(message)


def _add_default_headers(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    present = {name.lower() for name, _ in headers}
    more = [(name.lower().encode(), value.encode()) for name, value in DEFAULT_HEADERS.items()]
    return headers + [(name, value) for name, value in more if name not in present]


def _to_expected_error(error: Exception) -> MCPistError:
    if isinstance(error, HTTPException):
        return PageError("wrong_method", 405) if error.status_code == 405 else PageError("invalid", error.status_code)
    if isinstance(error, MCPistError):
        return error
    if is_disk_full(error):
        return DiskFull()
    log.error("a web request failed", extra={"event": "web_request_failed", **describe_error(error)})
    return PageError("internal", 500)


def _build_json_error(request: Request, error: MCPistError) -> Response:
    status = error.http_status if isinstance(error, PageError) else error.status
    retry_after = getattr(error, "retry_after", None)
    headers = {"Retry-After": str(max(1, int(retry_after)))} if retry_after is not None else {}
    text = _render_plain_text(error) if isinstance(error, PageError) else str(error)
    if _get_path(request).startswith("/api/"):
        code = error.key if isinstance(error, PageError) else error.code
        problem = {"type": "about:blank", "status": status, "code": code, "detail": text}
        return JSONResponse(problem, status, headers, media_type="application/problem+json")
    oauth = OAuthError(_get_oauth_code(status), text, status)
    return JSONResponse(oauth.as_json(), status, headers)


def _render_plain_text(problem: PageError) -> str:
    """The English text of a page, for a program's developer."""
    return Translations("en")(f"problem.{problem.key}.text", **problem.words).striptags()


def _get_oauth_code(status: int) -> str:
    """RFC 6749 §4.1.2.1 and §5.2 know these; clients try again at the first two."""
    if status in (429, 503):
        return "temporarily_unavailable"
    return "server_error" if status >= 500 else "invalid_request"


def _get_host(request: Request, parts: WebDependencies) -> str:
    peer = request.client.host if request.client else ""
    if parts.proxies.trusts(peer) and (forwarded := request.headers.get("x-forwarded-host")) is not None:
        return forwarded.strip()
    return request.headers.get("host", "")


def _get_target(request: Request) -> str:
    """Path and query as they came; behind our own host they cannot lead anywhere else."""
    path: bytes = request.scope["raw_path"]
    query: bytes = request.scope["query_string"]
    return (path + b"?" * bool(query) + query).decode("latin-1")


def _get_path(request: Request) -> str:
    return request.scope["path"]  # request.url would be put together with a host that nobody has checked


def _is_for_programs(request: Request) -> bool:
    return _get_path(request).startswith(PROGRAM_PATHS)


def _wants_page(request: Request) -> bool:
    """Browsers name HTML where a person goes somewhere; programs, and scripts in pages, do not."""
    return "text/html" in request.headers.get("accept", "").lower()


async def _raise_not_found(scope: Scope, receive: Receive, send: Send) -> None:
    raise _PathNotFound
