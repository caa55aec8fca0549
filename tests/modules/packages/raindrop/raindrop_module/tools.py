"""The three tools."""

from typing import Annotated, Any

from pydantic import Field

from modules.kit import Context, ToolError, VendorProblem, build_path, tool
from modules.kit.paging import PageNumber, parse_cursor, read_page
from modules.kit.parameters import (
    ADD_HINTS,
    READ_HINTS,
    CursorText,
    OptionalParameter,
    ShortText,
    drop_bounds,
    limit_items,
)
from modules.kit.results import CountedPage, Line, ResultModel, Text, Word, read_at, read_part

READ, WRITE = "raindrop:read", "raindrop:write"
PAGING = PageNumber(size="perpage", parameter="page", first=0, total="count")
ALL_BOOKMARKS = 0  # the collection that holds every other

BookmarkId = Annotated[int, Field(ge=1, le=2**53, description="Id", json_schema_extra=drop_bounds)]
Query = Annotated[ShortText, Field(description="Words or #tag; empty for all")]
PerPage = Annotated[int, Field(ge=1, le=50, description="At most 50", json_schema_extra=drop_bounds)]
Address = Annotated[str, Field(description="URL to save", pattern=r"^https?://\S+$", max_length=2000)]
Title = Annotated[ShortText, Field(description="Default: the title of the page")]
Tags = Annotated[OptionalParameter[Annotated[list[ShortText], limit_items()]], Field(description="Tags")]


class ListedBookmark(ResultModel):
    id: Annotated[int, read_at("_id")]
    title: Line = ""
    link: Line
    tags: tuple[Line, ...] = ()


class Bookmark(ListedBookmark):
    longest = {"note": 10_000, "excerpt": 10_000}  # noqa: RUF012

    excerpt: Text = ""
    note: Text = ""
    created: Word = ""
    truncated: bool = False


class Bookmarks(CountedPage):
    bookmarks: list[ListedBookmark]


@tool(hints=READ_HINTS, scopes=[READ])
async def search_bookmarks(
    context: Context, query: Query = "", per_page: PerPage = 25, cursor: CursorText = None
) -> Bookmarks:
    """Find bookmarks, newest first."""
    path = build_path("/raindrops/{}", ALL_BOOKMARKS)
    asked = parse_cursor(cursor, PAGING, f"{path} {query}", per_page)
    filters = {"search": query or None, "sort": "-created", **asked.parameters}
    answer = await context.vendor.request("GET", path, query=filters)
    page = await read_page(answer, asked, ListedBookmark, "items")
    return Bookmarks(bookmarks=page.rows, **page.fields)


@tool(hints=READ_HINTS, scopes=[READ])
async def get_bookmark(context: Context, bookmark_id: BookmarkId) -> Bookmark:
    """One bookmark with its note."""
    try:
        answer = await context.vendor.request("GET", build_path("/raindrop/{}", bookmark_id))
    except VendorProblem as problem:
        if problem.kind == "not_found":
            raise ToolError("no bookmark of this account has this bookmark_id; search for it") from None
        raise
    return read_part(answer, Bookmark, answer.read(dict[str, Any]).get("item"))


@tool(hints=ADD_HINTS, scopes=[WRITE])
async def save_bookmark(context: Context, link: Address, title: Title = "", tags: Tags = None) -> Bookmark:
    """Save a URL as a bookmark."""
    body = {"link": link, "tags": tags or [], **({"title": title} if title else {})}
    answer = await context.vendor.request("POST", "/raindrop", json=body)
    document = answer.read(dict[str, Any])
    if document.get("result") is False:  # a refusal of Raindrop.io's has status 200
        raise ToolError("Raindrop.io did not take this bookmark: check the link")
    saved = read_part(answer, Bookmark, document.get("item"))
    context.log.info("bookmark_saved", "a bookmark was saved", tags=len(saved.tags))
    return saved


TOOLS = (search_bookmarks, get_bookmark, save_bookmark)
