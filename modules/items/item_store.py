"""Changes of items. Each runs in a transaction whose first write was :func:`modules.items.workspaces.lock_workspace`,
so what it reads stays as it is until it is committed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from modules.items.errors import build_invalid, build_not_found, build_violated
from modules.items.item_dates import is_before
from modules.items.item_keys import parse_keys
from modules.items.item_rows import ItemRecord, ResolvedItem, list_statuses, resolve_keys
from modules.items.item_tokens import build_token_vector
from modules.items.models import ItemChanges
from modules.items.workspaces import Workspace
from modules.kit import Store, run_in_turns

DEFAULT_STATUS = "Open"

# A line of an import may bring its own number and times; numbers go on behind the greatest.
CREATE_ITEM = """
WITH numbered AS (
    INSERT INTO modules.item_numbers AS n (tenant_id, workspace_id, type, last, items)
    VALUES ($1, $3, $4, coalesce($19::integer, 1), 1)
    ON CONFLICT (tenant_id, workspace_id, type)
        DO UPDATE SET last = greatest(n.last, coalesce($19, n.last + 1)), items = n.items + 1 RETURNING last
), added AS (
    INSERT INTO modules.items (tenant_id, workspace_id, type, number, title, description, content, status, priority,
        category, start_date, end_date, version, tags, tokens, updated_by, created_at, updated_at)
    SELECT $1, $3, $4, coalesce($19, last), $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15::text::tsvector, $2,
        coalesce($17, c.now), coalesce($18, $17, c.now)
    FROM numbered CROSS JOIN clock_timestamp() AS c (now) RETURNING id, number, created_at, updated_at
), tagged AS (
    INSERT INTO modules.item_tags (tenant_id, workspace_id, tag, item_id)
    SELECT $1, $3, t.tag, a.id FROM added a CROSS JOIN unnest($14::text[]) AS t (tag)
), tags_counted AS (
    INSERT INTO modules.item_tag_counts AS c (tenant_id, workspace_id, tag, items)
    SELECT $1, $3, t.tag, 1 FROM unnest($14) AS t (tag)
    ON CONFLICT (tenant_id, workspace_id, tag) DO UPDATE SET items = c.items + 1
), related AS (
    INSERT INTO modules.item_relations (tenant_id, workspace_id, source, target, place)
    SELECT $1, $3, a.id, r.target, r.nth
    FROM added a CROSS JOIN unnest($16::bigint[]) WITH ORDINALITY AS r (target, nth)
), counted AS (
    UPDATE modules.item_workspaces SET items = items + 1 WHERE tenant_id = $1 AND id = $3 RETURNING items
)
SELECT a.id, a.number, a.created_at, a.updated_at, c.items FROM added a CROSS JOIN counted c
"""
# `$16` and `$17` are null where tags or relations stay as they are.
UPDATE_ITEM = """
WITH changed AS (
    UPDATE modules.items SET title = $5, description = $6, content = $7, status = $8, priority = $9, category = $10,
        start_date = $11, end_date = $12, version = $13, tags = $14, tokens = coalesce($15::text::tsvector, tokens),
        revision = revision + 1, updated_by = $2, updated_at = clock_timestamp()
    WHERE tenant_id = $1 AND workspace_id = $3 AND id = $4
    RETURNING revision, updated_at
), untagged AS (
    DELETE FROM modules.item_tags
    WHERE tenant_id = $1 AND workspace_id = $3 AND item_id = $4 AND tag <> ALL ($16::text[]) RETURNING tag
), tagged AS (
    INSERT INTO modules.item_tags (tenant_id, workspace_id, tag, item_id)
    SELECT $1, $3, t.tag, $4 FROM unnest($16) AS t (tag) ON CONFLICT DO NOTHING RETURNING tag
), counted_more AS (
    INSERT INTO modules.item_tag_counts AS c (tenant_id, workspace_id, tag, items)
    SELECT $1, $3, t.tag, 1 FROM tagged t
    ON CONFLICT (tenant_id, workspace_id, tag) DO UPDATE SET items = c.items + 1
), counted_less AS (
    UPDATE modules.item_tag_counts c SET items = c.items - 1 FROM untagged t
    WHERE c.tenant_id = $1 AND c.workspace_id = $3 AND c.tag = t.tag AND c.items > 1
), counted_out AS (
    DELETE FROM modules.item_tag_counts c USING untagged t
    WHERE c.tenant_id = $1 AND c.workspace_id = $3 AND c.tag = t.tag AND c.items = 1
), unrelated AS (
    DELETE FROM modules.item_relations
    WHERE tenant_id = $1 AND workspace_id = $3 AND source = $4 AND target <> ALL ($17::bigint[])
), related AS (
    INSERT INTO modules.item_relations (tenant_id, workspace_id, source, target, place)
    SELECT $1, $3, $4, r.target, r.nth FROM unnest($17) WITH ORDINALITY AS r (target, nth)
    ON CONFLICT (tenant_id, workspace_id, source, target) DO UPDATE SET place = excluded.place
)
SELECT revision, updated_at FROM changed
"""
DELETE_ITEM = """
WITH gone AS (
    DELETE FROM modules.items WHERE tenant_id = $1 AND workspace_id = $3 AND id = $4 AND $2::uuid IS NOT NULL
    RETURNING type, tags
), untagged AS (
    SELECT t.tag FROM gone CROSS JOIN unnest(gone.tags) AS t (tag)
), counted_less AS (
    UPDATE modules.item_tag_counts c SET items = c.items - 1 FROM untagged t
    WHERE c.tenant_id = $1 AND c.workspace_id = $3 AND c.tag = t.tag AND c.items > 1
), counted_out AS (
    DELETE FROM modules.item_tag_counts c USING untagged t
    WHERE c.tenant_id = $1 AND c.workspace_id = $3 AND c.tag = t.tag AND c.items = 1
), of_type AS (
    UPDATE modules.item_numbers n SET items = n.items - 1 FROM gone
    WHERE n.tenant_id = $1 AND n.workspace_id = $3 AND n.type = gone.type
)
UPDATE modules.item_workspaces w SET items = w.items - 1 FROM gone WHERE w.tenant_id = $1 AND w.id = $3
"""
CHANGE_TYPE = """
WITH numbered AS (
    INSERT INTO modules.item_numbers AS n (tenant_id, workspace_id, type, last, items) VALUES ($1, $3, $5, 1, 1)
    ON CONFLICT (tenant_id, workspace_id, type) DO UPDATE SET last = n.last + 1, items = n.items + 1 RETURNING last
), renamed AS (
    INSERT INTO modules.item_aliases (tenant_id, workspace_id, type, number, item_id)
    SELECT $1, $3, i.type, i.number, i.id FROM modules.items i
    WHERE i.tenant_id = $1 AND i.workspace_id = $3 AND i.id = $4 RETURNING type
), counted_less AS (
    UPDATE modules.item_numbers n SET items = n.items - 1 FROM renamed r
    WHERE n.tenant_id = $1 AND n.workspace_id = $3 AND n.type = r.type
)
UPDATE modules.items i SET type = $5, number = n.last, revision = i.revision + 1, updated_by = $2,
    updated_at = clock_timestamp()
