"""Pages: their properties, and their content as Markdown."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field

from modules.kit import Context, ToolError, build_path, run_in_turns, tool
from modules.kit.cursors import build_unknown_cursor_error, decode_cursor, encode_cursor
from modules.kit.paging import find_next_page, parse_cursor
from modules.kit.parameters import (
    ACTION_HINTS,
    ADD_HINTS,
    CHANGE_HINTS,
    READ_HINTS,
    CursorText,
    OptionalParameter,
    PerPage,
    ShortText,
    limit_length,
)
from modules.kit.result_texts import TextResult
from modules.kit.results import PAGE_CHARACTERS, Flag, Identifier, ListPage, ResultModel, ResultPage, Text
from modules.kit.text_cleaning import clean_line, clean_text
from modules.notion import rest_client
from modules.notion.block_parsing import Block, parse_markdown
from modules.notion.block_writing import append_blocks, fits_at_once
from modules.notion.parameters import (
    INSERT_CONTENT,
    READ_CONTENT,
    UPDATE_CONTENT,
    Markdown,
    NotionId,
    PageId,
    Properties,
)
from modules.notion.properties import make_properties, read_property
from modules.notion.results import PageRow, RowOfValues, SavedObject
from modules.notion.rich_text import parse_rich_text
from modules.notion.templates import find_template

ParentKind = Annotated[Literal["page", "data_source"], Field(description="What the parent is")]
Emoji = Annotated[OptionalParameter[Annotated[str, limit_length(1, 20)]], Field(description="Emoji")]


class FoundPages(ListPage):
    results: list[PageRow]


class PageMarkdown(TextResult, ResultPage):
    """`missing_blocks` are what Notion left out: read those by their ids. `truncated`: Notion left out the end."""

    text_field = "markdown"

    id: Identifier
    markdown: str
    truncated: Flag = False
    missing_blocks: Annotated[list[str], Field(exclude_if=lambda ids: not ids)] = []  # noqa: RUF012


class PropertyValue(ListPage):
    value: Annotated[Any, Field(description="A text, a number, a boolean or a list")]


class ContentChange(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    old: Annotated[str, limit_length(1, 100_000), Field(description="Text that is there once")]
    new: Annotated[str, limit_length(0, 100_000), Field(description="Instead")]


class ChangedContent(ResultModel):
    longest = {"markdown": 2_000}  # noqa: RUF012

    id: Identifier
    markdown: Text = ""
    truncated: Flag = False


class VendorMarkdown(BaseModel):
    """Content of a page, as Notion sends it."""

    id: str
    markdown: str
    truncated: bool = False
    unknown_block_ids: list[str] = []


@tool(hints=READ_HINTS, scopes=[READ_CONTENT])
async def search_pages(
    context: Context,
    query: Annotated[str, limit_length(maximum=500), Field(description="Words of the title; empty for all")] = "",
    kind: Annotated[OptionalParameter[Literal["page", "data_source"]], Field(description="Only these")] = None,
    per_page: PerPage = 25,
    cursor: CursorText = None,
) -> FoundPages:
    """Find pages and data sources by title, newest change first without a query."""
    body: dict[str, Any] = {"query": query or None}
    if kind:
        body["filter"] = {"property": "object", "value": kind}
    if not query:
        body["sort"] = {"timestamp": "last_edited_time", "direction": "descending"}
    page = await rest_client.fetch_list(context, PageRow, "/v1/search", body=body, cursor=cursor, per_page=per_page)
    return FoundPages(results=page.rows, **page.fields)


@tool(hints=READ_HINTS, scopes=[READ_CONTENT])
async def get_page(context: Context, page_id: PageId) -> RowOfValues:
    """One page with its properties, without its content."""
    return await rest_client.fetch_one(context, RowOfValues, build_path("/v1/pages/{}", page_id))


@tool(hints=READ_HINTS, scopes=[READ_CONTENT])
async def get_page_markdown(
    context: Context,
    page_id: PageId,
    transcript: Annotated[bool, Field(description="With transcripts of meetings")] = False,
    cursor: CursorText = None,
) -> PageMarkdown:
    """The content of a page as Markdown."""
    start = _parse_place(cursor)
    found = await fetch_markdown(context, page_id, query={"include_transcript": True} if transcript else None)
    text = clean_text(found.markdown)
    if start and start >= len(text):
        raise build_unknown_cursor_error()
    end = _find_end(text, start)
    return PageMarkdown(
        id=found.id,
        markdown=text[start:end],
        truncated=found.truncated,
        missing_blocks=found.unknown_block_ids,
        nextCursor=encode_cursor([end]) if end < len(text) else "",
    )


async def fetch_markdown(context: Context, page_id: str, *, query: Mapping[str, Any] | None = None) -> VendorMarkdown:
    """Fetch the content of a page, not cleaned."""
    return await rest_client.fetch_one(
        context, VendorMarkdown, build_path("/v1/pages/{}/markdown", page_id), query=query
    )


def _find_end(text: str, start: int) -> int:
    """Where a page of a long text ends: after a line, if there is one."""
    if len(text) - start <= PAGE_CHARACTERS:
        return len(text)
    return text.rfind("\n", start, start + PAGE_CHARACTERS) + 1 or start + PAGE_CHARACTERS


def _parse_place(cursor: str | None) -> int:
    if cursor is None:
        return 0
    decoded = decode_cursor(cursor)
    values = cast("list[Any]", decoded) if isinstance(decoded, list) else []
    if len(values) != 1 or type(values[0]) is not int or not 0 < values[0] < 10**8:
        raise build_unknown_cursor_error()
    return values[0]


@tool(hints=READ_HINTS, scopes=[READ_CONTENT])
async def get_page_property(
    context: Context,
    page_id: PageId,
    property_name: Annotated[ShortText, Field(description="Name or id")],
    per_page: PerPage = 100,
    cursor: CursorText = None,
) -> PropertyValue:
    """One property whole: a page shows at most 25 of its members."""
    properties = await _fetch_properties(context, page_id)
    property_id = _find_property_id(properties, property_name)
    address = build_path("/v1/pages/{}/properties/{}", page_id, property_id)
    asked = parse_cursor(cursor, rest_client.PAGING, address, per_page)
    answer = await rest_client.send_request(context, "GET", address, query=asked.parameters)
    document = answer.read(dict[str, Any])
    if document.get("object") != "list":
        return PropertyValue(value=read_property(document))
    results = answer.read_part(list[dict[str, Any]], document.get("results"))
    members: list[Any] = []
    for one in results:
        value = read_property(one)
        members.extend(cast("list[Any]", value) if isinstance(value, list) else [value])
    following = find_next_page(asked, answer, document, len(results))
    is_incomplete = following.incomplete or rest_client.has_stopped(document)
    return PropertyValue(value=members, nextCursor=following.cursor, incomplete=is_incomplete)


def _find_property_id(properties: Mapping[str, Any], name: str) -> str:
    ids = {
        known: str(cast("dict[str, Any]", one)["id"])
        for known, one in properties.items()
        if isinstance(one, dict) and "id" in one
    }
    if name not in ids and name not in ids.values():
        raise ToolError(f"property_name: the page has no such property; it has {', '.join(map(clean_line, ids))[:500]}")
    return ids.get(name, name)


async def _fetch_properties(context: Context, page_id: str) -> Mapping[str, Any]:
    answer = await rest_client.send_request(context, "GET", build_path("/v1/pages/{}", page_id))
    properties = answer.read_part(dict[str, Any], answer.read(dict[str, Any]).get("properties"))
    if not properties:  # every page has a title at least
        raise answer.build_unreadable_problem()
    return properties


@tool(hints=ADD_HINTS, scopes=[INSERT_CONTENT], keywords="write down, notes")
async def create_page(
    context: Context,
    parent_id: PageId,
    parent_kind: ParentKind = "page",
    title: Annotated[str, limit_length(maximum=2_000), Field(description="Title")] = "",
    properties: Properties = None,
    markdown: Annotated[OptionalParameter[Markdown], Field(description="Content")] = None,
    icon: Emoji = None,
    template: Annotated[
        OptionalParameter[Annotated[str, limit_length(1, 2_000)]], Field(description="Name of a template, or default")
    ] = None,
) -> SavedObject:
    """Create a page: below a page, or as a row of a data source with its properties."""
    if template and (markdown or parent_kind == "page"):
        raise ToolError("template is for rows of a data source, and instead of markdown: Notion fills the page with it")
    blocks = await run_in_turns(parse_markdown, markdown, size=len(markdown)) if markdown else []
    body: dict[str, Any] = {"parent": {f"{parent_kind}_id": parent_id}}
    if template:
        body["template"] = await find_template(context, parent_id, template)
    body["properties"] = await _make_new_properties(context, parent_id, parent_kind, title, properties or {})
    if icon:
        body["icon"] = {"type": "emoji", "emoji": icon}
    is_one_request = fits_at_once(blocks)
    if blocks and is_one_request:
        body["children"] = blocks
    answer = await rest_client.send_request(context, "POST", "/v1/pages", json=body)
    page = answer.read(SavedObject)
    if not is_one_request:
        await _write_content(context, page.id, blocks)
    return page


async def _write_content(context: Context, page_id: str, blocks: list[Block]) -> None:
    try:
        await append_blocks(context, page_id, blocks)
    except ToolError as problem:
        raise ToolError(f"{problem.text}. The page {page_id} was created, without the rest of its content") from None


async def _make_new_properties(
    context: Context, parent_id: str, parent_kind: str, title: str, values: Mapping[str, Any]
) -> dict[str, Any]:
    if parent_kind == "page":
        if values:
            raise ToolError("a page below a page has no properties but its title: leave properties out")
        return {"title": {"title": parse_rich_text(title)}}
    types = await fetch_types(context, parent_id)
    made = make_properties(values, types)
    name = next((name for name, kind in types.items() if kind == "title"), None)
    return {name: {"title": parse_rich_text(title)}, **made} if name and title else made


async def fetch_types(context: Context, data_source_id: str) -> dict[str, str]:
    """Fetch the types of the properties of a data source, by name."""
    answer = await rest_client.send_request(context, "GET", build_path("/v1/data_sources/{}", data_source_id))
    properties = answer.read_part(dict[str, Any], answer.read(dict[str, Any]).get("properties"))
    return {name: str(one.get("type")) for name, one in properties.items()}


@tool(hints=CHANGE_HINTS, scopes=[UPDATE_CONTENT])
async def update_page(
    context: Context,
    page_id: PageId,
    title: Annotated[OptionalParameter[Annotated[str, limit_length(maximum=2_000)]], Field(description="Title")] = None,
    properties: Properties = None,
    icon: Emoji = None,
    in_trash: Annotated[OptionalParameter[bool], Field(description="true removes, false restores")] = None,
) -> SavedObject:
    """Change a page's title, properties or icon, or move it to the trash and back."""
    body: dict[str, Any] = {}
    if title is not None or properties:
        known = await _fetch_properties(context, page_id)
        types = {name: str(one.get("type")) for name, one in known.items()}
        titled = {name: title for name, kind in types.items() if kind == "title" and title is not None}
        body["properties"] = make_properties({**titled, **(properties or {})}, types)
    if icon:
        body["icon"] = {"type": "emoji", "emoji": icon}
    if in_trash is not None:
        body["in_trash"] = in_trash
    if not body:
        raise ToolError("there is nothing to change: give at least one of title, properties, icon, in_trash")
    return await rest_client.fetch_one(
        context, SavedObject, build_path("/v1/pages/{}", page_id), method="PATCH", json=body
    )


