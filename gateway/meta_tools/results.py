"""tools/call results: structured content beside the same as compact text (MCP 2025-06-18, Tools), or beside the
result's own text; or content blocks alone.

Where the client is known to show its model the structured part, the text only says where the result is.
"""

from typing import Any

import orjson
from pydantic import BaseModel

from gateway.mcp.request_context import Result
from modules.kit.result_texts import TextResult, build_result_text
from modules.kit.untrusted import UNTRUSTED, UNTRUSTED_FIELD

TOOL_FAILED = "the tool failed"
"""Where nothing else is known."""
SHORT_TEXT = "The result is in structuredContent."
_MARK = orjson.dumps({UNTRUSTED_FIELD: UNTRUSTED})


def build_error_result(text: str, error_object: dict[str, Any] | None = None, *, short: bool = False) -> Result:
    """Build an error that a model can act on: errors inside the meta-tools are results, never protocol errors. The
    object of an error with a code stands behind the text, too."""
    if error_object is None:
        return {"content": [{"type": "text", "text": text}], "isError": True}
    encoded = orjson.dumps(error_object)
    shown = text if short else f"{' '.join(text.split())}\n{encoded.decode()}"
    return {
        "content": [{"type": "text", "text": shown}],
        "structuredContent": orjson.Fragment(encoded),
        "isError": True,
    }


def build_value_result(value: dict[str, Any], *, short: bool) -> Result:
    """Build a result from plain JSON data."""
    return _build_result(orjson.dumps(value), short)


def build_model_result(model: BaseModel, *, short: bool, untrusted: bool = False) -> Result:
    """Build a result from a tool's own model, encoded once. One that is `untrusted` begins with the mark."""
    return build_encoded_result(model, encode_model(model, untrusted), short)


def encode_model(model: BaseModel, untrusted: bool) -> bytes:
    """Encode a tool's own model as JSON. One that is `untrusted` begins with the mark."""
    encoded = model.__pydantic_serializer__.to_json(model, by_alias=True)
    if untrusted:
        return _MARK if encoded == b"{}" else b"%b,%b" % (_MARK[:-1], encoded[1:])
    return encoded


def build_encoded_result(model: BaseModel, encoded: bytes, short: bool) -> Result:
    """Build a result from a tool's own model and its JSON."""
    own_text = build_result_text(model) if not short and isinstance(model, TextResult) else None
    return _build_result(encoded, short, own_text)


def _build_result(encoded: bytes, short: bool, own_text: str | None = None) -> Result:
    text = SHORT_TEXT if short and len(encoded) > len(SHORT_TEXT) else own_text or encoded.decode()
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": orjson.Fragment(encoded),
        "isError": False,
    }
