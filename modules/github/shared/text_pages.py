"""Long texts page by page: files, diffs, logs, notes. A cursor holds where the next page begins, and which version of
the text the one before was of."""

import hashlib
from typing import Annotated, Any, NamedTuple, cast

from pydantic import Field

from modules.kit import ToolError, text_cleaning
from modules.kit.cursors import build_unknown_cursor_error, decode_cursor, encode_cursor
from modules.kit.result_texts import TextResult
from modules.kit.results import Count, Flag, ResultPage

PAGE_CHARACTERS = 60_000  # about 20,000 tokens


class TextPage(TextResult, ResultPage):
    """`hidden` invisible characters of this page were taken out."""

    text_field = "text"

    text: Annotated[str, Field(description="Whole lines are not promised at the ends of a page")] = ""
    hidden: Count = 0
    truncated: Flag = False


class Position(NamedTuple):
    """Where a page begins, and the version of the text that the page before was of; "" for the first page."""

    offset: int
    version: str


def parse_position(cursor: str | None) -> Position:
    """Parse a cursor of :func:`cut_page`.

    Raises:
        ToolError: it is none.
    """
    if cursor is None:
        return Position(0, "")
    decoded = decode_cursor(cursor)
    if not isinstance(decoded, list) or len(cast("list[Any]", decoded)) != 2:
        raise build_unknown_cursor_error()
    offset, version = cast("list[Any]", decoded)
    if type(offset) is not int or not 0 < offset < 10**8 or not isinstance(version, str):
        raise build_unknown_cursor_error()
    return Position(offset, version)


def cut_page(text: str, position: Position, what: str, *, version: str = "") -> TextPage:
    """Cut the page of `text` that begins at `position`. `what` names the text in an error; `version` changes with it,
    by default a checksum.

    Raises:
        ToolError: the text is another one than that of the page before.
    """
    end = position.offset + PAGE_CHARACTERS
    part = text[position.offset : end]
    visible = text_cleaning.clean_text(part)
    is_truncated = len(text) > end
    if position.version or is_truncated:  # else there is no other page
        version = version or compute_version(text.encode("utf-8", "surrogatepass"))
        check_version(position, what, version)
    next_cursor = encode_cursor([end, version]) if is_truncated else ""
    return TextPage(text=visible, hidden=len(part) - len(visible), truncated=is_truncated, nextCursor=next_cursor)


def compute_version(content: bytes) -> str:
    """Compute a short checksum, which is another for another content."""
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def check_version(position: Position, what: str, version: str) -> None:
    """Go on only if the text is still the one of the page before.

    Raises:
        ToolError: it has changed since.
    """
    if position.version and position.version != version:
        raise ToolError(f"{what} has changed since the page before: leave out cursor to read it from the beginning")
