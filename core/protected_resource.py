"""Protected resource metadata of /mcp (RFC 9728), from which clients learn how to get a token."""

from typing import Any
from urllib.parse import urlsplit

import orjson

from core.scopes import MCP_SCOPES

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


class ProtectedResourceMetadata:
    """The ASGI application behind `PATHS`. `authorization_server` is the issuer that gives tokens for /mcp."""

    def __init__(self, public_url: str, authorization_server: str) -> None:
        self._body = orjson.dumps(
            {
                "resource": build_resource_identifier(public_url),
                "authorization_servers": [authorization_server],
                "scopes_supported": sorted(MCP_SCOPES),
                "bearer_methods_supported": ["header"],
                "resource_name": f"MCPist at {urlsplit(public_url).netloc}",
            }
        )

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        method = scope["method"]
        if method == "OPTIONS":
            await _send_answer(send, 204, b"")
        elif method in ("GET", "HEAD"):
            await _send_answer(send, 200, self._body, *_DOCUMENT, with_body=method == "GET")
        else:
            await _send_answer(send, 405, b'{"error":"Method Not Allowed"}', _DOCUMENT[0], _ALLOW)


async def _send_answer(
    send: Any, status: int, body: bytes, *headers: tuple[bytes, bytes], with_body: bool = True
) -> None:
    fields = [(b"content-length", b"%d" % len(body)), *headers, *_OPEN]
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": body if with_body else b""})
