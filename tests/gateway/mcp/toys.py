"""Two toy handlers, an authenticator and a gate: what the transport is tested with."""

import asyncio
from collections.abc import Callable
from typing import Any
from uuid import UUID

import orjson

from core.caller import Caller, Credential
from core.errors import LimitReached, Unavailable
from core.permissions import Policy
from gateway.mcp.endpoint import McpEndpoint
from gateway.mcp.errors import InsufficientScope, Unauthenticated
from gateway.mcp.interfaces import Observation
from gateway.mcp.lifecycle import BuildInstructions
from gateway.mcp.request_context import Handler, ProtocolError, RequestContext
from gateway.mcp.settings import McpSettings

PUBLIC_URL = "http://127.0.0.1:8080"
VERSION = "1.2.3"
TOKEN = "Bearer toy"
CHALLENGE = 'Bearer resource_metadata="http://127.0.0.1:8080/.well-known/oauth-protected-resource/mcp"'
SECRET = "the password is hunter2"

CALLER = Caller(
    Credential("token-1", "api_token", UUID(int=1), UUID(int=2), frozenset()), "ada@example.com", "user", Policy()
)

TOOLS: list[dict[str, Any]] = [
    {
        "name": "echo",
        "title": "Echo",
        "description": "Says the same.",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
        "outputSchema": {"type": "object", "properties": {"arguments": {"type": "object"}}, "required": ["arguments"]},
        "annotations": {"title": "Echo", "readOnlyHint": True},
    },
    {"name": "wait", "description": "Waits.", "inputSchema": {"type": "object"}, "_meta": {"example.com/x": 1}},
]


class Toys:
    """`handlers` and what they saw."""

    def __init__(self) -> None:
        self.handlers: dict[str, Handler] = {"tools/list": self.list_tools, "tools/call": self.call_tool}
        self.contexts: list[RequestContext] = []
        self.params: list[dict[str, Any]] = []
        self.credentials: list[tuple[str | None, str]] = []
        self.observed: list[Observation] = []
        self.started = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.resume = asyncio.Event()
        self.admitted = 0
        self.released = 0
        self.capacity = 1000
        self.authentication_fails: Exception | None = None
        self.instructions: BuildInstructions | None = None

    def endpoint(self, handlers: dict[str, Handler] | None = None, **settings: Any) -> McpEndpoint:
        return McpEndpoint(
            self.handlers if handlers is None else handlers,
            self.authenticate,
            McpSettings(**{"public_url": PUBLIC_URL, **settings}),
            server_version=VERSION,
            instructions=self.instructions,
            admit=self.admit,
            observe=self.observed.append,
        )

    async def authenticate(self, authorization: str | None, address: str) -> Caller:
        self.credentials.append((authorization, address))
        if self.authentication_fails is not None:
            raise self.authentication_fails
        if authorization != TOKEN:
            raise Unauthenticated(CHALLENGE)
        return CALLER

    def admit(self, caller: Caller) -> Callable[[], None]:
        if self.admitted - self.released >= self.capacity:
            raise LimitReached("too many calls at once", retry_after=1.2)
        self.admitted += 1
        return self.release

    def release(self) -> None:
        self.released += 1

    async def list_tools(self, context: RequestContext, params: dict[str, Any]) -> dict[str, Any]:
        self.contexts.append(context)
        return {"tools": TOOLS}

    async def call_tool(self, context: RequestContext, params: dict[str, Any]) -> dict[str, Any]:
        self.contexts.append(context)
        self.params.append(params)
        tool = getattr(self, f"tool_{params['name']}", None)
        if tool is None:
            raise ProtocolError(-32602, f"Unknown tool: {params['name']}")
        return await tool(context, params["arguments"])

    async def tool_echo(self, context: RequestContext, arguments: dict[str, Any]) -> dict[str, Any]:
        text = orjson.dumps({"arguments": arguments}).decode()
        return {"content": [{"type": "text", "text": text}], "structuredContent": {"arguments": arguments}}

    async def tool_rendered(self, context: RequestContext, arguments: dict[str, Any]) -> dict[str, Any]:
        fragment = orjson.Fragment(b'{\n "pretty": true\n}')
        return {"content": [{"type": "text", "text": "x"}], "structuredContent": fragment, "isError": False}

    async def tool_rich(self, context: RequestContext, arguments: dict[str, Any]) -> dict[str, Any]:
        content = [
            {"type": "text", "text": "a"},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "test://x", "name": "x"},
            {"type": "resource", "resource": {"uri": "test://y", "text": "y"}},
        ]
        return {"content": content, "_meta": {"example.com/kept": 1}}

    async def tool_list_as_structure(self, context: RequestContext, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [], "structuredContent": [1, 2]}

    async def tool_fails(self, context: RequestContext, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": "no such page"}], "isError": True}

    async def tool_crashes(self, context: RequestContext, arguments: dict[str, Any]) -> dict[str, Any]:
        raise RuntimeError(SECRET)

    async def tool_cancels_itself(self, context: RequestContext, arguments: dict[str, Any]) -> dict[str, Any]:
        raise asyncio.CancelledError

    async def tool_returns_rubbish(self, context: RequestContext, arguments: dict[str, Any]) -> Any:
        return {"content": [object()]}

    async def tool_returns_list(self, context: RequestContext, arguments: dict[str, Any]) -> Any:
        return []

    async def tool_database_away(self, context: RequestContext, arguments: dict[str, Any]) -> dict[str, Any]:
        raise Unavailable

    async def tool_lacks_scope(self, context: RequestContext, arguments: dict[str, Any]) -> dict[str, Any]:
        raise InsufficientScope('Bearer error="insufficient_scope", scope="x:write"')

    async def tool_big(self, context: RequestContext, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": "x" * arguments["size"]}]}

    async def tool_wait(self, context: RequestContext, arguments: dict[str, Any]) -> dict[str, Any]:
        self.started.set()
        try:
            await self.resume.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return {"content": []}

    async def tool_stubborn(self, context: RequestContext, arguments: dict[str, Any]) -> dict[str, Any]:
        self.started.set()
        try:
            await self.resume.wait()
        except asyncio.CancelledError:
            raise RuntimeError(SECRET) from None
        return {"content": []}

    async def tool_progress(self, context: RequestContext, arguments: dict[str, Any]) -> dict[str, Any]:
        report = context.report_progress
        for done in arguments["steps"]:
            if report is not None:
                await report(done, arguments.get("total"), f"step {done}")
        if arguments.get("then") is not None:
            return await self.call_tool(context, {"name": arguments["then"], "arguments": {}})
        return {"content": [{"type": "text", "text": "reported" if report else "nobody listens"}]}
