"""The broker's side of the wire. For gateways it has seven paths, and no way to ask about anyone who is absent; for
workers three, which ask about those who have given a mandate."""

import asyncio
import logging
import math
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.types import Receive, Scope, Send

from broker.interface import Broker
from broker.rpc.codec import (
    CREATE_MANDATE,
    END_MANDATE,
    EXCHANGE,
    MOST_REQUEST,
    STATUS,
    TENANT_KEY,
    VERIFY,
    VERIFY_AGAIN,
    WORKER_EXCHANGE,
    WORKER_TENANT_KEY,
    WORKER_VERIFY,
    MalformedMessage,
    decode_lease_request,
    decode_subject_request,
    decode_subjects_request,
    encode_credentials,
    encode_result,
)
from broker.rpc.mandate_messages import (
    decode_mandate_request,
    decode_reference,
    decode_worker_lease_request,
    encode_mandate_end,
)
from broker.rpc.service_token import (
    ANSWER_HEADER,
    REQUEST_HEADER,
    Claims,
    InvalidServiceToken,
    ServiceTokenVerifier,
    compute_answer_mark,
)
from broker.rpc.tenant_key_messages import (
    decode_tenant_key_request,
    decode_worker_tenant_key_request,
    encode_tenant_key_result,
)
from core.concurrency.rate_limits import CallerLimits
from core.errors import LimitReached, Unavailable
from core.log_events import describe_error
from core.observability.logs import current_request
from core.observability.tracing import NOOP_TRACER, TRACEPARENT, Tracer

BODY_SECONDS = 5.0
RATE, BURST, CONCURRENCY = 1_000.0, 2_000, 256
"""Of one gateway: a second, at once, and at the same time. A cached credential asks for nothing."""

LOG_INTERVAL_SECONDS = 10.0
_REQUEST_ID = re.compile(r"[0-9A-Za-z-]{1,64}")

log = logging.getLogger(__name__)


Handler = Callable[[bytes], Awaitable[bytes]]


