"""The official SDK's server and transport, which is sent what the conformance tool has sent ours and answers with what
ours has answered: what differs is how a message is routed, checked, and rendered for its revision."""

import asyncio
import contextlib
import http.client
import io
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import orjson
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.subscriptions import ListenHandler, ServerEvent
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import event_from_wire
from mcp_types import (
    CallToolResult,
    CancelTaskRequestParams,
    CompleteResult,
    EmptyResult,
    GetPromptResult,
    GetTaskRequestParams,
    InputRequiredResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    ReadResourceResult,
    ServerTasksCapability,
    SetLevelRequestParams,
)
from mcp_types.methods import parse_server_notification

from gateway.mcp.lifecycle import TASKS_EXTENSION
from gateway.mcp.revisions import MISSING_CAPABILITY, UNSUPPORTED_VERSION
from tests.conformance.oracle_differences import KNOWN
from tests.gateway.mcp.client import Client
from tests.support.auth_proxy import ProxiedExchange
from tests.support.mcp_client import messages_in
from tests.support.sdk_oracle import running_manager

Reply = tuple[int, Sequence[Any]]
"""Status and JSON-RPC messages."""

_LISTEN = "subscriptions/listen"
_WITH_DATA = (MISSING_CAPABILITY, UNSUPPORTED_VERSION)
_TASKS = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}


class UpdateTaskParams(GetTaskRequestParams):
    """Of `tasks/update` (SEP-2663), for which the SDK has no type."""

    input_responses: dict[str, Any]


class DeclaringServer(Server[Any]):
    """Declares in its handshake what the SDK's transport has no option for."""

    def create_initialization_options(self, *_args: Any, **_kwargs: Any) -> InitializationOptions:
        every = NotificationOptions(prompts_changed=True, resources_changed=True, tools_changed=True)
        options = super().create_initialization_options(every)
        fields = {"tasks": ServerTasksCapability.model_validate(_TASKS), "logging": None}
        return options.model_copy(update={"capabilities": options.capabilities.model_copy(update=fields)})


@dataclass(slots=True)
class Oracle:
    """Compares the answers to recorded requests. `told` is what ours has answered to the one under comparison."""

    told: Sequence[Any] = ()
    sdk: Client = field(init=False)

    async def find_differences(self, revision: str, exchanges: Iterable[ProxiedExchange]) -> AsyncIterator[str]:
        """Find the messages that the two answer differently, and the listed differences that are none. A GET has no
        message."""
        unseen = dict(KNOWN[revision])
        for exchange in exchanges:
            headers, body = _parse_request(bytes(exchange.request))
            if not body:
                continue
            ours = _parse_answer(bytes(exchange.answer))
            self.told = ours[1]
            theirs = await self._ask_sdk(headers, body)
            case = _name_difference(json.loads(body), dict(headers), ours, theirs)
            if case is None:
                continue
            if case in KNOWN[revision]:
                unseen.pop(case, None)
            else:
                yield f"{case}: ours {str(ours)[:600]}, the SDK's {str(theirs)[:600]}"
        for case, reason in unseen.items():
            yield f"{case}: listed, and no difference any more ({reason})"

    async def _ask_sdk(self, headers: list[tuple[str, str]], body: bytes) -> Reply:
        answer = await self.sdk.post(body, headers)
        try:
            return answer.status, answer.messages
        except orjson.JSONDecodeError:
            return answer.status, []

    def answer(self, model: type[Any] | None = None) -> Any:
        """A handler of the SDK's, which answers as ours has; without a model in the form of the extension for tasks."""

        async def handle(context: Any, _params: Any) -> Any:
            *notes, message = self.told
            for note in notes:
                notification = parse_server_notification(note["method"], context.protocol_version, note["params"])
                await context.session.send_notification(notification, context.request_id)
            if "error" in message:
                error = message["error"]
                raise MCPError(code=error["code"], message=error["message"], data=error.get("data"))
            result = message["result"]
            kind = result.get("resultType")
            if model is None or kind == "task":
                without = {"_meta", "resultType"} if kind == "complete" else {"_meta"}
                return {name: value for name, value in result.items() if name not in without}
            return (InputRequiredResult if kind == "input_required" else model).model_validate(result)

        return handle


class ToldChanges:
    """What ours has told on a stream, as the SDK's handler is told of it; implements
    :class:`mcp.server.subscriptions.SubscriptionBus`."""

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self.handler = ListenHandler(self)

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        """Tell the new stream all there is, and end it once it has begun."""
        for message in self._oracle.told:
            if (event := event_from_wire(message["method"], message["params"])) is not None:
                listener(event)
        asyncio.get_running_loop().call_soon(self.handler.close)
        return lambda: None

    async def publish(self, event: ServerEvent) -> None:
        raise NotImplementedError


