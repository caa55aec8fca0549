"""Sending one HTTP answer, in one step over our own server, and over ASGI elsewhere."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Protocol

import msgspec

from core.http_server.exchange import encode_fields

JSON_CONTENT_TYPE = b"application/json"

Send = Callable[[Any], Awaitable[None]]
HeaderList = Iterable[tuple[bytes, bytes]]


class DirectExchange(Protocol):
    """Interface of our own server's extension of ASGI (:class:`core.http_server.exchange.HttpExchange`)."""

    @property
    def findings(self) -> Any: ...
    @property
    def content_length(self) -> int | None: ...
    def get_secret(self, name: bytes) -> bytes | None: ...
    def remember(self, findings: Any) -> None: ...
    def take_body(self) -> bytes | None: ...
    def answer(self, status: int, lines: bytes, body: bytes) -> None: ...
    def send_more(self, body: bytes) -> bool: ...


class ResponseWriter(msgspec.Struct, eq=False):
    """The answer to one request. `extra_headers` go with it whatever it becomes; `status` is 0 until it has begun."""

    request_id: str
    send: Send
    direct: DirectExchange | None
    status: int = 0
    extra_headers: list[tuple[bytes, bytes]] = msgspec.field(default_factory=list[tuple[bytes, bytes]])

    async def start(self, status: int, content_type: bytes, headers: HeaderList = ()) -> None:
        """Send the status and headers of an answer of unknown length."""
        self.status = status
        fields = [(b"content-type", content_type), *self._list_headers(), *headers]
        await self.send({"type": "http.response.start", "status": status, "headers": fields})

    async def send_chunk(self, body: bytes, *, last: bool = False) -> None:
        """Send a piece of the body."""
        await self.send({"type": "http.response.body", "body": body, "more_body": not last})

    def send_chunk_at_once(self, body: bytes) -> bool:
        """Send a piece of a body that has begun, if that takes no wait; return whether it was sent."""
        return self.direct is not None and self.direct.send_more(body)

    def send_whole(
        self, status: int, body: bytes = b"", content_type: bytes = JSON_CONTENT_TYPE, headers: HeaderList = ()
    ) -> Awaitable[None] | None:
        """Send a complete answer. None: it is sent; otherwise it is when what is returned was awaited."""
        self.status = status
        if self.direct is None:
            return self._send_messages(status, body, content_type, headers)
        lines = b"x-request-id: %b\r\n" % self.request_id.encode()
        if body:
            lines = b"content-type: %b\r\n%b" % (content_type, lines)
        if self.extra_headers or headers:
            lines += encode_fields([*self.extra_headers, *headers])
        self.direct.answer(status, lines, body)
        return None

    async def _send_messages(self, status: int, body: bytes, content_type: bytes, headers: HeaderList) -> None:
        fields = [(b"content-length", b"%d" % len(body)), *self._list_headers(), *headers]
        if body:
            fields.append((b"content-type", content_type))
        await self.send({"type": "http.response.start", "status": status, "headers": fields})
        await self.send({"type": "http.response.body", "body": body})

    def _list_headers(self) -> HeaderList:
        return (b"x-request-id", self.request_id.encode()), *self.extra_headers
