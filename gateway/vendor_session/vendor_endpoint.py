"""Endpoint of a module's vendor, with everything that all requests to it share."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.http.outbound_addresses import AllowedAddresses
from gateway.vendor_session.module_headers import format_header_lines, validate_headers
from gateway.vendor_session.target import VendorTarget
from gateway.vendor_session.vendor_connection import ConnectionRoute
from modules.kit import VendorApi

DEFAULT_HEADERS = {"accept": "*/*", "accept-encoding": "gzip, deflate", "user-agent": "MCPist"}


@dataclass(frozen=True, slots=True)
class VendorEndpoint:
    """One module's vendor at one base URL. `lines` are `headers` as they are sent; `route` is where to connect to."""

    api: VendorApi
    target: VendorTarget
    headers: Mapping[str, str] = field(repr=False)
    header_lines: str = field(repr=False)
    route: ConnectionRoute

    @classmethod
    def from_base_url(cls, api: VendorApi, base_url: str, allow: AllowedAddresses) -> "VendorEndpoint":
        """Create the endpoint of a base URL.

        Raises:
            VendorProblem: it is none, or MCPist is not allowed to reach it.
        """
        target = VendorTarget.from_base_url(base_url, allow)
        headers = {"host": target.host, **DEFAULT_HEADERS, **validate_headers(api.headers)}
        return cls(api, target, headers, format_header_lines(headers), target.route)
