"""One request and its answer: the ASGI side of a connection (ASGI 3, HTTP 2.3)."""

import asyncio
import http
import logging
import time
from collections.abc import Callable, Iterable
from email.utils import formatdate
from itertools import chain
from typing import Any, Protocol

from core.http_server.asgi import Application
from core.http_server.known_heads import RequestHead
from core.log_events import describe_error

DIRECT = "mcpist.direct"
"""Name of the ASGI extension by which an application gets its :class:`HttpExchange`."""
_NO_BODY = frozenset({204, 304})
_CLOSE = b"connection: close\r\n"
_FAILED = b'{"error":"Internal Server Error"}'
_FAILED_HEADERS = (
    (b"content-type", b"application/json"),
    (b"content-length", b"%d" % len(_FAILED)),
    (b"connection", b"close"),
)

log = logging.getLogger(__name__)


class ExchangeTransport(Protocol):
    """Interface of a connection as an exchange uses it."""

    @property
    def body_is_whole(self) -> bool:
        """Check whether the whole request has arrived."""
        ...

    @property
    def may_keep(self) -> bool:
        """Check whether the connection may serve another request after this one."""
        ...

    def write(self, data: bytes) -> None: ...
    def remember(self, head: RequestHead, findings: Any) -> None: ...
    @property
    def is_writable(self) -> bool:
        """Check whether the client has taken most of what was written."""
        ...

    async def drain(self) -> None: ...
    def read_more(self) -> None: ...
    def end_exchange(self, *, keep: bool) -> None: ...
    def abort(self) -> None: ...


class InvalidAsgiMessage(Exception):
    """The application sent something that is no answer; what it was is not repeated."""


