"""What of a tool's content blocks fits a budget of tokens: whole blocks, long texts from their beginning, and before
them a description of the whole with a list of what is left.

Blocks are as they go over the wire. An image is counted as a model's provider counts it; what else is not text, such
as a sound, as its base64, which is what a client without a use for it hands on.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from core.token_estimate import count_tokens_up_to
from gateway.meta_tools.batch.text_format import cut_text, encode_compact_json
from gateway.results.fitting import LONG_TEXT, MAX_REMAINDERS, count_value, find_text_end
from gateway.results.partial import PARTIAL_FIELD

IMAGE_TOKENS = 1_600
"""Of one image, at most (Anthropic, Vision, Calculate image costs)."""
MAX_DATA_BYTES = 700 << 10
"""Of base64 in an answer, which has at most 1 MiB."""
Block = dict[str, Any]

_SHARES = (1.0, 0.8, 0.5, 0.0)
_DESCRIPTION = 8
"""The part of a budget, one in so many, that the list of what is left may take."""
_LEAST_TEXT = 20
"""Tokens below which no part of a text is shown."""
_MAX_URI = 200
_ENCODED = 1.1
"""How many times the estimate many short pieces of base64 take."""


class _Fit(NamedTuple):
    blocks: list[Block]
    tokens: int
    left: list[dict[str, Any]]


def is_content_within(blocks: Sequence[Block], budget: int) -> bool:
    """Check whether all blocks fit."""
    if sum(map(get_data_size, blocks)) > MAX_DATA_BYTES:
        return False
    for block in blocks:
        tokens = count_block(block, budget)
        if tokens is None:
            return False
        budget -= tokens
    return True


def count_block(block: Block, most: int) -> int | None:
    """Count the tokens of a block; None where it has more than `most`."""
    if block["type"] == "image":
        return IMAGE_TOKENS if most >= IMAGE_TOKENS else None
    if block["type"] == "text":
        return count_value(block["text"], most)
    tokens = count_value(block, most)
    return None if tokens is None or tokens * _ENCODED > most else int(tokens * _ENCODED) + 1


def get_data_size(block: Block) -> int:
    """Return how many bytes of base64 a block has."""
    return len(block.get("data", "")) + len(block.get("resource", {}).get("blob", ""))


def fit_content(blocks: Sequence[Block], budget: int, description: dict[str, Any]) -> list[Block]:
    """Return what is shown in place of blocks that do not fit: the `description` with what is left, then what fits."""
    room = budget - (count_value({PARTIAL_FIELD: description}, budget) or budget)
    for share in _SHARES:
        fit = _fit(blocks, int((room - room // _DESCRIPTION) * share))
        head = _render({**description, **_list_left(fit.left, room // _DESCRIPTION)})
        tokens = count_tokens_up_to(head["text"], budget)
        if tokens is not None and tokens + fit.tokens <= budget:
            return [head, *fit.blocks]
    return [_render(description)]


def _fit(blocks: Sequence[Block], budget: int) -> _Fit:
    """Give each block an equal share, the smallest first: what one does not need is the others'."""
    costs = [count_block(block, budget) for block in blocks]
    order = sorted(range(len(blocks)), key=lambda at: budget + 1 if costs[at] is None else costs[at] or 0)
    shown: dict[int, Block] = {}
    left: dict[int, dict[str, Any]] = {}
    tokens, data = 0, 0
    for number, at in enumerate(order):
        block, share = blocks[at], (budget - tokens) // (len(blocks) - number)
        cost = costs[at]
        if cost is not None and cost <= share and data + get_data_size(block) <= MAX_DATA_BYTES:
            shown[at] = block
            tokens += cost
            data += get_data_size(block)
            continue
        end = 0
        if block["type"] == "text" and len(block["text"]) > LONG_TEXT and share >= _LEAST_TEXT:
            end = find_text_end(block["text"], share, 0, len(block["text"]))
        if end:
            shown[at] = {**block, "text": block["text"][:end]}
            tokens += count_value(shown[at]["text"], share) or share
        left[at] = _describe_rest(at, block, end)
    return _Fit([shown[at] for at in sorted(shown)], tokens, [left[at] for at in sorted(left)])


def _describe_rest(at: int, block: Block, end: int) -> dict[str, Any]:
    """Describe what is left of a block: where to read it, of what kind and how large it is."""
    if block["type"] == "text":
        return {"path": f"content[{at}].text", "characters": len(block["text"]), "next": end}
    described: dict[str, Any] = {"path": f"content[{at}]", "type": block["type"]}
    inner = block.get("resource", block)
    for name in ("mimeType", "uri"):
        if inner.get(name):
            described[name] = cut_text(inner[name], _MAX_URI)
    if "text" in inner:
        return {**described, "characters": len(inner["text"])}
    encoded = inner.get("data") or inner.get("blob") or ""
    return {**described, "bytes": len(encoded) // 4 * 3 - encoded.count("=", -2)} if encoded else described


def _list_left(left: Sequence[dict[str, Any]], budget: int) -> dict[str, Any]:
    """List what is left, as far as it fits: the others are counted."""
    listed: list[dict[str, Any]] = []
    for one in left[:MAX_REMAINDERS]:
        tokens = count_value(one, budget)
        if tokens is None:
            break
        listed.append(one)
        budget -= tokens
    more = len(left) - len(listed)
    return ({"left": listed} if listed else {}) | ({"more_left": more} if more else {})


def _render(description: dict[str, Any]) -> Block:
    return {"type": "text", "text": (encode_compact_json({PARTIAL_FIELD: description}) or b"").decode()}
