"""The same handlers behind the official SDK's server and transport: an oracle to compare our own transport with."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

import orjson
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult

from core.caller import Caller
from gateway.mcp.authority import Authority
from gateway.mcp.request_context import Handler, ProtocolError, RequestContext


@contextlib.asynccontextmanager
async def sdk_app(handlers: Mapping[str, Handler], caller: Caller, *, version: str) -> AsyncIterator[Any]:
    """An ASGI application that serves `tools/list` and `tools/call` of `handlers`, stateless, with JSON answers."""

    async def list_tools(_context: Any, _params: Any) -> ListToolsResult:
        return ListToolsResult.model_validate(await run("tools/list", {}))

    async def call_tool(_context: Any, params: CallToolRequestParams) -> CallToolResult:
        arguments = {"name": params.name, "arguments": params.arguments or {}}
        return CallToolResult.model_validate(await run("tools/call", arguments))

    async def run(method: str, params: dict[str, Any]) -> Any:
        try:
            result = await handlers[method](RequestContext(Authority(caller), "oracle", time.monotonic() + 60), params)
        except ProtocolError as error:
            raise MCPError(code=error.code, message=error.message, data=error.data) from None
        return orjson.loads(orjson.dumps(result))  # handlers may hold pre-rendered fragments

    hint = CacheHint(ttl_ms=5_000)
    server = Server(
        "mcpist",
        title="MCPist",
        version=version,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        cache_hints={"tools/list": hint, "server/discover": hint},
        get_tool_input_schema=lambda _name: None,
    )
    manager = StreamableHTTPSessionManager(server, stateless=True, json_response=True)
    async with running_manager(manager):
        yield manager.asgi_app


@contextlib.asynccontextmanager
async def running_manager(manager: StreamableHTTPSessionManager) -> AsyncIterator[None]:
    """`manager.run()` in a task of its own: the task that enters it must leave it, which fixtures do not promise."""
    ready, over = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        async with manager.run():
            ready.set()
            await over.wait()

    task = asyncio.create_task(hold())
    await ready.wait()
    try:
        yield
    finally:
        over.set()
        await task
