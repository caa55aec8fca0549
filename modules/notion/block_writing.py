"""Writing blocks within Notion's limits on one request (https://developers.notion.com/reference/request-limits):
100 blocks in a list, 1,000 in all, and two levels of children."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

from pydantic import BaseModel

from modules.kit import Context, ToolError, VendorAnswer, VendorProblem, build_path
from modules.notion import rest_client

Block = dict[str, Any]

MAX_CHILDREN = 100
MAX_BLOCKS = 1_000
MAX_LEVELS = 2
_WHOLE = frozenset({"table", "column_list", "column"})
"""Blocks that cannot be made without children."""


def get_children(block: Block) -> list[Block]:
    """The children within a block of a request."""
    return cast("list[Block]", block[block["type"]].get("children") or [])


def fits_at_once(blocks: Sequence[Block]) -> bool:
    """Check whether one request may hold all of these."""
    return (
        len(blocks) <= MAX_CHILDREN
        and _count(blocks) <= MAX_BLOCKS
        and all(_count_levels(block) <= MAX_LEVELS and _is_narrow(block) for block in blocks)
    )


def _count(blocks: Sequence[Block]) -> int:
    return sum(1 + _count(get_children(block)) for block in blocks)


def _count_levels(block: Block) -> int:
    return max((1 + _count_levels(child) for child in get_children(block)), default=0)


def _is_narrow(block: Block) -> bool:
    children = get_children(block)
    return len(children) <= MAX_CHILDREN and all(map(_is_narrow, children))


class _AddedBlocks(BaseModel):
    results: list[dict[str, Any]]


async def append_blocks(context: Context, parent: str, blocks: Sequence[Block], *, after: str = "") -> list[str]:
    """Append blocks to a block or page, behind the child `after` if it is given; the ids of the new ones.

    Raises:
        ToolError: Notion refused a part; the text says how much was written.
    """
    ids: list[str] = []
    for batch in _divide(blocks):
        try:
            ids += await _append_batch(context, parent, batch, after)
        except ToolError as problem:
            raise _tell_progress(problem, ids, len(blocks)) from None
        after = ids[-1] if after and ids else ""
    return ids


def _divide(blocks: Sequence[Block]) -> Iterator[list[tuple[Block, list[Block]]]]:
    """Divide blocks into batches: each block as it is sent, and the children that follow when it has an id."""
    batch: list[tuple[Block, list[Block]]] = []
    size = 0
    for block in blocks:
        sent, later = _shorten(block)
        if batch and (len(batch) == MAX_CHILDREN or size + _count([sent]) > MAX_BLOCKS):
            yield batch
            batch, size = [], 0
        batch.append((sent, later))
        size += _count([sent])
    if batch:
        yield batch


def _shorten(block: Block) -> tuple[Block, list[Block]]:
    if fits_at_once([block]):
        return block, []
    kind = block["type"]
    children = get_children(block)
    kept = children[:MAX_CHILDREN] if kind in _WHOLE else []
    content = {name: value for name, value in block[kind].items() if name != "children"}
    shortened = {"type": kind, kind: {**content, "children": kept} if kept else content}
    if not fits_at_once([shortened]):
        raise ToolError(f"a {kind} holds more levels than Notion takes: make it flatter")
    return shortened, children[len(kept) :]


async def _append_batch(
    context: Context, parent: str, batch: Sequence[tuple[Block, list[Block]]], after: str
) -> list[str]:
    body: dict[str, Any] = {"children": [sent for sent, _ in batch]}
    if after:
        body["after"] = after
    address = build_path("/v1/blocks/{}/children", parent)
    answer = await rest_client.send_request(context, "PATCH", address, json=body)
    ids = _read_ids(answer, len(batch))
    for (_, later), one in zip(batch, ids, strict=True):
        if later:
            try:
                await append_blocks(context, one, later)
            except ToolError as problem:
                raise ToolError(f"{problem.text}. The block {one} was written, but not all of what is in it") from None
    return ids


def _read_ids(answer: VendorAnswer, count: int) -> list[str]:
    ids = [one.get("id") for one in answer.read(_AddedBlocks).results[:count]]
    # With `after`, Notion answers with the blocks that follow, too.
    if len(ids) < count or not all(isinstance(one, str) for one in ids):
        raise answer.build_unreadable_problem()
    return [str(one) for one in ids]


def _tell_progress(problem: ToolError, ids: Sequence[str], total: int) -> ToolError:
    if not ids:
        return problem
    text = f"{problem.text}. Of {total} blocks {len(ids)} were written before, the last is {ids[-1]}"
    is_unknown = isinstance(problem, VendorProblem) and problem.unknown
    return ToolError(text if is_unknown else f"{text}: go on behind it, do not begin anew")