class RpcApp:
    """Serves processes whose keys `tokens` knows. Every request needs a service token.

    Whatever is wrong with a service token, the answer is one 401; what was wrong is in the broker's log only.
    `handlers` give the body of an answer to that of a request, by path.
    """

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        tokens: ServiceTokenVerifier,
        *,
        clock: Callable[[], float] = time.monotonic,
        tracer: Tracer = NOOP_TRACER,
    ) -> None:
        self._tokens = tokens
        self._tracer = tracer
        self._clock = clock
        self._limits = CallerLimits(RATE, BURST, CONCURRENCY, clock=clock)
        self._told: dict[str, float] = {}
        self._paths = handlers
        self.was_asked = False
        """Whether a process whose key is known has sent a request."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # the server sends nothing else
        current_request.set(_read_request_id(scope))
        try:
            status, body, retry_after = await self._serve(scope, receive)
        except InvalidServiceToken as error:
            self._log_cause("rpc_token_rejected", "request has no valid service token", error.cause)
            status, body, retry_after = 401, b'{"error":"unauthorized"}', None
        await _send_response(
            send, status, body, retry_after, compute_answer_mark(_read_authorization(scope).removeprefix("Bearer "))
        )

    async def _serve(self, scope: Scope, receive: Receive) -> tuple[int, bytes, float | None]:
        claims = self._tokens.verify(_read_bearer_token(scope), scope["method"], scope["path"])
        if scope["path"] not in self._paths or scope["method"] != "POST":
            self._log_cause(
                "rpc_path_unknown",
                "gateway requests a path that this version does not serve",
                "do both run the same version of MCPist?",
            )
            return 404, b'{"error":"not_found"}', None
        try:
            leave = self._limits.enter(claims.iss)
        except LimitReached as error:
            return 429, b'{"error":"too_many_requests"}', error.retry_after
        try:
            body = await _read_body(receive)
            self._tokens.consume(claims, body)
            self.was_asked = True
            return await self._trace(scope, claims, body)
        finally:
            leave()

    async def _trace(self, scope: Scope, claims: Claims, body: bytes) -> tuple[int, bytes, float | None]:
        """Answer inside a span that continues the trace of the process that asks; nobody without a service token gets
        this far."""
        path = scope["path"]
        attributes = {"http.request.method": "POST", "http.route": path, "url.path": path}
        parent = _read_header(scope, TRACEPARENT)
        with self._tracer.span(f"POST {path}", "server", parent=parent, attributes=attributes) as span:
            answer = await self._dispatch(claims, path, body)
            span.set_attribute("http.response.status_code", answer[0])
            if answer[0] >= 500:
                span.mark_failed(str(answer[0]))
            return answer

    async def _dispatch(self, claims: Claims, path: str, body: bytes) -> tuple[int, bytes, float | None]:
        log.debug("broker request", extra={"event": "rpc_request", "path": path, "gateway": claims.iss})
        try:
            return 200, await self._paths[path](body), None
        except MalformedMessage:
            return 400, b'{"error":"malformed"}', None
        except Unavailable as error:
            log.warning(
                "broker request refused: a dependency is unavailable",
                extra={"event": "rpc_request_unavailable", "path": path, "error": type(error).__name__},
            )
            return 503, b'{"error":"unavailable"}', error.retry_after
        except Exception as error:  # noqa: BLE001 a fault of ours must not be shown, and may not end the connection
            log.error(
                "broker request failed unexpectedly",
                extra={"event": "rpc_request_failed", "path": path, **describe_error(error)},
            )
            return 500, b'{"error":"internal"}', None

    def _log_cause(self, event: str, text: str, cause: str) -> None:
        """Log each cause now and then: whoever can reach the port must not be able to fill the log."""
        now = self._clock()
        if now - self._told.get(cause, -math.inf) >= LOG_INTERVAL_SECONDS:
            self._told[cause] = now
            log.warning(text, extra={"event": event, "cause": cause})


class BrokerApp(RpcApp):
    """Serves a :class:`broker.interface.Broker` to gateways. Every request needs a subject token, too, but for the end
    of a mandate, which gives nobody anything."""

    def __init__(
        self,
        broker: Broker,
        tokens: ServiceTokenVerifier,
        *,
        clock: Callable[[], float] = time.monotonic,
        tracer: Tracer = NOOP_TRACER,
    ) -> None:
        async def verify(body: bytes) -> bytes:
            return encode_result(await broker.verify(decode_subject_request(body)))

        async def verify_again(body: bytes) -> bytes:
            return encode_credentials(await broker.verify_again(*decode_subjects_request(body)))

        async def get_connections(body: bytes) -> bytes:
            return encode_result(await broker.get_connections(decode_subject_request(body)))

        async def lease(body: bytes) -> bytes:
            return encode_result(await broker.lease(decode_lease_request(body)))

        async def lease_tenant_key(body: bytes) -> bytes:
            return encode_tenant_key_result(await broker.lease_tenant_key(*decode_tenant_key_request(body)))

        async def create_mandate(body: bytes) -> bytes:
            return encode_result(await broker.create_mandate(decode_mandate_request(body)))

        async def end_mandate(body: bytes) -> bytes:
            await broker.end_mandate(decode_reference(body))
            return encode_mandate_end()

        handlers = {
            VERIFY: verify,
            VERIFY_AGAIN: verify_again,
            STATUS: get_connections,
            EXCHANGE: lease,
            TENANT_KEY: lease_tenant_key,
            CREATE_MANDATE: create_mandate,
            END_MANDATE: end_mandate,
        }
        super().__init__(handlers, tokens, clock=clock, tracer=tracer)


class WorkerBrokerApp(RpcApp):
    """Serves a :class:`broker.interface.Broker` to workers, whose keys alone `tokens` knows. Every request names a
    mandate."""

    def __init__(self, broker: Broker, tokens: ServiceTokenVerifier, *, tracer: Tracer = NOOP_TRACER) -> None:
        async def verify_mandate(body: bytes) -> bytes:
            return encode_result(await broker.verify_mandate(decode_reference(body)))

        async def lease(body: bytes) -> bytes:
            return encode_result(await broker.lease(decode_worker_lease_request(body)))

        async def lease_tenant_key(body: bytes) -> bytes:
            return encode_tenant_key_result(await broker.lease_tenant_key(*decode_worker_tenant_key_request(body)))

        handlers = {WORKER_VERIFY: verify_mandate, WORKER_EXCHANGE: lease, WORKER_TENANT_KEY: lease_tenant_key}
        super().__init__(handlers, tokens, tracer=tracer)


def _read_bearer_token(scope: Scope) -> str:
    values = _read_authorization(scope)
    if not values.startswith("Bearer "):
        raise InvalidServiceToken("none")
    return values.removeprefix("Bearer ")


def _read_request_id(scope: Scope) -> str:
    """Return the id of the call that a request is for; empty where it has none of our form."""
    value = _read_header(scope, REQUEST_HEADER)
    return value if _REQUEST_ID.fullmatch(value) else ""


def _read_authorization(scope: Scope) -> str:
    return _read_header(scope, "authorization")


def _read_header(scope: Scope, name: str) -> str:
    """Return a header; empty if there is none or more than one."""
    wanted = name.lower().encode()
    values = [value for header, value in scope["headers"] if header == wanted]
    return values[0].decode("latin-1") if len(values) == 1 else ""


async def _read_body(receive: Receive) -> bytes:
    """The whole body; one that is too large, too slow or cut off cannot be what the token is for."""
    parts = bytearray()
    more = True
    try:
        async with asyncio.timeout(BODY_SECONDS):
            while more:
                message: Any = await receive()
                if message["type"] != "http.request":
                    raise InvalidServiceToken("cut off")
                parts += message.get("body", b"")
                if len(parts) > MOST_REQUEST:
                    raise InvalidServiceToken("too large")
                more = message.get("more_body", False)
    except TimeoutError:
        raise InvalidServiceToken("too slow") from None
    return bytes(parts)


async def _send_response(send: Send, status: int, body: bytes, retry_after: float | None, mark: str) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
        (ANSWER_HEADER.lower().encode(), mark.encode()),
    ]
    if retry_after is not None:
        headers.append((b"retry-after", b"%d" % max(1, math.ceil(retry_after))))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
