"""Lists of every way of paging, answers that page in another way, and cursors that somebody may have changed."""

import base64
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from modules.kit import ToolError, VendorAnswer, VendorProblem
from modules.kit.cursors import decode_cursor, encode_cursor
from modules.kit.paging import (
    MAX_ROWS,
    BodyCursor,
    LinkHeader,
    NextLink,
    Offset,
    PageNumber,
    PageParameters,
    PagingWay,
    find_next_page,
    parse_cursor,
    read_page,
)

GITHUB = LinkHeader()
NOTION = BodyCursor(size="page_size", parameter="start_cursor", next="next_cursor", more="has_more")
GOOGLE = BodyCursor(size="maxResults", parameter="pageToken", next="nextPageToken")
JIRA_SEARCH = BodyCursor(size="maxResults", parameter="nextPageToken", next="nextPageToken", last="isLast")
JIRA = Offset(size="maxResults", parameter="startAt", total="total", last="isLast")
JIRA_USERS = Offset(size="maxResults", parameter="startAt", reach=1000, filters=True)
RAINDROP = PageNumber(size="perpage", parameter="page", first=0, total="count")
GITEA = PageNumber(size="limit", parameter="page")
SUPABASE = Offset(size="limit", parameter="offset")
CONFLUENCE = NextLink(size="limit", next=("_links", "next"), tokens=("cursor",))
MICROSOFT = NextLink(
    size="$top", next="@odata.nextLink", numbers=("$skip",), tokens=("$skiptoken",), total="@odata.count"
)
WAYS = (GITHUB, NOTION, GOOGLE, JIRA_SEARCH, JIRA, JIRA_USERS, SUPABASE, RAINDROP, GITEA, CONFLUENCE, MICROSOFT)

UNKNOWN = "more, and no way to it"
LAST = "the last page"
Followed = PageParameters | str


class Thing(BaseModel):
    id: str = ""


def answered(document: object, link: str = "") -> VendorAnswer:
    return VendorAnswer(200, {"link": link} if link else {}, orjson.dumps(document), write=False)


def follow(
    way: PagingWay, document: Any, *, rows: int = 2, start: PageParameters | None = None, link: str = ""
) -> Followed:
    """The parameters that lead on behind a page of two, by way of our cursor."""
    asked = parse_cursor(None, way, "list", 2)
    if start:
        asked = parse_cursor(encode_cursor([decode_cursor(cursor_of(way))[0], 2, start]), way, "list", 2)
    found = find_next_page(asked, answered(document, link), document, rows)
    if found.incomplete:
        assert found.cursor == ""
        return UNKNOWN
    return parse_cursor(found.cursor, way, "list", 50).parameters if found.cursor else LAST


def cursor_of(way: PagingWay) -> str:
    """Any cursor of the list."""
    documents: dict[PagingWay, tuple[Any, str]] = {
        GITHUB: ([], '<https://x.test/?page=2>; rel="next"'),
        NOTION: ({"has_more": True, "next_cursor": "n"}, ""),
        GOOGLE: ({"nextPageToken": "n"}, ""),
        JIRA_SEARCH: ({"nextPageToken": "n"}, ""),
        JIRA: ({"total": 9}, ""),
        CONFLUENCE: ({"_links": {"next": "/x?cursor=n"}}, ""),
        MICROSOFT: ({"@odata.nextLink": "https://x.test/?$skip=2"}, ""),
    }
    document, link = documents.get(way, ([], ""))
    return find_next_page(parse_cursor(None, way, "list", 2), answered(document, link), document, 2).cursor


LINKS: list[tuple[str, Followed]] = [
    ('<https://api.test/x?page=1>; rel="prev", <https://api.test/x?q=a%2Cb&page=3&per_page=9>; rel="next"',
     {"per_page": 2, "page": 3}),
    ('<https://evil.test/steal?page=2&access_token=x>; rel=next', {"per_page": 2, "page": 2}),
    ('<https://api.test/x?after=Y3+z%3D&per_page=2>; title="a"; rel="last next", <…>; rel="last"',
     {"per_page": 2, "after": "Y3+z="}),
    ("", LAST),
    ("x", LAST),
    ('<u?page=2>; rel="last"', LAST),
    ('<u?page=2>; rel="nextish"', LAST),
    ('<u?q=1>; rel="next"', UNKNOWN),
    ('<u?page=x>; rel="next"', UNKNOWN),
    ('<u?page=0>; rel="next"', UNKNOWN),
    ('<u?page=２>; rel="next"', UNKNOWN),
    ('<u?page=\n>; rel="next"', UNKNOWN),
    ('<u?after=a b>; rel="next"', UNKNOWN),
    (f'<u?after={"x" * 2_001}>; rel="next"', UNKNOWN),
    ('<http://[::1?page=2>; rel="next"', UNKNOWN),
]  # fmt: skip


@pytest.mark.parametrize(("link", "following"), LINKS)
def test_the_link_header(link: str, following: Followed) -> None:
    assert follow(GITHUB, [], link=link) == following


