"""One JSON-RPC request to one answer: era, method, parameters, handler, rendering, and what errors become."""

import asyncio
import logging
import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, cast

import msgspec

from core.caller import Caller
from core.errors import LimitReached, MCPistError, Unavailable
from core.known_clients import TOOL_RESULT_FORMAT_BY_CLIENT_NAME
from core.log_events import describe_error
from gateway.change_tracker import ChangeTracker
from gateway.mcp.authority import Authority
from gateway.mcp.call_supervisor import TIMED_OUT, CallSupervisor, CallTimeout, RequestCancelled
from gateway.mcp.cancellation import Cancellations
from gateway.mcp.elicitation import NO_ELICITATION, Elicitor
from gateway.mcp.errors import ClientDisconnected, InsufficientScope, Unauthenticated
from gateway.mcp.interfaces import IsCurrent, TaskHandlers
from gateway.mcp.jsonrpc import INTERNAL_ERROR, LIMIT_REACHED, METHOD_NOT_FOUND, JsonRpcMessage
from gateway.mcp.lifecycle import BuildInstructions, LifecycleMethods, build_server_info
from gateway.mcp.request_context import WAIT_FOR_JOB, Handler, ProtocolError, RequestContext, Result
from gateway.mcp.request_headers import SESSION_HEADER, VERSION_HEADER, choose_traceparent
from gateway.mcp.revisions import (
    CLIENT_KEY,
    LOG_LEVEL_KEY,
    REVISIONS,
    JsonRpcAnswer,
    ResultRenderer,
    Revision,
    build_error_answer,
)
from gateway.mcp.settings import McpSettings
from gateway.mcp.sse import EventStream, LogSender, StreamChannel
from gateway.mcp.transport_context import TransportContext
from gateway.mcp.version_negotiation import check_params, check_request, find_revision
from modules.kit import OUTCOME_UNKNOWN

_log = logging.getLogger(__name__)
OVERSIZED = "the result has"
"""How the text of a call begins whose result has more bytes than a call may return."""
_NAME_LENGTH = 100
_LISTEN = "subscriptions/listen"
"""Waits for as long as its stream is open: whoever serves it looks after it."""
_WAITING_METHODS = frozenset({"tasks/result", _LISTEN})
MAX_WAIT_SECONDS = 3_600.0
"""How much longer than a call a request may take that only waits: a job runs for an hour at most. It is kept alive on a
stream meanwhile."""


