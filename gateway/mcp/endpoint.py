"""The ASGI application behind /mcp: HTTP in, HTTP out, and the order of the checks in between."""

import asyncio
import contextlib
import itertools
import logging
import math
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec
import orjson

from core.caller import Caller
from core.concurrency.cooperative_steps import LARGE_STEP_BYTES, wait_for_turn
from core.concurrency.fair_queue import FREE_TURN, AnyTurn, FairQueue
from core.errors import Invalid, LimitReached, MCPistError, Unavailable
from core.http.allowed_hosts import AllowedHosts
from core.http_server.exchange import DIRECT
from core.log_events import describe_error
from core.protected_resource import RESOURCE_PATH
from core.tool_exposure import ToolExposure, parse_exposure, parse_exposure_path
from gateway.mcp import cors
from gateway.mcp.batch_dispatcher import BatchDispatcher
from gateway.mcp.call_supervisor import CallSupervisor, Receive
from gateway.mcp.cancellation import Cancellations
from gateway.mcp.dispatcher import Dispatcher
from gateway.mcp.elicitation import Elicitor, create_session_id
from gateway.mcp.errors import ClientDisconnected, HttpRefusal, InsufficientScope, Unauthenticated
from gateway.mcp.http_validation import (
    ALLOW_HEADER,
    AcceptedTypes,
    check_accept,
    check_content,
    check_host,
    check_single,
)
from gateway.mcp.interfaces import (
    Admit,
    Authenticate,
    CallerCache,
    ClientStreamServer,
    IsCurrent,
    Observe,
    TaskHandlers,
)
from gateway.mcp.jsonrpc import INVALID_REQUEST, JsonRpcMessage, MalformedJsonRpc, is_batch, parse_message
from gateway.mcp.lifecycle import BuildInstructions
from gateway.mcp.request_body import read_body, take_body
from gateway.mcp.request_context import Handler, ProtocolError
from gateway.mcp.request_headers import SESSION_HEADER, VERSION_HEADER, ForwardedHeaders, RequestHeaders
from gateway.mcp.responses import DirectExchange, Send
from gateway.mcp.revisions import REVISIONS, JsonRpcAnswer, build_error_answer, get_revision_by_header
from gateway.mcp.settings import McpSettings
from gateway.mcp.sse import CONTENT_TYPE as EVENTS
from gateway.mcp.sse import encode_event
from gateway.mcp.transport_context import TransportContext
from gateway.mcp.version_negotiation import build_unsupported_version_error

_VARIABLE_HEADERS = frozenset({b"origin", b"x-forwarded-for", b"x-forwarded-host", b"traceparent"})
"""With one of these a head is not remembered: its checks depend on more than the head, or it differs every time."""

RESERVED_METHODS = frozenset({"notifications/cancelled", "tasks/cancel", "tasks/get"})
"""What ends work and looks after it, which a caller may send while their calls take all of their places."""
_RESERVED_NAMES = tuple(method.encode() for method in sorted(RESERVED_METHODS))
_RESERVED_BYTES = 4096
_RESERVED_SECONDS = 1.0
"""Seconds in which such a message has to be there: until then nothing limits how many come."""

NO_TASKS: TaskHandlers = MappingProxyType({})
_log = logging.getLogger(__name__)


def _is_always_current(_caller: object) -> bool:
    return True


def _do_nothing() -> None:
    pass


def _get_no_key(_authorization: str) -> bytes:
    return b""


def _find_nobody(_key: bytes) -> Caller | None:
    return None


class _CheckedHead(msgspec.Struct, frozen=True, eq=False):
    """A head that has passed the checks before the body. `headers` are without credentials and Content-Length; the
    caller of its Authorization header is known by `caller_key`."""

    headers: RequestHeaders
    accepts: AcceptedTypes
    caller_key: bytes
    url_exposure: ToolExposure | None


