"""Reading pages: lists of them, one with its body, what is below one, and its versions."""

from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, model_validator

from modules.confluence import rest_client
from modules.confluence.page_bodies import ReadBody, read_body
from modules.confluence.parameters import (
    READ_CHILDREN,
    READ_PAGES,
    READ_SPACES,
    READ_USERS,
    Offset,
    OptionalSpace,
    PageId,
    PageTitle,
    VersionNumber,
)
from modules.confluence.people import name_people
from modules.confluence.results import ConfluencePage, ConfluencePageRow, ConfluencePages, Moment, drop_usual
from modules.kit import Context, ToolError, build_path, tool
from modules.kit.parameters import READ_HINTS, CursorText, OptionalParameter, PerPage
from modules.kit.results import Count, Flag, Identifier, ListPage, ResultModel, Word, read_at, read_object

BODY_CHARACTERS = 40_000
"""Characters of a body that are shown at once."""


class ConfluenceChild(ResultModel):
    """`type` is missing for a page: folder, whiteboard, database, embed."""

    id: Identifier
    type: Word = ""
    title: Word = ""
    status: Word = ""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        return drop_usual(raw, type="page", status="current")


class ConfluenceChildren(ListPage):
    children: list[ConfluenceChild]


class ConfluenceVersion(ResultModel):
    number: Count = 0
    created: Annotated[Moment, read_at("createdAt")] = ""
    author: Annotated[Word, read_at("authorId")] = ""
    message: Word = ""
    minor: Annotated[Flag, read_at("minorEdit")] = False


class ConfluenceVersions(ListPage):
    versions: list[ConfluenceVersion]


class PageWithBody(NamedTuple):
    """A page whose body is still in the storage format, and that body as Markdown."""

    page: ConfluencePage
    body: ReadBody


@tool(hints=READ_HINTS, scopes=[READ_PAGES, READ_SPACES])
async def list_pages(
    context: Context,
    space: OptionalSpace = None,
    title: Annotated[OptionalParameter[PageTitle], Field(description="Exactly this title")] = None,
    status: Annotated[Literal["current", "archived", "trashed"], Field(description="State")] = "current",
    top_only: Annotated[bool, Field(description="Only those at the space's root")] = False,
    sort: Annotated[
        OptionalParameter[Literal["title", "-modified-date", "modified-date", "-created-date", "created-date"]],
        Field(description="- for newest first"),
    ] = None,
    per_page: PerPage = 50,
    cursor: CursorText = None,
) -> ConfluencePages:
    """Pages of a space, or of all, without their bodies."""
    if top_only and not space:
        raise ToolError("top_only needs a space")
    query: dict[str, Any] = {"title": title, "status": status, "sort": sort}
    if space:
        address = build_path("/wiki/api/v2/spaces/{}/pages", await rest_client.resolve_space(context, space))
        query["depth"] = "root" if top_only else None
    else:
        address = "/wiki/api/v2/pages"
    page = await rest_client.fetch_page(
        context, ConfluencePageRow, address, cursor=cursor, per_page=per_page, query=query
    )
    return ConfluencePages(pages=page.rows, **page.fields)


@tool(hints=READ_HINTS, scopes=[READ_PAGES, READ_USERS])
async def get_page(
    context: Context,
    page: PageId,
    version: Annotated[OptionalParameter[VersionNumber], Field(description="An earlier version")] = None,
    offset: Offset = 0,
) -> ConfluencePage:
    """A page with its body as Markdown; what Markdown cannot say stands in code marked {=storage}, to be kept as it
    is."""
    found, (body, is_markup) = await fetch_body(context, page, version)
    end = offset + BODY_CHARACTERS
    update: dict[str, Any] = {"body": body[offset:end], "next_offset": end if end < len(body) else 0}
    update |= {"markup": is_markup, "editor": "" if found.editor == found.author else found.editor}
    update["updated"] = "" if found.version == 1 else found.updated
    [named] = await name_people(context, [found.model_copy(update=update)], "author", "editor")
    return named


async def fetch_body(context: Context, page: str, version: int | None = None) -> PageWithBody:
    """Fetch a page with its whole body as Markdown."""
    query = {"body-format": "storage", "version": version}
    answer = await rest_client.send_request(context, "GET", build_path("/wiki/api/v2/pages/{}", page), query=query)
    found = read_object(answer, ConfluencePage)
    return PageWithBody(found, await read_body(found.body))


@tool(hints=READ_HINTS, scopes=[READ_CHILDREN])
async def get_page_children(
    context: Context, page: PageId, per_page: PerPage = 50, cursor: CursorText = None
) -> ConfluenceChildren:
    """List what is directly below a page, in its order."""
    address = build_path("/wiki/api/v2/pages/{}/direct-children", page)
    found = await rest_client.fetch_page(context, ConfluenceChild, address, cursor=cursor, per_page=per_page)
    return ConfluenceChildren(children=found.rows, **found.fields)


@tool(hints=READ_HINTS, scopes=[READ_PAGES, READ_USERS])
async def list_versions(
    context: Context, page: PageId, per_page: PerPage = 25, cursor: CursorText = None
) -> ConfluenceVersions:
    """Versions of a page, newest first: when, by whom, why."""
    address = build_path("/wiki/api/v2/pages/{}/versions", page)
    found = await rest_client.fetch_page(
        context, ConfluenceVersion, address, cursor=cursor, per_page=per_page, query={"sort": "-modified-date"}
    )
    return ConfluenceVersions(versions=await name_people(context, found.rows, "author"), **found.fields)


TOOLS = (list_pages, get_page, get_page_children, list_versions)
