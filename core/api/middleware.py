"""Middleware of the admin API: request id, response headers, and limits on a body's time and size."""

import asyncio
import logging
from uuid import uuid4

from fastapi import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.api.principal import REQUEST_ID
from core.log_events import describe_error
from core.observability.logs import current_request

BODY_SECONDS = 10.0
MAX_BODY_BYTES = 65_536
RESPONSE_HEADERS = [
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
]

log = logging.getLogger(__name__)


class ApiMiddleware:
    """Stands outside the framework, which would pass an exception on to the server, and its text into the log."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        responder = _ResponseSender(send, scope.setdefault(REQUEST_ID, str(uuid4())))
        current_request.set(responder.request_id)
        try:
            await self._app(scope, _BoundedBody(receive).receive, responder.send)
        except Exception as error:  # noqa: BLE001 a fault of ours must not be shown, nor end the connection
            fields = {"request_id": responder.request_id, **describe_error(error)}
            log.error("an API request failed", extra={"event": "api_request_failed", **fields})


class _BoundedBody:
    """The whole body has to come within the time and the size, however it is cut.

    What it raises is the framework's own: anything else that happens while it reads a body becomes a 400.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._until = asyncio.get_running_loop().time() + BODY_SECONDS
        self._is_complete = False
        self._bytes_left = MAX_BODY_BYTES

    async def receive(self) -> Message:
        if self._is_complete:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._until):
                message = await self._receive()
        except TimeoutError:
            raise HTTPException(408) from None
        self._bytes_left -= len(message.get("body", b""))
        if self._bytes_left < 0:
            raise HTTPException(413)
        self._is_complete = not message.get("more_body", False)
        return message


class _ResponseSender:
    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self.request_id = request_id
        self.is_started = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.is_started = True
            message["headers"] = [
                *message.get("headers", ()),
                *RESPONSE_HEADERS,
                (b"x-request-id", self.request_id.encode()),
            ]
        await self._send(message)