class McpEndpoint:
    """MCP over Streamable HTTP, both eras, without sessions.

    With `elicitation` clients can be asked to open pages; with `streams`, handshake clients are told on a stream of
    theirs when that is done, and of all else that changes.

    `callers` are those that were verified lately, by their credential; without it each request is authenticated.

    `is_current` says whether a caller that was authenticated still counts, for requests that run for long.

    `admit_reserved` is asked for messages of `RESERVED_METHODS` that `admit` refuses; without it they are refused.
    `count_limited` is called for each message that is refused for its caller's limit.

    `turns` shares this process out among tenants.

    `create_cancellations` makes what cancels running requests; without it handshake clients cannot cancel any.

    `stop_waiting` has requests answer that wait.

    `handlers` maps methods such as ``tools/call`` to their handlers, and `task_handlers` those that only one revision
    has; what is advertised follows from them. `instructions` says what a caller's client may put before its model.

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
        admit_reserved: Admit | None = None,
        count_limited: Callable[[], None] = _do_nothing,
        is_current: IsCurrent = _is_always_current,
        observe: Observe | None = None,
        elicitation: Elicitor | None = None,
        callers: CallerCache | None = None,
        turns: FairQueue | None = None,
        create_cancellations: Callable[[CallSupervisor], Cancellations] | None = None,
        task_handlers: TaskHandlers = NO_TASKS,
        streams: ClientStreamServer | None = None,
        stop_waiting: Callable[[], None] = _do_nothing,
    ) -> None:
        self._stop_waiting = stop_waiting
        self._settings = settings
        self._max_body, self._body_timeout, self._max_depth = (
            settings.max_body,
            settings.body_timeout,
            settings.max_depth,
        )
        self._authenticate = authenticate
        self._compute_key = _get_no_key if callers is None else callers.compute_key
        self._find_caller = _find_nobody if callers is None else callers.find
        self._admit = admit
        self._admit_reserved = admit_reserved
        self._count_limited = count_limited
        self._enter = None if turns is None else turns.enter
        self._observe = observe
        self._hosts = AllowedHosts(settings.public_url)
        self._origins = cors.CorsPolicy(settings.allowed_origins, settings.public_url)
        self._proxies = ForwardedHeaders(settings.trusted_proxies)
        self._watch = CallSupervisor(settings.disconnect_watch_after, settings.keep_alive)
        self._cancellations = None if create_cancellations is None else create_cancellations(self._watch)
        self._dispatcher = Dispatcher(
            handlers,
            settings,
            server_version,
            instructions,
            self._watch,
            elicitation,
            is_current,
            self._cancellations,
            task_handlers,
        )
        self._tells_sessions = elicitation is not None
        self._streams = streams
        self._batches = BatchDispatcher(self._dispatcher, settings, self._admit_member)
        self._prefix = secrets.token_hex(4)
        self._numbers = itertools.count(1)

    @property
    def running(self) -> int:
        """Number of calls that are being handled."""
        return len(self._watch)

    @property
    def open_streams(self) -> int:
        """Number of streams on which clients are told of changes."""
        return 0 if self._streams is None else len(self._streams)

    def end_streams(self) -> None:
        """Close all notification streams, and let nobody wait for a task any longer: the process stops."""
        self._stop_waiting()
        if self._streams is not None:
            self._streams.close()

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Serve one HTTP request (ASGI 3)."""
        if scope["type"] != "http":
            raise ValueError(f"/mcp serves HTTP, not {scope['type']}")
        started_at = time.perf_counter()
        direct: DirectExchange | None = scope["extensions"].get(DIRECT) if "extensions" in scope else None
        request_id = f"{self._prefix}-{next(self._numbers):x}"
        request = TransportContext(request_id, send, direct, scope=scope, receive=receive, verify=self._verify)
        try:
            head: _CheckedHead | None = None if direct is None else direct.findings
            if head is None:
                caller = await self._check_head(request)
                if caller is None:
                    return
            else:
                request.headers, request.accepts, request.url_exposure = head.headers, head.accepts, head.url_exposure
                caller = self._find_caller(head.caller_key) or await self._verify(request)
            request.caller = caller
            try:
                request.release = self._admit(caller)
            except LimitReached as error:
                await self._answer_reserved(request, caller, error)
                return
            turn: AnyTurn = FREE_TURN
            try:
                content = take_body(direct, self._max_body)
                if content is None:
                    content = await read_body(receive, request.headers, self._max_body, self._body_timeout, direct)
                if self._enter is not None:
                    request.turn = turn = self._enter(caller.credential.tenant_id)
                    if turn.waiter is not None:
                        await turn.wait()
                        request.caller = await self._verify(request)
                if content[:1] == b"{" and len(content) <= LARGE_STEP_BYTES:
                    answer = await self._answer_message(parse_message(content, self._max_depth), request)
                else:
                    answer = await self._answer_in_turns(content, request)
            except MalformedJsonRpc as malformed:
                revision = get_revision_by_header(request.headers.get_text(VERSION_HEADER))
                answer = build_error_answer(revision, malformed.id, malformed.error)
            finally:
                turn.release()
                request.release()
            request.rpc_answer = answer
            if (sending := _send(request, answer)) is not None:
                await sending
        except ClientDisconnected:
            pass
        except HttpRefusal as refusal:
            await self._refuse(request, refusal)
        except MCPistError as error:
            await self._refuse(request, _to_refusal(error, self._get_metadata_url(request.scope)))
        except Exception as error:  # noqa: BLE001 - the server would log and show its text
            fields = {"request_id": request_id, **describe_error(error)}
            _log.error("an MCP request failed outside its handler", extra={"event": "mcp_transport_failed", **fields})
            if not request.status:
                await self._refuse(request, HttpRefusal(500, "Internal Server Error"))
        finally:
            if self._observe is not None:
                request.seconds = time.perf_counter() - started_at
                self._observe(request)

    async def _answer_reserved(self, request: TransportContext, caller: Caller, error: LimitReached) -> None:
        """Answer a message of `RESERVED_METHODS` whose caller has no place left, by the caller's reserve.

        Raises:
            LimitReached: it is another message, or the reserve has no place left.
        """
        message = None if self._admit_reserved is None else await self._read_reserved(request)
        try:
            if message is None or self._admit_reserved is None:
                raise error
            release = self._admit_reserved(caller)
        except LimitReached:
            self._count_limited()
            raise
        try:
            answer = await self._answer_message(message, request)
        finally:
            release()
        request.rpc_answer = answer
        if (sending := _send(request, answer)) is not None:
            await sending

    def _admit_member(self, caller: Caller) -> Callable[[], None]:
        """Admit a message of a batch beside its first."""
        try:
            return self._admit(caller)
        except LimitReached:
            self._count_limited()
            raise

    async def _read_reserved(self, request: TransportContext) -> JsonRpcMessage | None:
        """Read a message that has its place in the reserve; None where it is another one, or not there at once."""
        assert request.receive is not None
        with contextlib.suppress(HttpRefusal, MalformedJsonRpc, TimeoutError):
            content = take_body(request.direct, _RESERVED_BYTES)
            if content is None:
                async with asyncio.timeout(_RESERVED_SECONDS):
                    content = await read_body(
                        request.receive, request.headers, _RESERVED_BYTES, self._body_timeout, request.direct
                    )
            if any(name in content for name in _RESERVED_NAMES):
                message = parse_message(content, self._max_depth)
                return message if message.method in RESERVED_METHODS else None
        return None

    async def _check_head(self, request: TransportContext) -> Caller | None:
        """Check a head that is not known, and who sends it. One that has passed is remembered; return None for a
        request that is answered now, which is no message."""
        request.headers = headers = RequestHeaders(request.scope["headers"])
        if not await self._check_target(request, headers):
            return None
        caller = await self._verify(request)
        request.accepts = accepts = check_accept(headers)
        check_content(headers)
        if request.direct is not None and headers.values.keys().isdisjoint(_VARIABLE_HEADERS):
            key = self._compute_key(request.get_authorization() or "")
            kept = headers.without(b"authorization", b"content-length")
            request.direct.remember(_CheckedHead(kept, accepts, key, request.url_exposure))
        return caller

    def _verify(self, request: TransportContext) -> Awaitable[Caller]:
        """Authenticate the caller of a request."""
        client = self._proxies.get_client_address(request.scope, request.headers)
        return self._authenticate(request.get_authorization(), client)

    async def _check_target(self, request: TransportContext, headers: RequestHeaders) -> bool:
        """Check host, origin and method; return False for a request that is answered now, which is no message."""
        scope = request.scope
        if headers.repeated:
            check_single(headers)
        check_host(self._hosts, scope, self._proxies.get_host(scope, headers))
        if scope.get("query_string") or scope["path"] != RESOURCE_PATH:
            request.url_exposure = _parse_exposure(scope)
        if (origin := headers.get_text(b"origin")) is not None:
            self._check_origin(origin, request)
        if scope["method"] == "POST":
            return True
        if scope["method"] == "GET" and self._streams is not None and _opens_stream(headers):
            await self._streams.serve(request)
        else:
            await _answer_other_method(scope["method"], request)
        return False

    def _check_origin(self, origin: str, request: TransportContext) -> None:
        if not self._origins.allows(origin):
            raise HttpRefusal(403, "This origin may not call; an administrator can allow it")
        request.extra_headers += cors.build_cors_headers(origin)

    def _answer_message(self, message: JsonRpcMessage, request: TransportContext) -> Awaitable[JsonRpcAnswer | None]:
        request.method = message.method
        if not message.id or not message.method:
            return self._accept(message, request)
        if message.method == "initialize" and self._tells_sessions and (session_id := create_session_id(message)):
            request.extra_headers.append((SESSION_HEADER, session_id))
        return self._dispatcher.answer(message, request)

    async def _accept(self, message: JsonRpcMessage, request: TransportContext) -> JsonRpcAnswer | None:
        """Accept a notification or an answer of the client."""
        header = request.headers.get_text(VERSION_HEADER)
        revision = get_revision_by_header(header)
        if header is not None and header not in REVISIONS:
            return build_error_answer(revision, message.id, build_unsupported_version_error(header))
        self._dispatcher.accept_notification(message, request, revision)
        return None

    async def _answer_in_turns(self, content: bytes, request: TransportContext) -> JsonRpcAnswer | None:
        """Answer an array of messages, or a large one, for each step of which the event loop takes a turn."""
        if is_batch(content):
            request.method = "batch"
            revision = get_revision_by_header(request.headers.get_text(VERSION_HEADER))
            return await self._batches.answer(content, request, revision)
        await wait_for_turn(len(content))
        message = parse_message(content, self._max_depth)
        request.method = message.method
        await wait_for_turn(len(content))
        return await self._answer_message(message, request)

    def _get_metadata_url(self, scope: Mapping[str, Any]) -> str:
        """Return the URL of the metadata whose resource is the path that was asked (RFC 9728 §3.3)."""
        url = self._settings.resource_metadata
        return url and url + scope["path"].removeprefix(RESOURCE_PATH)

    async def _refuse(self, request: TransportContext, refusal: HttpRefusal) -> None:
        content = orjson.dumps({"error": refusal.text})
        if refusal.as_rpc:
            revision = get_revision_by_header(RequestHeaders(request.scope["headers"]).get_text(VERSION_HEADER))
            content = build_error_answer(revision, b"", ProtocolError(INVALID_REQUEST, refusal.text)).body
        if (sending := request.send_whole(refusal.status, content, headers=refusal.headers)) is not None:
            await sending


