"""The official SDK's server and transport, which answers with what ours has answered: what differs is how a message is
routed, checked, and rendered for its revision."""

import contextlib
import json
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import orjson
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CallToolResult,
    CompleteResult,
    EmptyResult,
    GetPromptResult,
    InputRequiredResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    ReadResourceResult,
)

from tests.conformance.deployment import ConformanceDeployment
from tests.conformance.oracle_differences import KNOWN, LEFT_OUT
from tests.gateway.mcp.client import Client
from tests.support.mcp_client import messages_in
from tests.support.sdk_oracle import running_manager

Model = Any
Reply = tuple[int, Any]
"""Status and JSON-RPC message, or None where there is none."""

_HOP = frozenset({"host", "connection", "content-length", "authorization", "accept-encoding", "origin", "user-agent"})


@dataclass(slots=True)
class Oracle:
    """Compares the answers to recorded requests. `current` is what ours has answered to the one under comparison."""

    deployment: ConformanceDeployment
    session: aiohttp.ClientSession
    current: Any = None
    sdk: Client = field(init=False)

    async def find_differences(self, revision: str, requests: Iterable[bytes]) -> AsyncIterator[str]:
        """Find the requests that the two answer differently, and the listed differences that are none."""
        unseen = dict(KNOWN[revision])
        for head, body in dict.fromkeys(map(_parse_request, requests)):
            message = _parse_message(body)
            if message is None or message.get("method") in LEFT_OUT or _is_on_a_task(message):
                continue
            headers = [(name, value) for name, value in head if name.lower() not in _HOP]
            ours = await self._ask_ours(headers, body)
            theirs = await self._ask_sdk(headers, body)
            case = _name_difference(message, dict(head), ours, theirs)
            if case is None:
                continue
            if case in KNOWN[revision]:
                unseen.pop(case, None)
            else:
                yield f"{case}: ours {str(ours)[:600]}, the SDK's {str(theirs)[:600]}"
        for case, reason in unseen.items():
            yield f"{case}: listed, and no difference any more ({reason})"

    async def _ask_ours(self, headers: list[tuple[str, str]], body: bytes) -> Reply:
        async with self.session.post(self.deployment.mcp_url, data=body, headers=headers) as answer:
            found = messages_in(await answer.read(), answer.content_type)
            self.current = found[-1] if found else None
            return answer.status, self.current

    async def _ask_sdk(self, headers: list[tuple[str, str]], body: bytes) -> Reply:
        answer = await self.sdk.post(body, headers)
        try:
            return answer.status, answer.message if answer.body else None
        except orjson.JSONDecodeError:
            return answer.status, None

    def answer(self, model: type[Any]) -> Any:
        """A handler of the SDK's, which answers as ours has."""

        async def handle(_context: Any, _params: Any) -> Any:
            message = self.current or {}
            if "error" in message:
                error = message["error"]
                raise MCPError(code=error["code"], message=error["message"], data=error.get("data"))
            result = message["result"]
            asks = result.get("resultType") == "input_required"
            return (InputRequiredResult if asks else model).model_validate(result)

        return handle


@contextlib.asynccontextmanager
async def oracle_of(deployment: ConformanceDeployment) -> AsyncIterator[Oracle]:
    """The two servers, until the block is left."""
    headers = {"Authorization": f"Bearer {deployment.token}"}
    async with aiohttp.ClientSession(headers=headers) as session:
        oracle = Oracle(deployment, session)
        manager = StreamableHTTPSessionManager(_build_server(oracle), stateless=True, json_response=True)
        async with running_manager(manager):
            oracle.sdk = Client(manager.asgi_app)
            yield oracle


def _build_server(oracle: Oracle) -> Server[Any]:
    hint = CacheHint(ttl_ms=5_000)
    cached = ("tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read")
    return Server(
        "mcpist",
        title="MCPist",
        on_list_tools=oracle.answer(ListToolsResult),
        on_call_tool=oracle.answer(CallToolResult),
        on_list_resources=oracle.answer(ListResourcesResult),
        on_list_resource_templates=oracle.answer(ListResourceTemplatesResult),
        on_read_resource=oracle.answer(ReadResourceResult),
        on_subscribe_resource=oracle.answer(EmptyResult),
        on_unsubscribe_resource=oracle.answer(EmptyResult),
        on_list_prompts=oracle.answer(ListPromptsResult),
        on_get_prompt=oracle.answer(GetPromptResult),
        on_completion=oracle.answer(CompleteResult),
        cache_hints=dict.fromkeys((*cached, "server/discover"), hint),
        get_tool_input_schema=lambda _name: None,
    )


def _parse_request(raw: bytes) -> tuple[tuple[tuple[str, str], ...], bytes]:
    """The headers of a recorded request and its body."""
    head, _, body = raw.partition(b"\r\n\r\n")
    lines = [line.partition(":") for line in head.decode("latin-1").split("\r\n")[1:]]
    return tuple((name.strip().lower(), value.strip()) for name, _, value in lines), body


def _parse_message(body: bytes) -> dict[str, Any] | None:
    try:
        message = json.loads(body)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def _is_on_a_task(message: Mapping[str, Any]) -> bool:
    """Whether it may become a task, which the SDK's server knows nothing of."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    capabilities = meta.get("io.modelcontextprotocol/clientCapabilities") if isinstance(meta, dict) else None
    return isinstance(capabilities, dict) and "extensions" in capabilities


def _name_difference(message: Mapping[str, Any], head: Mapping[str, str], ours: Reply, theirs: Reply) -> str | None:
    """What the two do differently, as a name for the list; None where they do the same."""
    method = message.get("method", "a response")
    era = "modern" if "mcp-method" in head or "io.modelcontextprotocol" in json.dumps(message) else "legacy"
    mine, other = _outline(ours), _outline(theirs)
    if mine != other:
        return f"{era} {method}: {mine} against {other}"
    if ours[1] is None or "result" not in ours[1]:
        return None
    result, theirs_result = _compare_by(method, ours[1]["result"]), _compare_by(method, theirs[1]["result"])
    names = sorted(name for name in result.keys() | theirs_result.keys() if result.get(name) != theirs_result.get(name))
    return f"{era} {method}: {', '.join(names)} of the result" if names else None


def _outline(reply: Reply) -> str:
    status, message = reply
    if message is None:
        return str(status)
    return f"{status} {message['error']['code']}" if "error" in message else f"{status} result"


def _compare_by(method: str, result: Mapping[str, Any]) -> dict[str, Any]:
    """The result without what the two may rightly say differently: who they are, and defaults that are spelled out."""
    left_out = {"_meta", "serverInfo", "instructions", "requestState"}
    compared = {name: value for name, value in result.items() if name not in left_out}
    if method == "tools/call" and compared.get("isError") is False:
        del compared["isError"]
    return compared
