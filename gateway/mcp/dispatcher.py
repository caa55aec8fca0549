"""One JSON-RPC request to one answer: era, method, parameters, handler, rendering, and what errors become."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import Any, cast

import msgspec

from core.caller import Caller
from core.errors import MCPistError, Unavailable
from core.known_clients import TOOL_RESULT_FORMAT_BY_CLIENT_NAME
from core.log_events import describe_error
from core.secret import Secret
from gateway.change_tracker import ChangeTracker
from gateway.mcp.authority import Authority
from gateway.mcp.call_supervisor import CallSupervisor, CancelReason, Receive, SupervisedCall
from gateway.mcp.elicitation import NO_ELICITATION, Elicitation, Elicitor
from gateway.mcp.errors import ClientDisconnected, InsufficientScope, Unauthenticated
from gateway.mcp.interfaces import IsCurrent
from gateway.mcp.jsonrpc import INTERNAL_ERROR, METHOD_NOT_FOUND, JsonRpcMessage
from gateway.mcp.lifecycle import BuildInstructions, LifecycleMethods, build_server_info
from gateway.mcp.request_context import Handler, ProtocolError, RequestContext, Result
from gateway.mcp.request_headers import VERSION_HEADER, RequestHeaders, choose_traceparent
from gateway.mcp.responses import ResponseWriter
from gateway.mcp.revisions import (
    CLIENT_KEY,
    REVISIONS,
    JsonRpcAnswer,
    ResultRenderer,
    Revision,
    build_error_answer,
)
from gateway.mcp.settings import McpSettings
from gateway.mcp.sse import EventStream
from gateway.mcp.version_negotiation import check_params, check_request, find_revision
from modules.kit import OUTCOME_UNKNOWN

_log = logging.getLogger(__name__)
_NAME_LENGTH = 100


class TransportContext(msgspec.Struct, eq=False):
    """Transport side of a message. `authenticate` verifies the caller anew; `reply` is None where the client reads no
    events; `batched` forces a revision; `changes` counts what its handler may have changed."""

    caller: Caller
    request_id: str
    headers: RequestHeaders
    receive: Receive | None
    authorization: str | None
    authenticate: Callable[[], Awaitable[Caller]]
    batched: Revision | None = None
    reply: ResponseWriter | None = None
    trace: str = ""
    client_name: str = ""
    changes: ChangeTracker = msgspec.field(default_factory=ChangeTracker)


class CallTimeout(MCPistError):
    """The deadline of a call has passed."""


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
    ) -> None:
        self._is_current = is_current
        self._handlers = dict(handlers)
        self._elicitation = elicitation
        self._max_result = settings.max_result
        self._timeout = settings.call_timeout
        self._watch = watch
        self._renderers = {
            name: ResultRenderer(revision, build_server_info(version, name), settings.list_ttl_ms)
            for name, revision in REVISIONS.items()
        }
        self._lifecycle = LifecycleMethods(self._handlers, version, instructions, self._renderers)

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        """The loop of the process, asked for once: until Python 3.12 each question is a system call (getpid)."""
        return asyncio.get_running_loop()

    async def answer(self, message: JsonRpcMessage, arrival: TransportContext) -> JsonRpcAnswer:
        """Answer a request (not a notification).

        Raises:
            ClientDisconnected: the client no longer waits for the answer.
            Unauthenticated, InsufficientScope: from a handler, where HTTP can still say so.
        """
        revision = arrival.batched or find_revision(message, arrival.headers.get_text(VERSION_HEADER))
        stream = None
        try:
            check_request(revision, message, arrival.headers)
            if message.method in revision.lifecycle_methods:
                body = self._lifecycle.answer(revision, message.method, message.params, arrival.caller)
            else:
                handler = self._find_handler(revision, message)
                stream = _open_stream(revision, message, arrival)
                renderer = self._renderers[revision.version]
                try:
                    result = await self._run_handler(handler, revision, message, arrival, stream)
                    body = renderer.render(message.method, result)
                except (ClientDisconnected, ProtocolError):
                    raise
                except Exception as error:  # noqa: BLE001 - whatever it is, its text stays here
                    failure = _build_failure(error, message.method, arrival, stream)
                    body = renderer.render(message.method, failure)
                if len(body) > self._max_result:
                    text = _describe_oversized_result(len(body), self._max_result, arrival.changes)
                    body = renderer.render(message.method, _build_error_result(message.method, text))
        except ProtocolError as error:
            code = revision.error_codes.get(error.code, error.code)
            return build_error_answer(revision, message.id, ProtocolError(code, error.message, error.data), stream)
        return JsonRpcAnswer(200, b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (message.id, body), revision, 0, stream)

    def _find_handler(self, revision: Revision, message: JsonRpcMessage) -> Handler:
        handler = self._handlers.get(message.method)
        if handler is None or not revision.has_method(message.method):
            raise ProtocolError(METHOD_NOT_FOUND, f"Unknown method: {message.method[:_NAME_LENGTH]}")
        check_params(message)
        return handler

    async def _run_handler(
        self,
        handler: Handler,
        revision: Revision,
        message: JsonRpcMessage,
        arrival: TransportContext,
        stream: EventStream | None,
    ) -> Result:
        loop = self._loop
        asking = NO_ELICITATION
        if revision.has_url_elicitation and self._elicitation is not None:
            asking = self._elicitation.choose_elicitation(revision, message, arrival.caller, arrival.headers)
        authority = Authority(arrival.caller, arrival.authenticate, self._is_current)
        context = _build_context(authority, arrival, revision, message, loop.time() + self._timeout, stream, asking)
        call = self._watch.enter(loop, context.deadline, arrival.receive, stream, authority)
        result: Result = {}
        try:
            result = await handler(context, message.params)
        except asyncio.CancelledError:
            if call.ended is None:
                raise _build_cancellation(call) from None
        except Exception:
            if call.ended is None:
                raise
        finally:
            self._watch.leave(call)
            if stream is not None:
                stream.close()
        if call.ended is not None:
            self._raise_cancel_reason(call, arrival.changes)
        if type(result) is not dict:
            raise TypeError("a handler returns a dict")
        return result

    def _raise_cancel_reason(self, call: SupervisedCall, changes: ChangeTracker) -> None:
        """Take back the supervisor's own cancellation and raise its reason; another cancellation stays."""
        if call.task.uncancel():
            raise asyncio.CancelledError
        if call.ended is CancelReason.CLIENT_GONE:
            raise ClientDisconnected
        hint = OUTCOME_UNKNOWN if changes else "ask for less at a time"
        raise CallTimeout(f"the call took longer than {self._timeout:g} s and was stopped; {hint}")


