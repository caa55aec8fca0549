"""Lists and texts that a vendor gives whole, cut into pages of ours::

    asked = parse_cursor(cursor, WHOLE, address, per_page)
    read = await read_rows(answer, Bucket, answer.read(list[Any]))
    page = cut_page(asked, read)
    return Buckets(buckets=page.rows, **page.fields)

The vendor is asked for the whole each time: what changed meanwhile may stand on two pages, or on none.
"""

from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import BaseModel

from modules.kit.cursors import build_unknown_cursor_error
from modules.kit.paging import Offset, RequestedPage, format_cursor
from modules.kit.results import PAGE_CHARACTERS, ReadRows
from modules.kit.text_cleaning import clean_text

Row = TypeVar("Row", bound=BaseModel)

WHOLE = Offset(size="", parameter="from")
"""The way of paging of such a list: `from` says how much comes before a page."""


class CutPage(NamedTuple, Generic[Row]):
    """One page. `fields` are those of :class:`modules.kit.results.CountedPage`."""

    rows: list[Row]
    fields: dict[str, Any]


class TextWindow(NamedTuple):
    """A part of a text less its `hidden` invisible characters, and our cursor for the rest, "" behind the last."""

    text: str
    next_cursor: str
    hidden: int = 0


def get_start(asked: RequestedPage) -> int:
    """Return how much of the whole comes before the page that is asked for."""
    return int(asked.place.get("from", 0))


def cut_page(asked: RequestedPage, read: ReadRows[Row]) -> CutPage[Row]:
    """Cut the page that is asked for out of all rows.

    Raises:
        ToolError: the cursor leads behind the last row.
    """
    start, end = get_start(asked), get_start(asked) + asked.size
    check_start(asked, len(read.rows))
    fields = {
        "nextCursor": format_cursor_from(asked, end, len(read.rows)),
        "unreadable": read.unreadable,
        "total": len(read.rows) + read.unreadable,
    }
    return CutPage(read.rows[start:end], fields)


def cut_text(asked: RequestedPage, text: str, budget: int = PAGE_CHARACTERS) -> TextWindow:
    """Cut the part of a long text that is asked for: at most `budget` characters, to the end of a line if there is one.
    What is invisible is taken out of it, and counted.

    Raises:
        ToolError: the cursor leads behind the end.
    """
    start, end = get_start(asked), len(text)
    check_start(asked, len(text))
    if end - start > budget:
        end = text.rfind("\n", start, start + budget) + 1 or start + budget
    part = text[start:end]
    visible = clean_text(part)
    return TextWindow(visible, format_cursor_from(asked, end, len(text)), len(part) - len(visible))


def check_start(asked: RequestedPage, length: int) -> None:
    """Check that the page begins within the whole.

    Raises:
        ToolError: it does not: the cursor is that of another list.
    """
    if asked.place and get_start(asked) >= length:
        raise build_unknown_cursor_error()


def format_cursor_from(asked: RequestedPage, end: int, length: int) -> str:
    """Format the cursor for what follows `end`; "" where nothing does."""
    return format_cursor(asked, {"from": end}) if 0 < end < length else ""
