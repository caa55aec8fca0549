"""The three tools."""

from typing import Annotated, Any

from pydantic import Field

from modules.kit import Context, ToolError, build_path, tool
from modules.kit.parameters import ADD_HINTS, READ_HINTS, OptionalParameter, Positive, ShortText
from modules.kit.results import Line, ResultModel, Text, read_at

READ, WRITE = "raindrop:read", "raindrop:write"
PER_PAGE = 25
ALL_BOOKMARKS = 0  # the collection that holds every other

Id = Annotated[Positive, Field(description="Id")]
Address = Annotated[str, Field(description="URL to save", pattern=r"^https?://\S+$", max_length=2000)]
Title = Annotated[ShortText, Field(description="Default: the title of the page")]
Tags = Annotated[OptionalParameter[list[ShortText]], Field(description="Tags")]


class ListedBookmark(ResultModel):
    id: Annotated[int, read_at("_id")]
    title: Line = ""
    link: Line
    tags: tuple[Line, ...] = ()


class Bookmark(ListedBookmark):
    longest = {"note": 10_000}  # noqa: RUF012

    note: Text = ""
    created: Line = ""
    truncated: bool = False


class Bookmarks(ResultModel):
    """`next_page` is missing on the last page."""

    count: int
    bookmarks: list[ListedBookmark]
    next_page: int | None = None


@tool(hints=READ_HINTS, scopes=[READ])
async def search_bookmarks(
    context: Context,
    query: Annotated[ShortText, Field(description="Words or #tag; empty for all")] = "",
    page: Annotated[int, Field(ge=0, le=10_000, description="The last next_page")] = 0,
) -> Bookmarks:
    """Find bookmarks, newest first."""
    path = build_path("/raindrops/{}", ALL_BOOKMARKS)
    filters = {"search": query, "page": page, "perpage": PER_PAGE, "sort": "-created"}
    answer = await context.vendor.request("GET", path, query=filters)
    found = answer.read(dict[str, Any])
    bookmarks = answer.read_part(list[ListedBookmark], found.get("items"))
    count = answer.read_part(int, found.get("count"))
    has_more = (page + 1) * PER_PAGE < count
    return Bookmarks(count=count, bookmarks=bookmarks, next_page=page + 1 if has_more else None)


@tool(hints=READ_HINTS, scopes=[READ])
async def get_bookmark(context: Context, bookmark_id: Id) -> Bookmark:
    """One bookmark with its note."""
    answer = await context.vendor.request("GET", build_path("/raindrop/{}", bookmark_id))
    return answer.read_part(Bookmark, answer.read(dict[str, Any]).get("item"))


@tool(hints=ADD_HINTS, scopes=[WRITE])
async def save_bookmark(context: Context, link: Address, title: Title = "", tags: Tags = None) -> Bookmark:
    """Save a URL as a bookmark."""
    body = {"link": link, "tags": tags or [], **({"title": title} if title else {})}
    answer = await context.vendor.request("POST", "/raindrop", json=body)
    document = answer.read(dict[str, Any])
    if document.get("result") is not True:  # a refusal of Raindrop's has status 200
        raise ToolError("Raindrop.io did not take this bookmark: check the URL")
    context.log.info("bookmark_saved", "a bookmark was saved", tags=len(tags or ()))
    return answer.read_part(Bookmark, document.get("item"))


TOOLS = (search_bookmarks, get_bookmark, save_bookmark)
