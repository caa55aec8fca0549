"""Which address a request comes from, and which host it was meant for, when proxies stand in between."""

from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any

from gateway.mcp.headers import Headers


class Proxies:
    """The proxies whose `X-Forwarded-*` headers are believed.

    Raises:
        ValueError: an entry is neither an address nor a network.
    """

    def __init__(self, trusted: tuple[str, ...]) -> None:
        self._networks: tuple[IPv4Network | IPv6Network, ...] = tuple(ip_network(entry) for entry in trusted)
        self._trusts = lru_cache(maxsize=4096)(self._look_up)

    def client(self, scope: dict[str, Any], headers: Headers) -> str:
        """The caller's address: the last one that no trusted proxy vouches for. Empty on a Unix socket."""
        peer = scope.get("client")
        address: str = peer[0] if peer else ""
        if not self._networks or not self._trusts(address):
            return address
        for hop in reversed((headers.text(b"x-forwarded-for") or "").split(",")):
            hop = hop.strip()
            if not hop:
                break
            address = hop
            if not self._trusts(hop):
                break
        return address

    def host(self, scope: dict[str, Any], headers: Headers) -> str | None:
        """The host that the client asked for."""
        peer = scope.get("client")
        if self._networks and self._trusts(peer[0] if peer else ""):
            forwarded = headers.text(b"x-forwarded-host")
            if forwarded is not None:
                return forwarded
        return headers.text(b"host")

    def _look_up(self, address: str) -> bool:
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        return any(parsed in network for network in self._networks)
