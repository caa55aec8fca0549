"""Tools for the current state of a workspace, and for the states before it."""

from collections.abc import Sequence
from typing import Annotated, Any, LiteralString

from pydantic import Field

from modules.items.errors import build_invalid, build_not_found
from modules.items.item_keys import parse_keys
from modules.items.item_rows import FORMER_USER, USER_NAME, resolve_keys
from modules.items.item_store import find_user_name
from modules.items.item_tools import CHANGE_HINTS, READ, READ_HINTS, WRITE
from modules.items.models import (
    ContentText,
    CurrentState,
    ExpectedRevision,
    Label,
    PastState,
    RelatedKeys,
    ReplacedChange,
    SavedState,
    StateHistory,
    StateMetadata,
    TagNames,
    WorkspaceParameter,
)
from modules.items.read_cache import READ_CACHE
from modules.items.workspaces import Workspace, find_workspace, lock_workspace
from modules.kit import Context, Store, tool
from modules.kit.parameters import OptionalParameter

MAX_STATES = 1_000
"""Of one workspace; the oldest is dropped beyond them."""

LIST_STATES: LiteralString = f"""
SELECT s.revision, s.content, s.updated_by, s.user_id, s.tags, s.created_at,
    ARRAY(SELECT i.type || '-' || i.number FROM unnest(s.related) WITH ORDINALITY AS r (id, nth)
        JOIN modules.items i ON i.tenant_id = $1 AND i.workspace_id = $3 AND i.id = r.id ORDER BY r.nth) AS related,
    (SELECT {USER_NAME} FROM core.users u WHERE u.tenant_id = $1 AND u.id = s.user_id) AS user_name
FROM modules.item_states s
WHERE s.tenant_id = $1 AND s.workspace_id = $3 AND $2::uuid IS NOT NULL AND s.revision < coalesce($4, 2147483647)
ORDER BY s.revision DESC LIMIT $5
"""  # noqa: S608 names of ours
ADD_STATE = """
INSERT INTO modules.item_states (tenant_id, workspace_id, revision, content, updated_by, user_id, related, tags,
    created_at)
VALUES ($1, $3, $4, $5, $6, $2, $7, $8, clock_timestamp()) RETURNING created_at
"""
DROP_STATES = """
DELETE FROM modules.item_states
WHERE tenant_id = $1 AND workspace_id = $3 AND revision <= $4 AND $2::uuid IS NOT NULL
"""


@tool(hints=READ_HINTS, scopes=[READ], keywords="context, handover, 現在の状態, 引き継ぎ")
async def get_current_state(context: Context, workspace: WorkspaceParameter = None) -> CurrentState:
    """Get the current state: what is being worked on, as it was last written. Read it at the start of a session."""

    async def read(store: Store, found: Workspace | None) -> CurrentState:
        row = None if found is None else await store.fetchrow(LIST_STATES, found.id, None, 1)
        if row is None:
            metadata = StateMetadata(updated_by="", updated_at=None, related=[], tags=[], revision=0)
            return CurrentState(content="", metadata=metadata)
        return CurrentState(content=row["content"], metadata=_build_metadata(row))

    return await READ_CACHE.read(context, workspace, "get_current_state", None, read)


@tool(hints=CHANGE_HINTS, scopes=[WRITE], keywords="handover, save, 現在の状態, 引き継ぎ")
async def update_current_state(
    context: Context,
    content: Annotated[ContentText, Field(description="Markdown, in place of all")],
    updated_by: Annotated[OptionalParameter[Label], Field(description="Who writes it, such as ai-start")] = None,
    related: Annotated[RelatedKeys, Field(description="Keys of items it is about, such as task-7")] = [],  # noqa: B006 - pydantic copies it
    tags: Annotated[TagNames, Field(description="Tags")] = [],  # noqa: B006 - the same
    expected_revision: ExpectedRevision = None,
    workspace: WorkspaceParameter = None,
) -> SavedState:
    """Replace the current state. Former states are kept."""
    async with context.store() as store:
        found = await lock_workspace(store, workspace)
        ids, keys = await _resolve_related(store, found, related)
        before = await store.fetchrow(LIST_STATES, found.id, None, 1)
        revision = before["revision"] if before is not None else 0
        if expected_revision is not None and expected_revision != revision:
            raise build_invalid("expected_revision", expected_revision, f"the current state has revision {revision}")
        author = updated_by or await find_user_name(store)
        distinct = list(dict.fromkeys(tags))
        added = await store.fetchval(ADD_STATE, found.id, revision + 1, content, author[:100], ids, distinct)
        await store.execute(DROP_STATES, found.id, revision + 1 - MAX_STATES)
    metadata = StateMetadata(
        updated_by=author[:100], updated_at=added, related=keys, tags=distinct, revision=revision + 1
    )
    is_known = expected_revision is not None or before is None or before["user_id"] == context.user_id
    replaced = None if is_known or before is None else _build_replaced(before)
    return SavedState(content=content, metadata=metadata, replaced=replaced)


@tool(hints=READ_HINTS, scopes=[READ], keywords="past, earlier, log, 履歴")
async def get_state_history(
    context: Context,
    limit: Annotated[int, Field(ge=1, le=50, description="Most states")] = 10,
    before: Annotated[
        OptionalParameter[Annotated[int, Field(ge=1)]], Field(description="next_before of the last answer")
    ] = None,
    workspace: WorkspaceParameter = None,
) -> StateHistory:
    """List the states of a workspace, the newest first."""
    async with context.store() as store:
        found = await find_workspace(store, workspace)
        rows: Sequence[Any] = ()
        if found is not None:
            rows = await store.fetch(LIST_STATES, found.id, before, limit + 1)
    states = [
        PastState(
            revision=row["revision"],
            content=row["content"],
            updated_by=row["updated_by"],
            updated_at=row["created_at"],
            related=row["related"],
            tags=row["tags"],
        )
        for row in rows[:limit]
    ]
    return StateHistory(states=states, next_before=states[-1].revision if len(rows) > limit else None)


STATE_TOOLS = (get_current_state, update_current_state, get_state_history)


async def _resolve_related(store: Store, workspace: Workspace, texts: Sequence[str]) -> tuple[list[int], list[str]]:
    """Return the ids of the items that keys lead to, and their keys as they are now."""
    keys = parse_keys(texts, "related")
    related: dict[int, str] = {}
    for key, one in zip(keys, await resolve_keys(store, workspace, keys), strict=True):
        if one is None:
            raise build_not_found(key.type, str(key))
        related[one.id] = str(one.key)
    return list(related), list(related.values())


def _build_metadata(row: Any) -> StateMetadata:
    return StateMetadata(
        updated_by=row["updated_by"],
        updated_at=row["created_at"],
        related=row["related"],
        tags=row["tags"],
        revision=row["revision"],
    )


def _build_replaced(row: Any) -> ReplacedChange:
    name = row["user_name"] or FORMER_USER
    return ReplacedChange(revision=row["revision"], updated_by=name, updated_at=row["created_at"])
