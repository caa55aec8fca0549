"""Tools that list items, tags and statuses."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any

from pydantic import Field

from modules.items.errors import build_invalid, build_violated
from modules.items.item_rows import COUNT_TAGS, LIST_ITEMS, build_listed, list_statuses
from modules.items.item_store import build_unknown_status
from modules.items.item_tools import CHANGE_HINTS, READ, READ_HINTS, WRITE
from modules.items.models import (
    MAX_PAGE,
    ItemList,
    Offset,
    Status,
    StatusList,
    StatusName,
    TagCount,
    TagList,
    TypeParameter,
    WorkspaceParameter,
)
from modules.items.read_cache import READ_CACHE
from modules.items.workspaces import DEFAULT_STATUSES, Workspace, lock_workspace
from modules.kit import Context, Store, tool
from modules.kit.parameters import CalendarDate, OptionalParameter

MAX_STATUSES = 50

REPLACE_STATUSES = """
WITH gone AS (
    DELETE FROM modules.item_statuses WHERE tenant_id = $1 AND workspace_id = $3 AND name <> ALL ($4::text[])
    AND $2::uuid IS NOT NULL
)
INSERT INTO modules.item_statuses (tenant_id, workspace_id, name, is_closed, position)
SELECT $1, $3, s.name, s.is_closed, s.nth
FROM unnest($4::text[], $5::boolean[]) WITH ORDINALITY AS s (name, is_closed, nth)
ON CONFLICT (tenant_id, workspace_id, name)
    DO UPDATE SET is_closed = excluded.is_closed, position = excluded.position
"""
FIND_USED_STATUSES = """
SELECT s.name FROM modules.item_statuses s
WHERE s.tenant_id = $1 AND s.workspace_id = $3 AND $2::uuid IS NOT NULL AND s.name <> ALL ($4::text[])
AND EXISTS (SELECT FROM modules.items i WHERE i.tenant_id = $1 AND i.workspace_id = $3 AND i.status = s.name)
ORDER BY s.position
"""


@tool(hints=READ_HINTS, scopes=[READ], keywords="list, tasks, todo, 一覧, タスク")
async def get_items(
    context: Context,
    type: TypeParameter,
    statuses: Annotated[list[StatusName], Field(max_length=MAX_STATUSES, description="Only these statuses")] = [],  # noqa: B006 - pydantic copies it
    includeClosedStatuses: Annotated[bool, Field(description="Closed ones, too")] = False,  # noqa: N803 - as documented
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="Most items")] = 20,
    start_date: Annotated[OptionalParameter[CalendarDate], Field(description="Changed on or after, UTC")] = None,
    end_date: Annotated[OptionalParameter[CalendarDate], Field(description="Changed on or before, UTC")] = None,
    offset: Offset = 0,
    workspace: WorkspaceParameter = None,
) -> ItemList:
    """List the items of a type, the newest change first, without their contents."""
    if start_date is not None and end_date is not None and end_date < start_date:
        raise build_invalid("end_date", end_date.isoformat(), "must not be before start_date")
    since, until = _begin_day(start_date), _begin_day(end_date, days=1)

    async def read(store: Store, found: Workspace | None) -> ItemList:
        if statuses:
            known = await list_statuses(store, found) if found is not None else dict(DEFAULT_STATUSES)
            if unknown := next((name for name in statuses if name not in known), None):
                raise build_unknown_status(unknown, known)
        if found is None:
            return ItemList(items=[])
        rows = await store.fetch(
            LIST_ITEMS, found.id, type, statuses, includeClosedStatuses, since, until, limit + 1, offset
        )
        return ItemList(
            items=[build_listed(row, found) for row in rows[:limit]],
            next_offset=offset + limit if len(rows) > limit else None,
        )

    parameters = (type, tuple(statuses), includeClosedStatuses, since, until, limit, offset)
    return await READ_CACHE.read(context, workspace, "get_items", parameters, read)


@tool(hints=READ_HINTS, scopes=[READ], keywords="labels, タグ")
async def get_tags(context: Context, workspace: WorkspaceParameter = None) -> TagList:
    """List all tags with the number of items that have each, the most frequent first."""

    async def read(store: Store, found: Workspace | None) -> TagList:
        rows: Sequence[Any] = () if found is None else await store.fetch(COUNT_TAGS, found.id)
        return TagList(tags=[TagCount(name=row["tag"], count=row["items"]) for row in rows])

    return await READ_CACHE.read(context, workspace, "get_tags", None, read)


@tool(hints=READ_HINTS, scopes=[READ], keywords="states, ステータス, 状態")
async def get_statuses(context: Context, workspace: WorkspaceParameter = None) -> StatusList:
    """List the statuses that items may have, and which of them are closed."""

    async def read(store: Store, found: Workspace | None) -> StatusList:
        return _build_statuses(dict(DEFAULT_STATUSES) if found is None else await list_statuses(store, found))

    return await READ_CACHE.read(context, workspace, "get_statuses", None, read)


@tool(hints=CHANGE_HINTS, scopes=[WRITE], keywords="configure, ステータス, 設定")
async def set_statuses(
    context: Context,
    statuses: Annotated[
        list[Status],
        Field(min_length=1, max_length=MAX_STATUSES, fail_fast=True, description="All statuses, in their order"),
    ],
    workspace: WorkspaceParameter = None,
) -> StatusList:
    """Set the statuses of a workspace. One that items have cannot be left out."""
    wanted = {status.name: status.is_closed for status in statuses}
    if len(wanted) < len(statuses):
        raise build_invalid("statuses", None, "must name each status once")
    if all(wanted.values()):
        raise build_invalid("statuses", None, "must have one that is not closed")
    async with context.store() as store:
        found = await lock_workspace(store, workspace)
        used = await store.fetch(FIND_USED_STATUSES, found.id, list(wanted))
        if used:
            names = ", ".join(row["name"] for row in used)
            raise build_violated("used_status", f"items have the status {names}", "statuses")
        await store.execute(REPLACE_STATUSES, found.id, list(wanted), list(wanted.values()))
    return _build_statuses(wanted)


LIST_TOOLS = (get_items, get_tags, get_statuses, set_statuses)


def _build_statuses(known: dict[str, bool]) -> StatusList:
    return StatusList(statuses=[Status(name=name, is_closed=is_closed) for name, is_closed in known.items()])


def _begin_day(day: date | None, *, days: int = 0) -> datetime | None:
    """Return the moment in which a day begins in UTC, or the day so many days after it; None where there is none."""
    if day is None or day == date.max:
        return None
    return datetime.combine(day + timedelta(days=days), time(), UTC)
