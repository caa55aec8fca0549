"""get_module_schema: what the caller may use of one or several modules, or "unchanged" when they have it already."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from gateway.mcp.context import Params, RequestContext, Result
from gateway.meta_tools.results import error_result, value_result
from gateway.sieve.sieve import ModuleView, View
from gateway.tool_runner import NO_SUCH_TOOL

MOST_MODULES = 20
MOST_TOOLS = 100
MOST_NAME = 64

Deny = Callable[[RequestContext, str, str, bytes], Awaitable[None]]


class WrongRequest(Exception):
    """The request has the wrong form; the text says what was expected."""


async def get_module_schema(view: View, request: RequestContext, params: Params, deny: Deny) -> Result:
    """Answer with the permitted tools of the modules asked for. What does not exist for the caller is recorded."""
    try:
        names, only = _names(params.get("module"), "module", MOST_MODULES), _only(params.get("tools"))
        have = _have(params.get("have"), names)
    except WrongRequest as wrong:
        return error_result(f"Error: {wrong}")
    if not names:
        return value_result({"modules": [_listed(module) for module in view.modules.values()]})
    shown = [await _module(view, request, name, only, have.get(name), deny) for name in names]
    if all("error" in module for module in shown):
        return error_result(NO_SUCH_TOOL)
    return value_result({"modules": shown})


async def _module(
    view: View, request: RequestContext, name: str, only: list[str] | None, have: str | None, deny: Deny
) -> dict[str, Any]:
    module = view.modules.get(name)
    missing = [tool for tool in only or [""] if (name, tool) not in view.by_name] if only or module is None else []
    for tool in missing:
        await deny(request, name, tool, b"{}")
    if module is None or (only and len(missing) == len(only)):
        return {"error": NO_SUCH_TOOL}
    if have == module.digest:
        return {"module": name, "digest": have, "unchanged": True, "connection": "ready"}
    tools = _tools(view, module, name, only)
    answer: dict[str, Any] = {"module": name, "digest": module.digest, "connection": "ready", "tools": tools}
    return {**answer, "error": NO_SUCH_TOOL} if missing else answer


def _tools(view: View, module: ModuleView, name: str, only: list[str] | None) -> list[Mapping[str, Any]]:
    if only is None:
        return list(module.schemas.values())
    wanted = dict.fromkeys(view.by_name[name, tool].tool.name for tool in only if (name, tool) in view.by_name)
    return [module.schemas[tool] for tool in wanted]


def _listed(module: ModuleView) -> dict[str, Any]:
    return {"module": module.module.name, "description": module.module.description, "digest": module.digest}


def _names(value: Any, field: str, most: int) -> list[str]:
    given: list[Any] = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(value, str | list | None) or not all(isinstance(name, str) for name in given):
        raise WrongRequest(f"{field} is a name or a list of names")
    if len(given) > most or any(len(name) > MOST_NAME for name in given):
        raise WrongRequest(f"{field} takes at most {most} names of at most {MOST_NAME} characters")
    return list(dict.fromkeys(given))


def _only(value: Any) -> list[str] | None:
    return _names(value, "tools", MOST_TOOLS) or None


def _have(value: Any, names: list[str]) -> Mapping[str, Any]:
    if value is None:
        return {}
    if isinstance(value, str):
        return dict.fromkeys(names, value)
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    raise WrongRequest("have is the digest you got, or an object {module: digest}")
