"""Which address a request comes from when proxies stand in between."""

import re
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

_WITH_PORT = re.compile(r"\[([0-9A-Fa-f:.]+)\](?::[0-9]+)?|([0-9.]+):[0-9]+", re.ASCII)


class TrustedProxies:
    """The proxies whose `X-Forwarded-*` headers are believed.

    Raises:
        ValueError: an entry is neither an address nor a network.
    """

    def __init__(self, networks: tuple[str, ...]) -> None:
        self._networks: tuple[IPv4Network | IPv6Network, ...] = tuple(ip_network(entry) for entry in networks)
        self._verdicts = lru_cache(maxsize=4096)(self._look_up)

    def trusts(self, peer: str) -> bool:
        """Check whether this address is one of the proxies."""
        return bool(self._networks) and self._verdicts(peer)

    def client(self, peer: str, forwarded_for: str | None) -> str:
        """Return the caller's address: the last one that no trusted proxy vouches for. Empty on a Unix socket."""
        address = peer
        if not self.trusts(peer):
            return address
        for hop in reversed((forwarded_for or "").split(",")):
            hop = _strip_port(hop.strip())
            if not hop:
                break
            address = hop
            if not self.trusts(hop):
                break
        return address

    def _look_up(self, address: str) -> bool:
        try:
            ip = ip_address(address)
        except ValueError:
            return False
        return any(ip in network for network in self._networks)


def _strip_port(hop: str) -> str:
    """Strip the port that some proxies add, which differs with each connection."""
    match = _WITH_PORT.fullmatch(hop)
    return hop if match is None else match[1] or match[2]
