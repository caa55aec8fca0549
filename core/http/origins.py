"""The origin of a URL in one spelling, so that two of them can be compared (RFC 6454 §6.2)."""

from collections.abc import Collection
from ipaddress import ip_address
from urllib.parse import urlsplit

DEFAULT_PORTS = {"https": 443, "http": 80}


def get_origin(url: str) -> str:
    """``scheme://host[:port]``: lower case, the usual port left out, an IPv6 address in its short form.

    Raises:
        ValueError: it is no http or https URL.
    """
    split = urlsplit(url)
    if split.scheme not in DEFAULT_PORTS or not split.hostname:
        raise ValueError
    host = split.hostname.lower().removesuffix(".")
    host = f"[{ip_address(host)}]" if ":" in host else host
    port = "" if split.port in (None, DEFAULT_PORTS[split.scheme]) else f":{split.port}"
    return f"{split.scheme}://{host}{port}"


def is_within_origins(url: str, origins: Collection[str]) -> bool:
    """Check whether `url` has one of these origins; false for a text that is no URL."""
    try:
        return get_origin(url) in origins
    except ValueError:
        return False
