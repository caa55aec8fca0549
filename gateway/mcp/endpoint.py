"""The ASGI application behind /mcp: HTTP in, HTTP out, and the order of the checks in between."""

import itertools
import logging
import math
import secrets
import time
from collections.abc import Awaitable, Mapping
from functools import partial
from typing import Any, NamedTuple

import msgspec
import orjson

from core.caller import Caller
from core.concurrency.cooperative_steps import LARGE_STEP_BYTES, wait_for_turn
from core.errors import LimitReached, MCPistError, Unavailable
from core.http.allowed_hosts import AllowedHosts
from core.http_server.exchange import DIRECT
from core.log_events import describe_error
from gateway.mcp import cors
from gateway.mcp.batch_dispatcher import BatchDispatcher
from gateway.mcp.call_supervisor import CallSupervisor, Receive
from gateway.mcp.dispatcher import Dispatcher, TransportContext
from gateway.mcp.elicitation import Elicitor, create_session_id, has_url_session
from gateway.mcp.errors import ClientDisconnected, HttpRefusal, InsufficientScope, Unauthenticated
from gateway.mcp.forwarded_headers import ForwardedHeaders
from gateway.mcp.http_validation import (
    ALLOW_HEADER,
    AcceptedTypes,
    check_accept,
    check_content,
    check_host,
    check_single,
)
from gateway.mcp.interfaces import Admit, Authenticate, IsCurrent, Observe
from gateway.mcp.jsonrpc import INVALID_REQUEST, JsonRpcMessage, MalformedJsonRpc, is_batch, parse_message
from gateway.mcp.lifecycle import BuildInstructions
from gateway.mcp.notification_stream import LoadConnectedModules, NotificationStreams
from gateway.mcp.request_body import read_body, take_body
from gateway.mcp.request_context import Handler, ProtocolError
from gateway.mcp.request_headers import SESSION_HEADER, VERSION_HEADER, RequestHeaders, decode_value
from gateway.mcp.responses import DirectExchange, ResponseWriter, Send
from gateway.mcp.revisions import REVISIONS, JsonRpcAnswer, build_error_answer, get_revision_by_header
from gateway.mcp.settings import McpSettings
from gateway.mcp.sse import CONTENT_TYPE as EVENTS
from gateway.mcp.sse import encode_event
from gateway.mcp.version_negotiation import build_unsupported_version_error

_VARIABLE_HEADERS = frozenset({b"origin", b"x-forwarded-for", b"x-forwarded-host", b"traceparent"})
"""With one of these a head is not remembered: its checks depend on more than the head, or it differs every time."""

_log = logging.getLogger(__name__)


def _is_always_current(_caller: object) -> bool:
    return True


class _CheckedHead(NamedTuple):
    """A head that has passed the checks before the body. `headers` are without credentials and Content-Length."""

    headers: RequestHeaders
    accepts: AcceptedTypes


class _RequestState(msgspec.Struct, eq=False):
    """One HTTP request while it is served: implements :class:`gateway.mcp.interfaces.Observation` afterwards."""

    scope: dict[str, Any]
    receive: Receive
    request_id: str
    direct: DirectExchange | None
    reply: ResponseWriter
    method: str = ""
    seconds: float = 0.0
    arrival: TransportContext | None = None
    answer: JsonRpcAnswer | None = None

    @property
    def revision(self) -> str:
        return self.answer.revision.version if self.answer is not None else ""

    @property
    def status(self) -> int:
        return self.reply.status

    @property
    def code(self) -> int:
        return self.answer.code if self.answer is not None else 0

    @property
    def caller(self) -> Caller | None:
        return self.arrival.caller if self.arrival is not None else None

    @property
    def client_name(self) -> str:
        return self.arrival.client_name if self.arrival is not None else ""