BODIES: list[tuple[PagingWay, Any, Followed]] = [
    (NOTION, {"has_more": True, "next_cursor": "n"}, {"page_size": 2, "start_cursor": "n"}),
    (NOTION, {"has_more": False, "next_cursor": None}, LAST),
    (NOTION, {"has_more": True, "next_cursor": None}, UNKNOWN),
    (NOTION, {"has_more": True, "next_cursor": 7}, UNKNOWN),
    (NOTION, {"has_more": True, "next_cursor": "a b"}, UNKNOWN),
    (NOTION, {"results": [], "next": "/v2?page=2"}, UNKNOWN),
    (GOOGLE, {"nextPageToken": "CAE=~!"}, {"maxResults": 2, "pageToken": "CAE=~!"}),
    (GOOGLE, {"nextSyncToken": "s"}, LAST),
    (GOOGLE, {"nextPageToken": {}}, UNKNOWN),
    (JIRA_SEARCH, {"nextPageToken": "n"}, {"maxResults": 2, "nextPageToken": "n"}),
    (JIRA_SEARCH, {"nextPageToken": "n", "isLast": False}, {"maxResults": 2, "nextPageToken": "n"}),
    (JIRA_SEARCH, {}, LAST),
    (JIRA_SEARCH, {"isLast": True}, LAST),
    (JIRA_SEARCH, {"isLast": False}, UNKNOWN),
    (JIRA, {"total": 3}, {"maxResults": 2, "startAt": 2}),
    (JIRA, {"total": 2}, LAST),
    (JIRA, {"total": 9, "isLast": True}, LAST),
    (JIRA, {"total": 2, "isLast": False}, {"maxResults": 2, "startAt": 2}),
    (JIRA, {}, {"maxResults": 2, "startAt": 2}),
    (JIRA, {"total": "many"}, {"maxResults": 2, "startAt": 2}),
    (SUPABASE, [], {"limit": 2, "offset": 2}),
    (CONFLUENCE, {"_links": {"next": "/wiki/api?limit=2&cursor=bmV4%3D"}}, {"limit": 2, "cursor": "bmV4="}),
    (CONFLUENCE, {"_links": {"base": "https://x.test"}}, LAST),
    (CONFLUENCE, {}, LAST),
    (CONFLUENCE, {"_links": {"next": "/wiki/api?start=25"}}, UNKNOWN),
    (CONFLUENCE, {"_links": {"next": ["x"]}}, UNKNOWN),
    (MICROSOFT, {"@odata.nextLink": "https://graph.test/v1.0/me?%24top=2&%24skip=2"}, {"$top": 2, "$skip": 2}),
    (MICROSOFT, {"@odata.nextLink": "https://evil.test/?$skiptoken=X'4'&$filter=1"}, {"$top": 2, "$skiptoken": "X'4'"}),
    (MICROSOFT, {"@odata.nextLink": "https://graph.test/?$deltatoken=1"}, UNKNOWN),
    (MICROSOFT, {"@odata.nextLink": 3}, UNKNOWN),
    (MICROSOFT, {"value": []}, LAST),
]  # fmt: skip


@pytest.mark.parametrize(("way", "document", "following"), BODIES)
def test_what_the_body_says(way: PagingWay, document: Any, following: Followed) -> None:
    assert follow(way, document) == following


def test_offsets_go_on_from_where_they_are() -> None:
    at_four: PageParameters = {"startAt": 4}
    assert follow(JIRA, {"total": 9}, start=at_four) == {"maxResults": 2, "startAt": 6}
    assert follow(JIRA, {"total": 9}, start=at_four, rows=1) == {"maxResults": 2, "startAt": 5}
    assert follow(JIRA, {"total": 5}, start=at_four, rows=1) == LAST
    assert follow(JIRA, {"total": 9}, rows=0) == UNKNOWN
    assert follow(JIRA, {"isLast": False}, rows=0) == UNKNOWN
    assert follow(JIRA, {}, rows=0) == LAST


def test_a_short_page_is_the_last_unless_the_vendor_filters() -> None:
    assert follow(SUPABASE, [], rows=1) == LAST
    assert follow(SUPABASE, [], rows=0) == LAST
    assert follow(JIRA_USERS, [], rows=1) == {"maxResults": 2, "startAt": 2}
    assert follow(JIRA_USERS, [], rows=0) == UNKNOWN
    assert follow(JIRA_USERS, [], rows=1, start={"startAt": 998}) == UNKNOWN, "Jira searches a thousand users"


def test_pages_that_are_counted() -> None:
    at_two: PageParameters = {"page": 2}
    assert follow(RAINDROP, {"count": 3}) == {"perpage": 2, "page": 1}
    assert follow(RAINDROP, {"count": 7}, start=at_two) == {"perpage": 2, "page": 3}
    assert follow(RAINDROP, {"count": 6}, start=at_two) == LAST
    assert follow(RAINDROP, {"count": 7}, start=at_two, rows=0) == UNKNOWN
    assert follow(RAINDROP, {"count": 0}, rows=0) == LAST
    assert follow(RAINDROP, {"count": "7"}) == {"perpage": 2, "page": 1}
    assert follow(GITEA, []) == {"limit": 2, "page": 2}
    assert follow(GITEA, [], start=at_two) == {"limit": 2, "page": 3}
    assert follow(GITEA, [], start=at_two, rows=1) == LAST