@contextlib.asynccontextmanager
async def running_oracle() -> AsyncIterator[Oracle]:
    """The SDK's server, until the block is left."""
    oracle = Oracle()
    own = TransportSecuritySettings(allowed_hosts=["127.0.0.1:*"], allowed_origins=["http://127.0.0.1:*"])
    server = _build_server(oracle)
    manager = StreamableHTTPSessionManager(server, stateless=True, security_settings=own)
    async with running_manager(manager):
        oracle.sdk = Client(manager.asgi_app)
        yield oracle


def _build_server(oracle: Oracle) -> Server[Any]:
    hint = CacheHint(ttl_ms=5_000)
    cached = ("tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read")
    server = DeclaringServer(
        "mcpist",
        title="MCPist",
        on_list_tools=oracle.answer(ListToolsResult),
        on_call_tool=oracle.answer(CallToolResult),
        on_list_resources=oracle.answer(ListResourcesResult),
        on_list_resource_templates=oracle.answer(ListResourceTemplatesResult),
        on_read_resource=oracle.answer(ReadResourceResult),
        on_subscribe_resource=oracle.answer(EmptyResult),
        on_unsubscribe_resource=oracle.answer(EmptyResult),
        on_subscriptions_listen=ToldChanges(oracle).handler,
        on_list_prompts=oracle.answer(ListPromptsResult),
        on_get_prompt=oracle.answer(GetPromptResult),
        on_completion=oracle.answer(CompleteResult),
        cache_hints=dict.fromkeys((*cached, "server/discover"), hint),
        get_tool_input_schema=lambda _name: None,
    )
    server.extensions = {TASKS_EXTENSION: {}}
    server.add_request_handler("tasks/get", GetTaskRequestParams, oracle.answer())
    server.add_request_handler("tasks/update", UpdateTaskParams, oracle.answer())
    server.add_request_handler("tasks/cancel", CancelTaskRequestParams, oracle.answer())
    # By this handler alone the SDK declares `logging`, which 2026-07-28 has without the method.
    server.add_request_handler("logging/setLevel", SetLevelRequestParams, oracle.answer(EmptyResult))
    return server


def _parse_request(raw: bytes) -> tuple[list[tuple[str, str]], bytes]:
    """The headers of a recorded request and its body."""
    head, _, body = raw.partition(b"\r\n\r\n")
    lines = [line.partition(":") for line in head.decode("latin-1").split("\r\n")[1:]]
    return [(name.strip().lower(), value.strip()) for name, _, value in lines], body


def _parse_answer(raw: bytes) -> Reply:
    socket: Any = SimpleNamespace(makefile=lambda _mode: io.BytesIO(raw))
    answer = http.client.HTTPResponse(socket)
    answer.begin()
    try:
        body = answer.read()
    except http.client.IncompleteRead as broken:  # the client has left the stream
        body = broken.partial
    found = messages_in(body, answer.headers.get_content_type())
    return answer.status, [one for one in found if "jsonrpc" in one]


def _name_difference(message: Mapping[str, Any], head: Mapping[str, str], ours: Reply, theirs: Reply) -> str | None:
    """What the two do differently, as a name for the list; None where they do the same."""
    method = message.get("method", "a response")
    era = "modern" if "mcp-method" in head or "io.modelcontextprotocol" in json.dumps(message) else "legacy"
    subject = " ".join(filter(None, (era, method, message.get("params", {}).get("name"))))
    if method == _LISTEN:  # our stream was left by its client, the SDK's has an end
        theirs = theirs[0], theirs[1][: len(ours[1])]
    mine, other = _outline(ours), _outline(theirs)
    if mine != other:
        return f"{subject}: {mine} against {other}"
    for one, another in zip(ours[1], theirs[1], strict=True):
        fields, others = _get_fields(method, one), _get_fields(method, another)
        if names := sorted(name for name in fields.keys() | others.keys() if fields.get(name) != others.get(name)):
            return f"{subject}: {', '.join(names)} of {_outline_message(one)}"
    return None


def _outline(reply: Reply) -> str:
    status, messages = reply
    return " ".join([str(status), *map(_outline_message, messages)])


def _outline_message(message: Mapping[str, Any]) -> str:
    return str(message["error"]["code"]) if "error" in message else message.get("method", "result")


def _get_fields(method: str, message: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a message tells, without what the two may rightly say differently: who they are, defaults that are spelled
    out, and data of errors that JSON-RPC 2.0 leaves to the server."""
    if "error" in message:
        return message["error"]["data"] if message["error"]["code"] in _WITH_DATA else {}
    if "method" in message:
        return message["params"]
    left_out = {"_meta", "serverInfo", "instructions", "capabilities"}
    result = message["result"]
    fields = {name: value for name, value in result.items() if name not in left_out}
    if method == "tools/call" and fields.get("isError") is False:
        del fields["isError"]
    return fields | {f"capabilities.{name}": value for name, value in result.get("capabilities", {}).items()}
