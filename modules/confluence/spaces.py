"""Finding things: searches, and spaces."""

import re
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from modules.confluence import rest_client
from modules.confluence.parameters import READ_SPACES, SEARCH, Cql, SpaceName
from modules.confluence.results import Moment, drop_usual, get_mapping, get_space_key, read_address
from modules.kit import Context, tool
from modules.kit.paging import NextLink
from modules.kit.parameters import READ_HINTS, CursorText, OptionalParameter, PerPage, limit_items
from modules.kit.results import (
    CountedPage,
    Identifier,
    ListPage,
    OptionalIdentifier,
    OptionalUrl,
    ResultModel,
    Word,
    read_at,
)
from modules.kit.text_cleaning import clean_block

SEARCH_PAGING = NextLink(
    size="limit", next=("_links", "next"), tokens=("cursor",), numbers=("start",), total="totalSize"
)
EXCERPT_CHARACTERS = 150
_HIGHLIGHT = re.compile(r"@@@(?:end)?hl@@@")


def _cut_excerpt(text: str) -> str:
    cut = clean_block(text, EXCERPT_CHARACTERS)
    return f"{cut.text}…" if cut.truncated else cut.text


class FoundInConfluence(ResultModel):
    """`type` is missing for a page: blogpost, comment, attachment, space, user, ... `space` is its key and name."""

    id: Identifier
    type: Word = ""
    title: Word = ""
    space: Word = ""
    updated: Moment = ""
    excerpt: Word = ""
    url: OptionalUrl = ""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        found = get_mapping(raw)
        content, space, user = (get_mapping(found.get(name)) for name in ("content", "space", "user"))
        container = get_mapping(found.get("resultGlobalContainer"))
        key, name = get_space_key(container.get("displayUrl")), container.get("title")
        kind = content.get("type") or found.get("entityType")
        title, excerpt = (_HIGHLIGHT.sub("", str(found.get(name) or "")) for name in ("title", "excerpt"))
        return {
            "id": content.get("id") or space.get("key") or user.get("accountId"),
            "type": "" if kind == "page" else kind,
            "title": title,
            "space": f"{key} ({name})" if key and name else key or name,
            "updated": found.get("lastModified"),
            "excerpt": _cut_excerpt(excerpt),
            "url": read_address(content.get("_links"), "tinyui") or read_address(found, "url"),
        }


class SearchedConfluence(CountedPage):
    results: list[FoundInConfluence]


class ConfluenceSpace(ResultModel):
    """`home` is the id of its first page; `type` is missing where it is global, `status` where it is current."""

    key: Identifier
    id: OptionalIdentifier = ""
    name: Word = ""
    type: Word = ""
    status: Word = ""
    home: Annotated[Word, read_at("homepageId")] = ""
    description: Annotated[Word, read_at("description", "plain", "value")] = ""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        return drop_usual(raw, type="global", status="current")


class ConfluenceSpaces(ListPage):
    spaces: list[ConfluenceSpace]


@tool(hints=READ_HINTS, scopes=[SEARCH])
async def search(
    context: Context,
    cql: Annotated[
        Cql, Field(description='CQL: type = page AND space = ENG AND text ~ "words" ORDER BY lastmodified DESC')
    ],
    per_page: PerPage = 25,
    cursor: CursorText = None,
) -> SearchedConfluence:
    """Search pages, blog posts, comments, attachments, spaces and people with CQL; ancestor = ID finds what is below a
    page or folder."""
    page = await rest_client.fetch_page(
        context, FoundInConfluence, "/wiki/rest/api/search", cursor=cursor, per_page=per_page, way=SEARCH_PAGING,
        query={"cql": cql, "excerpt": "indexed_unescaped"}, name=f"search {cql}",
    )  # fmt: skip
    return SearchedConfluence(results=page.rows, **page.fields)


@tool(hints=READ_HINTS, scopes=[READ_SPACES])
async def list_spaces(
    context: Context,
    keys: Annotated[
        OptionalParameter[Annotated[list[SpaceName], limit_items(1, 50)]], Field(description="Only those of these keys")
    ] = None,
    type: Annotated[
        OptionalParameter[Literal["global", "personal", "collaboration", "knowledge_base"]],
        Field(description="Only this kind"),
    ] = None,
    archived: Annotated[bool, Field(description="Archived ones instead")] = False,
    per_page: PerPage = 50,
    cursor: CursorText = None,
) -> ConfluenceSpaces:
    """Spaces with key, id and home page, by name."""
    query = {
        "keys": keys, "type": type, "status": "archived" if archived else "current", "sort": "name",
        "description-format": "plain",
    }  # fmt: skip
    page = await rest_client.fetch_page(
        context, ConfluenceSpace, "/wiki/api/v2/spaces", cursor=cursor, per_page=per_page, query=query
    )
    return ConfluenceSpaces(spaces=page.rows, **page.fields)


TOOLS = (search, list_spaces)
