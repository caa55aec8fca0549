"""get_module_schema: what the caller may use of one or several modules, or "unchanged" when they have it already."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from gateway.lookups import MissingName
from gateway.mcp.context import Params, RequestContext, Result
from gateway.meta_tools.results import error_result, value_result
from gateway.sieve.sieve import ModuleView, View
from gateway.tool_runner import NO_SUCH_TOOL
from modules.kit import Module

MOST_MODULES = 20
MOST_TOOLS = 100
MOST_NAME = 64

Connected = Callable[[Module], Awaitable[dict[str, str]]]
Connect = Callable[[RequestContext, Module], Awaitable[dict[str, str]]]
Recorder = Callable[[RequestContext, int, Sequence[MissingName]], Awaitable[None]]


class WrongRequest(Exception):
    """The request has the wrong form; the text says what was expected."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """`tools` is empty for all tools; `have` maps a module to the digest that the caller has."""

    modules: tuple[str, ...]
    tools: tuple[str, ...]
    have: Mapping[str, Any]


async def get_module_schema(
    view: View, request: RequestContext, params: Params, record: Recorder, connection: Connect
) -> Result:
    """Answer with the permitted tools of the modules asked for. What does not exist for the caller is recorded."""

    async def connected(module: Module) -> dict[str, str]:
        return await connection(request, module)

    try:
        asked = _asked(params)
    except WrongRequest as wrong:
        return error_result(str(wrong))
    if not asked.modules:
        listed = [await _listed(module, connected) for module in view.modules.values()]
        return value_result({"modules": listed}, short=request.short_text)
    names = [(module, tool) for module in asked.modules for tool in asked.tools or ("",)]
    await record(request, len(names), [MissingName(*name, b"{}") for name in names if not _exists(view, *name)])
    shown = [await _shown(view, name, asked, connected) for name in asked.modules]
    if all(module.keys() == {"error"} for module in shown):
        return error_result(NO_SUCH_TOOL)
    return value_result({"modules": shown}, short=request.short_text)


async def _shown(view: View, name: str, asked: _Asked, connected: Connected) -> dict[str, Any]:
    """One module as the caller sees it, or the one text for what does not exist."""
    missing = [tool for tool in asked.tools or ("",) if not _exists(view, name, tool)]
    module = view.modules.get(name)
    if module is None or len(missing) == len(asked.tools or ("",)):
        return {"error": NO_SUCH_TOOL}
    head: dict[str, Any] = {"module": name, "digest": module.digest, **await connected(module.module)}
    if asked.have.get(name) == module.digest:
        return {**head, "unchanged": True}
    answer = {**head, "tools": _tools(view, module, asked.tools)}
    return {**answer, "error": NO_SUCH_TOOL} if missing else answer


def _exists(view: View, module: str, tool: str) -> bool:
    return (module, tool) in view.by_name if tool else module in view.modules


def _tools(view: View, module: ModuleView, only: tuple[str, ...]) -> list[Mapping[str, Any]]:
    if not only:
        return list(module.schemas.values())
    found = (view.by_name.get((module.module.name, tool)) for tool in only)
    return [module.schemas[name] for name in dict.fromkeys(tool.tool.name for tool in found if tool)]


async def _listed(module: ModuleView, connected: Connected) -> dict[str, Any]:
    head = {"module": module.module.name, "description": module.module.description, "digest": module.digest}
    return {**head, **await connected(module.module)}


def _asked(params: Params) -> _Asked:
    modules = _names(params.get("module"), "module", MOST_MODULES)
    return _Asked(modules, _names(params.get("tools"), "tools", MOST_TOOLS), _have(params.get("have"), modules))


def _names(value: Any, field: str, most: int) -> tuple[str, ...]:
    given: list[Any] = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(value, str | list | None) or not all(isinstance(name, str) for name in given):
        raise WrongRequest(f"{field} is a name or a list of names")
    if len(given) > most or any(len(name) > MOST_NAME for name in given):
        raise WrongRequest(f"{field} takes at most {most} names of at most {MOST_NAME} characters")
    return tuple(dict.fromkeys(given))


def _have(value: Any, modules: tuple[str, ...]) -> Mapping[str, Any]:
    if value is None:
        return {}
    if isinstance(value, str):
        return dict.fromkeys(modules, value)
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    raise WrongRequest("have is the digest you got, or an object {module: digest}")
