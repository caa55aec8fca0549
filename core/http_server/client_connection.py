"""One connection of a client: its requests, their answers, and when it ends."""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, cast

from core.http_server.asgi import Application
from core.http_server.exchange import HttpExchange, build_plain_answer
from core.http_server.http_limits import HttpLimits
from core.http_server.known_heads import KnownHeads, RequestHead
from core.http_server.request_head import BadRequest
from core.http_server.request_reader import CHUNKS, HEAD, LENGTH, NEXT, RequestReader


class SocketAddresses(NamedTuple):
    """Local and remote address of a connection; None on a Unix socket."""

    client: tuple[str, int] | None
    server: tuple[str, int] | None


class ConnectionRegistry(Protocol):
    """Interface of the server as its connections use it."""

    app: Application
    limits: HttpLimits
    known_heads: KnownHeads
    has_ended: bool
    """Whether a connection comes too late."""

    def admit(self, connection: "ClientConnection") -> "IdleConnections | None":
        """Admit one more connection, closing an idle one for it if need be. Return where it registers while it is idle;
        None where there is no room."""
        ...

    def remove(self, connection: "ClientConnection") -> None: ...
    def run(self, exchange: HttpExchange) -> None: ...


IdleConnections = dict["ClientConnection", None]


class ClientConnection(asyncio.Protocol):
    """One client's connection: the transport of its exchanges and the sink of its requests.

    `clock` gives seconds that never go back.
    """

    def __init__(self, server: ConnectionRegistry, clock: Callable[[], float]) -> None:
        self._server = server
        self._limits = server.limits
        self._clock = clock
        self._transport: asyncio.Transport = cast("Any", None)
        self._peer = SocketAddresses(None, None)
        self._reader = RequestReader(self._limits, self, server.known_heads)
        self._rest = b""
        self._exchange: HttpExchange | None = None
        self._reads = True
        self._writable: asyncio.Event | None = None  # there while the client has much to take
        self._written = 0
        self._sent_before: tuple[float, int] | None = None
        self._awaited_since: float | None = clock()  # a head or a body; None: nothing has to come
        self._idle: IdleConnections = {}
        self._rests_since: float | None = None
        self._closing_since: float | None = None
        self._may_discard = self._limits.lingering_bytes

    # The transport's side (asyncio.Protocol).

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        if self._server.has_ended:
            self._closing_since = self._clock()
            transport.abort()
            return
        self._peer = SocketAddresses(
            *(_parse_address(transport.get_extra_info(end)) for end in ("peername", "sockname"))
        )
        idle = self._server.admit(self)
        if idle is not None:
            self._idle = idle
            idle[self] = None
        else:
            self._closing_since = self._clock()
            transport.write(
                build_plain_answer(503, "Too many connections; try again in a moment", (b"retry-after", b"1"))
            )
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._idle.pop(self, None)
        self._server.remove(self)
        self._closing_since, self._rest = self._clock(), b""
        if self._exchange is not None:
            self._exchange.disconnect()
        self.resume_writing()

    def eof_received(self) -> None:
        """Treat a client that sends no more as disconnected; None lets the transport close."""

    def data_received(self, data: bytes) -> None:
        if self._closing_since is not None:
            self._discard(len(data))
            return
        if self._rest:
            data, self._rest = self._rest + data, b""
        try:
            unread = self._reader.feed(data)
        except BadRequest as error:
            self._refuse(error)
            return
        if self._awaited_since is None and self._reader.has_begun_head:
            self._awaited_since, self._rests_since = self._clock(), None
        if self._closing_since is None and unread:
            self._keep_for_later(unread)

    def _keep_for_later(self, unread: bytes) -> None:
        self._rest = unread
        if self._exchange is None and self._writable is None:
            self._start_next()
        else:
            self._pause()

    def pause_writing(self) -> None:
        self._writable = asyncio.Event()

    def resume_writing(self) -> None:
        if self._writable is not None:
            self._writable.set()
            self._writable = None
        if self._exchange is None and self._reader.part is NEXT and self._closing_since is None:
            self._start_next()

    # The reader's side.

    def start_request(self, request: RequestHead, body: bytes) -> None:
        """Start the application for a complete request head, and its body where that came with it."""
        request.scope["client"], request.scope["server"] = self._peer
        self._rests_since = None
        self._awaited_since = None if self._reader.part is NEXT else self._clock()
        self._exchange = exchange = HttpExchange(self, request, body)
        self._idle.pop(self, None)
        self._server.run(exchange)

    def add_body(self, data: bytes) -> None:
        if self._exchange is not None and self._exchange.feed(data) > self._limits.buffered_body:
            self._pause()

    def end_request(self) -> None:
        self._awaited_since = None
        if self._exchange is not None:
            self._exchange.end_body()
        elif self._writable is None:  # it was answered before it was whole
            self._start_next()

    # The exchange's side.

    @property
    def body_is_whole(self) -> bool:
        return self._reader.part is NEXT

    @property
    def may_keep(self) -> bool:
        reader = self._reader
        if reader.part is not NEXT and reader.unread_length > self._limits.unread_body:
            return False
        return reader.part is not CHUNKS and not reader.has_dropped

    def write(self, data: bytes) -> None:
        self._written += len(data)
        self._transport.write(data)

    def remember(self, head: RequestHead, findings: Any) -> None:
        """Remember a head that its application has checked."""
        self._server.known_heads.remember(head, findings)

    @property
    def is_writable(self) -> bool:
        """Check whether the client has taken most of what was written."""
        return self._writable is None

    async def drain(self) -> None:
        """Wait until the client has taken most of what was written, or has disconnected."""
        if self._writable is not None:
            await self._writable.wait()

    def read_more(self) -> None:
        """Read on, unless the next request waits already."""
        if not self._reads and not self._rest:
            self._reads = True
            self._transport.resume_reading()

    def end_exchange(self, *, keep: bool) -> None:
        self._leave_exchange()
        if not keep:
            self.close()
        elif self._reader.part is not NEXT:
            self.read_more()
        elif self._writable is None:
            self._start_next()

    def abort(self) -> None:
        self._transport.abort()

    def evict(self) -> None:
        """End it at once to make room for another one."""
        self._idle.pop(self, None)
        self._server.remove(self)
        self.abort()

    def _leave_exchange(self) -> None:
        self._exchange = None
        if self._closing_since is None:
            self._idle[self] = None

    # Between requests, and the end.

    def _start_next(self) -> None:
        """Read the next request; the client has taken the answer before."""
        self._reader.start_next()
        self._rests_since = self._clock()
        if self._rest:
            unread, self._rest = self._rest, b""
            self.data_received(unread)
        if not self._reads:
            self.read_more()

    def close(self) -> None:
        """End it in order: what was written arrives, then nothing more is read."""
        reader = self._reader
        all_read = self._reads and not reader.has_dropped and reader.part in (HEAD, NEXT)
        self._close(linger=not all_read)

    def _close(self, *, linger: bool) -> None:
        self._closing_since, self._rest = self._clock(), b""
        if not linger or self._transport.is_closing():
            self._transport.close()
            return
        # A socket that is closed with unread bytes is reset, and the reset can take the answer away from the client.
        self._transport.write_eof()
        self.read_more()

    def _refuse(self, error: BadRequest) -> None:
        """Answer for the server itself, unless the application has begun to, and end the connection."""
        if (exchange := self._exchange) is not None:
            self._leave_exchange()
            exchange.disconnect()
            if exchange.started:
                self.abort()
                return
        self.write(build_plain_answer(error.status, error.text))
        self._close(linger=True)

    def shut_down(self) -> None:
        """End it now, or after the answer that is under way."""
        if self._exchange is None:
            self.close()
        else:
            self._exchange.keep = False

    def _pause(self) -> None:
        if self._reads:
            self._reads = False
            self._transport.pause_reading()

    def _discard(self, size: int) -> None:
        self._may_discard -= size
        if self._may_discard < 0:
            self.abort()

    # What it holds, and for how long.

    @property
    def client(self) -> str | None:
        """The peer's address; None on a Unix socket."""
        return self._peer.client[0] if self._peer.client else None

    @property
    def rests_since(self) -> float:
        """When its last answer ended, or when it was made."""
        return self._rests_since or self._awaited_since or 0.0

    @property
    def unsent(self) -> int:
        """Bytes that wait for the client."""
        return self._transport.get_write_buffer_size()

    @property
    def unread(self) -> int:
        """Bytes that wait for the application, or for the answer before."""
        return len(self._rest) + (self._exchange.unread if self._exchange is not None else 0)

    def end_if_slow(self, now: float) -> bool:
        """Cut it off where the peer keeps it waiting too long; whether it did."""
        limits, unsent = self._limits, self.unsent
        in_body = self._reader.part in (LENGTH, CHUNKS)
        slow = (
            self._reads_slowly(unsent, now)
            or _is_over(self._awaited_since, now, limits.body_seconds if in_body else limits.head_seconds)
            or _is_over(self._rests_since, now, limits.idle_seconds)
            or (not unsent and _is_over(self._closing_since, now, limits.lingering_seconds))
        )
        if slow:
            self.abort()
        return slow

    def _reads_slowly(self, unsent: int, now: float) -> bool:
        """Check whether the client reads an answer too slowly, measured over `slow_reader_seconds`."""
        if not unsent:
            self._sent_before = None
            return False
        sent = self._written - unsent
        if self._sent_before is None:
            self._sent_before = (now, sent)
        since, before = self._sent_before
        if now - since < self._limits.slow_reader_seconds:
            return False
        self._sent_before = (now, sent)
        return sent - before < self._limits.slow_reader_bytes


def _is_over(since: float | None, now: float, seconds: float) -> bool:
    return since is not None and now - since > seconds


def _parse_address(end: Any) -> tuple[str, int] | None:
    if not isinstance(end, tuple):
        return None
    address = cast("tuple[Any, ...]", end)
    return str(address[0]), int(address[1])
