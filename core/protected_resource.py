"""Protected resource metadata of /mcp (RFC 9728), from which clients learn how to get a token.

/mcp has other forms, such as ``/mcp/plain/github`` (:mod:`core.tool_exposure`). Each has metadata that names that form
as the resource, as RFC 9728 §3.3 wants it; the audience of a token is the same for all.
"""

from typing import Any
from urllib.parse import urlsplit

import orjson

from core.errors import Invalid
from core.scopes import MCP_SCOPES
from core.tool_exposure import parse_exposure, parse_exposure_path

METADATA_ROOT = "/.well-known/oauth-protected-resource"
RESOURCE_PATH = "/mcp"
METADATA_PATHS = (METADATA_ROOT, METADATA_ROOT + RESOURCE_PATH)
_ALLOW = (b"allow", b"GET, HEAD, OPTIONS")
# Public to everybody, so to every page too: clients that run in a browser have to read it.
_OPEN = (
    (b"access-control-allow-origin", b"*"),
    (b"access-control-allow-methods", b"GET, HEAD, OPTIONS"),
    (b"access-control-allow-headers", b"authorization, accept, content-type, mcp-protocol-version"),
    (b"access-control-max-age", b"600"),
)
_DOCUMENT = ((b"content-type", b"application/json"), (b"cache-control", b"public, max-age=300"))


def build_resource_identifier(public_url: str) -> str:
    """Build the resource identifier of /mcp, the audience of its tokens (RFC 8707)."""
    return public_url + RESOURCE_PATH


def build_metadata_url(public_url: str) -> str:
    """Build the URL of the metadata of /mcp (RFC 9728 §3.1), which challenges name."""
    return public_url + METADATA_ROOT + RESOURCE_PATH


def is_resource_form(rest: str) -> bool:
    """Check whether what follows ``/mcp`` in a URL makes it a form of /mcp: a view in its path or in its query."""
    path, question_mark, query = rest.partition("?")
    try:
        if path and (not path.startswith("/") or parse_exposure_path(path[1:]) is None):
            return False
        return not question_mark or parse_exposure(query) is not None
    except Invalid:
        return False


class ProtectedResourceMetadata:
    """The ASGI application behind `METADATA_PATHS`, and below the second of them for the other forms of /mcp.
    `authorization_server` is the issuer that gives tokens for /mcp."""

    def __init__(self, public_url: str, authorization_server: str) -> None:
        self._resource = build_resource_identifier(public_url)
        self._metadata = {
            "authorization_servers": [authorization_server],
            "scopes_supported": sorted(MCP_SCOPES),
            "bearer_methods_supported": ["header"],
            "resource_name": f"MCPist at {urlsplit(public_url).netloc}",
        }

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        method, form = scope["method"], _get_form(scope)
        if form and not is_resource_form(form):
            await _send_answer(send, 404, b'{"error":"Not Found"}', _DOCUMENT[0], with_body=method != "HEAD")
        elif method == "OPTIONS":
            await _send_answer(send, 204, b"")
        elif method in ("GET", "HEAD"):
            body = orjson.dumps({"resource": self._resource + form, **self._metadata})
            await _send_answer(send, 200, body, *_DOCUMENT, with_body=method == "GET")
        else:
            await _send_answer(send, 405, b'{"error":"Method Not Allowed"}', _DOCUMENT[0], _ALLOW)


def _get_form(scope: dict[str, Any]) -> str:
    """Return what follows ``/mcp`` in the path, as the client wrote it: it compares the resource with its own URL."""
    path: str = scope["raw_path"].decode("latin-1") if scope.get("raw_path") else scope["path"]
    return path.removeprefix(METADATA_ROOT).removeprefix(RESOURCE_PATH)


async def _send_answer(
    send: Any, status: int, body: bytes, *headers: tuple[bytes, bytes], with_body: bool = True
) -> None:
    fields = [(b"content-length", b"%d" % len(body)), *headers, *_OPEN]
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": body if with_body else b""})
