"""uvicorn's side of one request, except that an answer of one piece leaves in one write."""

from collections.abc import Awaitable
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from gateway.app import Application

_LEFT_TO_UVICORN = frozenset({b"connection", b"transfer-encoding"})


class WholeAnswers:
    """Holds an answer's head until its body is there (which ASGI allows), and joins the two: a system call, a packet
    and half of the work less. Whatever is not simple or not right goes uvicorn's own way."""

    __slots__ = ("_app", "_cycle", "_head")

    def __init__(self, cycle: RequestResponseCycle, app: Application) -> None:
        self._cycle = cycle
        self._app = app
        self._head: Any = None

    def __call__(self, scope: Any, receive: Any, send: Any) -> Awaitable[None]:
        """The application, which sends through this; the answer to HEAD has no body to join."""
        return self._app(scope, receive, send if scope["method"] == "HEAD" else self._send)

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self._head = message
            return
        if (head := self._head) is not None:
            self._head = None
            if whole := self._whole(head, message):
                self._finish(whole)
                return
            await self._cycle.send(head)
        await self._cycle.send(message)

    def _whole(self, start: Any, message: Any) -> bytes:
        """The answer as it is sent; empty if uvicorn has to see to it."""
        body: bytes = message.get("body", b"")
        cycle = self._cycle
        if message.get("more_body") or cycle.response_started or cycle.disconnected or cycle.flow.write_paused:
            return b""
        fields: list[tuple[bytes, bytes]] = [*cycle.default_headers, *start.get("headers", ())]
        named = dict(fields)
        if named.get(b"content-length") != b"%d" % len(body) or not _LEFT_TO_UVICORN.isdisjoint(named):
            return b""
        head = b"".join([b"%b: %b\r\n" % field for field in fields])
        # No value may bring a line of its own; uvicorn refuses it in its words.
        if not head.count(b"\n") == head.count(b"\r") == len(fields) or b"\0" in head:
            return b""
        close = b"" if cycle.keep_alive else b"connection: close\r\n"
        return b"%b%b%b\r\n%b" % (STATUS_LINE[start["status"]], head, close, body)

    def _finish(self, whole: bytes) -> None:
        cycle = self._cycle
        cycle.response_started = cycle.response_complete = True
        cycle.transport.write(whole)
        cycle.message_event.set()
        if not cycle.keep_alive:
            cycle.transport.close()
        cycle.on_response()
