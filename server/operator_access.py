"""Operator access: how commands on the product's own machine authenticate at the admin API of the running product."""

import hmac
import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from core.config.settings import Settings
from core.secret import Secret
from core.token_format import generate_token

TENANT_HEADER = "Mcpist-Tenant"
"""Slug of the tenant that an operator's request is about. Nobody else may send it."""


@dataclass(frozen=True, slots=True)
class OperatorAccess:
    """Base URL of the admin API on this machine, and the bearer credential of this process's operator.

    The credential is random, held in memory and in the endpoint file (mode 0600), and ends with the process.
    """

    url: str
    token: Secret

    def matches(self, presented: str) -> bool:
        """Compare a presented credential with the operator's, in constant time."""
        return hmac.compare_digest(presented.encode(), self.token.reveal().encode())


def create_operator_access(settings: Settings, listener: socket.socket) -> OperatorAccess | None:
    """Create the access to a product that serves on `listener`; None where it has no address that only this machine
    can use: its port is bound to another address, or it answers for a public host name alone."""
    public = urlsplit(settings.public_url)
    if public.scheme != "http" or not is_loopback(public.hostname or ""):
        return None
    host, port = listener.getsockname()[:2]
    address = ipaddress.ip_address(host)
    if address.is_unspecified:
        host = "127.0.0.1" if address.version == 4 else "::1"
    elif not address.is_loopback:
        return None
    return build_operator_access(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")


def build_operator_access(url: str) -> OperatorAccess:
    """Create a fresh credential for the admin API at `url`."""
    # The form of an API token, so that the log's redaction knows it; the broker has none of this id.
    _, token = generate_token()
    return OperatorAccess(url, token)


def is_loopback(host: str) -> bool:
    """Return True for `localhost` and for the loopback addresses of this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