FROM numbered n WHERE i.tenant_id = $1 AND i.workspace_id = $3 AND i.id = $4
RETURNING i.number, i.revision, i.updated_at
"""
FIND_USER_NAME = """
SELECT coalesce(nullif(name, ''), email) FROM core.users WHERE tenant_id = $1 AND id = $2
"""


@dataclass(frozen=True, slots=True)
class NewItem:
    """An item that is to be created. `key` and the times are those of an item that comes from elsewhere."""

    type: str
    title: str
    description: str = ""
    content: str = ""
    status: str | None = None
    priority: str = "MEDIUM"
    category: str | None = None
    start_date: str | None = None
    end_date: str | None = None
    version: str | None = None
    related: Sequence[str] = ()
    tags: Sequence[str] = ()
    number: int | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None


class ItemWriter:
    """Writes items of a locked workspace, in its transaction."""

    def __init__(self, store: Store, workspace: Workspace, user_id: UUID, user_name: str, max_items: int) -> None:
        self._store = store
        self._workspace = workspace
        self._user_id = user_id
        self._user_name = user_name
        self._max_items = max_items
        self._statuses: dict[str, bool] | None = None

    async def create(self, new: NewItem) -> ItemRecord:
        """Create an item.

        Raises:
            DocumentedError: the status or a related item does not exist, it ends before it starts, or there are too
                many items.
        """
        status = await self._choose_status(new.status)
        _check_dates(new.start_date, new.end_date)
        related = await self._resolve_related(new.related)
        tags = list(dict.fromkeys(new.tags))
        row = await self._store.fetchrow(
            CREATE_ITEM,
            self._workspace.id,
            new.type,
            new.title,
            new.description,
            new.content,
            status,
            new.priority,
            new.category or None,
            new.start_date,
            new.end_date,
            new.version or None,
            tags,
            await self._build_tokens(new.title, new.description, new.content),
            [one.id for one in related],
            new.created_at,
            new.updated_at,
            new.number,
        )
        assert row is not None, "the workspace is locked, so it is there"
        if row["items"] > self._max_items:
            limit = f"a workspace may have {self._max_items} items"
            raise build_violated("max_items", limit, "workspace")
        return ItemRecord(
            row["id"],
            new.type,
            row["number"],
            new.title,
            new.description,
            new.content,
            status,
            new.priority,
            new.category or None,
            new.start_date,
            new.end_date,
            new.version or None,
            tuple(tags),
            tuple(str(one.key) for one in related),
            1,
            self._user_id,
            self._user_name,
            row["created_at"],
            row["updated_at"],
        )

    async def merge(self, before: ItemRecord, changes: ItemChanges) -> "PreparedChange":
        """Prepare the change of an item: what is not given stays.

        Raises:
            DocumentedError: as for :meth:`create`.
        """
        after = _merge(before, changes)
        if changes.status is not None:
            await self._choose_status(changes.status)
        _check_dates(after.start_date, after.end_date)
        related = None
        if changes.related is not None:
            related = await self._resolve_related(changes.related, before)
            after = replace(after, related=tuple(str(one.key) for one in related))
        texts = (after.title, after.description, after.content)
        tokens = None
        if texts != (before.title, before.description, before.content):
            tokens = await self._build_tokens(*texts)
        tags = None if changes.tags is None else list(after.tags)
        return PreparedChange(after, tokens, tags, None if related is None else [one.id for one in related])

    async def update(self, change: "PreparedChange") -> ItemRecord:
        """Write a prepared change; return the item as it is then."""
        after = change.after
        row = await self._store.fetchrow(
            UPDATE_ITEM,
            self._workspace.id,
            after.id,
            after.title,
            after.description,
            after.content,
            after.status,
            after.priority,
            after.category,
            after.start_date,
            after.end_date,
            after.version,
            list(after.tags),
            change.tokens,
            change.tags,
            change.related,
        )
        assert row is not None, "the workspace is locked, so the item is still there"
        return self._stamp(after, row)

    async def delete(self, record: ItemRecord) -> None:
        """Delete an item with its tags, its relations in both directions, and its former keys."""
        await self._store.execute(DELETE_ITEM, self._workspace.id, record.id)

    async def change_type(self, record: ItemRecord, type: str) -> ItemRecord:
        """Give an item another type, and the next number of it. Its key until now still leads to it."""
        row = await self._store.fetchrow(CHANGE_TYPE, self._workspace.id, record.id, type)
        assert row is not None, "the workspace is locked, so the item is still there"
        return self._stamp(replace(record, type=type, number=row["number"]), row)

    def _stamp(self, record: ItemRecord, row: Any) -> ItemRecord:
        return replace(
            record,
            revision=row["revision"],
            updated_at=row["updated_at"],
            updated_by=self._user_id,
            updated_by_name=self._user_name,
        )

    async def _choose_status(self, wanted: str | None) -> str:
        """Return the status that is wanted; without one the default, or the first that is not closed.

        Raises:
            DocumentedError: the workspace has no such status.
        """
        if self._statuses is None:
            self._statuses = await list_statuses(self._store, self._workspace)
        if wanted is None and DEFAULT_STATUS not in self._statuses:
            wanted = next((name for name, is_closed in self._statuses.items() if not is_closed), None)
        status = wanted or DEFAULT_STATUS
        if status not in self._statuses:
            raise build_unknown_status(status, self._statuses)
        return status

    async def _resolve_related(self, texts: Sequence[str], item: ItemRecord | None = None) -> list[ResolvedItem]:
        keys = parse_keys(texts, "related")
        found = await resolve_keys(self._store, self._workspace, keys)
        related: dict[int, ResolvedItem] = {}
        for key, one in zip(keys, found, strict=True):
            if one is None:
                raise build_not_found(key.type, str(key))
            if item is not None and one.id == item.id:
                raise build_invalid("related", str(key), "must not name the item itself")
            related[one.id] = one
        return list(related.values())

    async def _build_tokens(self, title: str, description: str, content: str) -> str:
        size = 5 * (len(title) + len(description) + len(content))
        return await run_in_turns(build_token_vector, self._workspace.number, title, description, content, size=size)


@dataclass(frozen=True, slots=True)
class PreparedChange:
    """A change of an item that was checked: the item `after` it, and its tokens, tags and related ids where those
    change."""

    after: ItemRecord
    tokens: str | None
    tags: list[str] | None
    related: list[int] | None


async def find_user_name(store: Store) -> str:
    """Return the name of the transaction's user, or their e-mail address."""
    return await store.fetchval(FIND_USER_NAME) or ""


