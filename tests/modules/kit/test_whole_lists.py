"""Lists and texts that come whole, read to their end page by page, and cursors of another list."""

import pytest
from pydantic import BaseModel

from modules.kit import ToolError
from modules.kit.paging import parse_cursor
from modules.kit.results import ReadRows
from modules.kit.whole_lists import WHOLE, cut_page, cut_text


class Thing(BaseModel):
    id: int


def read_rows(number: int, unreadable: int = 0) -> ReadRows[Thing]:
    return ReadRows([Thing(id=one) for one in range(number)], unreadable)


@pytest.mark.parametrize(("number", "pages"), [(0, 1), (1, 1), (2, 1), (3, 2), (4, 2), (5, 3)])
def test_a_list_is_cut_to_its_last_page(number: int, pages: int) -> None:
    found: list[int] = []
    cursor, asked_for = None, 0
    while cursor != "":
        page = cut_page(parse_cursor(cursor, WHOLE, "list", 2), read_rows(number, unreadable=1))
        found += [one.id for one in page.rows]
        assert (page.fields["total"], page.fields["unreadable"]) == (number + 1, 1)
        cursor, asked_for = page.fields["nextCursor"], asked_for + 1
    assert (found, asked_for) == (list(range(number)), pages)


@pytest.mark.parametrize("text", ["", "abc", "0123456789abc", "one\ntwo\nthree four\n", "0123456789", "日本語\n" * 9])
def test_a_text_is_cut_to_its_end(text: str) -> None:
    parts: list[str] = []
    cursor = None
    while cursor != "":
        part, cursor, _ = cut_text(parse_cursor(cursor, WHOLE, "text", 1), text, 10)
        assert len(part) <= 10
        parts.append(part)
    assert "".join(parts) == text
    assert all(part.endswith("\n") for part in parts[:-1] if "\n" in part)


def test_a_cursor_that_leads_behind_the_end() -> None:
    cursor = cut_page(parse_cursor(None, WHOLE, "list", 2), read_rows(3)).fields["nextCursor"]
    with pytest.raises(ToolError, match="cursor"):
        cut_page(parse_cursor(cursor, WHOLE, "list", 2), read_rows(2))
    with pytest.raises(ToolError, match="cursor"):
        cut_text(parse_cursor(cursor, WHOLE, "list", 2), "ab")
    with pytest.raises(ToolError, match="cursor"):
        parse_cursor(cursor, WHOLE, "another list", 2)
