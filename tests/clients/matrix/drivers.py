"""Python libraries, each told of MCPist as its documentation says: `python drivers.py NAME PLAN` makes the calls of a
plan and prints what the library gave for each. It runs in the library's own environment, without our code."""

# pyright: reportMissingImports=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportArgumentType=false
# pyright: reportOptionalMemberAccess=false, reportGeneralTypeIssues=false

import asyncio
import contextlib
import json
import os
import sys
import traceback
import urllib.parse
import warnings
from collections.abc import AsyncIterator, Callable
from typing import Any

warnings.simplefilter("ignore")

PLAN: dict[str, Any] = {}
CALLBACK_PORT = 3456
SECONDS = 120
REDIRECT = f"http://127.0.0.1:{CALLBACK_PORT}/callback"
Client = Any


class CannotDo(Exception):
    """The library has nothing for this."""


class NotListed(Exception):
    """The library calls what it has listed, and has not listed this."""


class Tools:
    """A library that makes objects of the listed tools. `call` takes such an object and the arguments."""

    def __init__(self, tools: dict[str, Any], call: Callable[[Any, dict[str, Any]], Any], **more: Any) -> None:
        self._tools = tools
        self._call = call
        self.__dict__.update(more)

    async def list(self) -> Any:
        return list(self._tools)

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        if name not in self._tools:
            raise NotListed
        return await self._call(self._tools[name], arguments)


class Session:
    """A library that passes the methods of MCP on."""

    def __init__(self, session: Any, **more: Any) -> None:
        self._session = session
        self.__dict__.update(more)

    async def list(self) -> Any:
        found = await self._session.list_tools()
        return [tool.name for tool in getattr(found, "tools", found)]

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        return await self._session.call_tool(name, arguments)

    async def resource(self, uri: str) -> Any:
        found = await self._session.list_resources()
        assert uri in [str(one.uri) for one in getattr(found, "resources", found)], "it is not listed"
        return await self._session.read_resource(uri)

    async def prompt(self, name: str, arguments: dict[str, str]) -> Any:
        found = await self._session.list_prompts()
        assert name in [one.name for one in getattr(found, "prompts", found)], "it is not listed"
        return await self._session.get_prompt(name, arguments)


def headers() -> dict[str, str]:
    return {"Authorization": f"Bearer {PLAN['token']}"} if PLAN["token"] else {}


class _Storage:
    def __init__(self) -> None:
        self.tokens: Any = None
        self.client: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info


class _Browser:
    """Opens the person's browser and waits for it to come back."""

    server: Any = None
    came_back: Any = None

    def __init__(self) -> None:
        _Browser.came_back = asyncio.Queue()

    async def go(self, url: str) -> None:
        if _Browser.server is None:
            _Browser.server = await asyncio.start_server(_Browser.serve, "127.0.0.1", CALLBACK_PORT)
        await asyncio.create_subprocess_exec(os.environ["BROWSER"], url, stdout=asyncio.subprocess.DEVNULL)

    @staticmethod
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = (await reader.readline()).decode().split()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ndone")
        writer.close()
        if line and line[1].startswith("/callback"):
            _Browser.server.close()  # the next view may have a loop of its own
            _Browser.server = None
            _Browser.came_back.put_nowait(dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(line[1]).query)))

    async def code(self) -> tuple[str, str | None]:
        answer = await self.came_back.get()
        return answer["code"], answer.get("state")

    async def result(self) -> Any:
        from mcp.client.auth import AuthorizationCodeResult

        return AuthorizationCodeResult.model_validate(await self.came_back.get())


def provider() -> Any:
    """The SDK's own way of signing in, or None with a token."""
    if PLAN["token"]:
        return None
    import mcp.client.auth
    from mcp.shared.auth import OAuthClientMetadata

    browser = _Browser()
    metadata = OAuthClientMetadata(client_name=f"Matrix {PLAN['name']}", redirect_uris=[REDIRECT])
    answer = browser.result if hasattr(mcp.client.auth, "AuthorizationCodeResult") else browser.code
    return mcp.client.auth.OAuthClientProvider(PLAN["url"], metadata, _Storage(), browser.go, answer)


