"""Where a module's vendor is, with everything that is the same for all requests there."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.http.outbound_addresses import AllowedAddresses
from gateway.vendor_session.connection import Route
from gateway.vendor_session.headers import checked_headers, lines_of
from gateway.vendor_session.target import Target
from modules.kit import VendorApi

DEFAULT_HEADERS = {"accept": "*/*", "accept-encoding": "gzip, deflate", "user-agent": "MCPist"}


@dataclass(frozen=True, slots=True)
class Place:
    """One module's vendor at one base URL. `lines` are `headers` as they are sent; `route` is where to connect to."""

    api: VendorApi
    target: Target
    headers: Mapping[str, str] = field(repr=False)
    lines: str = field(repr=False)
    route: Route

    @classmethod
    def of(cls, api: VendorApi, base_url: str, allow: AllowedAddresses) -> "Place":
        """The place behind a base URL.

        Raises:
            VendorProblem: it is none, or MCPist is not allowed to reach it.
        """
        target = Target.of(base_url, allow)
        headers = {"host": target.host, **DEFAULT_HEADERS, **checked_headers(api.headers)}
        return cls(api, target, headers, lines_of(headers), target.route)
