"""The handlers of tools/list and tools/call: ``(context, params) → result``; they know no HTTP and no revision."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from gateway.arguments import nearest
from gateway.mcp.context import Handler, Params, ProtocolError, RequestContext, Result, UrlAsk
from gateway.meta_tools.batch_tool import BatchTool
from gateway.meta_tools.definitions import definitions
from gateway.meta_tools.get_module_schema import get_module_schema
from gateway.meta_tools.results import error_result, model_result
from gateway.sieve.sieve import Sieve
from gateway.tool_runner import ToolRunner
from gateway.vendors import Vendors

INVALID_PARAMS = -32602
MetaTool = Callable[[RequestContext, Params], Awaitable[Result]]


class MetaTools:
    """The three tools and the two handlers in front of them."""

    def __init__(self, sieve: Sieve, runner: ToolRunner, vendors: Vendors) -> None:
        self._sieve = sieve
        self._runner = runner
        self._vendors = vendors
        self._tools: Mapping[str, MetaTool] = {
            "get_module_schema": self._get_module_schema,
            "call": self._call,
            "batch": BatchTool(sieve, runner, vendors).run,
        }

    def handlers(self) -> dict[str, Handler]:
        """What the transport serves."""
        return {"tools/list": self.list_tools, "tools/call": self.call_tool}

    async def list_tools(self, request: RequestContext, params: Params) -> Result:
        """The three definitions, as this caller sees them; they fit one page, so any cursor is a wrong one.

        Raises:
            ProtocolError: a cursor.
        """
        if params.get("cursor") is not None:
            raise ProtocolError(INVALID_PARAMS, "Unknown cursor")
        return definitions(self._sieve.view(request.caller))

    async def call_tool(self, request: RequestContext, params: Params) -> Result:
        """Run one of the three.

        Raises:
            ProtocolError: another name, or arguments that are no object (MCP, Tools: Error Handling).
        """
        name, arguments = params.get("name"), params.get("arguments")
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            raise ProtocolError(INVALID_PARAMS, "Unknown tool: there are get_module_schema, call and batch")
        if arguments is not None and not isinstance(arguments, dict):
            raise ProtocolError(INVALID_PARAMS, "arguments is an object")
        given = cast("dict[str, Any]", arguments or {})
        if unknown := given.keys() - _ARGUMENTS[str(name)]:
            return error_result(_unknown(min(unknown), _ARGUMENTS[str(name)]))
        return await tool(request, given)

    async def _get_module_schema(self, request: RequestContext, params: Params) -> Result:
        view = self._sieve.view(request.caller)
        return await get_module_schema(view, request, params, self._runner.record_lookups, self._vendors.connection)

    async def _call(self, request: RequestContext, params: Params) -> Result:
        module, name, given = params.get("module"), params.get("tool_name"), params.get("params")
        if not isinstance(module, str) or not isinstance(name, str):
            return error_result("Error: call needs module and tool_name, both text")
        if given is not None and not isinstance(given, dict):
            return error_result("Error: params is an object with the tool's arguments")
        if request.agreed and (tool := self._sieve.view(request.caller).find(module, name)):
            await self._vendors.await_connection(request, tool)
        outcome = await self._runner.run(request, module, name, cast("dict[str, Any]", given or {}))
        if outcome.result is not None:
            return model_result(outcome.result)
        if outcome.lacking is not None and request.ask_by_url is not None:
            lacking = outcome.lacking
            return request.ask_by_url(UrlAsk(lacking.module, lacking.url, lacking.wish))
        return error_result(outcome.error or "Error")


_ARGUMENTS = {
    "get_module_schema": ("module", "tools", "have"),
    "call": ("module", "tool_name", "params"),
    "batch": ("commands", "dry_run"),
}


def _unknown(name: str, right: tuple[str, ...]) -> str:
    near = nearest(name, right)
    known = f"did you mean {near}?" if near else f"known are: {', '.join(right)}"
    return f"Error: {name[:64]} is unknown; {known}"
