"""The three definitions that a client loads at start: the same size for ten tools and for ten thousand."""

from functools import lru_cache
from typing import Any

from gateway.sieve.sieve import View

MOST_MODULES = 12

_NAME = {"type": "string"}
_NAMES = {"type": "array", "items": _NAME}
_OBJECTS = {"type": "array", "items": {"type": "object"}}

_SCHEMA = """Schemas of the tools you can use. Read a module's once, then call its tools. With the digest you got as \
`have`, asking again is cheap.
Modules:
"""
_CALL = "Run one tool; `params` as its schema says."
_BATCH = """Run up to 50 tools: JSONL or array of {id, module, tool_name, params, after?, output?, on_error?}. \
`${id.path[0].field}` in params takes a value from the result of step id and waits for it; `after: [id]` only waits. \
Others run in parallel. Only steps with output: true return results. on_error: skip dependents (default) or stop. \
All is checked before anything runs."""


@lru_cache(maxsize=1024)
def definitions(view: View) -> dict[str, Any]:
    """The result of tools/list for whoever sees `view`; in a fixed order."""
    return {"tools": [_get_module_schema(view), _call(), _batch()]}


def module_lines(view: View) -> str:
    """Up to twelve modules, one line each, then a pointer."""
    shown = list(view.modules.values())[:MOST_MODULES]
    lines = [f"- {one.module.name}: {one.module.description}" for one in shown]
    more = len(view.modules) - len(shown)
    if more:
        lines.append(f"- and {more} more: call this without `module` for all names")
    return "\n".join(lines) if lines else "- none yet: ask your administrator for a role"


def _get_module_schema(view: View) -> dict[str, Any]:
    properties = {
        "module": {"anyOf": [_NAME, _NAMES]},
        "tools": {**_NAMES, "description": "Only these"},
        "have": {"type": ["string", "object"], "description": "Digest, or {module: digest}"},
    }
    return {
        "name": "get_module_schema",
        "description": _SCHEMA + module_lines(view),
        "inputSchema": _object(properties),
        "outputSchema": _object({"modules": _OBJECTS}, "modules"),
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    }


def _call() -> dict[str, Any]:
    properties = {"module": _NAME, "tool_name": _NAME, "params": {"type": "object"}}
    return {
        "name": "call",
        "description": _CALL,
        "inputSchema": _object(properties, "module", "tool_name"),
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": False, "destructiveHint": True},
    }


def _batch() -> dict[str, Any]:
    properties = {
        "commands": {"anyOf": [{"type": "string"}, _OBJECTS]},
        "dry_run": {"type": "boolean", "description": "Only show the plan"},
    }
    return {
        "name": "batch",
        "description": _BATCH,
        "inputSchema": _object(properties, "commands"),
        "outputSchema": {"type": "object", "properties": {"steps": _OBJECTS}},
        "annotations": {"readOnlyHint": False, "destructiveHint": True},
    }


def _object(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": list(required)} if required else schema