class Dispatcher:
    """Knows the methods of all revisions and runs the handlers under watch."""

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        settings: McpSettings,
        version: str,
        instructions: BuildInstructions | None,
        watch: CallSupervisor,
        elicitation: Elicitor | None,
        is_current: IsCurrent,
        cancellations: Cancellations | None,
        task_handlers: TaskHandlers,
    ) -> None:
        self._is_current = is_current
        self._cancellations = cancellations
        self._elicitation = elicitation
        self._deferral = WAIT_FOR_JOB if task_handlers else None
        self._max_result = settings.max_result
        self._timeout = settings.call_timeout
        self._watch = watch
        renderers = {
            name: ResultRenderer(revision, build_server_info(version, name), settings.list_ttl_ms)
            for name, revision in REVISIONS.items()
        }
        known = {
            name: {
                method: run
                for method, run in {**handlers, **task_handlers.get(name, {})}.items()
                if revision.has_method(method)
            }
            for name, revision in REVISIONS.items()
        }
        self._lifecycle = LifecycleMethods(known, version, instructions, renderers)
        self._prepared = {name: (renderers[name], known[name]) for name in REVISIONS}

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        """The loop of the process, asked for once: until Python 3.12 each question is a system call (getpid)."""
        return asyncio.get_running_loop()

    def accept_notification(self, message: JsonRpcMessage, request: TransportContext, revision: Revision) -> None:
        """Act on a notification. Of a handshake client only `notifications/cancelled` cancels a request, and to leave
        does not ([2025-11-25] Transports, Sending Messages to the Server)."""
        if message.method == "notifications/cancelled" and not revision.modern and self._cancellations is not None:
            assert request.caller is not None
            self._cancellations.cancel(request.caller.credential, message.params.get("requestId"))

    async def answer(self, message: JsonRpcMessage, request: TransportContext) -> JsonRpcAnswer | None:
        """Answer a request (not a notification); None for one that its client has cancelled.

        Raises:
            ClientDisconnected: the client no longer waits for the answer.
            Unauthenticated, InsufficientScope: from a handler, where HTTP can still say so.
        """
        revision = request.batched or find_revision(message, request.headers.get_text(VERSION_HEADER))
        method, stream = message.method, None
        try:
            check_request(revision, message, request.headers)
            renderer, handlers = self._prepared[revision.version]
            if method in revision.lifecycle_methods:
                body = self._answer_lifecycle(revision, message, request)
            else:
                if (handler := handlers.get(method)) is None:
                    raise ProtocolError(METHOD_NOT_FOUND, f"Unknown method: {method[:_NAME_LENGTH]}")
                check_params(message)
                stream = _open_stream(revision, message, request)
                try:
                    context = self._build_context(revision, message, request, stream)
                    receive, id = (request.receive, b"") if revision.modern else (None, message.id)
                    if method in _WAITING_METHODS:
                        context.deadline += MAX_WAIT_SECONDS
                        receive = request.receive
                        context.channel = None if stream is None else StreamChannel(stream, message.id, request)
                    if stream is not None and revision.modern and LOG_LEVEL_KEY in message.meta:
                        context.send_log = LogSender(stream, message.meta[LOG_LEVEL_KEY])
                    if method == _LISTEN:
                        result = await handler(context, message.params)
                    else:
                        with self._watch.watch(context.deadline, receive, stream, context.authority, id):
                            result = await handler(context, message.params)
                    if type(result) is not dict:
                        raise TypeError("a handler returns a dict")
                    body = renderer.render(method, result)
                except (ClientDisconnected, ProtocolError):
                    raise
                except LimitReached as error:
                    if method == _LISTEN:
                        return _refuse_stream(error, revision, message, request)
                    body = renderer.render(method, self._build_failure(error, method, request, stream))
                except RequestCancelled:
                    return JsonRpcAnswer(202, b"", revision, 0, stream) if stream and stream.started else None
                except Exception as error:  # noqa: BLE001 - whatever it is, its text stays here
                    body = renderer.render(method, self._build_failure(error, method, request, stream))
                if len(body) > self._max_result:
                    text = _describe_oversized_result(method, len(body), self._max_result, request.changes)
                    body = renderer.render(method, _build_error_result(method, text))
        except ProtocolError as error:
            code = revision.error_codes.get(error.code, error.code)
            return build_error_answer(revision, message.id, ProtocolError(code, error.message, error.data), stream)
        return JsonRpcAnswer(200, b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (message.id, body), revision, 0, stream)

    def _answer_lifecycle(self, revision: Revision, message: JsonRpcMessage, request: TransportContext) -> bytes:
        assert request.caller is not None
        exposure = request.choose_exposure(request.caller)
        return self._lifecycle.answer(revision, message.method, message.params, request.caller, exposure)

    def _build_context(
        self, revision: Revision, message: JsonRpcMessage, request: TransportContext, stream: EventStream | None
    ) -> RequestContext:
        caller, meta, elicitation = request.caller, message.meta, NO_ELICITATION
        assert caller is not None
        if self._elicitation is not None and (revision.modern or SESSION_HEADER in request.headers.values):
            elicitation = self._elicitation.choose_elicitation(revision, message, caller, request.headers)
        if meta or b"traceparent" in request.headers.values:
            _read_meta(meta, request)
        return RequestContext(
            Authority(caller, request.authenticate, self._is_current),
            request.request_id,
            self._loop.time() + self._timeout,
            stream.report if stream is not None else None,
            request.trace,
            request.client_name,
            request.find_subject,
            elicitation.elicit_url,
            elicitation.page_accepted,
            elicitation.questions,
            revision.structured and _get_result_format(revision, caller, request.client_name) == "short",
            request.changes,
            message.size,
            request.turn,
            self._deferral,
            meta,
            exposure=request.url_exposure or caller.tool_exposure,
        )

    def _build_failure(
        self, error: Exception, method: str, request: TransportContext, stream: EventStream | None
    ) -> Result:
        """Build the result of a handler that has failed.

        Raises:
            Unauthenticated, InsufficientScope: where HTTP can still say so.
            ProtocolError: the error is nothing that the model should see.
        """
        if isinstance(error, CallTimeout):
            hint = OUTCOME_UNKNOWN if request.changes else "ask for less at a time"
            text = f"{TIMED_OUT} {self._timeout:g} s and was stopped; {hint}"
            return _build_error_result(method, text)
        if isinstance(error, Unauthenticated | InsufficientScope) and not request.batched:
            if not (stream and stream.started):
                raise error
        elif isinstance(error, Unavailable):
            return _build_error_result(method, error.text_with_retry)
        if isinstance(error, MCPistError):
            return _build_error_result(method, str(error))
        raise _build_internal_error(error, method, request) from None


