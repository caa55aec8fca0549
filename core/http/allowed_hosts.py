"""The names under which the product answers: against DNS rebinding ([2025-11-25] Transports, Security)."""

from functools import lru_cache
from urllib.parse import urlsplit

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
_DEFAULT_PORTS = {"http": 80, "https": 443}


class AllowedHosts:
    """Host names that requests may use: that of the public URL; if it is a loopback name, every name of this machine.

    Raises:
        ValueError: the URL names no host.
    """

    def __init__(self, public_url: str) -> None:
        url = urlsplit(public_url)
        if url.hostname is None:
            raise ValueError("the public URL names no host")
        self._default_port = _DEFAULT_PORTS.get(url.scheme, 0)
        self._name = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
        self._port = url.port or self._default_port
        self.is_loopback = self._name in _LOOPBACK
        self.allows = lru_cache(maxsize=1024)(self._allows)

    def is_public(self, host: str) -> bool:
        """Check whether `host` is exactly the host of the public URL."""
        return _split_host(host.lower(), self._default_port) == (self._name, self._port)

    def _allows(self, host: str, bound_port: int | None) -> bool:
        """Check whether a request for `host` that arrived at `bound_port` is for this server."""
        name, port = _split_host(host.lower(), self._default_port)
        if self.is_loopback:
            return name in _LOOPBACK and port in (self._port, bound_port)
        return name == self._name and port == self._port


def _split_host(host: str, default_port: int) -> tuple[str, int]:
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        return host, default_port
    return name, int(port) if port.isdecimal() and port.isascii() and len(port) < 6 else -1