class McpEndpoint:
    """MCP over Streamable HTTP, both eras, without sessions.

    With `elicitation` clients can be asked to open pages; with `load_connected_modules` too, handshake clients are
    notified when that is done.

    `is_current` says whether a caller that was authenticated still counts, for requests that run for long.

    `handlers` maps methods such as ``tools/call`` to their handlers; what is advertised follows from it. `instructions`
    says what a caller's client may put before its model.

    Raises:
        ValueError: a setting cannot be understood.
    """

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        authenticate: Authenticate,
        settings: McpSettings,
        *,
        server_version: str,
        instructions: BuildInstructions | None = None,
        admit: Admit,
        is_current: IsCurrent = _is_always_current,
        observe: Observe | None = None,
        elicitation: Elicitor | None = None,
        load_connected_modules: LoadConnectedModules | None = None,
    ) -> None:
        self._settings = settings
        self._authenticate = authenticate
        self._admit = admit
        self._observe = observe
        self._hosts = AllowedHosts(settings.public_url)
        self._origins = cors.CorsPolicy(settings.allowed_origins, settings.public_url)
        self._proxies = ForwardedHeaders(settings.trusted_proxies)
        self._watch = CallSupervisor(settings.disconnect_watch_after, settings.keep_alive)
        self._dispatcher = Dispatcher(
            handlers, settings, server_version, instructions, self._watch, elicitation, is_current
        )
        self._tells_sessions = elicitation is not None
        self._notification_streams = (
            NotificationStreams(elicitation, authenticate, load_connected_modules)
            if elicitation and load_connected_modules
            else None
        )
        self._batches = BatchDispatcher(self._dispatcher, settings, admit, self._watch)
        self._prefix = secrets.token_hex(4)
        self._numbers = itertools.count(1)

    @property
    def running(self) -> int:
        """Number of calls that are being handled."""
        return len(self._watch)

    def end_streams(self) -> None:
        """Close all notification streams: the process stops."""
        if self._notification_streams is not None:
            self._notification_streams.close()

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Serve one HTTP request (ASGI 3)."""
        if scope["type"] != "http":
            raise ValueError(f"/mcp serves HTTP, not {scope['type']}")
        started_at = time.perf_counter()
        request_id = f"{self._prefix}-{next(self._numbers):x}"
        direct: DirectExchange | None = scope["extensions"].get(DIRECT) if "extensions" in scope else None
        reply = ResponseWriter(send, [(b"x-request-id", request_id.encode())], direct)
        exchange = _RequestState(scope, receive, request_id, direct, reply)
        try:
            await self._serve(exchange)
        except ClientDisconnected:
            pass
        except HttpRefusal as refusal:
            await self._refuse(exchange, refusal)
        except MCPistError as error:
            await self._refuse(exchange, _to_refusal(error, self._settings.resource_metadata))
        except Exception as error:  # noqa: BLE001 - the server would log and show its text
            fields = {"request_id": exchange.request_id, **describe_error(error)}
            _log.error("an MCP request failed outside its handler", extra={"event": "mcp_transport_failed", **fields})
            if not exchange.reply.status:
                await self._refuse(exchange, HttpRefusal(500, "Internal Server Error"))
        finally:
            if self._observe is not None:
                exchange.seconds = time.perf_counter() - started_at
                self._observe(exchange)

    async def _serve(self, exchange: _RequestState) -> None:
        direct = exchange.direct
        known: _CheckedHead | None = None if direct is None else direct.findings
        if direct is not None and known is not None:
            headers = known.headers
            authorization = decode_value(direct.get_secret(b"authorization"))
        else:
            headers = RequestHeaders(exchange.scope["headers"])
            if not await self._check_target(exchange, headers):
                return
            authorization = headers.get_text(b"authorization")
        client = self._proxies.get_client_address(exchange.scope, headers)
        authenticate = partial(self._authenticate, authorization, client)
        caller = await authenticate()
        accepts = known.accepts if known is not None else _check_content(headers, direct)
        exchange.arrival = arrival = TransportContext(
            caller, exchange.request_id, headers, exchange.receive, authorization, authenticate
        )
        if accepts.events:
            arrival.reply = exchange.reply
        release = self._admit(caller)
        try:
            settings = self._settings
            content = take_body(direct, settings.max_body)
            if content is None:
                content = await read_body(exchange.receive, headers, settings.max_body, settings.body_timeout, direct)
            exchange.answer = answer = await self._answer(content, arrival, exchange)
        finally:
            release()
        await _send(exchange.reply, answer, accepts)

    async def _check_target(self, exchange: _RequestState, headers: RequestHeaders) -> bool:
        """Check host, origin and method; return False for a request that is answered now, which is no message."""
        scope, reply = exchange.scope, exchange.reply
        if headers.repeated:
            check_single(headers)
        check_host(self._hosts, scope, self._proxies.get_host(scope, headers))
        if (origin := headers.get_text(b"origin")) is not None:
            self._check_origin(origin, reply)
        if scope["method"] == "POST":
            return True
        if scope["method"] == "GET" and self._notification_streams is not None and has_url_session(headers):
            client = self._proxies.get_client_address(scope, headers)
            await self._notification_streams.serve(headers.get_text(b"authorization"), client, exchange.receive, reply)
        else:
            await _answer_other_method(scope["method"], reply)
        return False

    def _check_origin(self, origin: str, reply: ResponseWriter) -> None:
        if not self._origins.allows(origin):
            raise HttpRefusal(403, "This origin may not call; an administrator can allow it")
        reply.headers += cors.build_cors_headers(origin)

    async def _answer(self, content: bytes, arrival: TransportContext, exchange: _RequestState) -> JsonRpcAnswer | None:
        header = arrival.headers.get_text(VERSION_HEADER)
        try:
            if is_batch(content):
                exchange.method = "batch"
                return await self._batches.answer(content, arrival, get_revision_by_header(header))
            is_large = len(content) > LARGE_STEP_BYTES
            if is_large:
                await wait_for_turn(len(content))
            message = parse_message(content, self._settings.max_depth)
            exchange.method = message.method
            if is_large:
                await wait_for_turn(len(content))
            if message.id and message.method:
                if (
                    message.method == "initialize"
                    and self._tells_sessions
                    and (session_id := create_session_id(message))
                ):
                    exchange.reply.headers.append((SESSION_HEADER, session_id))
                return await self._dispatcher.answer(message, arrival)
            return _accept(message, header)
        except MalformedJsonRpc as malformed:
            return build_error_answer(get_revision_by_header(header), malformed.id, malformed.error)

    async def _refuse(self, exchange: _RequestState, refusal: HttpRefusal) -> None:
        content = orjson.dumps({"error": refusal.text})
        if refusal.as_rpc:
            revision = get_revision_by_header(RequestHeaders(exchange.scope["headers"]).get_text(VERSION_HEADER))
            content = build_error_answer(revision, b"", ProtocolError(INVALID_REQUEST, refusal.text)).body
        await exchange.reply.send_whole(refusal.status, content, headers=refusal.headers)


def _check_content(headers: RequestHeaders, direct: DirectExchange | None) -> AcceptedTypes:
    """Check what the client reads and sends. A head that has passed so far is remembered."""
    accepts = check_accept(headers)
    check_content(headers)
    if direct is not None and headers.values.keys().isdisjoint(_VARIABLE_HEADERS):
        direct.remember(_CheckedHead(headers.without(b"authorization", b"content-length"), accepts))
    return accepts


async def _answer_other_method(method: str, reply: ResponseWriter) -> None:
    if method == "OPTIONS":
        await reply.send_whole(204, headers=(ALLOW_HEADER, *cors.PREFLIGHT))
        return
    raise HttpRefusal(405, "Send MCP messages with POST; there are no sessions and no streams to open", ALLOW_HEADER)


def _accept(message: JsonRpcMessage, header: str | None) -> JsonRpcAnswer | None:
    """Accept a notification or an answer of the client, which has no state to change."""
    if header is not None and header not in REVISIONS:
        return build_error_answer(get_revision_by_header(header), message.id, build_unsupported_version_error(header))
    return None


def _send(reply: ResponseWriter, answer: JsonRpcAnswer | None, accepts: AcceptedTypes) -> Awaitable[None]:
    if answer is None:
        return reply.send_whole(202)
    if answer.stream is not None and answer.stream.started:
        return answer.stream.finish(answer.body)
    if accepts.json:
        return reply.send_whole(answer.status, answer.body)
    return reply.send_whole(answer.status, encode_event(answer.body), EVENTS)


def _to_refusal(error: MCPistError, metadata: str) -> HttpRefusal:
    headers: list[tuple[bytes, bytes]] = []
    if isinstance(error, Unauthenticated | InsufficientScope):
        challenge = f'{error.challenge}, resource_metadata="{metadata}"' if metadata else error.challenge
        headers.append((b"www-authenticate", challenge.encode("latin-1")))
    if isinstance(error, LimitReached | Unavailable):
        headers.append((b"retry-after", b"%d" % max(1, math.ceil(error.retry_after))))
    return HttpRefusal(error.status, str(error), *headers)
