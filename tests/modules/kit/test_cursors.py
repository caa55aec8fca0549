"""Cursors that somebody may have changed."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modules.kit import ToolError
from modules.kit.cursors import build_next_cursor, parse_paging

LINK = (
    '<https://api.github.test/x?page=1>; rel="prev", <https://api.github.test/x?q=a%2Cb&page=3&per_page=9>; rel="next"'
)


def test_a_cursor_holds_the_page_and_its_size() -> None:
    assert parse_paging(build_next_cursor(LINK, 30), 100) == {"per_page": "9", "page": "3"}
    assert parse_paging(build_next_cursor('<https://evil.test/steal?page=2>; rel="next"', 30), 100) == {
        "per_page": "30",
        "page": "2",
    }
    keyed = '<https://api.github.test/x?after=Y3Vyc29yOnYy&per_page=2>; rel="next", <…>; rel="last"'
    assert parse_paging(build_next_cursor(keyed, 2), 30) == {"per_page": "2", "after": "Y3Vyc29yOnYy"}


@pytest.mark.parametrize(
    "link", [None, "", "x", '<u?page=2>; rel="last"', '<u?q=1>; rel="next"', '<u?page=\n>; rel="next"']
)
def test_no_next_page(link: str | None) -> None:
    assert build_next_cursor(link, 30) == ""


@given(st.text(max_size=300))
def test_any_link_header_makes_a_cursor_that_works_or_none(link: str) -> None:
    cursor = build_next_cursor(link, 30)
    assert not cursor or parse_paging(cursor, 30)


@given(
    st.one_of(st.text(max_size=100), st.binary(max_size=100).map(lambda raw: base64.urlsafe_b64encode(raw).decode()))
)
def test_any_cursor_is_understood_or_refused(cursor: str) -> None:
    try:
        query = parse_paging(cursor, 30)
    except ToolError:
        return
    assert query.keys() <= {"page", "per_page", "after"}
    assert json.dumps(query)
