"""Connections to vendors, each kept for one credential of one tenant and never used for another.

A vendor, or a proxy before it, may send an unrequested answer. It ends an idle connection; and where it arrives just as
the next request is sent, that request is of the same credential.
"""

import asyncio
import contextlib
import ssl
from collections import deque

from core.http.outbound_addresses import GuardedResolver
from core.http.single_exchange import connect_first
from gateway.vendor_session.answer_reader import AnswerReader
from gateway.vendor_session.dns_cache import DnsCache
from gateway.vendor_session.vendor_connection import ConnectionOwner, ConnectionRoute, VendorConnection
from modules.kit import VendorAnswer

CONNECT_SECONDS = 10.0
MAX_CONNECTIONS = 1024
MAX_CONNECTIONS_PER_TENANT = 64
IDLE_SECONDS = 30.0


class VendorConnectFailure(Exception):
    """Raised where no connection could be made; `cause` is the underlying error."""

    def __init__(self, cause: Exception) -> None:
        super().__init__()
        self.cause = cause


class TooManyConnections(Exception):
    """Raised where all connections that the tenant, or all tenants together, may have are busy."""


class _TenantConnections:
    """One tenant's connections. Those that rest are in the order in which they came to."""

    __slots__ = ("count", "resting", "waiting")

    def __init__(self) -> None:
        self.count = 0
        self.resting: dict[VendorConnection, None] = {}
        self.waiting: deque[asyncio.Future[None]] = deque()


