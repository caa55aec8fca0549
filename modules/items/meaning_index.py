"""The index by which items are found by their meaning: a collection for each workspace, a document for each item.

An item is indexed outside the transaction that writes it, at once where its text is short, else by the next search. So
the index may lag behind, never the items: what it finds is read from their rows. A text that was read earlier never
replaces one that was read later: a document has the revision of its item.
"""

import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from modules.items.settings import ItemSettings
from modules.items.workspaces import Workspace
from modules.kit import CollectionInfo, Context, NewDocument, StaleVersion, ToolError

INDEXED_BY_A_SEARCH = 100
INDEXING_SECONDS = 2.0
"""After which a search or a write begins with no further item."""
MAX_SHORT_TEXT = 1_000
"""Characters of an item that is indexed by the call that writes it: about 10 ms each thousand."""
MAX_FAILURES = 3

FIND_PENDING = """
SELECT i.id, i.type, i.title, i.description, i.content, i.revision FROM modules.items i
WHERE i.tenant_id = $1 AND i.workspace_id = $3 AND i.indexed_revision < i.revision AND $2::uuid IS NOT NULL
ORDER BY i.id DESC LIMIT $4
"""
FIND_WRITTEN = """
SELECT i.id, i.type, i.title, i.description, i.content, i.revision FROM modules.items i
WHERE i.tenant_id = $1 AND i.workspace_id = $3 AND i.indexed_revision < i.revision AND $2::uuid IS NOT NULL
AND i.id = ANY ($4::bigint[]) AND length(i.title) + length(i.description) + length(i.content) <= $5
"""
COUNT_PENDING = """
SELECT count(*) FROM modules.items i
WHERE i.tenant_id = $1 AND i.workspace_id = $3 AND i.indexed_revision < i.revision AND $2::uuid IS NOT NULL
"""
# A row that somebody writes at this moment is left out: it is about to have another revision.
MARK_INDEXED = """
UPDATE modules.items i SET indexed_revision = n.revision FROM (
    SELECT l.id, s.revision FROM unnest($4::bigint[], $5::integer[]) AS s (id, revision)
    JOIN modules.items l ON l.tenant_id = $1 AND l.workspace_id = $3 AND l.id = s.id
        AND l.indexed_revision < s.revision
    WHERE $2::uuid IS NOT NULL FOR UPDATE OF l SKIP LOCKED) n
WHERE i.tenant_id = $1 AND i.workspace_id = $3 AND i.id = n.id
"""


class IndexedText(NamedTuple):
    """An item as it is indexed."""

    id: int
    type: str
    title: str
    description: str
    content: str
    revision: int


async def find_index(context: Context, workspace: Workspace) -> CollectionInfo | None:
    """Find the collection of a workspace; None where nobody has searched it by meaning yet.

    Raises:
        ToolError: the database cannot search by meaning.
    """
    return await context.collections.find(str(workspace.id), workspace.owner, workspace.role)


async def open_index(context: Context, workspace: Workspace) -> CollectionInfo | None:
    """Return the collection of a workspace, which is created where there is none; None where the caller may not.

    Raises:
        ToolError: the database cannot search by meaning, or the embedding model is none.
    """
    found = await find_index(context, workspace)
    if found is not None:
        return found
    settings = await context.get_settings(ItemSettings)
    try:
        return await context.collections.open(
            str(workspace.id),
            workspace.owner,
            workspace.role,
            model=settings.embedding_model,
            member_writes=workspace.member_writes,
            derived=True,
        )
    except ToolError as error:
        if error.code == "forbidden":
            return None
        raise


async def prepare_index(context: Context, workspace: Workspace) -> None:
    """Create the collection of a shared workspace while an administrator is here, who alone may. Never raises a
    ToolError."""
    try:
        if workspace.is_shared:
            await open_index(context, workspace)
    except ToolError as error:
        context.log.info("items_not_searched", "a workspace cannot be searched by meaning", code=_get_code(error))