@contextlib.asynccontextmanager
async def mcp_1() -> AsyncIterator[Client]:
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client
    from mcp.types import CallToolResult

    async with (
        streamablehttp_client(PLAN["url"], headers=headers(), auth=provider()) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        await session.initialize()

        async def task(name: str, arguments: dict[str, Any]) -> Any:
            started = await session.experimental.call_tool_as_task(name, arguments, ttl=60_000)
            return await session.experimental.get_task_result(started.task.taskId, CallToolResult)

        yield Session(session, task=task)


@contextlib.asynccontextmanager
async def _mcp_2(mode: str) -> AsyncIterator[Client]:
    import httpx2
    import mcp
    from mcp.client.streamable_http import streamable_http_client

    async with (
        httpx2.AsyncClient(headers=headers(), auth=provider(), timeout=30) as http,
        mcp.Client(streamable_http_client(PLAN["url"], http_client=http), mode=mode) as client,
    ):
        yield Session(client)


def mcp_2_modern() -> Any:
    return _mcp_2("auto")


def mcp_2_legacy() -> Any:
    return _mcp_2("legacy")


@contextlib.asynccontextmanager
async def fastmcp() -> AsyncIterator[Client]:
    import fastmcp

    async with fastmcp.Client(PLAN["url"], auth=PLAN["token"] or "oauth") as client:

        async def call(name: str, arguments: dict[str, Any]) -> Any:
            return await client.call_tool(name, arguments, raise_on_error=False)

        yield Session(client, call=call)


@contextlib.asynccontextmanager
async def langchain() -> AsyncIterator[Client]:
    from langchain_mcp_adapters.client import MultiServerMCPClient

    server = {"transport": "streamable_http", "url": PLAN["url"], "headers": headers(), "auth": provider()}
    client = MultiServerMCPClient({"mcpist": {name: value for name, value in server.items() if value}})
    tools = {tool.name: tool for tool in await client.get_tools()}

    async def resource(uri: str) -> Any:
        return [blob.as_string() for blob in await client.get_resources("mcpist", uris=[uri])]

    async def prompt(name: str, arguments: dict[str, str]) -> Any:
        return [str(one.content) for one in await client.get_prompt("mcpist", name, arguments=arguments)]

    yield Tools(tools, lambda tool, given: tool.ainvoke(given), resource=resource, prompt=prompt)


@contextlib.asynccontextmanager
async def openai_agents() -> AsyncIterator[Client]:
    from agents.mcp import MCPServerStreamableHttp

    params = {"url": PLAN["url"], "headers": headers(), "auth": provider(), "timeout": 30}
    server = MCPServerStreamableHttp(params, client_session_timeout_seconds=60)
    async with server:
        yield Session(server)


@contextlib.asynccontextmanager
async def pydantic_ai() -> AsyncIterator[Client]:
    from pydantic_ai.mcp import MCPToolset

    auth = {"headers": headers()} if PLAN["token"] else {"auth": "oauth"}
    async with MCPToolset(PLAN["url"], tool_error_behavior="error", init_timeout=60, **auth) as toolset:

        async def prompt(name: str, arguments: dict[str, str]) -> Any:
            return await toolset.get_prompt(name, arguments)

        yield Session(toolset, call=toolset.direct_call_tool, prompt=prompt)


@contextlib.asynccontextmanager
async def mcp_use() -> AsyncIterator[Client]:
    from mcp_use import MCPClient
    from mcp_use.agents.adapters.langchain_adapter import LangChainAdapter

    auth: Any = PLAN["token"] or {"callback_port": CALLBACK_PORT}
    client = MCPClient({"mcpServers": {"mcpist": {"url": PLAN["url"], "auth": auth}}})
    try:
        session = await client.create_session("mcpist")
        adapter = LangChainAdapter()
        tools = {tool.name: tool for tool in await adapter.create_tools(client)}
        plain = Session(session)
        yield Tools(tools, lambda tool, given: tool.ainvoke(given), resource=plain.resource, prompt=plain.prompt)
    finally:
        await client.close_all_sessions()


@contextlib.asynccontextmanager
async def llama_index() -> AsyncIterator[Client]:
    from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

    if PLAN["token"]:
        client = BasicMCPClient(PLAN["url"], headers=headers())
    else:
        browser = _Browser()
        client = BasicMCPClient.with_oauth(PLAN["url"], "Matrix llama-index", [REDIRECT], browser.go, browser.result)
    tools = {tool.metadata.name: tool for tool in await McpToolSpec(client).to_tool_list_async()}
    plain = Session(client)
    yield Tools(tools, lambda tool, given: tool.acall(**given), resource=plain.resource, prompt=plain.prompt)


@contextlib.asynccontextmanager
async def google_adk() -> AsyncIterator[Client]:
    from google.adk.tools.mcp_tool import McpToolset, StreamableHTTPConnectionParams

    if not PLAN["token"]:
        raise CannotDo("its OAuth is that of its own web interface")
    toolset = McpToolset(connection_params=StreamableHTTPConnectionParams(url=PLAN["url"], headers=headers()))
    try:
        tools = {tool.name: tool for tool in await toolset.get_tools()}

        async def call(tool: Any, given: dict[str, Any]) -> Any:
            class Context:
                state: dict[str, Any] = {}  # noqa: RUF012
                function_call_id = "1"
                actions = None

            return await tool._run_async_impl(args=given, tool_context=Context(), credential=None)

        async def resource(uri: str) -> Any:
            return await toolset.read_resource(PLAN["resource_name"])

        yield Tools(tools, call, resource=resource)
    finally:
        await toolset.close()


@contextlib.asynccontextmanager
async def strands() -> AsyncIterator[Client]:
    from strands.tools.mcp import MCPClient

    options: Any = {"headers": headers()} if PLAN["token"] else {"auth_provider": provider()}
    client = MCPClient(url=PLAN["url"], **options)
    await asyncio.to_thread(client.start)
    try:

        class Sync:
            async def list(self) -> Any:
                return [tool.tool_name for tool in await asyncio.to_thread(client.list_tools_sync)]

            async def call(self, name: str, arguments: dict[str, Any]) -> Any:
                return await client.call_tool_async("1", name, arguments)

            async def resource(self, uri: str) -> Any:
                return await asyncio.to_thread(client.read_resource_sync, uri)

            async def prompt(self, name: str, arguments: dict[str, str]) -> Any:
                return await asyncio.to_thread(client.get_prompt_sync, name, arguments)

        yield Sync()
    finally:
        client.stop(None, None, None)


@contextlib.asynccontextmanager
async def smolagents() -> AsyncIterator[Client]:
    from smolagents import MCPClient

    if not PLAN["token"]:
        raise CannotDo("it has no OAuth of its own")
    server = {"url": PLAN["url"], "transport": "streamable-http", "headers": headers()}
    client = await asyncio.to_thread(MCPClient, server, structured_output=True)
    try:
        tools = {tool.name: tool for tool in client.get_tools()}
        yield Tools(tools, lambda tool, given: asyncio.to_thread(lambda: tool(**given)))
    finally:
        client.disconnect()


@contextlib.asynccontextmanager
async def agno() -> AsyncIterator[Client]:
    from agno.tools.mcp import MCPTools

    if not PLAN["token"]:
        raise CannotDo("it has no OAuth of its own")
    async with MCPTools(url=PLAN["url"], transport="streamable-http", header_provider=headers) as toolkit:

        async def call(tool: Any, given: dict[str, Any]) -> Any:
            return await tool.entrypoint(**given)

        yield Tools(dict(toolkit.functions), call)


LIBRARIES: dict[str, Callable[[], Any]] = {
    name: made
    for name, made in globals().copy().items()
    if name
    in (
        "mcp_1", "mcp_2_modern", "mcp_2_legacy", "fastmcp", "langchain", "openai_agents", "pydantic_ai", "mcp_use",
        "llama_index", "google_adk", "strands", "smolagents", "agno",
    )
}  # fmt: skip


def shown(given: Any) -> str:
    """All of a result that the library hands on."""
    for form in ("model_dump_json", "json"):
        if callable(getattr(given, form, None)):
            with contextlib.suppress(Exception):
                return str(getattr(given, form)())
    return str(given)


def failed(given: Any) -> bool:
    told = given if isinstance(given, dict) else getattr(given, "__dict__", {})
    return bool(told.get("is_error") or told.get("isError") or told.get("status") == "error")


async def answer(client: Client, check: str, given: list[Any]) -> dict[str, Any]:
    """What the library does for one check."""
    method = getattr(client, check if check in ("list", "resource", "prompt", "task") else "call", None)
    if method is None:
        if check == "task":
            method = client.call
        else:
            return {"unsupported": "nothing for it in the library"}
    try:
        result = await asyncio.wait_for(method(*given), 60)
    except NotListed:
        return {"not_listed": True}
    except CannotDo as reason:
        return {"unsupported": str(reason)}
    except Exception as error:  # noqa: BLE001 what it raises is what its user gets
        return {"error": True, "text": f"{type(error).__name__}: {error} {getattr(error, 'exceptions', '')}"}
    if check == "list":
        return {"names": result}
    native = check != "task" or hasattr(client, "task")
    return {"error": failed(result), "text": shown(result), "native": native}


async def one_view(name: str) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    try:
        async with asyncio.timeout(SECONDS), LIBRARIES[name]() as client:
            for check, given in PLAN["checks"]:
                answers[check] = await answer(client, check, given)
    except CannotDo as reason:
        answers["connect"] = {"unsupported": str(reason)}
    except BaseException as error:  # noqa: BLE001 groups of errors and cancellation, too
        if len(answers) < len(PLAN["checks"]):  # else it failed to close
            answers["connect"] = {"error": True, "text": "".join(traceback.format_exception(error))[-1500:]}
    return answers


async def main(name: str, plan: dict[str, Any]) -> None:
    for view, more in plan.pop("views").items():
        PLAN.update(plan, **more)
        print(json.dumps([view, await one_view(name)]), flush=True)
    os._exit(0)  # some of them do not come to an end by themselves


if __name__ == "__main__":
    with open(sys.argv[2], encoding="utf-8") as file:
        given = json.load(file)
    asyncio.run(main(sys.argv[1], given))
