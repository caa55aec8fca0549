"""Tools for looking through a workspace: all types at once, by words, statuses and tags together."""

from collections.abc import Sequence
from typing import Annotated, Any, LiteralString, NamedTuple

from pydantic import AfterValidator, BaseModel, Field

from modules.items.item_rows import LISTED_COLUMNS, build_listed, list_statuses
from modules.items.item_store import build_unknown_status
from modules.items.item_tokens import build_query, build_title_query
from modules.items.item_tools import READ, READ_HINTS
from modules.items.models import (
    MAX_PAGE,
    MAX_QUERY_LENGTH,
    ItemPage,
    ListedItem,
    Offset,
    StatusName,
    TagName,
    TypesFilter,
    WorkspaceParameter,
    check_storable,
)
from modules.items.workspaces import DEFAULT_STATUSES, Workspace, find_workspace
from modules.kit import Context, Store, tool

MAX_FILTERS = 50
BATCH = 200
"""Hits of words that are looked at in one statement."""
MAX_LOOKED_AT = 2_000
"""Hits of words that one call looks at; the next one goes on."""

FREQUENT = 2_000
"""More items than this have a frequent tag."""

_FITS: LiteralString = """(cardinality($4::text[]) = 0 OR i.type = ANY ($4)) AND i.status = ANY ($5::text[])
    AND NOT EXISTS (SELECT FROM unnest($6::text[]) AS f (tag) WHERE NOT EXISTS (SELECT FROM modules.item_tags t
        WHERE t.tenant_id = $1 AND t.workspace_id = $3 AND t.tag = f.tag AND t.item_id = i.id))"""
LIST_NEWEST: LiteralString = f"""
SELECT {LISTED_COLUMNS} FROM modules.items i
WHERE i.tenant_id = $1 AND i.workspace_id = $3 AND $2::uuid IS NOT NULL AND {_FITS}
ORDER BY i.updated_at DESC, i.id DESC LIMIT $7 OFFSET $8
"""  # noqa: S608 names of ours
LIST_TAGGED: LiteralString = f"""
SELECT {LISTED_COLUMNS} FROM modules.item_tags g
JOIN modules.items i ON i.tenant_id = $1 AND i.workspace_id = $3 AND i.id = g.item_id
WHERE g.tenant_id = $1 AND g.workspace_id = $3 AND g.tag = ($6::text[])[1] AND $2::uuid IS NOT NULL AND {_FITS}
ORDER BY i.updated_at DESC, i.id DESC LIMIT $7 OFFSET $8
"""  # noqa: S608 the same
# By the index of types and statuses, which finds a rare one without looking at the others.
LIST_PAIRS: LiteralString = f"""
WITH found AS (
    SELECT n.id, n.updated_at FROM modules.item_numbers g CROSS JOIN unnest($5::text[]) AS s (name)
    CROSS JOIN LATERAL (SELECT i.id, i.updated_at FROM modules.items i
        WHERE i.tenant_id = $1 AND i.workspace_id = $3 AND i.type = g.type AND i.status = s.name
        ORDER BY i.updated_at DESC, i.id DESC LIMIT $6::bigint + $7) n
    WHERE g.tenant_id = $1 AND g.workspace_id = $3 AND $2::uuid IS NOT NULL
    AND (cardinality($4::text[]) = 0 OR g.type = ANY ($4))
    ORDER BY n.updated_at DESC, n.id DESC LIMIT $6 OFFSET $7)
SELECT {LISTED_COLUMNS} FROM found JOIN modules.items i
    ON i.tenant_id = $1 AND i.workspace_id = $3 AND i.id = found.id
ORDER BY found.updated_at DESC, found.id DESC
"""  # noqa: S608 the same
FIND_RAREST_TAG = """
SELECT f.tag, coalesce((SELECT c.items FROM modules.item_tag_counts c
    WHERE c.tenant_id = $1 AND c.workspace_id = $3 AND c.tag = f.tag), 0) AS items
FROM unnest($4::text[]) AS f (tag) WHERE $2::uuid IS NOT NULL ORDER BY 2, 1 LIMIT 1
"""
FIND_HITS = """
SELECT ids FROM modules.find_items($3, $4, $5, $6, $7, $8) WHERE $1::uuid IS NOT NULL AND $2::uuid IS NOT NULL
"""
LIST_HITS: LiteralString = f"""
SELECT {LISTED_COLUMNS}, h.nth FROM unnest($7::bigint[]) WITH ORDINALITY AS h (id, nth)
JOIN modules.items i ON i.tenant_id = $1 AND i.workspace_id = $3 AND i.id = h.id
WHERE $2::uuid IS NOT NULL AND {_FITS} ORDER BY h.nth
"""  # noqa: S608 the same
COUNT_TYPES = """
SELECT type, items FROM modules.item_numbers
WHERE tenant_id = $1 AND workspace_id = $3 AND items > 0 AND $2::uuid IS NOT NULL
ORDER BY items DESC, type
"""