async def drop_index(context: Context, workspace: Workspace) -> None:
    """Delete the collection of a workspace that was deleted, as far as there is one."""
    try:
        found = await find_index(context, workspace)
        if found is not None:
            await context.collections.remove(found.id)
    except ToolError as error:
        context.log.warning(
            "items_index_kept", "the index of a deleted workspace was not deleted", code=_get_code(error)
        )


async def index_pending(context: Context, workspace: Workspace, index: CollectionInfo) -> int:
    """Index what was written since the last time, as much as a search may wait for; return how many items are still
    pending."""
    if index.can_write:
        async with context.store() as store:
            rows = await store.fetch(FIND_PENDING, workspace.id, INDEXED_BY_A_SEARCH)
        await _index(context, workspace, index, _read_texts(rows))
    return await count_pending(context, workspace)


async def count_pending(context: Context, workspace: Workspace) -> int:
    """Count the items whose last change is not indexed."""
    async with context.store() as store:
        return await store.fetchval(COUNT_PENDING, workspace.id)


async def index_written(context: Context, workspace: Workspace, items: Iterable[int]) -> None:
    """Index items with short texts that were just written, if the workspace is searched by meaning. Never fails: what
    is not indexed stays pending."""
    try:
        index = await find_index(context, workspace)
        if index is None or not index.can_write:
            return
        async with context.store() as store:
            rows = await store.fetch(FIND_WRITTEN, workspace.id, list(items), MAX_SHORT_TEXT)
        await _index(context, workspace, index, _read_texts(rows))
    except Exception as error:  # noqa: BLE001 they are written: no fault of the index may look like one of the write
        context.log.info("items_not_indexed", "items that were written wait for a search", error=type(error).__name__)


async def forget_items(context: Context, workspace: Workspace, items: Iterable[int]) -> None:
    """Take deleted items out of the index. Never fails: a search takes out what it finds of them."""
    try:
        index = await find_index(context, workspace)
        if index is not None and index.can_write:
            for one in items:
                await context.collections.delete(index.id, str(one), derived=True)
    except Exception as error:  # noqa: BLE001 as above
        context.log.info("items_not_forgotten", "deleted items wait for a search", error=type(error).__name__)


async def _index(context: Context, workspace: Workspace, index: CollectionInfo, texts: Sequence[IndexedText]) -> None:
    """Index items one after the other while there is time, at least one, and mark them."""
    ends_at = time.monotonic() + INDEXING_SECONDS
    indexed: list[IndexedText] = []
    failures = 0
    for text in texts:
        try:
            await _put(context, index, text)
            indexed.append(text)
        except ToolError as error:
            context.log.info("item_not_indexed", "an item could not be indexed", code=_get_code(error))
            failures += 1
        if failures == MAX_FAILURES or time.monotonic() > ends_at:
            break
    if indexed:
        async with context.store() as store:
            ids, revisions = [text.id for text in indexed], [text.revision for text in indexed]
            await store.execute(MARK_INDEXED, workspace.id, ids, revisions)


async def _put(context: Context, index: CollectionInfo, text: IndexedText) -> None:
    """Store an item's document, unless there is one of this revision or a newer one."""
    document = NewDocument(
        key=str(text.id),
        title=text.title,
        text="\n\n".join(part for part in (text.description, text.content) if part),
        metadata={"type": text.type, "revision": text.revision},
    )
    while True:
        known = await context.collections.get(index.id, document.key)
        if known is not None and known.metadata.get("revision", 0) >= text.revision:
            return
        version = 0 if known is None else known.version
        try:
            await context.collections.put(index.id, document, expected_version=version, derived=True)
            return
        except StaleVersion:
            continue  # somebody has indexed it meanwhile


def _read_texts(rows: Sequence[Any]) -> list[IndexedText]:
    return [IndexedText(*(row[name] for name in IndexedText._fields)) for row in rows]


def _get_code(error: ToolError) -> str:
    return str(error.code or "")
