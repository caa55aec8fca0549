"""Tools that find items by their words and their tags."""

from collections.abc import Sequence
from typing import Annotated, LiteralString

from pydantic import BaseModel, Field

from modules.items.item_tokens import build_completion_query, build_query, build_title_query
from modules.items.item_tools import READ, READ_HINTS
from modules.items.listed_rows import fetch_listed
from modules.items.models import (
    MAX_PAGE,
    ItemPage,
    Offset,
    QueryText,
    TagName,
    TypesFilter,
    WorkspaceParameter,
)
from modules.items.read_cache import READ_CACHE
from modules.items.workspaces import Workspace
from modules.kit import Context, Store, tool

MAX_COMPLETED = 500
"""Items, the newest, whose titles are looked at for suggestions."""

FIND = """
SELECT ids, total FROM modules.find_items($3, $4, $5, $6, $7, $8) WHERE $1::uuid IS NOT NULL AND $2::uuid IS NOT NULL
"""
SUGGEST: LiteralString = """
SELECT s.title FROM (
    SELECT i.title, min(f.nth) AS nth FROM unnest($4::bigint[]) WITH ORDINALITY AS f (id, nth)
    JOIN modules.items i ON i.tenant_id = $1 AND i.workspace_id = $3 AND i.id = f.id
    WHERE $2::uuid IS NOT NULL GROUP BY i.title) s
ORDER BY NOT starts_with(lower(s.title), lower($5)), s.nth LIMIT $6
"""
FIND_TAGGED = """
SELECT ARRAY(SELECT t.item_id FROM modules.item_tags t
    WHERE t.tenant_id = $1 AND t.workspace_id = $3 AND t.tag = $4 AND $2::uuid IS NOT NULL
    AND (cardinality($5::text[]) = 0 OR (SELECT i.type FROM modules.items i
        WHERE i.tenant_id = $1 AND i.workspace_id = $3 AND i.id = t.item_id) = ANY ($5))
    ORDER BY t.item_id DESC OFFSET $6 LIMIT $7) AS ids
"""


class Suggestions(BaseModel):
    """Titles that a query may become: first those that begin with it, then the newest."""

    suggestions: list[str]


@tool(hints=READ_HINTS, scopes=[READ], keywords="full text, 全文, 探す")
async def search_items(
    context: Context,
    query: Annotated[QueryText, Field(description="Words, all of which an item has")],
    types: TypesFilter = [],  # noqa: B006 - pydantic copies it
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="Most items")] = 20,
    offset: Offset = 0,
    workspace: WorkspaceParameter = None,
) -> ItemPage:
    """Find items by the words of their title, description and content, those with the words in the title first, then
    the newest change. A word that very many have is found in the order of changes, without a total."""

    async def read(store: Store, found: Workspace | None) -> ItemPage:
        words = "" if found is None else build_query(found.number, query)
        if found is None or not words:
            return ItemPage(items=[], total=0)
        named = build_title_query(found.number, query)
        row = await store.fetchrow(FIND, found.id, words, named, types, offset, limit + 1)
        ids: Sequence[int] = row["ids"] if row is not None else []
        items = await fetch_listed(store, found, ids[:limit])
        return ItemPage(
            items=list(items.values()),
            total=row["total"] if row is not None else 0,
            next_offset=offset + limit if len(ids) > limit else None,
        )

    return await READ_CACHE.read(context, workspace, "search_items", (query, tuple(types), limit, offset), read)


@tool(hints=READ_HINTS, scopes=[READ], keywords="autocomplete, typing, 補完, 候補")
async def search_suggest(
    context: Context,
    query: Annotated[QueryText, Field(description="Beginning of what is looked for")],
    types: TypesFilter = [],  # noqa: B006 - pydantic copies it
    limit: Annotated[int, Field(ge=1, le=20, description="Most suggestions")] = 10,
    workspace: WorkspaceParameter = None,
) -> Suggestions:
    """Suggest titles for words that are still being typed."""

    async def read(store: Store, found: Workspace | None) -> Suggestions:
        words = "" if found is None else build_completion_query(found.number, query)
        if found is None or not words:
            return Suggestions(suggestions=[])
        row = await store.fetchrow(FIND, found.id, words, None, types, 0, MAX_COMPLETED)
        if row is None:
            return Suggestions(suggestions=[])
        titles = await store.fetch(SUGGEST, found.id, row["ids"], query.strip(), limit)
        return Suggestions(suggestions=[one["title"] for one in titles])

    return await READ_CACHE.read(context, workspace, "search_suggest", (query, tuple(types), limit), read)


@tool(hints=READ_HINTS, scopes=[READ], keywords="label, タグ")
async def search_items_by_tag(
    context: Context,
    tag: Annotated[TagName, Field(description="Tag that the items have")],
    types: TypesFilter = [],  # noqa: B006 - pydantic copies it
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="Most items")] = MAX_PAGE,
    offset: Offset = 0,
    workspace: WorkspaceParameter = None,
) -> ItemPage:
    """List the items that have a tag, the newest first."""

    async def read(store: Store, found: Workspace | None) -> ItemPage:
        if found is None:
            return ItemPage(items=[])
        row = await store.fetchrow(FIND_TAGGED, found.id, tag, types, offset, limit + 1)
        ids: Sequence[int] = row["ids"] if row is not None else []
        items = await fetch_listed(store, found, ids[:limit])
        return ItemPage(items=list(items.values()), next_offset=offset + limit if len(ids) > limit else None)

    return await READ_CACHE.read(context, workspace, "search_items_by_tag", (tag, tuple(types), limit, offset), read)


SEARCH_TOOLS = (search_items, search_suggest, search_items_by_tag)