def _opens_stream(headers: RequestHeaders) -> bool:
    """Check whether a GET opens a stream: that of a handshake client, which reads events."""
    revision = headers.get_text(VERSION_HEADER)
    return b"text/event-stream" in headers.values.get(b"accept", b"").lower() and (
        revision is None or (revision in REVISIONS and not REVISIONS[revision].modern)
    )


async def _answer_other_method(method: str, request: TransportContext) -> None:
    if method != "OPTIONS":
        text = "Send MCP messages with POST; there are no sessions, and GET opens a stream for handshake clients alone"
        raise HttpRefusal(405, text, ALLOW_HEADER)
    if (sending := request.send_whole(204, headers=(ALLOW_HEADER, *cors.PREFLIGHT))) is not None:
        await sending


def _send(request: TransportContext, answer: JsonRpcAnswer | None) -> Awaitable[None] | None:
    """Send an answer; None: it is sent, otherwise it is when what is returned was awaited."""
    if answer is None:
        return request.send_whole(202)
    if answer.stream is not None and answer.stream.started:
        return answer.stream.finish(answer.body)
    if request.accepts.json:
        return request.send_whole(answer.status, answer.body)
    return request.send_whole(answer.status, encode_event(answer.body), EVENTS)


def _to_refusal(error: MCPistError, metadata: str) -> HttpRefusal:
    headers: list[tuple[bytes, bytes]] = []
    if isinstance(error, Unauthenticated | InsufficientScope):
        challenge = f'{error.challenge}, resource_metadata="{metadata}"' if metadata else error.challenge
        headers.append((b"www-authenticate", challenge.encode("latin-1")))
    if isinstance(error, LimitReached | Unavailable):
        headers.append((b"retry-after", b"%d" % max(1, math.ceil(error.retry_after))))
    return HttpRefusal(error.status, str(error), *headers)


def _parse_exposure(scope: Mapping[str, Any]) -> ToolExposure | None:
    """Parse how the URL says that tools are shown; its query says it before its path. Return None where neither does.

    Raises:
        HttpRefusal: 400 the query cannot be understood, 404 the path is none of ours.
    """
    try:
        exposure = parse_exposure(scope.get("query_string", b"").decode("latin-1"))
        path = scope["path"].removeprefix(RESOURCE_PATH).removeprefix("/")
        by_path = parse_exposure_path(path)
    except Invalid as error:
        raise HttpRefusal(400, f"The URL cannot be understood: {error}") from None
    if path and by_path is None:
        raise HttpRefusal(404, "There is nothing at this path: write /mcp, or /mcp/plain/github,notion for plain tools")
    return exposure or by_path
