"""Server-sent events on the answer of one request: its progress, then its response."""

import asyncio
import math
from typing import Any

import orjson

from gateway.mcp.responses import ResponseWriter

CONTENT_TYPE = b"text/event-stream"
STREAM_HEADERS = ((b"cache-control", b"no-cache, no-transform"), (b"x-accel-buffering", b"no"))
_BURST = 20  # events that may follow each other at once; after them one every _INTERVAL
_INTERVAL = 0.1  # seconds
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
        self._clock = asyncio.get_running_loop().time
        self._sent = 0
        self._progress = -math.inf
        self._closed = False
        self._lock = asyncio.Lock()
        self.last_sent = self._clock()
        self.started = False

    async def report(self, done: float, total: float | None = None, message: str = "") -> None:
        """Send `notifications/progress`. What does not increase, or comes too fast, is left out; so is all where the
        client gave no token."""
        if self._token is None or self._closed or not (math.isfinite(done) and done > self._progress):
            return
        if not self._may_send():
            return
        self._progress = done
        self._sent += 1
        params: dict[str, Any] = {"progressToken": self._token, "progress": done}
        if total is not None and math.isfinite(total):
            params["total"] = total
        if message and self._with_message:
            params["message"] = message
        await self._send(
            encode_event(orjson.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}))
        )

    async def ping(self) -> None:
        """Send a comment, so that no proxy takes the connection for dead."""
        await self._send(b": keep-alive\n\n")

    def close(self) -> None:
        """End the stream's progress events: the call is over."""
        self._closed = True

    async def finish(self, body: bytes) -> None:
        """Send the response, unless `body` is empty, and end the stream. A client that does not read is dropped after
        a while."""
        async with asyncio.timeout(FINISH_TIMEOUT), self._lock:
            await self._reply.send_chunk(encode_event(body) if body else b"", last=True)

    def _may_send(self) -> bool:
        return self._sent < _BURST or self._clock() - self.last_sent >= _INTERVAL

    async def _send(self, data: bytes) -> None:
        self.last_sent = self._clock()
        async with self._lock:  # a ping and a report may come at once, and neither after the end
            if self._closed:
                return
            if not self.started:
                self.started = True
                await self._reply.start(200, CONTENT_TYPE, STREAM_HEADERS)
            await self._reply.send_chunk(data)