@tool(hints=ACTION_HINTS, scopes=[UPDATE_CONTENT])
async def update_page_markdown(
    context: Context,
    page_id: PageId,
    changes: Annotated[
        OptionalParameter[Annotated[list[ContentChange], limit_length(1, 50)]], Field(description="Replace texts")
    ] = None,
    append: Annotated[OptionalParameter[Markdown], Field(description="Add at the end")] = None,
    replace_all: Annotated[OptionalParameter[Markdown], Field(description="Replace the whole content")] = None,
    allow_deleting: Annotated[bool, Field(description="Pages and databases in it may go")] = False,
) -> ChangedContent:
    """Change the content of a page, in one of three ways, in the Markdown that reading it gave."""
    given = [name for name, value in (("changes", changes), ("append", append), ("all", replace_all)) if value]
    if len(given) != 1:
        raise ToolError("give exactly one of changes, append and replace_all")
    body: dict[str, Any]
    if changes:
        updates = [{"old_str": one.old, "new_str": one.new} for one in changes]
        content = {"content_updates": updates, "allow_deleting_content": allow_deleting}
        body = {"type": "update_content", "update_content": content}
    elif append:
        body = {"type": "insert_content", "insert_content": {"content": append, "position": {"type": "end"}}}
    else:
        content = {"new_str": replace_all, "allow_deleting_content": allow_deleting}
        body = {"type": "replace_content", "replace_content": content}
    address = build_path("/v1/pages/{}/markdown", page_id)
    return await rest_client.fetch_one(context, ChangedContent, address, method="PATCH", json=body)


@tool(hints=CHANGE_HINTS, scopes=[UPDATE_CONTENT])
async def move_page(
    context: Context,
    page_id: PageId,
    parent_id: Annotated[NotionId, Field(description="New parent")],
    parent_kind: ParentKind = "page",
) -> SavedObject:
    """Move a page below another page or into a data source."""
    body = {"parent": {"type": f"{parent_kind}_id", f"{parent_kind}_id": parent_id}}
    address = build_path("/v1/pages/{}/move", page_id)
    return await rest_client.fetch_one(context, SavedObject, address, method="POST", json=body)


TOOLS = (
    search_pages,
    get_page,
    get_page_markdown,
    get_page_property,
    create_page,
    update_page,
    update_page_markdown,
    move_page,
)
