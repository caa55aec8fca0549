"""A stand-in for the gateway, built on the SDK's server: three tools, one module, one token. To be removed with it.

Prints one line of JSON when it listens, as `mcpist up --json` does.
"""

import asyncio
import json
import re
import socket
from typing import Any

import uvicorn
from mcp import MCPError
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import INVALID_PARAMS, CallToolRequestParams, CallToolResult, ListToolsResult, TextContent, Tool
from starlette.types import ASGIApp, Receive, Scope, Send

TOKEN = "toy-token"
TOOLS = ("create_entities", "get_nodes", "read_graph")
REFERENCE = re.compile(r"\$\{(\w+)\.([^}]+)\}")
graph: dict[str, dict[str, Any]] = {}


class Refused(Exception):
    """Becomes an `isError` result."""


def get_module_schema(module: str) -> dict[str, Any]:
    if module != "knowledge_graph":
        raise Refused("no such module")
    return {"modules": [{"name": module, "tools": [{"name": name, "parameters": {}} for name in TOOLS]}]}


def call(module: str, tool_name: str, params: dict[str, Any]) -> dict[str, Any]:
    if module != "knowledge_graph" or tool_name not in TOOLS:
        raise Refused(f"{module} has no tool {tool_name}")
    if tool_name == "create_entities":
        graph.update({entity["name"]: entity for entity in params["entities"]})
        return {"entities": params["entities"]}
    names = params.get("names", list(graph))
    return {"entities": [graph[name] for name in names if name in graph], "relations": []}


def batch(commands: str | list[dict[str, Any]]) -> dict[str, Any]:
    steps = [json.loads(line) for line in commands.splitlines()] if isinstance(commands, str) else commands
    results: dict[str, Any] = {}
    for step in steps:
        params = json.loads(REFERENCE.sub(lambda hit: _look_up(results, hit), json.dumps(step["params"])))
        results[step["id"]] = call(step["module"], step["tool_name"], params)
    shown = {step["id"] for step in steps if step.get("output")}
    return {"steps": [{"id": id, "status": "ok"} | ({"result": results[id]} if id in shown else {}) for id in results]}


def _look_up(results: dict[str, Any], hit: re.Match[str]) -> str:
    value = results[hit[1]]
    for part in re.findall(r"\w+", hit[2]):
        value = value[int(part) if part.isdigit() else part]
    return str(value)


META_TOOLS = {
    "get_module_schema": (get_module_schema, ["module"]),
    "call": (call, ["module", "tool_name", "params"]),
    "batch": (batch, ["commands"]),
}


async def list_tools(_context: Any, _params: Any) -> ListToolsResult:
    return ListToolsResult(tools=[_described(name, required) for name, (_, required) in META_TOOLS.items()])


def _described(name: str, required: list[str]) -> Tool:
    schema = {"type": "object", "properties": {key: {} for key in required}, "required": required}
    return Tool(name=name, description=name, input_schema=schema, output_schema={"type": "object"})


async def call_tool(_context: Any, params: CallToolRequestParams) -> CallToolResult:
    if params.name not in META_TOOLS:
        raise MCPError(code=INVALID_PARAMS, message="unknown tool")
    try:
        result = META_TOOLS[params.name][0](**(params.arguments or {}))
    except (Refused, TypeError, KeyError) as error:
        return CallToolResult(content=[TextContent(type="text", text=str(error))], is_error=True)
    return CallToolResult(content=[TextContent(type="text", text=json.dumps(result))], structured_content=result)


def bearer_only(app: ASGIApp) -> ASGIApp:
    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and dict(scope["headers"]).get(b"authorization") != f"Bearer {TOKEN}".encode():
            headers = [(b"www-authenticate", b"Bearer"), (b"content-length", b"0")]
            await send({"type": "http.response.start", "status": 401, "headers": headers})
            await send({"type": "http.response.body"})
        else:
            await app(scope, receive, send)

    return guarded


async def main() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    address = f"127.0.0.1:{listener.getsockname()[1]}"
    hints: dict[CacheableMethod, CacheHint] = {"tools/list": CacheHint(), "server/discover": CacheHint()}
    server = Server("mcpist", version="0.0.0", on_list_tools=list_tools, on_call_tool=call_tool, cache_hints=hints)
    security = TransportSecuritySettings(allowed_hosts=[address], allowed_origins=[f"http://{address}"])
    manager = StreamableHTTPSessionManager(server, stateless=True, json_response=True, security_settings=security)
    config = uvicorn.Config(bearer_only(manager.asgi_app), lifespan="off", log_level="error", http="h11")
    async with manager.run():
        print(json.dumps({"ready": True, "mcp_url": f"http://{address}/mcp", "api_token": TOKEN}), flush=True)
        await uvicorn.Server(config).serve(sockets=[listener])


if __name__ == "__main__":
    asyncio.run(main())