def _refuse_stream(
    error: LimitReached, revision: Revision, message: JsonRpcMessage, request: TransportContext
) -> JsonRpcAnswer:
    """Refuse a stream that is one too many: before it begins, HTTP can say so."""
    seconds = max(1, math.ceil(error.retry_after))
    request.extra_headers.append((b"retry-after", b"%d" % seconds))
    refusal = ProtocolError(LIMIT_REACHED, str(error), {"retryAfterSeconds": seconds})
    return msgspec.structs.replace(build_error_answer(revision, message.id, refusal), status=error.status)


def _get_result_format(revision: Revision, caller: Caller, client_name: str) -> str:
    """Return what the client is sent beside a result's structured part, which it may show its model itself: its
    credential decides, else the name that it states in a request of a revision that has a field for it."""
    result_format = caller.credential.tool_result_format
    return result_format or (TOOL_RESULT_FORMAT_BY_CLIENT_NAME.get(client_name, "") if revision.modern else "")


def _read_meta(meta: Mapping[str, Any], request: TransportContext) -> None:
    """Read what a client may state about each of its requests."""
    request.trace = choose_traceparent(meta.get("traceparent"), request.headers.get_text(b"traceparent"))
    if CLIENT_KEY in meta:
        request.client_name = _parse_client_name(meta[CLIENT_KEY])


def _parse_client_name(info: Any) -> str:
    name = cast("dict[str, Any]", info).get("name") if type(info) is dict else None
    if not isinstance(name, str):
        return ""
    name = name[:_NAME_LENGTH]
    return name if name.isprintable() else "".join(filter(str.isprintable, name))


def _open_stream(revision: Revision, message: JsonRpcMessage, request: TransportContext) -> EventStream | None:
    meta = message.meta
    wanted = (
        "progressToken" in meta or message.method in _WAITING_METHODS or (revision.modern and LOG_LEVEL_KEY in meta)
    )
    if not wanted or not request.accepts.events:
        return None
    return EventStream(request, meta.get("progressToken"), revision.progress_message)


def _build_error_result(method: str, text: str) -> Result:
    """Build an error that the model should see: only the result of a call can carry it to there."""
    if method != "tools/call":
        raise ProtocolError(INTERNAL_ERROR, text)
    return {"content": [{"type": "text", "text": text}], "isError": True}


def _describe_oversized_result(method: str, size: int, limit: int, changes: ChangeTracker) -> str:
    text = f"{OVERSIZED} {size} bytes and one call may return {limit}"
    if method != "tools/call":
        return f"{text}; ask for a smaller part"
    if changes:
        return f"{text}; {OUTCOME_UNKNOWN}"
    return (
        f"{text}. Ask for less: filter, take a smaller page, or in a batch set output only on the steps whose result "
        "you need"
    )


def _build_internal_error(error: Exception, method: str, request: TransportContext) -> ProtocolError:
    fields = {"method": method, "request_id": request.request_id}
    _log.error("an MCP request failed", extra={"event": "mcp_request_failed", **fields, **describe_error(error)})
    text = f"Internal error; {OUTCOME_UNKNOWN}" if request.changes else "Internal error"
    return ProtocolError(INTERNAL_ERROR, text, {"request_id": request.request_id})
