"""Server-sent events on the answer of one request: its progress, then its response."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, get_args

import msgspec
import orjson

from core.caller import Caller
from core.tool_exposure import ToolExposure
from gateway.mcp.errors import ClientDisconnected
from gateway.mcp.responses import ResponseWriter
from modules.kit import LogLevel

CONTENT_TYPE = b"text/event-stream"
STREAM_HEADERS = ((b"cache-control", b"no-cache, no-transform"), (b"x-accel-buffering", b"no"))
PROGRESS_SECONDS = 0.1
"""Seconds between two events of progress at least. What comes in between replaces what waits, and the last is sent."""
LOG_LEVELS: tuple[LogLevel, ...] = get_args(LogLevel)
"""The least severe first."""
FINISH_TIMEOUT = 10.0  # seconds that a client which reads slowly has for the last event


def encode_event(body: bytes) -> bytes:
    """`body` (JSON) as one event. A line break in it can only be space between tokens, which would end the data."""
    return b"event: message\ndata: " + body.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n\n"


class EventStream:
    """Becomes a stream with its first event: a call that is done before reports nothing and is answered as JSON."""

    def __init__(self, reply: ResponseWriter, token: str | int | None, with_message: bool) -> None:
        self._reply = reply
        self._token = token
        self._with_message = with_message
        self._loop = asyncio.get_running_loop()
        self._clock = self._loop.time
        self._progress = -math.inf
        self._next_progress = -math.inf
        self._waiting = b""
        self._timer: asyncio.TimerHandle | None = None
        self._late: asyncio.Task[None] | None = None
        self._closed = False
        self._lock = asyncio.Lock()
        self.last_sent = self._clock()
        self.started = False

    async def report(self, done: float, total: float | None = None, message: str = "") -> None:
        """Send `notifications/progress`, at most one in `PROGRESS_SECONDS`: a later one takes the place of one that
        waits. What does not increase is left out; so is all where the client gave no token."""
        if self._token is None or self._closed or not (math.isfinite(done) and done > self._progress):
            return
        self._progress = done
        params: dict[str, Any] = {"progressToken": self._token, "progress": done}
        if total is not None and math.isfinite(total):
            params["total"] = total
        if message and self._with_message:
            params["message"] = message
        self._waiting = encode_notification("notifications/progress", params)
        now = self._clock()
        if self._late is not None or self._timer is not None:
            return
        if now >= self._next_progress:
            await self._send_waiting()
        else:
            self._timer = self._loop.call_at(self._next_progress, self._begin_late)

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Send another notification.

        Raises:
            ClientDisconnected: the client does not read.
        """
        try:
            async with asyncio.timeout(FINISH_TIMEOUT):
                await self._send(encode_notification(method, params))
        except TimeoutError:
            raise ClientDisconnected from None

    async def write(self, data: bytes) -> None:
        """Send events, or a comment."""
        await self._send(data)

    def write_at_once(self, data: bytes) -> bool:
        """Send events or a comment, if that takes no wait; return whether they were sent."""
        return self.started and not self._closed and not self._lock.locked() and self._reply.send_chunk_at_once(data)

    async def ping(self) -> None:
        """Send a comment, so that no proxy takes the connection for dead."""
        await self._send(b": keep-alive\n\n")

    def close(self) -> None:
        """End the stream's events: the call is over. What waits is sent with its response."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()

    async def finish(self, body: bytes) -> None:
        """Send the response, unless `body` is empty, and end the stream. A client that does not read is dropped after
        a while."""
        async with asyncio.timeout(FINISH_TIMEOUT), self._lock:
            last = self._waiting + encode_event(body) if body else b""
            await self._reply.send_chunk(last, last=True)

    def _begin_late(self) -> None:
        self._timer = None
        self._late = self._loop.create_task(self._send_late())

    async def _send_late(self) -> None:
        try:
            await self._send_waiting()
        finally:
            self._late = None

    async def _send_waiting(self) -> None:
        self._next_progress = self._clock() + PROGRESS_SECONDS
        async with self._lock:
            if self._waiting and not self._closed:  # else it goes with the response
                data, self._waiting = self._waiting, b""
                await self._write(data)

    async def _send(self, data: bytes) -> None:
        async with self._lock:  # a ping and a report may come at once, and neither after the end
            if not self._closed:
                await self._write(data)

    async def _write(self, data: bytes) -> None:
        self.last_sent = self._clock()
        if not self.started:
            self.started = True
            await self._reply.start(200, CONTENT_TYPE, STREAM_HEADERS)
        await self._reply.send_chunk(data)


class WaitingRequest(Protocol):
    """What a request that waits needs of its transport."""

    @property
    def receive(self) -> Callable[[], Awaitable[Any]] | None: ...
    def authenticate(self) -> Awaitable[Any]: ...
    def get_authorization(self) -> str | None: ...
    def leave_place(self) -> None: ...
    def choose_exposure(self, caller: Caller) -> ToolExposure: ...


class StreamChannel(msgspec.Struct, frozen=True, eq=False):
    """Implements :class:`gateway.mcp.request_context.Channel` on the stream of one request."""

    stream: EventStream
    request_id: bytes
    transport: "WaitingRequest"

    def authenticate(self) -> Awaitable[Any]:
        """Verify the caller anew."""
        return self.transport.authenticate()

    def get_authorization(self) -> str | None:
        """Return the value of the Authorization header."""
        return self.transport.get_authorization()

    async def write(self, data: bytes) -> None:
        """Send events, or a comment."""
        await self.stream.write(data)

    def write_at_once(self, data: bytes) -> bool:
        """Send them if that takes no wait; return whether they were sent."""
        return self.stream.write_at_once(data)

    async def receive(self) -> Any:
        """Wait for what the client does next (ASGI)."""
        assert self.transport.receive is not None
        return await self.transport.receive()

    def leave_place(self) -> None:
        """Count no longer among what its caller has running."""
        self.transport.leave_place()

    def choose_exposure(self, caller: Caller) -> ToolExposure:
        """Choose how tools are shown to the caller, who may be in another state than when they asked."""
        return self.transport.choose_exposure(caller)

    async def send(self, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification before the response.

        Raises:
            ClientDisconnected: the client does not read.
        """
        await self.stream.notify(method, params)


class LogSender(msgspec.Struct, frozen=True, eq=False):
    """Implements :data:`gateway.mcp.request_context.SendLog` on the stream of one request, from `level` upwards."""

    stream: EventStream
    level: str

    async def __call__(self, level: LogLevel, logger: str, text: str) -> None:
        """Send `notifications/message`, unless the client wants to hear of what is more severe only.

        Raises:
            ClientDisconnected: the client does not read.
        """
        if LOG_LEVELS.index(level) >= LOG_LEVELS.index(self.level):
            await self.stream.notify("notifications/message", {"level": level, "logger": logger, "data": text})


def encode_notification(method: str, params: Mapping[str, Any]) -> bytes:
    """Encode a notification as one event."""
    return encode_event(orjson.dumps({"jsonrpc": "2.0", "method": method, "params": params}))
