"""The broker's side of the wire: an ASGI application with three paths, and no way to ask about anyone who is absent."""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.types import Receive, Scope, Send

from broker.http.service_token import ANSWERS, Claims, NotGenuine, ServiceTokens, answer_mark
from broker.http.wire import (
    EXCHANGE,
    MOST_REQUEST,
    STATUS,
    VERIFY,
    Malformed,
    Outcome,
    answered,
    read_lease,
    read_subject,
)
from broker.interface import Broker
from core.errors import LimitReached, Unavailable
from core.limits import CallerLimits

BODY_SECONDS = 5.0
RATE, BURST, CONCURRENCY = 1_000.0, 2_000, 256
"""Of one gateway: a second, at once, and at the same time. A cached credential asks for nothing."""

TOLD_SECONDS = 10.0

log = logging.getLogger(__name__)


class BrokerApp:
    """Serves a :class:`broker.interface.Broker` to gateways. Every request needs a service token and a subject token.

    Whatever is wrong with a service token, the answer is one 401; what was wrong is in the broker's log only.
    """

    def __init__(self, broker: Broker, tokens: ServiceTokens, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._tokens = tokens
        self._clock = clock
        self._limits = CallerLimits(RATE, BURST, CONCURRENCY, clock=clock)
        self._told: dict[str, float] = {}
        self._paths: dict[str, Callable[[bytes], Awaitable[Outcome]]] = {
            VERIFY: lambda body: broker.verify(read_subject(body)),
            STATUS: lambda body: broker.status(read_subject(body)),
            EXCHANGE: lambda body: broker.lease(read_lease(body)),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # the server sends nothing else
        try:
            status, body, retry_after = await self._served(scope, receive)
        except NotGenuine as error:
            self._tell(error.cause)
            status, body, retry_after = 401, b'{"error":"unauthorized"}', None
        await _send(send, status, body, retry_after, answer_mark(_authorization(scope).removeprefix("Bearer ")))

    async def _served(self, scope: Scope, receive: Receive) -> tuple[int, bytes, float | None]:
        claims = self._tokens.opened(_bearer(scope), scope["method"], scope["path"])
        if scope["path"] not in self._paths or scope["method"] != "POST":
            return 404, b'{"error":"not_found"}', None
        try:
            self._limits.enter(claims.iss)
        except LimitReached as error:
            return 429, b'{"error":"too_many_requests"}', error.retry_after
        try:
            return await self._answered(claims, scope["path"], await _body(receive))
        finally:
            self._limits.leave(claims.iss)

    async def _answered(self, claims: Claims, path: str, body: bytes) -> tuple[int, bytes, float | None]:
        self._tokens.use(claims, body)
        try:
            return 200, answered(await self._paths[path](body)), None
        except Malformed:
            return 400, b'{"error":"malformed"}', None
        except Unavailable as error:
            log.warning("a request was not served", extra={"cause": type(error).__name__})
            return 503, b'{"error":"unavailable"}', error.retry_after
        except Exception as error:  # noqa: BLE001 a fault of ours must not be shown, and may not end the connection
            log.error("a request failed", extra={"cause": type(error).__name__})
            return 500, b'{"error":"internal"}', None

    def _tell(self, cause: str) -> None:
        """Log each cause now and then: whoever can reach the port must not be able to fill the log."""
        now = self._clock()
        if now - self._told.get(cause, -math.inf) >= TOLD_SECONDS:
            self._told[cause] = now
            log.warning("a request had no valid service token", extra={"cause": cause})


def _bearer(scope: Scope) -> str:
    given = _authorization(scope)
    if not given.startswith("Bearer "):
        raise NotGenuine("none")
    return given.removeprefix("Bearer ")


def _authorization(scope: Scope) -> str:
    """The one Authorization header; empty for none or several."""
    given = [value for name, value in scope["headers"] if name == b"authorization"]
    return given[0].decode("latin-1") if len(given) == 1 else ""


async def _body(receive: Receive) -> bytes:
    """The whole body; one that is too large, too slow or cut off cannot be what the token is for."""
    parts = bytearray()
    more = True
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while more:
                message: Any = await receive()
                if message["type"] != "http.request":
                    raise NotGenuine("cut off")
                parts += message.get("body", b"")
                if len(parts) > MOST_REQUEST:
                    raise NotGenuine("too large")
                more = message.get("more_body", False)
    except TimeoutError:
        raise NotGenuine("too slow") from None
    return bytes(parts)


async def _send(send: Send, status: int, body: bytes, retry_after: float | None, mark: str) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
        (ANSWERS.lower().encode(), mark.encode()),
    ]
    if retry_after is not None:
        headers.append((b"retry-after", b"%d" % max(1, math.ceil(retry_after))))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
