"""get_module_schema: what the caller may use of some modules, "unchanged" when they have it already, or what a query
finds."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

from gateway.lookup_recorder import MissingName
from gateway.mcp.request_context import Params, RequestContext, Result
from gateway.meta_tools.results import build_error_result, build_value_result
from gateway.meta_tools.schema_pages import render_found, render_modules, render_summaries, tool_exists
from gateway.meta_tools.schema_request import InvalidSchemaRequest, parse_schema_request
from gateway.sieve.sieve import SieveView
from gateway.tool_runner import NO_SUCH_TOOL
from modules.kit import Module

DescribeConnection = Callable[[RequestContext, Module], Awaitable[dict[str, str]]]
RecordLookups = Callable[[RequestContext, int, Sequence[MissingName]], Awaitable[None]]


async def get_module_schema(
    view: SieveView, request: RequestContext, params: Params, record: RecordLookups, connection: DescribeConnection
) -> Result:
    """Answer with the permitted tools of the modules asked for, or with those of all modules that a query finds. What
    does not exist for the caller is recorded."""

    async def describe(module: Module) -> Mapping[str, str]:
        return await connection(request, module)

    try:
        asked = parse_schema_request(params)
    except InvalidSchemaRequest as error:
        return build_error_result(str(error))
    if not asked.modules and asked.query is None and asked.detail is None:
        return build_value_result(await render_summaries(view, asked, describe), short=request.short_text)
    if asked.modules:
        names = [(module, tool) for module in asked.modules for tool in asked.tools or ("",)]
        missing = [name for name in names if not tool_exists(view, *name)]
        await record(request, len(names), [MissingName(*name, b"{}") for name in missing])
        if len(missing) == len(names):
            return build_error_result(NO_SUCH_TOOL)
    render = render_modules if asked.query is None else render_found
    rendered = await render(view, asked.modules or tuple(view.modules), asked, describe)
    return build_value_result(rendered, short=request.short_text)
