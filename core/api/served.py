"""What every answer has, and what no request may do: its id, its headers, its deadline, one plain 500."""

import asyncio
import logging
from typing import Any
from uuid import uuid4

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.api.problems import problem

BODY_SECONDS = 10.0
MOST_BODY = 65_536
HEADERS = [
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
]

log = logging.getLogger(__name__)


class Served:
    """Stands outside the framework, which would pass an exception on to the server, and its text into the log."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        answer = _Answer(send, scope.setdefault("mcpist.request_id", str(uuid4())))
        try:
            await self._app(scope, _Body(receive).receive, answer.send)
        except _TooSlow:
            await self._fail(answer, scope, 408, "too_slow", "the body did not come in time")
        except Exception as error:  # noqa: BLE001 a fault of ours must not be shown, and may not end the connection
            log.error("a request failed", extra={"cause": type(error).__name__, "request_id": answer.request_id})
            await self._fail(answer, scope, 500, "internal", "something went wrong here; it was logged under this id")

    async def _fail(self, answer: "_Answer", scope: Scope, status: int, code: str, detail: str) -> None:
        if not answer.begun:
            await problem(status, code, detail, answer.request_id)(scope, _nothing, answer.send)


class _TooSlow(Exception):
    """The body is late. No MCPistError: the framework must let it through."""


class _Body:
    """The whole body has to come within the time, however it is cut."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._until = asyncio.get_running_loop().time() + BODY_SECONDS
        self._whole = False

    async def receive(self) -> Message:
        if self._whole:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._until):
                message = await self._receive()
        except TimeoutError:
            raise _TooSlow from None
        self._whole = not message.get("more_body", False)
        return message


class _Answer:
    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self.request_id = request_id
        self.begun = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            message["headers"] = [*message.get("headers", ()), *HEADERS, (b"x-request-id", self.request_id.encode())]
        await self._send(message)


async def _nothing() -> Any:
    return {"type": "http.disconnect"}