class ConnectionPool:
    """The connections of one process."""

    def __init__(
        self,
        resolver: GuardedResolver,
        tls: ssl.SSLContext,
        *,
        connections: int = MAX_CONNECTIONS,
        per_tenant: int = MAX_CONNECTIONS_PER_TENANT,
    ) -> None:
        self._names = DnsCache(resolver)
        self._tls = tls
        self._max_connections = connections
        self._per_tenant = per_tenant
        self._loop = asyncio.get_running_loop()
        self._idle: dict[tuple[ConnectionRoute, ConnectionOwner], list[VendorConnection]] = {}
        self._tenants: dict[str, _TenantConnections] = {}
        self._count = 0
        self._open: set[VendorConnection] = set()
        self._sweep_timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        """Return the number of connections that are open or being opened."""
        return self._count

    async def exchange(
        self, route: ConnectionRoute, owner: ConnectionOwner, reader: AnswerReader, request: bytes, seconds: float
    ) -> VendorAnswer:
        """Send one request and read its answer with `reader`. Nothing is sent twice, followed or remembered.

        Raises:
            VendorConnectFailure: there is no connection to be had, so nothing was sent.
            TooManyConnections: all are busy, and none came free in time; nothing was sent.
            gateway.vendor_session.answer_reader.ConnectionDropped, Broken, Unreadable, AnswerTooLarge: as named there.
            TimeoutError: it took more than `seconds`.
        """
        key = (route, owner)
        connection = self._take_idle(key) if key in self._idle else None
        if connection is None:
            deadline = self._loop.time() + seconds
            connection = await self._open_connection(route, owner, deadline)
            seconds = deadline - self._loop.time()
        try:
            return await connection.send(reader, request, seconds)
        finally:
            self._release(connection)

    async def _open_connection(
        self, route: ConnectionRoute, owner: ConnectionOwner, deadline: float
    ) -> VendorConnection:
        await self._enter(owner.tenant, deadline - self._loop.time())
        try:
            connection = await self._connect(route, owner, deadline)
        except BaseException:
            self._leave(owner.tenant)
            raise
        self._open.add(connection)
        return connection

    def _release(self, connection: VendorConnection) -> None:
        """Keep it for its owner's next request, if it can carry one."""
        is_usable = connection.finish_exchange(self._loop.time())
        if connection not in self._open:
            return
        key = connection.key
        tenant = self._tenants[key[1].tenant]
        if not is_usable or tenant.waiting:
            connection.abort()
            self.forget(connection)
            return
        tenant.resting[connection] = None
        idle = self._idle.get(key)
        if idle is None:
            self._idle[key] = [connection]
        else:
            idle.append(connection)
        if self._sweep_timer is None:
            self._sweep_timer = self._loop.call_later(IDLE_SECONDS, self._sweep)

    def forget(self, connection: VendorConnection) -> None:
        """Remove a closed connection; further calls have no effect."""
        if connection not in self._open:
            return
        self._open.discard(connection)
        self._remove_idle(connection)
        self._leave(connection.key[1].tenant)

    def close(self) -> None:
        """End every connection; what runs fails."""
        for connection in list(self._open):
            connection.abort()
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
        self._names.close()

    def _take_idle(self, key: tuple[ConnectionRoute, ConnectionOwner]) -> VendorConnection | None:
        idle = self._idle[key]
        while idle:
            connection = idle.pop()
            del self._tenants[key[1].tenant].resting[connection]
            if connection.is_usable and self._loop.time() - connection.rests_since < IDLE_SECONDS:
                return connection
            connection.abort()
            self.forget(connection)
        return None

    def _remove_idle(self, connection: VendorConnection) -> None:
        idle = self._idle.get(connection.key)
        if idle is not None:
            if connection in idle:
                idle.remove(connection)
            if not idle:
                del self._idle[connection.key]
        self._tenants[connection.key[1].tenant].resting.pop(connection, None)

    # Counting.

    async def _enter(self, name: str, seconds: float) -> None:
        """Count one more connection in; the one that rests longest makes room for it."""
        tenant = self._tenants.setdefault(name, _TenantConnections())
        if tenant.count >= self._per_tenant:
            self._make_room(tenant.resting)
        elif self._count >= self._max_connections:
            self._make_room(
                {connection: None for other in self._tenants.values() for connection in list(other.resting)[:1]}
            )
        if tenant.count >= self._per_tenant:
            await self._wait(name, tenant, seconds)
            return
        if self._count >= self._max_connections:
            self._drop_if_empty(name, tenant)
            raise TooManyConnections
        tenant.count += 1
        self._count += 1

    def _make_room(self, idle: dict[VendorConnection, None]) -> None:
        """Close the connection that rests longest."""
        if idle:
            oldest = min(idle, key=lambda connection: connection.rests_since)
            oldest.abort()
            self.forget(oldest)

    async def _wait(self, name: str, tenant: _TenantConnections, seconds: float) -> None:
        """Wait in line for the place of a connection of the tenant that is closed."""
        waiter: asyncio.Future[None] = self._loop.create_future()
        tenant.waiting.append(waiter)
        try:
            async with asyncio.timeout(seconds):
                await waiter
        except BaseException as error:
            # The place may have been given in the very moment in which the waiting ended.
            if waiter.done() and not waiter.cancelled():
                self._leave(name)
            else:
                with contextlib.suppress(ValueError):  # it was passed over already
                    tenant.waiting.remove(waiter)
                self._drop_if_empty(name, tenant)
            if isinstance(error, TimeoutError):
                raise TooManyConnections from None
            raise

    def _leave(self, name: str) -> None:
        """Pass the place to the longest waiter, or free it."""
        tenant = self._tenants[name]
        while tenant.waiting:
            waiter = tenant.waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        tenant.count -= 1
        self._count -= 1
        self._drop_if_empty(name, tenant)

    def _drop_if_empty(self, name: str, tenant: _TenantConnections) -> None:
        if not tenant.count and not tenant.waiting:
            self._tenants.pop(name, None)

    # Connecting, and growing old.

    async def _connect(self, route: ConnectionRoute, owner: ConnectionOwner, deadline: float) -> VendorConnection:
        seconds = min(CONNECT_SECONDS, deadline - self._loop.time())
        try:
            async with asyncio.timeout(seconds):
                addresses = await self._names.resolve(route)
                tls = self._tls if route.secure else None
                return await connect_first(
                    addresses, route.host, tls, lambda: VendorConnection(self, (route, owner), self._loop)
                )
        except OSError as error:  # TimeoutError, ssl.SSLError and socket.gaierror are such too
            raise VendorConnectFailure(error) from None

    def _sweep(self) -> None:
        """Close what has rested too long."""
        self._sweep_timer, old = None, self._loop.time() - IDLE_SECONDS
        for connections in list(self._idle.values()):
            for connection in [one for one in connections if one.rests_since <= old]:
                connection.abort()
                self.forget(connection)
        if self._idle:
            self._sweep_timer = self._loop.call_later(IDLE_SECONDS / 2, self._sweep)
