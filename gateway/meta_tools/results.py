"""tools/call results: structured content beside the same as compact text (MCP 2025-06-18, Tools), or beside the
result's own text; or content blocks alone.

Where the client is known to show its model the structured part, the text only says where the result is.
"""

from typing import Any

import orjson
from pydantic import BaseModel

from gateway.capabilities.content import build_block
from gateway.mcp.request_context import Result
from gateway.results.fitting import count_value, find_text_end
from modules.kit import ContentBlock, ContentResult, TextBlock
from modules.kit.result_texts import TextResult, build_result_text
from modules.kit.untrusted import UNTRUSTED, UNTRUSTED_FIELD

TOOL_FAILED = "the tool failed"
"""Where nothing else is known."""
SHORT_TEXT = "The result is in structuredContent."
CUT_TEXT = "… (cut: {left} of {all} characters are left out; ask for less, or give a larger max_tokens)"
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


def build_content_result(content: ContentResult, budget: int, *, untrusted: bool) -> Result:
    """Build a result that is made of content blocks. Its texts have `budget` tokens together; images, sounds and
    resources are limited by their bytes, as every result is. One that is `untrusted` begins with the mark."""
    blocks: list[ContentBlock] = [TextBlock(text=UNTRUSTED)] if untrusted else []
    for block in content.content:
        if isinstance(block, TextBlock):
            block, budget = _cut_block(block, budget)
        blocks.append(block)
    return {"content": [build_block(block) for block in blocks], "isError": False}


def describe_content(content: ContentResult) -> str:
    """Describe content blocks as one text, for whoever cannot be shown them: texts, and the names of the others."""
    return "\n".join(_describe_block(block) for block in content.content)


def _describe_block(block: ContentBlock) -> str:
    if isinstance(block, TextBlock):
        return block.text
    source = getattr(block, "uri", "") or getattr(block, "mime_type", "") or getattr(block, "resource", block)
    return f"[{block.type}: {getattr(source, 'uri', source)}]"


def _cut_block(block: TextBlock, budget: int) -> tuple[TextBlock, int]:
    """Cut a text to what is left of the budget, and return what is left then."""
    count = count_value(block.text, budget)
    if count is not None:
        return block, budget - count
    end = find_text_end(block.text, budget, 0, len(block.text))
    note = CUT_TEXT.format(left=len(block.text) - end, all=len(block.text))
    return TextBlock(text=block.text[:end] + note), 0


def _build_result(encoded: bytes, short: bool, own_text: str | None = None) -> Result:
    text = SHORT_TEXT if short and len(encoded) > len(SHORT_TEXT) else own_text or encoded.decode()
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": orjson.Fragment(encoded),
        "isError": False,
    }
