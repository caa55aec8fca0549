"""The connections of a process that all requests to vendors go through."""

import asyncio
import random
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType

from core.http.outbound_addresses import AllowedAddresses, GuardedResolver, Lookup, SystemLookup
from core.http.tls import get_system_tls_context
from gateway.vendor_session.connection_pool import ConnectionPool
from gateway.vendor_session.credential_limits import CredentialLimits
from gateway.vendor_session.lease_source import LeaseSource
from gateway.vendor_session.vendor_access import VendorAccess, VendorTransport
from gateway.vendor_session.vendor_client import VendorClient
from gateway.vendor_session.vendor_connection import ConnectionOwner
from gateway.vendor_session.vendor_endpoint import VendorEndpoint
from modules.kit import VendorApi, VendorProblem, VendorSettings
from modules.kit.vendor import fill_base_url

Clock = Callable[[], float]

MAX_ENDPOINTS = 1024
NO_ATTRIBUTES: Mapping[str, str] = MappingProxyType({})


class VendorClientFactory:
    """Makes clients for vendors. Connections are kept and shared; nothing of the environment is read. `clock` is the
    event loop's where none is given; `wall_clock` gives seconds since the epoch.

    For tests: `lookup` in place of the system's resolver, `tls` with another root, `pause` and `chance` for retries.
    """

    def __init__(
        self,
        allow: AllowedAddresses,
        *,
        clock: Clock | None = None,
        wall_clock: Clock = time.time,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
        lookup: Lookup | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._allow = allow
        self._clock = clock
        self._wall_clock = wall_clock
        self._pause = pause
        self._chance = chance
        self._lookup = lookup
        self._tls = tls
        self._system: SystemLookup | None = None
        self._transport: VendorTransport | None = None
        self._endpoints: dict[tuple[int, str], VendorEndpoint] = {}

    async def open(self) -> None:
        """Make ready. Called once, in the event loop that serves."""
        clock = self._clock or asyncio.get_running_loop().time
        limits = CredentialLimits(clock=clock)
        self._transport = VendorTransport(
            self._get_pool(), self._allow, limits, clock, self._wall_clock, self._pause, self._chance
        )

    async def close(self) -> None:
        """Close every connection. Requests that still run fail."""
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.pool.close()
        if self._system is not None:
            self._system.close()

    def create_client(
        self,
        api: VendorApi,
        settings: VendorSettings,
        lease: LeaseSource,
        owner: ConnectionOwner,
        deadline: float | None = None,
        attributes: Mapping[str, str] = NO_ATTRIBUTES,
        host: str = "",
    ) -> VendorClient:
        """Create a client for one caller's credential; `deadline` is in `clock`'s time.

        Raises:
            VendorProblem: as :meth:`create_access`.
        """
        return VendorClient(self.create_access(api, settings, owner, attributes, host), lease, deadline)

    def create_access(
        self,
        api: VendorApi,
        settings: VendorSettings,
        owner: ConnectionOwner,
        attributes: Mapping[str, str] = NO_ATTRIBUTES,
        host: str = "",
    ) -> VendorAccess:
        """Create the access to an API or to one of its further hosts. `owner` names the credential, alone in its limits
        and connections, and the tenant, which shares a number of connections; `attributes` are what is known of the
        connection.

        Raises:
            VendorProblem: MCPist is not allowed to reach the base URL, `attributes` lack a part of it, or the service
                has no such host.
        """
        assert self._transport is not None, "open() comes first"
        if host:
            base_url = _get_host_url(api, settings, host)
        else:
            base_url = settings.base_url or (
                fill_base_url(api.base_url, attributes) if api.placeholders else api.base_url
            )
        endpoint = self._endpoints.get((id(api), base_url)) or self._get_endpoint(api, base_url)
        return VendorAccess(self._transport, endpoint, settings, owner, attributes)

    def _get_endpoint(self, api: VendorApi, base_url: str) -> VendorEndpoint:
        endpoint = VendorEndpoint.from_base_url(api, base_url, self._allow)
        if len(self._endpoints) >= MAX_ENDPOINTS:
            self._endpoints.clear()
        self._endpoints[id(api), base_url] = endpoint  # holds the api, so that its id stays its own
        return endpoint

    def _get_pool(self) -> ConnectionPool:
        lookup = self._lookup
        if lookup is None:
            lookup = self._system = SystemLookup()
        return ConnectionPool(GuardedResolver(self._allow, lookup), self._tls or get_system_tls_context())


def _get_host_url(api: VendorApi, settings: VendorSettings, host: str) -> str:
    """Get the base URL of a further host. A service with a base URL of its own has its own hosts too: the vendor's
    public one would be sent what is for the company's server alone."""
    if host not in api.hosts:
        raise VendorProblem("refused", "the tool asks a host that its module does not declare; report this")
    if settings.base_url is None:
        return api.hosts[host]
    own: str | None = getattr(settings, f"{host}_url")
    if own is None:
        text = f"this service has a base_url of its own, but no {host}_url: an administrator sets that setting too"
        raise VendorProblem("refused", text)
    return own
