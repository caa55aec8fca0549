"""Sending one HTTP answer over ASGI."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Protocol

import msgspec

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
    def answer(self, status: int, headers: HeaderList, body: bytes) -> None: ...


class ResponseWriter(msgspec.Struct, eq=False):
    """The answer to one request. `headers` go with it whatever it becomes; `status` is 0 until it has begun."""

    _send: Send
    headers: list[tuple[bytes, bytes]]
    _direct: DirectExchange | None = None
    status: int = 0

    async def start(self, status: int, content_type: bytes, headers: HeaderList = ()) -> None:
        """Send the status and headers of an answer of unknown length."""
        self.status = status
        fields = [(b"content-type", content_type), *self.headers, *headers]
        await self._send({"type": "http.response.start", "status": status, "headers": fields})

    async def send_chunk(self, body: bytes, *, last: bool = False) -> None:
        """Send a piece of the body."""
        await self._send({"type": "http.response.body", "body": body, "more_body": not last})

    async def send_whole(
        self, status: int, body: bytes = b"", content_type: bytes = JSON_CONTENT_TYPE, headers: HeaderList = ()
    ) -> None:
        """Send a complete answer."""
        self.status = status
        fields = [(b"content-length", b"%d" % len(body)), *self.headers, *headers]
        if body:
            fields.append((b"content-type", content_type))
        if self._direct is not None:
            self._direct.answer(status, fields, body)
            return
        await self._send({"type": "http.response.start", "status": status, "headers": fields})
        await self._send({"type": "http.response.body", "body": body})
