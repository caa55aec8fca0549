"""Check whether a base URL may be requested, made when an administrator sets it, long before the first call fails."""

import asyncio
from ipaddress import ip_address
from urllib.parse import urlsplit

from core.errors import Invalid
from core.http.outbound_addresses import AddressNotAllowed, AllowedAddresses, GuardedResolver, Lookup
from gateway.vendor_session.target import VendorTarget
from modules.kit import VendorProblem

LOOKUP_SECONDS = 5.0
BASE_URL_FORM = "it must look like https://host/path, without a user, a password, a query or a fragment"


async def find_unreachable_reason(base_url: str, allow: AllowedAddresses, lookup: Lookup) -> str | None:
    """Return why MCPist, with this list of the operator's, may not request `base_url`; None if it may, or if the name
    server of this machine cannot tell now.

    Raises:
        Invalid: it is no base URL.
    """
    host, port, secure = parse_base_url(base_url)
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    remedy = f"MCPist asks it only if the operator starts MCPist with MCPIST_ALLOWED_PRIVATE_HOSTS={address}"
    if not allow.allows(host, port, secure=secure):
        return f"{address} lies in a private network, or is not https on port 443; {remedy}"
    try:
        async with asyncio.timeout(LOOKUP_SECONDS):
            await GuardedResolver(allow, lookup).resolve(host, port)
    except AddressNotAllowed:
        return f"{address} has an address in a private network, or does not exist; {remedy}"
    except (OSError, TimeoutError):
        return None
    return None


def parse_base_url(base_url: str, name: str = "base_url") -> tuple[str, int, bool]:
    """Return host, port and whether it is https, in the form of the operator's list. `name` is the setting's.

    Raises:
        Invalid: it is no base URL.
    """
    try:
        split = urlsplit(base_url)
        secure = split.scheme == "https"
        host, port = (split.hostname or "").removesuffix("."), split.port or (443 if secure else 80)
        host = str(ip_address(host)) if ":" in host else host
        VendorTarget.from_base_url(base_url, AllowedAddresses(frozenset({(host, port)})))
    except (ValueError, VendorProblem):
        raise Invalid(f"{name}: {BASE_URL_FORM}") from None
    return host, port, secure
