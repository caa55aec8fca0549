"""Making, changing and deleting pages."""

from typing import Annotated, Any

from pydantic import Field

from modules.confluence import rest_client
from modules.confluence.page_bodies import (
    TextPart,
    append_body,
    build_body,
    change_parts,
    replace_body,
    write_body,
)
from modules.confluence.parameters import (
    DELETE_PAGES,
    READ_PAGES,
    READ_SPACES,
    WRITE_PAGES,
    Markdown,
    OptionalPage,
    OptionalSpace,
    PageId,
    PageTitle,
    VersionNumber,
)
from modules.confluence.results import RemovedConfluence, SavedConfluencePage, get_mapping, get_storage
from modules.kit import Context, ToolError, build_path, tool
from modules.kit.parameters import ACTION_HINTS, ADD_HINTS, CHANGE_HINTS, OptionalParameter, limit_items, limit_length

PAGES = "/wiki/api/v2/pages"
PAGE = "/wiki/api/v2/pages/{}"
Message = Annotated[OptionalParameter[Annotated[str, limit_length(0, 500)]], Field(description="Why, for its history")]


@tool(hints=ADD_HINTS, scopes=[WRITE_PAGES, READ_PAGES, READ_SPACES], keywords="write, publish, article")
async def create_page(
    context: Context,
    title: Annotated[PageTitle, Field(description="Title, new in its space")],
    body: Markdown,
    space: OptionalSpace = None,
    parent: Annotated[OptionalPage, Field(description="Page above it: id or address")] = None,
) -> SavedConfluencePage:
    """Create a page, below another or at the top of a space; one of space and parent is enough."""
    if space is None and parent is None:
        raise ToolError("give space or parent: where the page is to be")
    written = await write_body(body)
    made: dict[str, Any] = {
        "spaceId": await (rest_client.resolve_space(context, space) if space else _find_space(context, parent or "")),
        "status": "current",
        "title": title,
        "body": written,
    }
    if parent:
        made["parentId"] = parent
    return await rest_client.fetch_one(context, SavedConfluencePage, PAGES, method="POST", json=made)


async def _find_space(context: Context, page: str) -> str:
    answer = await rest_client.send_request(context, "GET", build_path(PAGE, page))
    found = get_mapping(answer.json()).get("spaceId")
    if not isinstance(found, str) or not found.isdigit():
        raise answer.build_unreadable_problem()
    return found


@tool(hints=ACTION_HINTS, scopes=[WRITE_PAGES, READ_PAGES])  # what is appended twice is there twice
async def update_page(
    context: Context,
    page: PageId,
    title: Annotated[OptionalParameter[PageTitle], Field(description="New title")] = None,
    body: Annotated[OptionalParameter[Markdown], Field(description="Replaces the whole")] = None,
    body_changes: Annotated[
        OptionalParameter[Annotated[list[TextPart], limit_items(1, 50)]],
        Field(description="Replace parts, each as it is read, there once"),
    ] = None,
    append: Annotated[OptionalParameter[Markdown], Field(description="Markdown for its end")] = None,
    parent: Annotated[OptionalPage, Field(description="Move below this page")] = None,
    version: Annotated[OptionalParameter[VersionNumber], Field(description="Refuse unless it has this version")] = None,
    message: Message = None,
) -> SavedConfluencePage:
    """Change a page: its title, place, or body as Markdown. Changed in parts, the rest stays as it is."""
    if sum(one is not None for one in (body, body_changes, append)) > 1:
        raise ToolError("give one of body, body_changes and append")
    if title is None and body is None and body_changes is None and append is None and parent is None:
        raise ToolError("there is nothing to change: give title, body, body_changes, append or parent")
    address = build_path(PAGE, page)
    answer = await rest_client.send_request(context, "GET", address, query={"body-format": "storage"})
    current = get_mapping(answer.json())
    number, storage = get_mapping(current.get("version")).get("number"), get_storage(current)
    if type(number) is not int or storage is None or not isinstance(current.get("title"), str):
        raise answer.build_unreadable_problem()
    if current.get("status") not in (None, "current"):  # sent as current, it would be restored
        raise ToolError(
            "the page is archived, in the trash or a draft: restore or publish it in Confluence first. "
            "Nothing was changed"
        )
    if version not in (None, number):
        raise ToolError(f"the page has version {number} now, not {version}: read it again. Nothing was changed")
    if body is not None:
        written = await replace_body(storage, body)
    elif body_changes is not None:
        written = await change_parts(storage, body_changes, "body_changes")
    else:
        written = build_body(storage) if append is None else await append_body(storage, append)
    made: dict[str, Any] = {
        "id": page,
        "status": "current",
        "title": title or current["title"],
        "body": written,
        "version": {"number": number + 1, "message": message or ""},
    }
    if parent:
        made["parentId"] = parent
    return await rest_client.fetch_one(context, SavedConfluencePage, address, method="PUT", json=made)


@tool(hints=CHANGE_HINTS, scopes=[DELETE_PAGES])
async def delete_page(
    context: Context,
    page: PageId,
    purge: Annotated[bool, Field(description="For good; only what is in the trash already")] = False,
) -> RemovedConfluence:
    """Move a page to the trash, where people can restore it."""
    await rest_client.send_change(context, "DELETE", build_path(PAGE, page), query={"purge": True if purge else None})
    return RemovedConfluence(id=page)


TOOLS = (create_page, update_page, delete_page)
