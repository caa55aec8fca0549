"""Origins that stored credentials may be sent to, checked at each use, and the attributes of their connections."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import orjson

from core.http.origins import get_origin, is_same_domain, is_within_origins

ORIGIN_CHANGED = "elsewhere"
"""The cause of a credential whose service was given another address since."""
WARNING_DETAIL = "warning"
"""The detail of an account that works, but needs its owner's attention: for people, not for modules."""

NO_HOSTS: Mapping[str, Sequence[str]] = MappingProxyType({})


class OriginPolicy:
    """The bounds of all modules; `base_urls` and the URLs of further `hosts` are those that the modules' code names."""

    def __init__(self, base_urls: Mapping[str, str], hosts: Mapping[str, Sequence[str]] = NO_HOSTS) -> None:
        self._base_urls = base_urls
        self._hosts = hosts

    def knows(self, module: str) -> bool:
        """Check whether the module is installed here."""
        return module in self._base_urls

    def get_origins(self, module: str, origins: Sequence[str]) -> tuple[str, ...]:
        """The origins that a credential may be sent to: what is stored, else the module's own."""
        if origins or module not in self._base_urls:
            return tuple(origins)
        return (get_origin(self._base_urls[module]),)

    def list_permitted_origins(self, module: str, origins: Sequence[str]) -> tuple[str, ...]:
        """List the same with the origins of the module's further hosts. They are the public vendor's, so they are only
        for a credential that may go to the public vendor itself; and one under another domain is none of its."""
        bound = self.get_origins(module, origins)
        if module not in self._hosts or get_origin(self._base_urls[module]) not in bound:
            return bound
        base_url = self._base_urls[module]
        hosts = [get_origin(url) for url in self._hosts[module] if is_same_domain(base_url, url)]
        return tuple(dict.fromkeys((*bound, *hosts)))

    def is_origin_changed(self, module: str, origins: Sequence[str], settings: Mapping[str, Any]) -> bool:
        """Check whether the service's current base URL is outside the origins that the credential was stored for."""
        url = settings.get("base_url") or self._base_urls.get(module)
        return not isinstance(url, str) or not is_within_origins(url, self.get_origins(module, origins))


def read_attributes(details: str) -> dict[str, str]:
    """Return the connection attributes that modules receive."""
    document: dict[str, Any] = orjson.loads(details)
    return {name: value for name, value in document.items() if isinstance(value, str) and name != WARNING_DETAIL}
