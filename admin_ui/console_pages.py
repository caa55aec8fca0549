"""``/console``: the files of the web app with their headers, and the addresses that lead to it."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from admin_ui.console_files import ConsoleFile, load_console_files

CONSOLE_PATH: Final = "/console"
INDEX: Final = "index.html"
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; font-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Vary": "Accept-Encoding",
}
"""Nothing inline, nothing from elsewhere, no text that becomes HTML (threat-model.md §2, row 35)."""

_FOREVER = {"Cache-Control": "public, max-age=31536000, immutable"}
_ASK_ANEW = {"Cache-Control": "no-cache"}
_NOT_BUILT = """\
The console has not been built in this installation.

In a clone of the repository run `make console`, then reload this page. It needs the npm registry once.
An installed package of MCPist brings the console; this one was made without it.

The rest works: your account is at /account, your connections are at /connect, and `mcpist --help` lists
what an administrator can do on the command line.
"""
_TOP_LEVEL = ("dashboard", "tools", "profile", "users", "requests", "roles", "services", "clients", "logs", "settings",
              "tenants", "keys", "doctor")  # fmt: skip
"""Pages of the console that are reached by a bare path too (requirements.md, A-20)."""

_DEEP: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "/users/{id}": ("users", {"id": "{id}"}),
    "/users/{id}/roles": ("users", {"id": "{id}", "tab": "roles"}),
    "/roles/{id}": ("roles", {"id": "{id}"}),
    "/roles/{id}/permissions": ("roles", {"id": "{id}", "tab": "permissions"}),
    "/roles/{id}/services/{service}": ("roles", {"id": "{id}", "tab": "permissions", "service": "{service}"}),
    "/tools/{service}/connect": ("tools", {"connect": "{service}"}),
    "/services/{id}": ("services", {"id": "{id}"}),
}
"""Deep paths of the source document, with the page and the query that show the same."""


def build_console_routes() -> Sequence[Route]:
    """Build the routes of the console. Its files are read when they are first asked for."""
    console = _Console()
    return (
        *(Route(f"/{page}", _redirect_bare, methods=["GET"]) for page in _TOP_LEVEL),
        *(Route(prefix + path, _redirect_deep, methods=["GET"]) for prefix in ("", CONSOLE_PATH) for path in _DEEP),
        Route(f"{CONSOLE_PATH}/login", _redirect_login, methods=["GET"]),
        Route(CONSOLE_PATH, console.serve, methods=["GET"]),
        Route(f"{CONSOLE_PATH}/{{path:path}}", console.serve, methods=["GET"]),
    )


class _Console:
    def __init__(self) -> None:
        self._files: Mapping[str, ConsoleFile] = {}

    async def serve(self, request: Request) -> Response:
        """Serve a file; every path that is none is a page of the app, which reads it in the browser."""
        # Until there is a build, so that one which comes later needs no restart.
        self._files = self._files or await asyncio.to_thread(load_console_files)
        if not self._files:
            return PlainTextResponse(_NOT_BUILT, 503, {"Retry-After": "30"})
        path: str = request.path_params.get("path", "")
        found = self._files.get(path)
        if found is None and _names_a_file(path):
            return PlainTextResponse("there is no such file\n", 404, {"Cache-Control": "no-store"})
        if found is None or path == INDEX:
            return _respond(request, self._files[INDEX], _ASK_ANEW)
        return _respond(request, found, _FOREVER if path.startswith("assets/") else _ASK_ANEW)


def _names_a_file(path: str) -> bool:
    """Check whether whoever asks expects no page: HTML in the place of a script would be a MIME error."""
    return path.startswith("assets/") or "." in path.rpartition("/")[2]


def _respond(request: Request, file: ConsoleFile, caching: Mapping[str, str]) -> Response:
    headers = {**HEADERS, **caching}
    for name, content in file.encoded.items():
        if _accepts(request.headers.get("accept-encoding", ""), name):
            return Response(content, media_type=file.media_type, headers={**headers, "Content-Encoding": name})
    return Response(file.content, media_type=file.media_type, headers=headers)


def _accepts(header: str, coding: str) -> bool:
    """Check whether an Accept-Encoding names a coding and does not refuse it (RFC 9110 §12.5.3)."""
    for part in header.lower().split(","):
        name, _, weight = part.partition(";")
        if name.strip() == coding:
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False


def _redirect_bare(request: Request) -> Response:
    query: bytes = request.scope["query_string"]
    return RedirectResponse(CONSOLE_PATH + request.scope["path"] + "?" * bool(query) + query.decode("latin-1"), 303)


def _redirect_deep(request: Request) -> Response:
    route: Route = request.scope["route"]
    page, query = _DEEP[route.path.removeprefix(CONSOLE_PATH)]
    filled = {name: value.format(**request.path_params) for name, value in query.items()}
    return RedirectResponse(f"{CONSOLE_PATH}/{page}?{urlencode(filled)}", 303)


def _redirect_login(request: Request) -> Response:
    return RedirectResponse("/login", 303)
