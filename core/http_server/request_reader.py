"""Parser of a connection's bytes into requests, one at a time, without a socket or a clock.

llhttp (httptools) reads heads and chunks; a body of known length is counted here. What lies behind a request is given
back unread, so nothing that follows can be taken for a part of it, nor a part of it for a request.
"""

from enum import Enum, auto
from typing import Any, Protocol

import httptools

from core.http_server.http_limits import HttpLimits
from core.http_server.known_heads import KnownHeads, RawHead, RequestHead, split_head
from core.http_server.request_head import BadRequest, RawHeaders, read_framing, read_scope

_END_OF_HEAD = b"\r\n\r\n"
_NO_REQUEST = "This is not an HTTP/1.1 request"


class RequestPart(Enum):
    """Part of a request that the next byte belongs to."""

    HEAD = auto()
    LENGTH = auto()
    """A body whose rest is counted."""
    CHUNKS = auto()
    NEXT = auto()
    """The request is whole; the byte belongs to the next one."""


HEAD, LENGTH, CHUNKS, NEXT = RequestPart
"""As names of the module: a member that is read off its class is a call of the enumeration's metaclass."""


class RequestSink(Protocol):
    """Receiver of parsed requests."""

    def start_request(self, request: RequestHead, body: bytes) -> None:
        """Take a request, with its body where that came with the head; else :meth:`add_body` gives it."""
        ...

    def add_body(self, data: bytes) -> None: ...
    def end_request(self) -> None: ...


