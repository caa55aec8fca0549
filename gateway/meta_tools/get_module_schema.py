"""get_module_schema: what the caller may use of one or several modules, or "unchanged" when they have it already."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from gateway.lookup_recorder import MissingName
from gateway.mcp.request_context import Params, RequestContext, Result
from gateway.meta_tools.results import build_error_result, build_value_result
from gateway.sieve.sieve import ModuleView, SieveView
from gateway.tool_runner import NO_SUCH_TOOL
from modules.kit import Module

MAX_MODULES = 20
MAX_TOOLS = 100
MAX_NAME_LENGTH = 64

DescribeModule = Callable[[Module], Awaitable[dict[str, str]]]
DescribeConnection = Callable[[RequestContext, Module], Awaitable[dict[str, str]]]
RecordLookups = Callable[[RequestContext, int, Sequence[MissingName]], Awaitable[None]]


class InvalidSchemaRequest(Exception):
    """The request has the wrong form; the text says what was expected."""


@dataclass(frozen=True, slots=True)
class _SchemaRequest:
    """`tools` is empty for all tools; `have` maps a module to the digest that the caller has."""

    modules: tuple[str, ...]
    tools: tuple[str, ...]
    known_digests: Mapping[str, Any]


async def get_module_schema(
    view: SieveView, request: RequestContext, params: Params, record: RecordLookups, connection: DescribeConnection
) -> Result:
    """Answer with the permitted tools of the modules asked for. What does not exist for the caller is recorded."""

    async def describe(module: Module) -> dict[str, str]:
        return await connection(request, module)

    try:
        schema_request = _parse_request(params)
    except InvalidSchemaRequest as error:
        return build_error_result(str(error))
    if not schema_request.modules:
        summaries = [await _render_summary(module, describe) for module in view.modules.values()]
        return build_value_result({"modules": summaries}, short=request.short_text)
    names = [(module, tool) for module in schema_request.modules for tool in schema_request.tools or ("",)]
    await record(request, len(names), [MissingName(*name, b"{}") for name in names if not _exists(view, *name)])
    rendered = [await _render_module(view, name, schema_request, describe) for name in schema_request.modules]
    if all(module.keys() == {"error"} for module in rendered):
        return build_error_result(NO_SUCH_TOOL)
    return build_value_result({"modules": rendered}, short=request.short_text)


async def _render_module(
    view: SieveView, name: str, schema_request: _SchemaRequest, describe: DescribeModule
) -> dict[str, Any]:
    """Render one module as the caller sees it, or the one text for what does not exist."""
    missing = [tool for tool in schema_request.tools or ("",) if not _exists(view, name, tool)]
    module = view.find_module(name)
    if module is None or len(missing) == len(schema_request.tools or ("",)):
        return {"error": NO_SUCH_TOOL}
    head: dict[str, Any] = {"module": name, "digest": module.digest, **await describe(module.module)}
    if schema_request.known_digests.get(name) == module.digest:
        return {**head, "unchanged": True}
    rendered = {**head, "tools": _select_schemas(view, module, schema_request.tools)}
    return {**rendered, "error": NO_SUCH_TOOL} if missing else rendered


def _exists(view: SieveView, module: str, tool: str) -> bool:
    return (module, tool) in view.by_name if tool else view.find_module(module) is not None


def _select_schemas(view: SieveView, module: ModuleView, names: tuple[str, ...]) -> list[Mapping[str, Any]]:
    if not names:
        return list(module.schemas.values())
    tools = (view.by_name.get((module.module.name, tool)) for tool in names)
    return [module.schemas[name] for name in dict.fromkeys(tool.tool.name for tool in tools if tool)]


async def _render_summary(module: ModuleView, describe: DescribeModule) -> dict[str, Any]:
    head = {"module": module.module.name, "description": module.module.description, "digest": module.digest}
    return {**head, **await describe(module.module)}


def _parse_request(params: Params) -> _SchemaRequest:
    modules = _parse_names(params.get("module"), "module", MAX_MODULES)
    return _SchemaRequest(
        modules,
        _parse_names(params.get("tools"), "tools", MAX_TOOLS),
        _parse_known_digests(params.get("have"), modules),
    )


def _parse_names(value: Any, field: str, limit: int) -> tuple[str, ...]:
    names: list[Any] = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(value, str | list | None) or not all(isinstance(name, str) for name in names):
        raise InvalidSchemaRequest(f"{field} must be a name or a list of names")
    if len(names) > limit or any(len(name) > MAX_NAME_LENGTH for name in names):
        raise InvalidSchemaRequest(f"{field} takes at most {limit} names of at most {MAX_NAME_LENGTH} characters")
    return tuple(dict.fromkeys(names))


def _parse_known_digests(value: Any, modules: tuple[str, ...]) -> Mapping[str, Any]:
    if value is None:
        return {}
    if isinstance(value, str):
        return dict.fromkeys(modules, value)
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    raise InvalidSchemaRequest("have must be the digest that you got, or an object {module: digest}")
