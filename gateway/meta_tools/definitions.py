"""Instructions and three tool definitions that a client loads at start: as long for ten tools as for ten thousand."""

from functools import lru_cache
from typing import Any

from gateway.sieve.sieve import SieveView

MAX_LISTED_MODULES = 12

_NAME = {"type": "string"}
_NAMES = {"type": "array", "items": _NAME}
_OBJECTS = {"type": "array", "items": {"type": "object"}}
# OpenAI's strict mode, and libraries that prepare schemas for it, take an object without this for an empty one.
_OPEN = {"type": "object", "additionalProperties": True}
# Claude Code loads MCP tools late unless they say this; three are nothing worth saving.
_LOAD_AT_ONCE = {"anthropic/alwaysLoad": True}

_INSTRUCTIONS = """MCPist gives you tools for the user's own services and data. They are in modules and not listed: \
read a module's schemas with get_module_schema, run its tools with call, or several with batch.
Modules:
"""
_PLAIN_INSTRUCTIONS = "MCPist gives you tools for the user's own services and data: "
_SCHEMA = """Schemas of the tools you can use: find some by `query`, or read a module's once. Without both: what \
each is for.
Modules: """
_CALL = "Run one tool; `params` as its schema says."
_BATCH = """Run up to 50 tools: JSONL or array of {id, module, tool_name, params, after?, output?, max_tokens?, \
on_error?}. `${id.path[0].field}` in params takes a value from the result of step id and waits for it; \
`after: [id]` only waits. Others run in parallel. Only steps with output: true return results. on_error: skip \
dependents (default) or stop. All is checked before anything runs."""


@lru_cache(maxsize=1024)
def build_definitions(view: SieveView, *, has_tasks: bool = False) -> dict[str, Any]:
    """Build the result of tools/list for a caller's `view`, in a fixed order. `has_tasks`: tools can be run as tasks,
    which one revision of the protocol says here."""
    execution = {"execution": {"taskSupport": "optional"}} if has_tasks else {}
    return {"tools": [_define_get_module_schema(view), _define_call() | execution, _define_batch() | execution]}


@lru_cache(maxsize=1024)
def build_instructions(view: SieveView) -> str:
    """Build the instructions: what MCPist is, and up to twelve modules, one line each, then a pointer."""
    listed = list(view.modules.values())[:MAX_LISTED_MODULES]
    lines = [f"- {module.module.name}: {module.module.description}" for module in listed]
    omitted = len(view.modules) - len(listed)
    if omitted:
        lines.append(f"- and {omitted} more: get_module_schema without `module` lists all")
    return _INSTRUCTIONS + ("\n".join(lines) if lines else "- none yet: the user's administrator gives them a role")


@lru_cache(maxsize=1024)
def build_plain_instructions(view: SieveView) -> str:
    """Build the instructions for a client without the three tools, whose tools say the rest."""
    return _PLAIN_INSTRUCTIONS + _format_module_names(view)


def _format_module_names(view: SieveView) -> str:
    """Up to twelve names, and how many more there are."""
    names = list(view.modules)
    omitted = len(names) - MAX_LISTED_MODULES
    return (
        ", ".join(names[:MAX_LISTED_MODULES]) + (f" and {omitted} more" if omitted > 0 else "") if names else "none yet"
    )


def _define_get_module_schema(view: SieveView) -> dict[str, Any]:
    properties = {
        "module": {"anyOf": [_NAME, _NAMES]},
        "tools": _NAMES,
        "query": _NAME,
        "detail": {"type": "string", "enum": ["full", "brief", "names"]},
        "cursor": _NAME,
        "have": {"anyOf": [_NAME, _OPEN], "description": "Digest, or {module: digest}"},
    }
    return {
        "name": "get_module_schema",
        "description": _SCHEMA + _format_module_names(view),
        "inputSchema": _build_object_schema(properties),
        "outputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
        "_meta": _LOAD_AT_ONCE,
    }


def _define_call() -> dict[str, Any]:
    properties = {"module": _NAME, "tool_name": _NAME, "params": _OPEN, "max_tokens": {"type": "integer"}}
    return {
        "name": "call",
        "description": _CALL,
        # No output schema: a tool may answer with content alone, which clients refuse where there is one.
        "inputSchema": _build_object_schema(properties, "module", "tool_name"),
        "annotations": {"readOnlyHint": False, "destructiveHint": True},
        "_meta": _LOAD_AT_ONCE,
    }


def _define_batch() -> dict[str, Any]:
    properties = {
        "commands": {"anyOf": [_NAME, {"type": "array", "items": _OPEN}]},
        "dry_run": {"type": "boolean", "description": "Only plan"},
    }
    return {
        "name": "batch",
        "description": _BATCH,
        "inputSchema": _build_object_schema(properties, "commands"),
        "outputSchema": {"type": "object", "properties": {"steps": _OBJECTS}},
        "annotations": {"readOnlyHint": False, "destructiveHint": True},
        "_meta": _LOAD_AT_ONCE,
    }


def _build_object_schema(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": list(required)} if required else schema
