"""The tool that moves items in."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from modules.items.item_keys import ItemKey, parse_keys
from modules.items.item_rows import find_items, resolve_keys
from modules.items.item_store import ItemWriter, NewItem
from modules.items.item_tools import CHANGE_HINTS, WRITE, open_writer
from modules.items.json_lines import MAX_IMPORT_CHARS, ItemLine, ParsedItems, ReadItemLine, parse_items
from modules.items.meaning_index import count_pending
from modules.items.models import ItemImport, RefusedItemLine, WorkspaceParameter
from modules.items.workspaces import Workspace
from modules.kit import Context, DocumentedError, Store, run_in_turns, tool

MAX_REFUSED = 200

ADD_STATUSES = """
INSERT INTO modules.item_statuses (tenant_id, workspace_id, name, is_closed, position)
SELECT $1, $3, s.name, s.is_closed, 1000 + s.nth
FROM unnest($4::text[], $5::boolean[]) WITH ORDINALITY AS s (name, is_closed, nth) WHERE $2::uuid IS NOT NULL
ON CONFLICT (tenant_id, workspace_id, name) DO NOTHING
"""
SET_RELATIONS = """
WITH gone AS (
    DELETE FROM modules.item_relations r WHERE r.tenant_id = $1 AND r.workspace_id = $3 AND $2::uuid IS NOT NULL
    AND r.source = ANY ($4::bigint[])
    AND NOT EXISTS (SELECT FROM unnest($5::bigint[], $6::bigint[]) AS k (source, target)
        WHERE k.source = r.source AND k.target = r.target)
)
INSERT INTO modules.item_relations (tenant_id, workspace_id, source, target, place)
SELECT $1, $3, s.source, s.target, s.nth
FROM unnest($5, $6) WITH ORDINALITY AS s (source, target, nth)
ON CONFLICT (tenant_id, workspace_id, source, target) DO UPDATE SET place = excluded.place
"""


@tool(hints=CHANGE_HINTS, scopes=[WRITE], keywords="restore, upload, migrate, move, インポート, 取り込み")
async def import_items(
    context: Context,
    jsonl: Annotated[
        str,
        Field(
            max_length=MAX_IMPORT_CHARS,
            description='Lines {"key" or "type","title","content","status","related","tags"…}, {"statuses":[{"name"}]}',
        ),
    ],
    replace: Annotated[bool, Field(description="Change items that have a line's key, instead of refusing it")] = False,
    workspace: WorkspaceParameter = None,
) -> ItemImport:
    """Create items of JSON Lines with the keys that they have there. What cannot be stored is told by line; all else is
    written at once."""
    parsed = await run_in_turns(parse_items, jsonl, size=len(jsonl))
    async with open_writer(context, workspace) as (store, found, writer):
        if parsed.statuses:
            await store.execute(ADD_STATUSES, found.id, list(parsed.statuses), list(parsed.statuses.values()))
        written = _WrittenLines(store, found, writer, parsed)
        await written.write(may_change=replace)
        relations = await written.relate()
    refused = sorted(parsed.refused, key=lambda one: one.line)
    pending = await count_pending(context, found) if found.is_indexed else 0
    return ItemImport(
        created=written.created,
        updated=written.updated,
        relations=relations,
        refused_count=len(refused),
        refused=refused[:MAX_REFUSED],
        keys=written.keys,
        pending=pending or None,
    )


IMPORT_TOOLS = (import_items,)


class _WrittenLines:
    """Writes the lines of an import: first all items, then their relations, which may lead to later lines."""

    def __init__(self, store: Store, workspace: Workspace, writer: ItemWriter, parsed: ParsedItems) -> None:
        self._store = store
        self._workspace = workspace
        self._writer = writer
        self._parsed = parsed
        self._ids: dict[int, int] = {}
        self.created = self.updated = 0
        self.keys: dict[str, str] = {}
        """The keys of items whose lines have none, by the number of the line."""

    async def write(self, *, may_change: bool) -> None:
        """Create the items, or change those that are there."""
        keyed = [one.key for one in self._parsed.items if one.key is not None]
        known = await self._find_known(keyed)
        for line in self._parsed.items:
            try:
                if line.key is None or line.key not in known:
                    await self._create(line)
                elif may_change:
                    await self._change(line, line.key)
                else:
                    self._refuse(line, "key", "is the key of an item that is there")
            except DocumentedError as error:
                if "max_items" in (error.details or {}).values():
                    raise
                self._parsed.refuse(line.line, error)

    async def relate(self) -> int:
        """Set the relations of the items whose lines have some; return their number."""
        sources: list[int] = []
        pairs: dict[tuple[int, int], None] = {}
        for line in self._parsed.items:
            if line.item.related is None or line.line not in self._ids:
                continue
            source = self._ids[line.line]
            sources.append(source)
            pairs |= dict.fromkeys((source, target) for target in await self._find_targets(line, line.item.related))
        if sources:
            ends = list(pairs)
            await self._store.execute(
                SET_RELATIONS, self._workspace.id, sources, [one for one, _ in ends], [one for _, one in ends]
            )
        return len(pairs)

    async def _find_known(self, keys: Sequence[ItemKey]) -> frozenset[ItemKey]:
        found = await resolve_keys(self._store, self._workspace, keys)
        return frozenset(key for key, one in zip(keys, found, strict=True) if one is not None)

    async def _create(self, line: ReadItemLine) -> None:
        item = line.item
        if item.title is None:
            self._refuse(line, "title", "is required")
            return
        record = await self._writer.create(_build_new(line.type, item, item.title, line.key))
        self._ids[line.line] = record.id
        self.created += 1
        if line.key is None:
            self.keys[str(line.line)] = str(record.key)

    async def _change(self, line: ReadItemLine, key: ItemKey) -> None:
        (before,) = await find_items(self._store, self._workspace, [key])
        assert before is not None, "the workspace is locked, so the item is still there"
        fields = set(ItemLine.model_fields) - {"related"}
        changes = line.item.model_copy(update={"related": None})
        if any(getattr(changes, name) is not None for name in fields - {"key", "type", "id"}):
            await self._writer.update(await self._writer.merge(before, changes))
        self._ids[line.line] = before.id
        self.updated += 1

    async def _find_targets(self, line: ReadItemLine, texts: Sequence[str]) -> list[int]:
        """Find the items that a line is related to; what there is not is told, and all else is kept."""
        targets: list[int] = []
        try:
            keys = parse_keys(texts, "related")
        except DocumentedError as error:
            self._parsed.refuse(line.line, error)
            return []
        for key, one in zip(keys, await resolve_keys(self._store, self._workspace, keys), strict=True):
            if one is None:
                self._refuse(line, "related", f"there is no item {key}; all else was imported")
            elif one.id == self._ids[line.line]:
                self._refuse(line, "related", "must not name the item itself; all else was imported")
            else:
                targets.append(one.id)
        return targets

    def _refuse(self, line: ReadItemLine, field: str, reason: str) -> None:
        self._parsed.refused.append(RefusedItemLine(line=line.line, field=field, reason=reason))


def _build_new(type: str, item: ItemLine, title: str, key: ItemKey | None) -> NewItem:
    return NewItem(
        type=type,
        title=title,
        description=item.description or "",
        content=item.content or "",
        status=item.status,
        priority="MEDIUM" if item.priority is None else item.priority.value,
        category=item.category,
        start_date=item.start_date or None,
        end_date=item.end_date or None,
        version=item.version,
        tags=item.tags or (),
        number=None if key is None else key.number,
        created_at=item.created_at,
        updated_at=item.updated_at,
    )