class RequestReader:
    """Reads the requests of one connection into `sink`. It is the parser's protocol (httptools) as well."""

    def __init__(self, limits: HttpLimits, sink: RequestSink, known_heads: KnownHeads) -> None:
        self._limits = limits
        self._known_heads = known_heads
        self._sink = sink
        self._parser: Any = None
        self.part = HEAD
        self.has_dropped = False
        """Whether bytes behind a chunked body were thrown away: this connection can serve no further request."""
        self.unread_length = 0
        """Bytes of a counted body that have not come yet."""
        self._reset()

    def _reset(self) -> None:
        self._parser = None
        self._raw_head: RawHead | None = None
        self._head_size = 0
        self._tail = b""
        self._url = b""
        self._headers: RawHeaders = []
        self._head_is_whole = self._keeps = self._upgrades = False
        self._overhead = 0

    @property
    def has_begun_head(self) -> bool:
        """True while a head has arrived in part."""
        return self.part is HEAD and self._head_size > 0

    def start_next(self) -> None:
        """Begin the next request."""
        self.part = HEAD
        if self._parser is not None:  # the head before was not a known one
            self._reset()

    def feed(self, data: bytes) -> bytes:
        """Read on, up to the end of the request; gives what lies behind it.

        Raises:
            BadRequest: nothing more can be read from this connection.
        """
        while data:
            if self.part is HEAD:
                data = self._read_head(data)
            elif self.part is LENGTH:
                data = self._read_length(data)
            elif self.part is CHUNKS:
                data = self._read_chunks(data)
            else:
                break
        return data

    def _read_head(self, data: bytes) -> bytes:
        """Feed the parser up to the end of the head and no further; a known head needs none."""
        if not self._head_size:
            self._raw_head = raw = split_head(data)
            if raw is not None and (known := self._known_heads.find(raw)) is not None:
                return self._start_request(known, data[len(raw.text) + len(raw.length) + len(_END_OF_HEAD) :])
            data = data.lstrip(b"\r\n")  # blank lines before a request are skipped (RFC 9112 §2.2)
            if not data:
                return b""
            self._parser = httptools.HttpRequestParser(self)
        # The end may lie across two reads: its first bytes are fed already then.
        tail = self._tail
        end = (tail + data).find(_END_OF_HEAD)
        head = data if end < 0 else data[: end + len(_END_OF_HEAD) - len(tail)]
        self._head_size += len(head)
        if self._head_size > self._limits.head:
            raise BadRequest(431, f"The head of a request may have {self._limits.head} bytes")
        self._tail = (tail + head)[-3:]
        self._feed_head(head)
        return self._begin_request(data[len(head) :]) if end >= 0 else b""

    def _feed_head(self, head: bytes) -> None:
        try:
            self._parser.feed_data(head)
        except httptools.HttpParserUpgrade:  # to be ignored (RFC 9110 §7.8): Java's client asks for h2c with every call
            pass
        except httptools.HttpParserError:
            raise BadRequest(400, _NO_REQUEST) from None

    def _begin_request(self, behind: bytes) -> bytes:
        version = self._parser.get_http_version()
        if not self._head_is_whole:
            raise BadRequest(400, _NO_REQUEST)
        if version not in ("1.0", "1.1"):
            raise BadRequest(505, "This server speaks HTTP/1.1")
        headers = self._headers
        scope = read_scope(self._parser.get_method().decode("ascii"), self._url, version, headers)
        framing = read_framing(headers, version, upgrades=self._upgrades)
        expects = any(name == b"expect" and value.lower() == b"100-continue" for name, value in headers)
        request = RequestHead(
            scope,
            version == "1.1" and self._keeps,
            None if framing.chunked else framing.length,
            expects,
            None if framing.chunked or expects else self._raw_head,
        )
        return self._start_request(request, behind)

    def _start_request(self, head: RequestHead, behind: bytes) -> bytes:
        """Start a request with the body that came with its head, if that is whole; gives what was not read."""
        length = head.length
        if length is None or length > len(behind):
            self.part = CHUNKS if length is None else LENGTH
            self.unread_length = length or 0
            self._sink.start_request(head, b"")
            return behind
        self.part = NEXT
        self.unread_length = 0
        self._sink.start_request(head, behind[:length])
        return behind[length:]

    def _read_length(self, data: bytes) -> bytes:
        body = data if len(data) <= self.unread_length else data[: self.unread_length]
        self.unread_length -= len(body)
        self._sink.add_body(body)
        if not self.unread_length:
            self._end()
        return data[len(body) :]

    def _read_chunks(self, data: bytes) -> bytes:
        """Feed the parser a little at a time, and count what comes without data (trailers, extensions)."""
        chunk, remainder = data[: self._limits.trailer], data[self._limits.trailer :]
        self._overhead += len(chunk)
        try:
            self._parser.feed_data(chunk)
        except httptools.HttpParserError:
            if self.part is CHUNKS:
                raise BadRequest(400, "The chunks of the body are not valid") from None
            self.has_dropped = True
        if self.part is CHUNKS:
            if self._overhead > self._limits.trailer:
                raise BadRequest(431, f"Trailers may have {self._limits.trailer} bytes")
            return remainder
        self.has_dropped = self.has_dropped or bool(remainder)
        return b""

    def _end(self) -> None:
        self.part = NEXT
        self._sink.end_request()

    # The parser's side (httptools). What comes after the head is a trailer, and no trailer is a header
    # (RFC 9110 §6.5.1).

    def on_message_begin(self) -> None:
        """Behind the last chunk, in the same read, another message begins: where, the parser does not tell. The client
        sends it again when the connection ends after the answer (RFC 9112 §9.3.2)."""
        if self.part is NEXT:
            self.has_dropped = True

    def on_url(self, url: bytes) -> None:
        if self.part is HEAD:
            self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.part is HEAD:
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        if self.part is HEAD:  # llhttp forgets both with the end of the message
            self._head_is_whole = True
            self._keeps, self._upgrades = self._parser.should_keep_alive(), self._parser.should_upgrade()

    def on_body(self, body: bytes) -> None:
        if self.part is CHUNKS:
            self._overhead = 0
            self._sink.add_body(body)

    def on_message_complete(self) -> None:
        if self.part is CHUNKS:
            self._end()
