"""Which address a request comes from, and which host it was meant for, when proxies stand in between."""

from typing import Any

from core.http.trusted_proxies import TrustedProxies
from gateway.mcp.headers import Headers


class Proxies:
    """The proxies whose `X-Forwarded-*` headers are believed.

    Raises:
        ValueError: an entry is neither an address nor a network.
    """

    def __init__(self, trusted: tuple[str, ...]) -> None:
        self._trusted = TrustedProxies(trusted)

    def client(self, scope: dict[str, Any], headers: Headers) -> str:
        """The caller's address: the last one that no trusted proxy vouches for. Empty on a Unix socket."""
        peer = scope.get("client")
        return self._trusted.client(peer[0] if peer else "", headers.text(b"x-forwarded-for"))

    def host(self, scope: dict[str, Any], headers: Headers) -> str | None:
        """The host that the client asked for."""
        peer = scope.get("client")
        if self._trusted.trusts(peer[0] if peer else ""):
            forwarded = headers.text(b"x-forwarded-host")
            if forwarded is not None:
                return forwarded
        return headers.text(b"host")
