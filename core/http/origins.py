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


def is_same_domain(url: str, other: str) -> bool:
    """Check whether `other` is a host of the domain that `url` is of, by the same scheme: ``uploads.vendor.com`` beside
    ``api.vendor.com``, never ``vendor.com.evil.com``. An address in numbers has no domain but itself.

    Raises:
        ValueError: one of them is no http or https URL.
    """
    (scheme, host), (other_scheme, other_host) = (_split_origin(get_origin(one)) for one in (url, other))
    if scheme != other_scheme or not host or not other_host:
        return False
    parent = host.partition(".")[2]
    domain = parent if "." in parent and not host[-1].isdigit() and ":" not in host else host
    return other_host in (host, domain) or other_host.endswith(f".{domain}")


def _split_origin(origin: str) -> tuple[str, str]:
    split = urlsplit(origin)
    return split.scheme, split.hostname or ""


def is_within_origins(url: str, origins: Collection[str]) -> bool:
    """Check whether `url` has one of these origins; false for a text that is no URL."""
    try:
        return get_origin(url) in origins
    except ValueError:
        return False
