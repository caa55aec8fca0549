"""tools/call results: structured content beside the same as compact text (MCP 2025-06-18, Tools)."""

from typing import Any

import orjson
from pydantic import BaseModel

from gateway.mcp.context import Result

TOOL_FAILED = "the tool failed"
"""Where nothing else is known."""


def error_result(text: str) -> Result:
    """What a model can act on: errors inside the meta-tools are results, never protocol errors."""
    return {"content": [{"type": "text", "text": text}], "isError": True}


def value_result(value: dict[str, Any]) -> Result:
    """A result from plain JSON data."""
    return _result(orjson.dumps(value))


def model_result(model: BaseModel) -> Result:
    """A result from a tool's own model, encoded once."""
    return _result(model.__pydantic_serializer__.to_json(model, by_alias=True))


def _result(encoded: bytes) -> Result:
    text = {"type": "text", "text": encoded.decode()}
    return {"content": [text], "structuredContent": orjson.Fragment(encoded), "isError": False}
