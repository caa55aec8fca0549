"""What model providers take as a function's declaration: by their own SDKs, and by the rules that only their servers
check.

The servers' rules are those of their errors: OpenAI "schema must have type 'object' and not have 'oneOf'/'anyOf'/
'allOf'/'enum'/'not' at the top level", "array schema missing items", "string too long. Expected a string with maximum
length 1024"; Gemini "only 'enum' and 'date-time' are supported for STRING type", "enum: only allowed for STRING type",
"enum[3]: cannot be empty", "items: missing field", "Proto field is not repeating, cannot start list" (of `type`),
"schema didn't specify the schema type field", "property is not defined".
"""

import copy
import re
from collections.abc import Iterator
from typing import Any, cast

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
PARAMETER_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
FORMATS = {"string": {"date-time", "enum"}, "number": {"float", "double"}, "integer": {"int32", "int64"}}


def list_breaches(definition: dict[str, Any]) -> list[str]:
    """List what a provider would refuse in the definition of a tool."""
    name, schema = definition["name"], definition["inputSchema"]
    found = [*_check_by_gemini(name, definition), *_check_by_openai(name, definition)]
    if not NAME.fullmatch(name):
        found.append(f"name {name}")
    if not definition["description"] or len(definition["description"]) > 1_024:
        found.append("description")
    if schema.get("type") != "object" or {"anyOf", "oneOf", "allOf", "enum", "not"} & schema.keys():
        found.append("top level")
    return [f"{name}: {one}" for one in (*found, *_check_part(schema, "$"))]


def _check_by_gemini(name: str, definition: dict[str, Any]) -> Iterator[str]:
    from google.genai.types import FunctionDeclaration, JSONSchema, Schema

    try:
        schema = Schema.from_json_schema(
            json_schema=JSONSchema.model_validate(copy.deepcopy(definition["inputSchema"])),
            api_option="GEMINI_API",
            raise_error_on_unsupported_field=True,
        )
        FunctionDeclaration(name=name, description=definition["description"], parameters=schema)
    except ValueError as error:
        yield f"google-genai: {error}"


def _check_by_openai(name: str, definition: dict[str, Any]) -> Iterator[str]:
    from openai.lib._pydantic import _ensure_strict_json_schema  # pyright: ignore[reportPrivateUsage]
    from openai.types.responses.function_tool import FunctionTool

    parameters = copy.deepcopy(definition["inputSchema"])
    try:
        FunctionTool.model_validate(
            {"type": "function", "name": name, "description": definition["description"], "parameters": parameters},
            strict=True,
        )
        # Follows each reference and wants an object in each place of a schema.
        _ensure_strict_json_schema(parameters, path=(), root=parameters)
    except (AssertionError, KeyError, TypeError, ValueError) as error:
        yield f"openai: {error}"


def _check_part(part: Any, path: str) -> Iterator[str]:
    if not isinstance(part, dict):
        yield f"{path} is no schema"
        return
    schema = cast("dict[str, Any]", part)
    kind = schema.get("type")
    if unknown := schema.keys() & {"$ref", "$defs", "oneOf", "allOf", "not", "const", "if", "patternProperties"}:
        yield f"{path} has {sorted(unknown)}"
    if not isinstance(kind, str) and "anyOf" not in schema:
        yield f"{path} has the type {kind}"
    if "format" in schema and schema["format"] not in FORMATS.get(str(kind), ()):
        yield f"{path} has the format {schema['format']}"
    if "enum" in schema and (kind != "string" or not all(isinstance(one, str) and one for one in schema["enum"])):
        yield f"{path} has the enum {schema['enum']}"
    if kind == "array" and not schema.get("items"):
        yield f"{path} has no items"
    if kind != "object" and {"properties", "required"} & schema.keys():
        yield f"{path} has properties and is no object"
    properties: dict[str, Any] = schema.get("properties", {})
    if undefined := set(schema.get("required", ())) - properties.keys():
        yield f"{path} requires {undefined}"
    for name, one in properties.items():
        if not PARAMETER_NAME.fullmatch(name):
            yield f"{path} has the argument {name}"
        yield from _check_part(one, f"{path}.{name}")
    if "items" in schema:
        yield from _check_part(schema["items"], f"{path}[]")
    for one in schema.get("anyOf", ()):
        yield from _check_part(one, f"{path}|")
    if isinstance(schema.get("additionalProperties", False), dict):
        yield from _check_part(schema["additionalProperties"], f"{path}.*")
