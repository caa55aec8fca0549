"""Cross-origin access for browsers (Fetch standard, CORS protocol): the configured origins only."""

from functools import lru_cache
from urllib.parse import urlsplit

_METHODS = b"POST, GET, OPTIONS"
_REQUEST_HEADERS = (
    b"authorization, x-client-info, apikey, content-type, accept, mcp-protocol-version, mcp-method, mcp-name, "
    b"mcp-session-id, last-event-id, traceparent, tracestate"
)
_EXPOSED = b"WWW-Authenticate, X-Request-Id, Retry-After, Mcp-Session-Id"
PREFLIGHT = (
    (b"access-control-allow-methods", _METHODS),
    (b"access-control-allow-headers", _REQUEST_HEADERS),
    (b"access-control-max-age", b"600"),
)


class CorsPolicy:
    """The origins that may call: those configured, and the product's own."""

    def __init__(self, origins: tuple[str, ...], public_url: str) -> None:
        server = urlsplit(public_url)
        exact = {entry.lower() for entry in origins if not entry.endswith(":*")}
        self._exact = frozenset(exact | {f"{server.scheme}://{server.netloc}".lower()})
        self._any_port = tuple(entry[:-1].lower() for entry in origins if entry.endswith(":*"))
        self.allows = lru_cache(maxsize=1024)(self._allows)

    def _allows(self, origin: str) -> bool:
        """Check whether pages of `origin` may call."""
        origin = origin.lower()
        if origin in self._exact:
            return True
        # A host without a port is that scheme's default port, which "any port" includes.
        return any(
            origin == prefix[:-1] or (origin.startswith(prefix) and origin[len(prefix) :].isdigit())
            for prefix in self._any_port
        )


def build_cors_headers(origin: str) -> list[tuple[bytes, bytes]]:
    """Build the CORS headers of every answer to an allowed origin."""
    return [
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"access-control-expose-headers", _EXPOSED),
        (b"vary", b"Origin"),
    ]
