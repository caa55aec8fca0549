"""Tools as a server that somebody else wrote may have them: their names and schemas keep to no provider's rules."""

from typing import Any

from pydantic import BaseModel

from gateway.catalogue import Catalogue, CatalogueTool
from modules.kit import Module, Tool
from tests.support.toy_modules import READS, Said

TREE = {"$ref": "#/$defs/Tree"}
TREES = {
    "type": "object",
    "properties": {"tree": TREE, "either": {"$ref": "#/$defs/Either"}, "whole": {"$ref": "#"}},
    "$defs": {
        "Tree": {"type": "object", "properties": {"kids": {"type": "array", "items": TREE}}, "required": ["kids"]},
        "Either": {"anyOf": [{"$ref": "#/$defs/Either"}, {"$ref": "#/$defs/Other"}, {"type": "string"}]},
        "Other": {"$ref": "#/$defs/Either"},
    },
}
SHOWN: dict[str, Any] = {
    "lists of types": {
        "type": "object",
        "properties": {
            "a": {"type": ["string", "null"], "enum": ["x", None]},
            "b": {"type": ["integer", "array", "object"], "minimum": 1, "description": "One or more"},
            "c": {},
            "d": True,
            "e": False,
            "f": {"type": "any"},
        },
    },
    "arrays": {
        "type": "object",
        "properties": {
            "a": {"type": "array"},
            "b": {"type": "array", "items": {}},
            "c": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}], "items": False},
            "d": {"type": "array", "items": [{"type": "number"}]},
            "e": {"items": {"type": "array"}},
        },
    },
    "values": {
        "type": "object",
        "properties": {
            "a": {"enum": [1, 2, 3], "description": "Level"},
            "b": {"enum": ["", "x"]},
            "c": {"const": "x"},
            "d": {"type": "string", "format": "uri", "pattern": "^(?!x).*$"},
            "e": {"type": "integer", "exclusiveMinimum": 0, "multipleOf": 5},
            "f": {"type": "string", "minLength": -1, "maxLength": "many", "pattern": "("},
            "g": {"type": "string", "default": None, "description": 7, "title": ["x"]},
        },
    },
    "alternatives at the top": {
        "oneOf": [
            {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
            {"properties": {"id": {"type": "string"}, "name": {"type": "string"}}, "required": ["id", "name"]},
            {"type": "string"},
        ]
    },
    "alternatives within": {
        "type": "object",
        "properties": {
            "a": {"oneOf": [{"type": "string"}, {"type": "integer"}], "description": "Either"},
            "b": {"type": "object", "properties": {"x": {}}, "anyOf": [{"required": ["x"]}, {"required": ["y"]}]},
            "c": {"anyOf": []},
            "d": {"not": {"type": "string"}, "if": {}, "then": {}, "patternProperties": {"^x": {}}},
        },
    },
    "what holds at once": {
        "allOf": [TREE, {"properties": {"more": {"type": "string"}}, "required": ["more", "missing"]}],
        "$defs": TREES["$defs"],
    },
    "trees": TREES,
    "elsewhere": {
        "type": "object",
        "properties": {
            "a": {"$ref": "https://example.org/schema"},
            "b": {"$ref": "#/nothing"},
            "c": {"$ref": "#/$ref"},
        },
    },
    "optional names": {
        "type": "object",
        "properties": {
            "件名": {"type": "string"},
            "$top": {"type": "integer"},
            "x" * 65: {},
            "fine": {"type": "string"},
        },
        "additionalProperties": {"type": ["string", "number"]},
    },
    "nothing": {},
}
"""Each is shown, adapted."""
HIDDEN: dict[str, tuple[Any, str]] = {
    "no object": ({"type": "array", "items": {}}, "its arguments are no object"),
    "a required name": (
        {"type": "object", "properties": {"件名": {"type": "string"}}, "required": ["件名"]},
        'model providers refuse the name of its argument "件名"',
    ),
    "many parts": (
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/d0"}},
            "$defs": {
                f"d{n}": {"type": "object", "properties": {f"p{i}": {"$ref": f"#/$defs/d{n + 1}"} for i in range(10)}}
                for n in range(10)
            },
        },
        "its schema has more than 2000 parts",
    ),
    "long texts": (
        {"type": "object", "properties": {f"p{n}": {"type": "string", "description": "月" * 900} for n in range(50)}},
        "its schema takes more than 64 KiB",
    ),
}
"""Each is left out, for this reason."""
NAMES = ("日本語", "x" * 200, "with blanks and / signs", "9 lives", "-", "", "日本誤", "x" * 201)


def build_hostile_catalogue() -> Catalogue:
    """Build a catalogue of a module ``日本`` with a tool for every schema and every name, past all checks."""
    schemas = {f"shown {name}": schema for name, schema in SHOWN.items()}
    schemas |= {f"hidden {name}": schema for name, (schema, _) in HIDDEN.items()}
    tools = [_build_tool(name, schema) for name, schema in schemas.items()]
    tools += [_build_tool(name, {"type": "object"}) for name in NAMES]
    module = Module("日本", "Japan", "Hostile.", frozenset({"x"}), tuple(tools))
    return Catalogue((module,), {module.name: tuple(CatalogueTool(module, tool) for tool in tools)})


def _build_tool(name: str, schema: dict[str, Any]) -> Tool:
    class Arguments(BaseModel):
        @classmethod
        def model_json_schema(cls, *_arguments: Any, **_options: Any) -> dict[str, Any]:
            return dict(schema)

    async def run(_context: Any) -> Said:
        return Said(said="")

    return Tool(name, name, "All about it. " * 100, READS, frozenset({"x"}), (), frozenset(), Arguments, Said, run)