class HttpExchange:
    """One request, from its head to the last byte of its answer."""

    _is_end_reported = _is_gone = _chunked = started = complete = False
    _body_event: asyncio.Event | None = None
    _head: dict[str, Any] | None = None
    _bytes_left: int | None = None

    def __init__(self, wire: ExchangeTransport, request: RequestHead, body: bytes = b"") -> None:
        self._wire = wire
        self._request = request
        self._scope = request.scope
        self._scope["extensions"] = {DIRECT: self}
        self._expects_continue = request.expects_continue
        self._body: bytes | bytearray = body or bytearray()  # a body that is here is whole: nothing is added to it
        self.keep = request.keep

    async def run(self, app: Application, on_end: "Callable[[HttpExchange], object]") -> None:
        """Let the application answer, and call `on_end`. Whatever it raises is logged by its type only and answered
        with 500."""
        try:
            await app(self._scope, self.receive, self.send)
        except asyncio.CancelledError:
            self._wire.abort()
            raise
        except Exception as error:  # noqa: BLE001 the server outlives its applications, and their texts stay inside
            log.error("an HTTP request failed", extra={"event": "http_request_failed", **describe_error(error)})
        finally:
            on_end(self)
        if not self.complete and not self._is_gone:
            await self._fail()

    async def _fail(self) -> None:
        if self.started:
            self._wire.abort()
            return
        self._head = None
        await self.send({"type": "http.response.start", "status": 500, "headers": _FAILED_HEADERS})
        await self.send({"type": "http.response.body", "body": _FAILED})

    @property
    def unread(self) -> int:
        """Bytes of the body that wait for the application."""
        return len(self._body)

    # For applications that know this server: the same as by ASGI's messages, in one step each (`DIRECT`).

    @property
    def findings(self) -> Any:
        """Findings that the application has remembered with a head like this one, or None."""
        return self._request.findings

    @property
    def content_length(self) -> int | None:
        """Length of the body; None where it comes in chunks."""
        return self._request.length

    def get_secret(self, name: bytes) -> bytes | None:
        """Return the value of a header that is not in the scope of a known head: a credential."""
        return self._request.get_secret(name)

    def remember(self, findings: Any) -> None:
        """Remember the head: it was checked, and what was found holds for every request with the same one."""
        self._wire.remember(self._request, findings)

    def take_body(self) -> bytes | None:
        """Take the body if it has arrived whole; else None, and :meth:`receive` gives it."""
        if self._is_gone or self._is_end_reported or not self._wire.body_is_whole:
            return None
        body, self._body = self._body, b""
        self._is_end_reported = True
        return bytes(body)

    def answer(self, status: int, lines: bytes, body: bytes) -> None:
        """Send a whole answer. `lines` are its headers as :func:`encode_fields` makes them, but for Content-Length."""
        if self._is_gone:
            return
        if self._head is not None or self.started:
            raise InvalidAsgiMessage
        self.started = True
        self.keep = keep = self._can_keep()
        head = b"%b%b%bcontent-length: %d\r\n%b\r\n" % (
            _STATUS_LINES[status], _get_date_line(), lines, len(body), b"" if keep else _CLOSE
        )  # fmt: skip
        self._wire.write(head if status in _NO_BODY or self._scope["method"] == "HEAD" else head + body)
        self._finish()

    def send_more(self, body: bytes) -> bool:
        """Send a further piece of an answer that has begun. False: nothing was sent, because the client does not keep
        up."""
        if self._is_gone:
            return True
        if not self.started or self.complete:
            raise InvalidAsgiMessage
        if not self._wire.is_writable:
            return False
        self._wire.write(self._frame_chunk(body, more_body=True))
        return True

    # What the connection tells.

    def feed(self, data: bytes) -> int:
        """Add a piece of the body; return how many bytes wait for the application."""
        if self.complete:
            return 0
        self._body += data
        self._wake()
        return len(self._body)

    def end_body(self) -> None:
        """Record the end of the body."""
        self._wake()

    def disconnect(self) -> None:
        """Record that the client has disconnected."""
        self._is_gone = True
        self._wake()

    def _wake(self) -> None:
        if self._body_event is not None:
            self._body_event.set()

    # What the application asks.

    async def receive(self) -> dict[str, Any]:
        """Receive the next piece of the body, or the client's departure."""
        if self._expects_continue:
            self._expects_continue = False
            if not self.started and not self._body and not self._wire.body_is_whole:
                self._wire.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        while not self._has_body_event():
            self._wire.read_more()
            self._body_event = self._body_event or asyncio.Event()
            self._body_event.clear()
            await self._body_event.wait()
        if self._is_gone or self.complete:
            return {"type": "http.disconnect"}
        body, self._body = bytes(self._body), bytearray()
        is_complete = self._wire.body_is_whole
        self._is_end_reported = is_complete
        if not is_complete:
            self._wire.read_more()
        return {"type": "http.request", "body": body, "more_body": not is_complete}

    def _has_body_event(self) -> bool:
        return (
            bool(self._body)
            or self._is_gone
            or self.complete
            or (self._wire.body_is_whole and not self._is_end_reported)
        )

    async def send(self, message: Any) -> None:
        """Take a message of the answer. The head waits for the first piece of the body, and leaves with it in one
        write: a system call and a packet less."""
        if self._is_gone:
            return
        if message["type"] == "http.response.start" and self._head is None and not self.started:
            self._head = message
            return
        if message["type"] != "http.response.body" or self.complete or (self._head is None and not self.started):
            raise InvalidAsgiMessage
        body: bytes = message.get("body", b"")
        more_body = bool(message.get("more_body"))
        data = (
            self._frame_chunk(body, more_body=more_body)
            if self.started
            else self._build_head(body, more_body=more_body)
        )
        if data:
            self._wire.write(data)
        if not more_body:
            self._finish()
        else:
            await self._wire.drain()

    def _build_head(self, body: bytes, *, more_body: bool) -> bytes:
        """Build the head of the answer with the first piece of its body."""
        assert self._head is not None
        status: int = self._head["status"]
        fields: list[tuple[bytes, bytes]] = list(self._head.get("headers", ()))
        values = {name.lower(): value for name, value in fields}
        self._choose_framing(status, values, len(body), more_body=more_body)
        self.keep = self._can_keep() and values.get(b"connection", b"").lower() != b"close"
        if not self.keep and b"connection" not in values:
            fields.append((b"connection", b"close"))
        if self._chunked:
            fields.append((b"transfer-encoding", b"chunked"))
        lines = encode_fields(fields)
        self.started, self._head = True, None
        piece = self._frame_chunk(body, more_body=more_body)
        return b"%b%b%b\r\n%b" % (_build_status_line(status), _get_date_line(), lines, piece)

    def _can_keep(self) -> bool:
        # Whether the body will come that was not asked for is unknown.
        return self.keep and self._wire.may_keep and (not self._expects_continue or self._wire.body_is_whole)

    def _choose_framing(self, status: int, headers: dict[bytes, bytes], size: int, *, more_body: bool) -> None:
        """Choose how the end of the answer is marked (RFC 9112 §6.3). `_bytes_left` counts Content-Length down; None
        without one, -1 without a body."""
        self._chunked, self._bytes_left = False, None
        length = headers.get(b"content-length")
        if self._scope["method"] == "HEAD" or status in _NO_BODY:
            self._bytes_left = -1
        elif length is not None:
            self._bytes_left = int(length)
            if size > self._bytes_left or (not more_body and size != self._bytes_left):
                raise InvalidAsgiMessage
        elif self._scope["http_version"] == "1.1":
            self._chunked = True
        else:
            self.keep = False

    def _frame_chunk(self, body: bytes, *, more_body: bool) -> bytes:
        if self._bytes_left == -1:
            return b""
        if self._chunked:
            chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            return chunk if more_body else chunk + b"0\r\n\r\n"
        if self._bytes_left is not None:
            self._bytes_left -= len(body)
            if self._bytes_left < 0 or (not more_body and self._bytes_left):
                raise InvalidAsgiMessage
        return body

    def _finish(self) -> None:
        self.complete = True
        self._body = b""
        if self._body_event is not None:
            self._body_event.set()
        self._wire.end_exchange(keep=self.keep)


def build_plain_answer(status: int, text: str, *fields: tuple[bytes, bytes]) -> bytes:
    """Build a whole answer of the server's own, after which the connection ends."""
    body = b'{"error":"%b"}' % text.encode("ascii")
    headers = ((b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *fields)
    return b"%b%b%b%b\r\n%b" % (_build_status_line(status), _get_date_line(), encode_fields(headers), _CLOSE, body)


def encode_fields(fields: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Encode header fields as lines.

    Raises:
        InvalidAsgiMessage: a value would begin a line of its own.
    """
    parts = tuple(chain.from_iterable(fields))
    count = len(parts) // 2
    encoded = b"%b: %b\r\n" * count % parts
    if not encoded.count(b"\n") == encoded.count(b"\r") == count or b"\0" in encoded:
        raise InvalidAsgiMessage
    return encoded


def _build_status_line(status: int) -> bytes:
    line = _STATUS_LINES.get(status)
    return line if line is not None else b"HTTP/1.1 %d \r\n" % status


_STATUS_LINES = {one.value: b"HTTP/1.1 %d %b\r\n" % (one.value, one.phrase.encode()) for one in http.HTTPStatus}
_dated: tuple[int, bytes] = (0, b"")


def _get_date_line() -> bytes:
    """Return the Date field (RFC 9110 §6.6.1), made once a second."""
    global _dated
    now = int(time.time())
    if _dated[0] != now:
        _dated = (now, b"date: %b\r\n" % formatdate(now, usegmt=True).encode())
    return _dated[1]
