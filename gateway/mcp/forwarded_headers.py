"""Which address a request comes from, and which host it was meant for, when proxies stand in between."""

from typing import Any

from core.http.trusted_proxies import TrustedProxies
from gateway.mcp.request_headers import RequestHeaders


class ForwardedHeaders:
    """The proxies whose `X-Forwarded-*` headers are believed.

    Raises:
        ValueError: an entry is neither an address nor a network.
    """

    def __init__(self, trusted: tuple[str, ...]) -> None:
        self._trusted_proxies = TrustedProxies(trusted)

    def get_client_address(self, scope: dict[str, Any], headers: RequestHeaders) -> str:
        """Return the caller's address: the last one that no trusted proxy vouches for. Empty on a Unix socket."""
        peer = scope.get("client")
        return self._trusted_proxies.client(peer[0] if peer else "", headers.get_text(b"x-forwarded-for"))

    def get_host(self, scope: dict[str, Any], headers: RequestHeaders) -> str | None:
        """Return the host that the client asked for."""
        peer = scope.get("client")
        if self._trusted_proxies.trusts(peer[0] if peer else ""):
            forwarded = headers.get_text(b"x-forwarded-host")
            if forwarded is not None:
                return forwarded
        return headers.get_text(b"host")