def check_revision(before: ItemRecord, expected: int | None) -> None:
    """Check that an item is as its writer has read it.

    Raises:
        DocumentedError: it has another revision, which the error names.
    """
    if expected is not None and expected != before.revision:
        constraint = f"the item {before.key} has revision {before.revision}"
        raise build_invalid("expected_revision", expected, constraint)


def build_unknown_status(status: str, known: dict[str, bool]) -> Exception:
    """Build the error that a workspace has no such status."""
    return build_violated("known_status", f"there is no status {status!r}; there are {', '.join(known)}", "status")


def _merge(before: ItemRecord, changes: ItemChanges) -> ItemRecord:
    given: dict[str, Any] = {
        name: value
        for name in ("title", "description", "content", "status")
        if (value := getattr(changes, name)) is not None
    }
    # An empty text takes away what an item may lack.
    given |= {
        name: value or None
        for name in ("category", "start_date", "end_date", "version")
        if (value := getattr(changes, name)) is not None
    }
    if changes.priority is not None:
        given["priority"] = changes.priority.value
    if changes.tags is not None:
        given["tags"] = tuple(dict.fromkeys(changes.tags))
    return replace(before, **given)


def _check_dates(start: str | None, end: str | None) -> None:
    if start is not None and end is not None and is_before(end, start):
        raise build_invalid("end_date", end, f"must not be before start_date, which is {start}")
