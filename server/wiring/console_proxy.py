"""The broker's part of the admin API, reached through a control plane that is a process of its own: browsers and
commands know one address for both."""

import asyncio
import logging
from collections.abc import Callable

import aiohttp
import orjson
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from core.observability.tracing import NOOP_TRACER, TRACEPARENT, Span, Tracer

MAX_BODY_BYTES = 4 * 1024 * 1024
BODY_SECONDS = 20.0
ANSWER_SECONDS = 60.0
CHUNK_BYTES = 64 * 1024
RETRY_AFTER = 2
_OF_ONE_HOP = frozenset(
    {
        "connection", "keep-alive", "proxy-connection", "transfer-encoding", "te", "trailer", "upgrade",
        "content-length", "expect", "host", "forwarded", "x-forwarded-for", "x-forwarded-host",
    }
)  # fmt: skip
"""Headers that are not passed on: those of one connection (RFC 9110, 7.6.1), and what is said anew here."""

log = logging.getLogger(__name__)


class BrokerProxy:
    """An ASGI application that passes each request on to the broker, and its answer back, unchanged but for the headers
    of the connection. `host` is the public one, which the broker expects."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        base_url: str,
        host: str,
        get_client_address: Callable[[Request], str],
        tracer: Tracer = NOOP_TRACER,
    ) -> None:
        self._session = session
        self._base_url = base_url
        self._host = host
        self._get_client_address = get_client_address
        self._tracer = tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if _climbs(scope["raw_path"]):  # the client would resolve it to a path outside the admin API
            await _send_problem(send, 404, "not_found", "there is nothing at this address")
            return
        try:
            async with asyncio.timeout(BODY_SECONDS):
                body = await _read_body(request)
        except TimeoutError:
            body = None
        if body is None:
            await _send_problem(send, 413, "too_large", "the body is too large, or came too slowly")
            return
        try:
            with self._tracer.span(request.method, "client") as span:
                await self._pass_on(request, body, send, span)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            log.warning(
                "the broker does not answer a request of the admin API",
                extra={"event": "broker_unavailable", "cause": type(error).__name__},
            )
            await _send_problem(send, 503, "unavailable", "MCPist is not ready: its broker is unavailable")

    async def _pass_on(self, request: Request, body: bytes, send: Send, span: Span) -> None:
        path: bytes = request.scope["raw_path"]
        query: bytes = request.scope["query_string"]
        url = self._base_url + (path + b"?" * bool(query) + query).decode("latin-1")
        asking = self._session.request(
            request.method,
            url,
            headers=self._build_headers(request),
            data=body or None,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=ANSWER_SECONDS),
        )
        async with asking as response:
            span.set_attribute("http.response.status_code", response.status)
            answer = await response.read()
            headers = [
                (name.lower().encode("latin-1"), value.encode("latin-1"))
                for name, value in response.headers.items()
                if name.lower() not in _OF_ONE_HOP
            ]
            headers.append((b"content-length", b"%d" % len(answer)))
            await send({"type": "http.response.start", "status": response.status, "headers": headers})
            await send({"type": "http.response.body", "body": answer})

    def _build_headers(self, request: Request) -> list[tuple[str, str]]:
        headers = [(name, value) for name, value in request.headers.items() if name not in _OF_ONE_HOP]
        headers.append(("Host", self._host))
        if traceparent := self._tracer.get_traceparent():
            headers = [(name, value) for name, value in headers if name != TRACEPARENT]
            headers.append((TRACEPARENT, traceparent))
        if address := self._get_client_address(request):
            headers.append(("X-Forwarded-For", address))
        return headers


def _climbs(path: bytes) -> bool:
    """Check whether a path has a segment ``.`` or ``..``, encoded or not."""
    return any(part in (b".", b"..") for part in path.lower().replace(b"%2e", b".").split(b"/"))


async def _read_body(request: Request) -> bytes | None:
    """Read the whole body; None where it is too large."""
    parts = bytearray()
    async for part in request.stream():
        parts += part
        if len(parts) > MAX_BODY_BYTES:
            return None
    return bytes(parts)


async def _send_problem(send: Send, status: int, code: str, detail: str) -> None:
    body = orjson.dumps({"type": "about:blank", "status": status, "code": code, "detail": detail})
    headers = [(b"content-type", b"application/problem+json"), (b"content-length", b"%d" % len(body))]
    if status == 503:
        headers.append((b"retry-after", b"%d" % RETRY_AFTER))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
