"""Listens, counts connections, and ends those that keep it waiting."""

import asyncio
import contextlib
import logging
import math
import socket
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv6Network
from itertools import islice
from types import MappingProxyType

from core.http.trusted_proxies import TrustedProxies
from core.http_server.asgi import Application
from core.http_server.client_connection import ClientConnection, IdleConnections
from core.http_server.exchange import HttpExchange
from core.http_server.http_limits import HttpLimits
from core.http_server.known_heads import KnownHeads

SWEEP_SECONDS = 5.0
BACKLOG = 2048
"""Connections that the system keeps until they are accepted."""
ACCEPT_RETRY_SECONDS = 1.0
YIELD_SECONDS = 0.001
"""Time that a process gives to those with fewer connections to accept one before it does."""
IsBusier = Callable[[int], bool]
WARN_SECONDS = 60.0
NO_PROXIES = TrustedProxies(())
_NO_FIELDS: Mapping[str, str] = MappingProxyType({})

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _AddressConnections:
    """The connections of one address; those that are idle in the order in which they came to rest."""

    count: int = 0
    idle: IdleConnections = field(default_factory=dict[ClientConnection, None])


class HttpServer:
    """The connections of one listener. A connection from a trusted proxy, or on a Unix socket, speaks for many."""

    def __init__(
        self,
        app: Application,
        *,
        limits: HttpLimits | None = None,
        proxies: TrustedProxies = NO_PROXIES,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.app = app
        self.limits = limits or HttpLimits()
        self.known_heads = KnownHeads()
        self.has_ended = False
        self._proxies = proxies
        self._loop = asyncio.get_running_loop()
        self._clock = clock or self._loop.time
        self._connections: dict[ClientConnection, str | None] = {}
        self._addresses: dict[str | None, _AddressConnections] = {}
        self._running: dict[HttpExchange, asyncio.Task[None]] = {}
        self._sweep_timer: asyncio.TimerHandle | None = None
        self._has_warned = -math.inf

    def __len__(self) -> int:
        """Return the number of open connections."""
        return len(self._connections)

    @property
    def running(self) -> int:
        """Number of requests that are being answered."""
        return len(self._running)

    @property
    def buffered(self) -> tuple[int, int]:
        """Bytes that wait for applications, and bytes that wait for clients."""
        connections = self._connections
        return sum(connection.unread for connection in connections), sum(
            connection.unsent for connection in connections
        )

    def accept(self) -> ClientConnection:
        """Create the protocol of a new connection (asyncio's protocol factory)."""
        return ClientConnection(self, self._clock)

    # What a connection asks.

    def admit(self, connection: ClientConnection) -> IdleConnections | None:
        key, limits = self._get_address_key(connection), self.limits
        address = self._addresses.get(key) or _AddressConnections()
        is_crowded = key is not None and address.count >= limits.connections_per_address
        if is_crowded:
            _close_oldest(islice(address.idle, 1))
        elif len(self._connections) >= limits.connections:
            _close_oldest(one for other in self._addresses.values() for one in islice(other.idle, 1))
        if len(self._connections) >= limits.connections:
            self._warn("http_connections_exhausted", "refused a connection: all connections are in use")
            return None
        if key is not None and address.count >= limits.connections_per_address:
            self._warn(
                "http_address_connections_exhausted",
                "refused a connection: this address uses as many as one may",
                {"address": key},
            )
            return None
        address.count += 1
        self._addresses[key] = address
        self._connections[connection] = key
        if self._sweep_timer is None:
            self._sweep_timer = self._loop.call_later(SWEEP_SECONDS, self._sweep)
        return address.idle

    def _warn(self, event: str, text: str, fields: Mapping[str, str] = _NO_FIELDS) -> None:
        """Log a refused connection, at most once in `WARN_SECONDS`."""
        # An unnamed proxy looks like one address with many connections: the operator has to hear of it.
        now = self._clock()
        if now - self._has_warned >= WARN_SECONDS:
            self._has_warned = now
            log.warning(text, extra={"event": event, **fields})

    def remove(self, connection: ClientConnection) -> None:
        """Count it no more; once is enough."""
        if connection not in self._connections:
            return
        key = self._connections.pop(connection)
        address = self._addresses[key]
        address.count -= 1
        if not address.count:
            del self._addresses[key]

    def run(self, exchange: HttpExchange) -> None:
        """Start the application on a request."""
        # Told by the exchange: a callback of the task would be one more step of the event loop.
        self._running[exchange] = self._loop.create_task(exchange.run(self.app, self._running.pop))

    def _get_address_key(self, connection: ClientConnection) -> str | None:
        """Return the key under which an address is counted: an IPv4 address, or an IPv6 /64; None for a trusted proxy
        or a Unix socket."""
        client = connection.client
        if client is None or self._proxies.trusts(client):
            return None
        return client if ":" not in client else str(IPv6Network((client.partition("%")[0], 64), strict=False))

    # Time.

    def end_slow(self, now: float) -> int:
        """Cut off the connections whose peers keep them waiting; how many those were."""
        return sum([connection.end_if_slow(now) for connection in list(self._connections)])

    def _sweep(self) -> None:
        self._sweep_timer = None
        self.end_slow(self._clock())
        if self._connections:
            self._sweep_timer = self._loop.call_later(SWEEP_SECONDS, self._sweep)

    async def shut_down(self) -> None:
        """End every connection: at once where it rests, else after its answer, for which there are some seconds. One
        that is being accepted in this moment ends when it is made."""
        self.has_ended = True
        for connection in list(self._connections):
            connection.shut_down()
        if tasks := list(self._running.values()):
            await asyncio.wait(tasks, timeout=self.limits.drain_seconds)
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for connection in list(self._connections):
            connection.abort()
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()


def _close_oldest(idle: Iterable[ClientConnection]) -> None:
    """Close the connection that rests longest."""
    oldest = min(idle, key=lambda connection: connection.rests_since, default=None)
    if oldest is not None:
        oldest.evict()


@contextlib.asynccontextmanager
async def run_http_server(
    server: HttpServer, listener: socket.socket, is_busier: IsBusier | None = None
) -> AsyncGenerator[None]:
    """Accept connections until the block is left; then accept none, and give what runs some seconds.

    Where other processes accept from the same listener, `is_busier` takes the number of this one's connections and
    tells whether another has fewer. Then this one takes one connection a turn of its loop: a loop that takes all that
    wait, which costs less, would leave none of a burst to the others.
    """
    loop = asyncio.get_running_loop()
    if is_busier is not None:
        close = _SharingAcceptor(server, listener, is_busier).close
    else:
        close = (await loop.create_server(server.accept, sock=listener, backlog=BACKLOG)).close
    try:
        yield
    finally:
        # asyncio's server loses a connection that it has accepted and not begun to serve when it is closed
        # (python/cpython#109564): first it accepts no more, and has a turn of the loop to begin. uvloop's does not.
        loop.remove_reader(listener)
        await asyncio.sleep(0)
        close()
        await server.shut_down()


class _SharingAcceptor:
    """Accepts one connection a turn of the loop until :meth:`close`, and lets processes with fewer go first."""

    def __init__(self, server: HttpServer, listener: socket.socket, is_busier: IsBusier) -> None:
        self._server = server
        self._listener = listener
        self._is_busier = is_busier
        self._has_waited = False
        self._loop = asyncio.get_running_loop()
        self._opening: set[asyncio.Task[object]] = set()
        self._retry: asyncio.TimerHandle | None = None
        listener.setblocking(False)
        listener.listen(BACKLOG)
        is_busier(0)  # from now on the others wait for this one
        self._listen()

    def close(self) -> None:
        """Accept no more."""
        if self._retry is not None:
            self._retry.cancel()
        self._loop.remove_reader(self._listener)

    def _listen(self) -> None:
        self._retry = None
        self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        if self._is_busier(len(self._server)) and not self._has_waited:
            self._has_waited = True
            self._pause(YIELD_SECONDS)
            return
        self._has_waited = False
        try:
            connection, _ = self._listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return  # another process was faster, or the peer has gone
        except OSError as error:
            # No file or memory is left: the listener stays readable, and the loop would turn for it without an end.
            log.warning("cannot accept connections", extra={"event": "http_accept_failed", "errno": error.errno})
            self._pause(ACCEPT_RETRY_SECONDS)
            return
        task = self._loop.create_task(self._loop.connect_accepted_socket(self._server.accept, connection))
        self._opening.add(task)
        task.add_done_callback(self._end_opening)

    def _pause(self, seconds: float) -> None:
        self._loop.remove_reader(self._listener)
        self._retry = self._loop.call_later(seconds, self._listen)

    def _end_opening(self, task: asyncio.Task[object]) -> None:
        self._opening.discard(task)
        if not task.cancelled():
            task.exception()  # the peer has gone already: nothing to say
