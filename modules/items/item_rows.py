"""Items as they are read from their rows. Every statement takes the tenant, the user, and as ``$3`` the workspace."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from modules.items.errors import build_not_found
from modules.items.item_keys import ItemKey
from modules.items.models import Item, ListedItem, Priority, ReplacedChange
from modules.items.workspaces import Workspace
from modules.kit import Store

FORMER_USER = "a former user"
USER_NAME: LiteralString = "coalesce(nullif(u.name, ''), u.email)"
LISTED_COLUMNS: LiteralString = f"""i.id, i.type, i.number, i.title, i.status, i.priority, i.category, i.start_date,
    i.end_date, i.version, i.tags, i.revision, i.updated_by, i.created_at, i.updated_at,
    (SELECT {USER_NAME} FROM core.users u WHERE u.tenant_id = $1 AND u.id = i.updated_by) AS updated_by_name"""  # noqa: S608 names of ours
"""Columns of `modules.items` as ``i`` that :func:`build_listed` reads."""
_WHOLE_COLUMNS: LiteralString = f"""{LISTED_COLUMNS}, i.description, i.content,
    ARRAY(SELECT t.type || '-' || t.number FROM modules.item_relations r
        JOIN modules.items t ON t.tenant_id = $1 AND t.workspace_id = $3 AND t.id = r.target
        WHERE r.tenant_id = $1 AND r.workspace_id = $3 AND r.source = i.id ORDER BY r.place, r.target) AS related"""  # noqa: S608
# An item is found by what it is called now, or else by what it was called before its type changed. Ids are looked up
# first: PostgreSQL takes coalesce for leaky, so under row-level security no index would serve a comparison with it.
_NAMED: LiteralString = """coalesce((SELECT f.id FROM modules.items f
        WHERE f.tenant_id = $1 AND f.workspace_id = $3 AND f.type = k.type AND f.number = k.number),
    (SELECT a.item_id FROM modules.item_aliases a
        WHERE a.tenant_id = $1 AND a.workspace_id = $3 AND a.type = k.type AND a.number = k.number)) AS id"""
# One statement for each name: PostgreSQL opens every part of the table for each mention of it, 0.04 ms, found or not.
_OF_ONE: LiteralString = "i.tenant_id = $1 AND i.workspace_id = $3 AND $2::uuid IS NOT NULL"
FIND_ITEM: LiteralString = f"""
SELECT {_WHOLE_COLUMNS} FROM modules.items i WHERE {_OF_ONE} AND i.type = $4 AND i.number = $5
"""  # noqa: S608 names of ours
FIND_RENAMED_ITEM: LiteralString = f"""
SELECT {_WHOLE_COLUMNS} FROM modules.item_aliases a JOIN modules.items i ON i.id = a.item_id
WHERE {_OF_ONE} AND a.tenant_id = $1 AND a.workspace_id = $3 AND a.type = $4 AND a.number = $5
"""  # noqa: S608 the same
_RESOLVED: LiteralString = f"""
WITH named AS MATERIALIZED (
    SELECT k.nth, {_NAMED} FROM unnest($4::text[], $5::integer[]) WITH ORDINALITY AS k (type, number, nth)
    WHERE $2::uuid IS NOT NULL
)"""  # noqa: S608 the same
_OF_NAMED: LiteralString = """FROM named LEFT JOIN modules.items i
    ON i.tenant_id = $1 AND i.workspace_id = $3 AND i.id = named.id ORDER BY named.nth"""
FIND_ITEMS: LiteralString = f"{_RESOLVED} SELECT {_WHOLE_COLUMNS} {_OF_NAMED}"
RESOLVE_KEYS: LiteralString = f"{_RESOLVED} SELECT i.id, i.type, i.number {_OF_NAMED}"
LIST_ITEMS: LiteralString = f"""
WITH found AS (
    SELECT n.id, n.updated_at FROM modules.item_statuses s CROSS JOIN LATERAL (
        SELECT i.id, i.updated_at FROM modules.items i
        WHERE i.tenant_id = $1 AND i.workspace_id = $3 AND i.type = $4 AND i.status = s.name
        AND i.updated_at >= CASE WHEN $7::timestamptz IS NULL THEN '-infinity' ELSE $7 END
        AND i.updated_at < CASE WHEN $8::timestamptz IS NULL THEN 'infinity' ELSE $8 END
        ORDER BY i.updated_at DESC, i.id DESC LIMIT $9::bigint + $10) n
    WHERE s.tenant_id = $1 AND s.workspace_id = $3 AND $2::uuid IS NOT NULL
    AND CASE WHEN cardinality($5::text[]) = 0 THEN $6 OR NOT s.is_closed ELSE s.name = ANY ($5) END
    ORDER BY n.updated_at DESC, n.id DESC LIMIT $9 OFFSET $10)
SELECT {LISTED_COLUMNS} FROM found JOIN modules.items i
    ON i.tenant_id = $1 AND i.workspace_id = $3 AND i.id = found.id
