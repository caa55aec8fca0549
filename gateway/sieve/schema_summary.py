"""A JSON Schema as a short sketch of its shape, for a model that wants to refer to a result: ``{items: [{id: str}]}``.

A full output schema costs three times the tokens and tells a model nothing more.
"""

from collections.abc import Mapping
from typing import Any

TYPE_WORDS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "null"}
MAX_DEPTH = 6


def summarize_schema(schema: Mapping[str, Any]) -> str:
    """Summarize the shape of what a schema describes; optional properties end with ``?``."""
    return _summarize(schema, schema.get("$defs", {}), 0)


def _summarize(schema: Mapping[str, Any], definitions: Mapping[str, Any], depth: int) -> str:
    if depth > MAX_DEPTH:
        return "any"
    if "$ref" in schema:
        return _summarize(definitions.get(schema["$ref"].rsplit("/", 1)[-1], {}), definitions, depth + 1)
    if "anyOf" in schema:
        return "|".join(_summarize(option, definitions, depth + 1) for option in schema["anyOf"])
    if "enum" in schema:
        return "|".join(f'"{value}"' for value in schema["enum"])
    if schema.get("type") == "array":
        return f"[{_summarize(schema.get('items', {}), definitions, depth + 1)}]"
    if "properties" in schema:
        return _summarize_properties(schema, definitions, depth)
    return TYPE_WORDS.get(schema.get("type", ""), "any")


def _summarize_properties(schema: Mapping[str, Any], definitions: Mapping[str, Any], depth: int) -> str:
    required = schema.get("required", [])
    fields = (
        f"{name}{'' if name in required else '?'}: {_summarize(inner, definitions, depth + 1)}"
        for name, inner in schema["properties"].items()
    )
    return "{" + ", ".join(fields) + "}"
