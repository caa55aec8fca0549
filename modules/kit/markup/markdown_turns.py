"""Converting long Markdown in parts, and serving others in between (docs/decisions/0060-one-parser-of-markdown.md)."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from modules.kit.markup.markdown_blocks import parse_tree_in_parts
from modules.kit.markup.markdown_tree import Container, Leaf

_Block = TypeVar("_Block")


async def convert_in_turns(
    markdown: str,
    convert: Callable[[Sequence[Container | Leaf]], list[_Block]],
    join_lists: Callable[[_Block, _Block], bool] | None = None,
) -> list[_Block]:
    """What `convert` makes of a text, some thousand characters at a time. One paragraph, table or quote is not divided.

    Args:
        markdown: the text.
        convert: makes blocks of a format out of those of Markdown.
        join_lists: adds what is in the second of two blocks, where a list was divided, to the first; false where the
            one is another list than the other. None for a format without lists around items.
    """
    made: list[_Block] = []
    last: Container | Leaf | None = None
    for parts in parse_tree_in_parts(markdown):
        if last is not None:
            await asyncio.sleep(0)
        blocks = convert(parts)
        if join_lists and last is not None and _are_one_list(last, parts[0]) and join_lists(made[-1], blocks[0]):
            del blocks[0]
        made += blocks
        last = parts[-1] if parts else None
    return made


def _are_one_list(first: Container | Leaf, second: Container | Leaf) -> bool:
    if isinstance(first, Leaf) or isinstance(second, Leaf) or first.kind != "item" or second.kind != "item":
        return False
    return first.marker[-1] == second.marker[-1]