ORDER BY found.updated_at DESC, found.id DESC
"""  # noqa: S608 the same
LIST_STATUSES = """
SELECT name, is_closed FROM modules.item_statuses
WHERE tenant_id = $1 AND workspace_id = $3 AND $2::uuid IS NOT NULL ORDER BY position, name
"""
COUNT_TAGS = """
SELECT tag, items FROM modules.item_tag_counts
WHERE tenant_id = $1 AND workspace_id = $3 AND $2::uuid IS NOT NULL
ORDER BY items DESC, tag
"""


@dataclass(frozen=True, slots=True)
class ItemRecord:
    """An item with its internal `id`; `related` are keys. `updated_by_name` is empty where that user is gone."""

    id: int
    type: str
    number: int
    title: str
    description: str
    content: str
    status: str
    priority: str
    category: str | None
    start_date: str | None
    end_date: str | None
    version: str | None
    tags: tuple[str, ...]
    related: tuple[str, ...]
    revision: int
    updated_by: UUID
    updated_by_name: str
    created_at: datetime
    updated_at: datetime

    @property
    def key(self) -> ItemKey:
        """Its type and number."""
        return ItemKey(self.type, self.number)


@dataclass(frozen=True, slots=True)
class ResolvedItem:
    """An item that a key leads to: its internal id, and its key as it is now."""

    id: int
    key: ItemKey


async def find_item(store: Store, workspace: Workspace | None, key: ItemKey, requested: int | str) -> ItemRecord:
    """Find an item by its key, or by one that it had before its type changed. `requested` is the id as it was given.

    Raises:
        DocumentedError: there is none.
    """
    row = None
    if workspace is not None:
        row = await store.fetchrow(FIND_ITEM, workspace.id, key.type, key.number)
        row = row or await store.fetchrow(FIND_RENAMED_ITEM, workspace.id, key.type, key.number)
    if row is None:
        raise build_not_found(key.type, requested)
    return read_record(row)


async def find_items(store: Store, workspace: Workspace, keys: Sequence[ItemKey]) -> list[ItemRecord | None]:
    """Find items by their keys, in this order; None where there is none."""
    rows = await store.fetch(FIND_ITEMS, workspace.id, [key.type for key in keys], [key.number for key in keys])
    return [None if row["id"] is None else read_record(row) for row in rows]


async def resolve_keys(store: Store, workspace: Workspace, keys: Sequence[ItemKey]) -> list[ResolvedItem | None]:
    """Find the items that keys lead to, in this order; None where there is none."""
    if not keys:
        return []
    rows = await store.fetch(RESOLVE_KEYS, workspace.id, [key.type for key in keys], [key.number for key in keys])
    return [None if row["id"] is None else ResolvedItem(row["id"], ItemKey(row["type"], row["number"])) for row in rows]


async def list_statuses(store: Store, workspace: Workspace) -> dict[str, bool]:
    """Return the statuses of a workspace in their order, and whether each is closed."""
    return {row["name"]: row["is_closed"] for row in await store.fetch(LIST_STATUSES, workspace.id)}


def read_record(row: Any) -> ItemRecord:
    """Read a row of :data:`FIND_ITEM`."""
    return ItemRecord(
        row["id"],
        row["type"],
        row["number"],
        row["title"],
        row["description"],
        row["content"],
        row["status"],
        row["priority"],
        row["category"],
        row["start_date"],
        row["end_date"],
        row["version"],
        tuple(row["tags"]),
        tuple(row["related"]),
        row["revision"],
        row["updated_by"],
        row["updated_by_name"] or "",
        row["created_at"],
        row["updated_at"],
    )


def build_listed(row: Any, workspace: Workspace) -> ListedItem:
    """Build an item of a list from a row with :data:`LISTED_COLUMNS`."""
    return ListedItem(
        key=f"{row['type']}-{row['number']}",
        id=row["number"],
        type=row["type"],
        title=row["title"],
        status=row["status"],
        priority=Priority(row["priority"]),
        category=row["category"],
        start_date=row["start_date"],
        end_date=row["end_date"],
        version=row["version"],
        tags=row["tags"],
        workspace=workspace.full_name,
        revision=row["revision"],
        updated_by=(row["updated_by_name"] or FORMER_USER) if workspace.is_shared else None,
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def build_item(record: ItemRecord, workspace: Workspace) -> Item:
    """Build a whole item."""
    return Item(**collect_fields(record, workspace))


def collect_fields(record: ItemRecord, workspace: Workspace) -> dict[str, Any]:
    """Collect the fields of a whole item, for a result that has more."""
    return {
        "key": str(record.key),
        "id": record.number,
        "type": record.type,
        "title": record.title,
        "description": record.description,
        "content": record.content,
        "status": record.status,
        "priority": Priority(record.priority),
        "category": record.category,
        "start_date": record.start_date,
        "end_date": record.end_date,
        "version": record.version,
        "related": list(record.related),
        "tags": list(record.tags),
        "workspace": workspace.full_name,
        "revision": record.revision,
        "updated_by": (record.updated_by_name or FORMER_USER) if workspace.is_shared else None,
        "created_at": record.created_at,
        "updated_at": record.updated_at,
    }


def build_replaced(before: ItemRecord, user_id: UUID, expected_revision: int | None) -> ReplacedChange | None:
    """Build what a writer is told of the change that theirs has replaced: nothing where they knew it, or made it."""
    if expected_revision is not None or before.updated_by == user_id:
        return None
    return ReplacedChange(
        revision=before.revision, updated_by=before.updated_by_name or FORMER_USER, updated_at=before.updated_at
    )