def test_a_next_page_that_is_this_one_is_told() -> None:
    assert follow(GOOGLE, {"nextPageToken": "n"}, start={"pageToken": "n"}) == UNKNOWN
    assert follow(GOOGLE, {"nextPageToken": "m"}, start={"pageToken": "n"}) == {"maxResults": 2, "pageToken": "m"}


def test_a_cursor_keeps_the_size_and_belongs_to_one_list() -> None:
    cursor = cursor_of(GOOGLE)
    assert parse_cursor(cursor, GOOGLE, "list", 100).parameters == {"maxResults": 2, "pageToken": "n"}
    for way, name in ((GOOGLE, "another list"), (JIRA, "list")):
        with pytest.raises(ToolError, match="cursor was not returned by this tool"):
            parse_cursor(cursor, way, name, 100)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "place",
    [{}, {"q": "secret"}, {"page": "2"}, {"page": True}, {"page": 0}, {"page": 10**9}, {"startAt": -1}, {"$skip": 1.5},
     {"pageToken": "a\n"}, {"cursor": ""}, {"start_cursor": "x" * 2_001}, {"after": 3}, [["page", 2]], "x", None],
)  # fmt: skip
def test_a_forged_place_is_refused(way: PagingWay, place: object) -> None:
    mark = decode_cursor(cursor_of(GITHUB))[0]
    with pytest.raises(ToolError, match="cursor was not returned by this tool"):
        parse_cursor(encode_cursor([mark, 2, place]), way, "list", 2)


@pytest.mark.parametrize("size", [0, -1, True, "2", 2.0, 10**5, None])
def test_a_forged_size_is_refused(size: object) -> None:
    mark = decode_cursor(cursor_of(GITHUB))[0]
    with pytest.raises(ToolError, match="cursor was not returned by this tool"):
        parse_cursor(encode_cursor([mark, size, {"page": 2}]), GITHUB, "list", 2)


@given(
    st.one_of(st.text(max_size=100), st.binary(max_size=100).map(lambda raw: base64.urlsafe_b64encode(raw).decode()))
)
def test_any_text_is_refused(cursor: str) -> None:
    for way in WAYS:
        with pytest.raises(ToolError, match="cursor was not returned by this tool"):
            parse_cursor(cursor, way, "list", 2)


@given(st.text(max_size=300))
def test_any_link_header_makes_a_cursor_that_works_or_none(link: str) -> None:
    for text in (link, f'<{link}>; rel="next"', f'<u?page={link}>; rel="next"', f'<u?after={link}>; rel="next"'):
        found = find_next_page(parse_cursor(None, GITHUB, "list", 2), answered([], text), [], 2)
        assert not found.cursor or parse_cursor(found.cursor, GITHUB, "list", 2)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9), lambda one: st.lists(one, max_size=2)
)


@given(
    st.dictionaries(st.sampled_from(["has_more", "next_cursor", "isLast", "total", "nextPageToken", "_links"]), JSON)
)
def test_any_answer_is_followed_told_or_the_last(document: dict[str, Any]) -> None:
    for way in WAYS:
        found = find_next_page(parse_cursor(None, way, "list", 2), answered({}), document, 2)
        assert not (found.cursor and found.incomplete)
        assert not found.cursor or parse_cursor(found.cursor, way, "list", 2)


async def test_a_page_with_its_rows_and_its_total() -> None:
    way = NextLink(size="$top", next="@odata.nextLink", numbers=("$skip",), total="@odata.count")
    document = {"value": [{"id": "a"}, {"id": "b"}, 3], "@odata.count": 9, "@odata.nextLink": "?$skip=2"}
    page = await read_page(answered(document), parse_cursor(None, way, "list", 2), Thing, "value")
    assert [one.id for one in page.rows] == ["a", "b"]
    assert (page.fields["incomplete"], page.fields["unreadable"], page.fields["total"]) == (False, 1, 9)
    assert parse_cursor(page.fields["nextCursor"], way, "list", 5).parameters == {"$top": 2, "$skip": 2}


async def test_more_rows_than_any_page_has() -> None:
    page = await read_page(answered([{"id": "a"}] * (MAX_ROWS + 1)), parse_cursor(None, GITHUB, "list", 2), Thing)
    assert (len(page.rows), page.fields["incomplete"]) == (MAX_ROWS, True)


@pytest.mark.parametrize("document", [{}, {"items": None}, {"items": {}}, [], 3])
async def test_an_answer_without_the_list(document: object) -> None:
    with pytest.raises(VendorProblem, match="documented form"):
        await read_page(answered(document), parse_cursor(None, GITHUB, "list", 2), Thing, "items")