class Filters(NamedTuple):
    """What items must have: one of the types, where any are named, one of the statuses, and all of the tags."""

    types: Sequence[str]
    statuses: Sequence[str]
    tags: Sequence[str]


class TypeCount(BaseModel):
    """A type, and how many items are of it."""

    name: str
    count: int


class TypeList(BaseModel):
    """The types of a workspace, the most frequent first."""

    types: list[TypeCount]


@tool(hints=READ_HINTS, scopes=[READ], keywords="overview, everything, filter, 一覧, 絞り込み")
async def browse_items(
    context: Context,
    query: Annotated[
        str,
        Field(max_length=MAX_QUERY_LENGTH, description="Words, all of which an item has; empty for any"),
        AfterValidator(check_storable),
    ] = "",
    types: TypesFilter = [],  # noqa: B006 - pydantic copies it
    statuses: Annotated[list[StatusName], Field(max_length=MAX_FILTERS, description="Only these statuses")] = [],  # noqa: B006 - the same
    includeClosedStatuses: Annotated[bool, Field(description="Closed ones, too")] = False,  # noqa: N803 - as elsewhere
    tags: Annotated[list[TagName], Field(max_length=10, description="Tags, all of which an item has")] = [],  # noqa: B006 - the same
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="Most items")] = 20,
    offset: Offset = 0,
    workspace: WorkspaceParameter = None,
) -> ItemPage:
    """List the items of all types that fit every filter, the newest change first, or by words those with the words in
    the title."""
    async with context.store() as store:
        found = await find_workspace(store, workspace)
        known = dict(DEFAULT_STATUSES) if found is None else await list_statuses(store, found)
        if unknown := next((name for name in statuses if name not in known), None):
            raise build_unknown_status(unknown, known)
        if found is None:
            return ItemPage(items=[])
        wanted = statuses or [name for name, is_closed in known.items() if includeClosedStatuses or not is_closed]
        filters = Filters(types, wanted, list(dict.fromkeys(tags)))
        if query.strip():
            return await _list_hits(store, found, query, filters, limit, offset)
        if (types or statuses) and not tags:
            rows = await store.fetch(LIST_PAIRS, found.id, types, wanted, limit + 1, offset)
        else:
            rows = await _list_newest(store, found, filters, limit + 1, offset)
    return ItemPage(
        items=[build_listed(row, found) for row in rows[:limit]],
        next_offset=offset + limit if len(rows) > limit else None,
    )


@tool(hints=READ_HINTS, scopes=[READ], keywords="kinds, 種類")
async def get_types(context: Context, workspace: WorkspaceParameter = None) -> TypeList:
    """List all types with the number of items of each, the most frequent first."""
    async with context.store() as store:
        found = await find_workspace(store, workspace)
        rows: Sequence[Any] = () if found is None else await store.fetch(COUNT_TYPES, found.id)
    return TypeList(types=[TypeCount(name=row["type"], count=row["items"]) for row in rows])


BROWSE_TOOLS = (browse_items, get_types)


async def _list_newest(store: Store, workspace: Workspace, filters: Filters, limit: int, offset: int) -> Sequence[Any]:
    """List by changes what fits: a rare tag is looked up, and a frequent one is met soon."""
    sql = LIST_NEWEST
    if filters.tags:
        rarest = await store.fetchrow(FIND_RAREST_TAG, workspace.id, filters.tags)
        if rarest is not None and rarest["items"] <= FREQUENT:
            sql = LIST_TAGGED
            filters = filters._replace(tags=sorted(filters.tags, key=lambda tag: tag != rarest["tag"]))
    return await store.fetch(sql, workspace.id, *filters, limit, offset)


async def _list_hits(
    store: Store,
    workspace: Workspace,
    query: str,
    filters: Filters,
    limit: int,
    offset: int,
) -> ItemPage:
    """List hits of words that fit. Offsets count all hits, also those that do not."""
    words, named = build_query(workspace.number, query), build_title_query(workspace.number, query)
    items: list[ListedItem] = []
    for start in range(offset, offset + MAX_LOOKED_AT, BATCH):
        ids: Sequence[int] = ()
        if words:
            ids = await store.fetchval(FIND_HITS, workspace.id, words, named, filters.types, start, BATCH) or ()
        for row in await store.fetch(LIST_HITS, workspace.id, *filters, ids):
            if len(items) == limit:
                return ItemPage(items=items, next_offset=start + row["nth"] - 1)
            items.append(build_listed(row, workspace))
        if len(ids) < BATCH:
            return ItemPage(items=items)
    return ItemPage(items=items, next_offset=offset + MAX_LOOKED_AT)