def _build_cancellation(call: SupervisedCall) -> BaseException:
    """Build the exception of a cancellation that no supervisor requested: the handler's failure, such as awaiting a
    cancelled task."""
    return asyncio.CancelledError() if call.task.cancelling() else RuntimeError("the handler was cancelled from within")


def _build_context(
    authority: Authority,
    arrival: TransportContext,
    revision: Revision,
    message: JsonRpcMessage,
    deadline: float,
    stream: EventStream | None,
    elicitation: Elicitation,
) -> RequestContext:
    meta = message.meta
    if "traceparent" in meta or b"traceparent" in arrival.headers.values:
        arrival.trace = choose_traceparent(meta.get("traceparent"), arrival.headers.get_text(b"traceparent"))
    if CLIENT_KEY in meta:
        arrival.client_name = _parse_client_name(meta[CLIENT_KEY])
    report = stream.report if stream is not None else None
    return RequestContext(
        authority,
        arrival.request_id,
        deadline,
        report,
        arrival.trace,
        arrival.client_name,
        _get_subject(arrival),
        elicitation.elicit_url,
        elicitation.page_accepted,
        elicitation.confirmations,
        short_text=_wants_short_text(revision, arrival),
        changes=arrival.changes,
        message_size=message.size,
    )


def _wants_short_text(revision: Revision, arrival: TransportContext) -> bool:
    """Check whether this client shows its model the structured part: its credential decides, else the name that it
    states in a request of a revision that has a field for it."""
    result_format = arrival.caller.credential.tool_result_format
    if not result_format and revision.modern:
        result_format = TOOL_RESULT_FORMAT_BY_CLIENT_NAME.get(arrival.client_name)
    return result_format == "short" and revision.structured


def _get_subject(arrival: TransportContext) -> Secret:
    """Return the credential behind the scheme of the Authorization header, which authentication has found to be
    right."""
    return Secret((arrival.authorization or "").partition(" ")[2].strip())


def _parse_client_name(info: Any) -> str:
    name = cast("dict[str, Any]", info).get("name") if type(info) is dict else None
    if not isinstance(name, str):
        return ""
    name = name[:_NAME_LENGTH]
    return name if name.isprintable() else "".join(filter(str.isprintable, name))


def _open_stream(revision: Revision, message: JsonRpcMessage, arrival: TransportContext) -> EventStream | None:
    token = message.meta.get("progressToken")
    if token is None or arrival.reply is None:
        return None
    return EventStream(arrival.reply, token, revision.progress_message)


def _build_failure(error: Exception, method: str, arrival: TransportContext, stream: EventStream | None) -> Result:
    """Build the result of a handler that has failed.

    Raises:
        Unauthenticated, InsufficientScope: where HTTP can still say so.
        ProtocolError: the error is nothing that the model should see.
    """
    if isinstance(error, Unauthenticated | InsufficientScope) and not arrival.batched:
        if not (stream and stream.started):
            raise error
    elif isinstance(error, Unavailable):
        return _build_error_result(method, error.text_with_retry)
    if isinstance(error, MCPistError):
        return _build_error_result(method, str(error))
    raise _build_internal_error(error, method, arrival) from None


def _build_error_result(method: str, text: str) -> Result:
    """Build an error that the model should see: only the result of a call can carry it to there."""
    if method != "tools/call":
        raise ProtocolError(INTERNAL_ERROR, text)
    return {"content": [{"type": "text", "text": text}], "isError": True}


def _describe_oversized_result(size: int, limit: int, changes: ChangeTracker) -> str:
    text = f"the result has {size} bytes and one call may return {limit}"
    if changes:
        return f"{text}; {OUTCOME_UNKNOWN}"
    return (
        f"{text}. Ask for less: filter, take a smaller page, or in a batch set output only on the steps whose result "
        "you need"
    )


def _build_internal_error(error: Exception, method: str, arrival: TransportContext) -> ProtocolError:
    fields = {"method": method, "request_id": arrival.request_id}
    _log.error("an MCP request failed", extra={"event": "mcp_request_failed", **fields, **describe_error(error)})
    text = f"Internal error; {OUTCOME_UNKNOWN}" if arrival.changes else "Internal error"
    return ProtocolError(INTERNAL_ERROR, text, {"request_id": arrival.request_id})
