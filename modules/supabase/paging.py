"""Places in lists that Supabase gives whole or by offset, as cursors of ours."""

from collections.abc import Sequence
from typing import Any, TypeVar, cast

from modules.kit.cursors import build_unknown_cursor_error, decode_cursor, encode_cursor

_MAX_OFFSET = 10**9
Item = TypeVar("Item")


def parse_offset(cursor: str | None) -> int:
    """Parse the offset out of a cursor; 0 for None.

    Raises:
        ToolError: the cursor is not one of :func:`build_offset_cursor`.
    """
    if cursor is None:
        return 0
    decoded = decode_cursor(cursor)
    values = cast("list[Any]", decoded) if isinstance(decoded, list) else []
    if len(values) != 1 or type(values[0]) is not int or not 0 < values[0] < _MAX_OFFSET:
        raise build_unknown_cursor_error()
    return values[0]


def build_offset_cursor(end: int, total: int) -> str:
    """Build the cursor for what follows `end`; "" where nothing does."""
    return encode_cursor([end]) if 0 < end < total else ""


def slice_page(items: Sequence[Item], start: int, per_page: int) -> tuple[list[Item], str]:
    """The page of a whole list that begins at `start`, and the cursor of the next.

    Raises:
        ToolError: the cursor does not belong to this list.
    """
    if start and start >= len(items):
        raise build_unknown_cursor_error()
    end = start + per_page
    return list(items[start:end]), build_offset_cursor(end, len(items))


def slice_text(text: str, start: int, budget: int) -> tuple[str, str]:
    """The part of a long text that begins at `start`, to the end of a line if there is one, and the cursor of the next.

    Raises:
        ToolError: the cursor does not belong to this text.
    """
    if start and start >= len(text):
        raise build_unknown_cursor_error()
    end = len(text)
    if end - start > budget:
        end = text.rfind("\n", start, start + budget) + 1 or start + budget
    return text[start:end], build_offset_cursor(end, len(text))
