"""The index by which items are found by their meaning: a collection for each workspace, a document for each item.

It begins with the first search; until then a write does nothing for it. An item is indexed outside the transaction that
writes it, at once where its text is short, else by the next search or a job. So the index may lag behind, never the
items: what it finds is read from their rows. A text that was read earlier never replaces one that was read later: a
document has the revision of its item.
"""

import math
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from modules.items.models import flatten_line
from modules.items.settings import ItemSettings
from modules.items.workspaces import Workspace, start_index
from modules.kit import CollectionInfo, Context, NewDocument, StaleVersion, ToolError

BATCH = 100
"""Items that are read at once; as many are indexed by a search at most."""
MARKED_AT_ONCE = 20
"""Items after which what was indexed is marked, so that little is done again after an interruption."""
SEARCH_SECONDS = 2.0
"""After which a search begins with no further item. The first one, which may have to wait for the embedding model, does
not count."""
WRITE_SECONDS = 1.0
"""The same for a write."""
MAX_SHORT_TEXT = 1_000
"""Characters of an item that is indexed by the call that writes it: about 10 ms each thousand."""
MAX_FAILURES = 3

FIND_PENDING = """
SELECT i.id, i.type, i.title, i.description, i.content, i.revision FROM modules.items i
WHERE i.tenant_id = $1 AND i.workspace_id = $3 AND i.indexed_revision < i.revision AND $2::uuid IS NOT NULL
AND i.id < $5 ORDER BY i.id DESC LIMIT $4
"""
AFTER_ALL = 2**63 - 1
"""Behind every id."""
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


class IndexedCount(NamedTuple):
    """How many items were indexed, and why no more were; empty where nothing failed, or some only."""

    indexed: int
    problem: str


async def find_index(context: Context, workspace: Workspace) -> CollectionInfo | None:
    """Find the collection of a workspace; None where nobody has searched it by meaning yet.

    Raises:
        ToolError: the database cannot search by meaning.
    """
    return await context.collections.find(str(workspace.id), workspace.owner, workspace.role)


async def open_index(context: Context, workspace: Workspace) -> CollectionInfo | None:
    """Return the collection of a workspace, which is created where there is none; None where the caller may not. From
    then on, what is written is indexed.

    Raises:
        ToolError: the database cannot search by meaning, or the embedding model is none.
    """
    try:
        index = await find_index(context, workspace) or await _create_index(context, workspace)
    except ToolError as error:
        if error.code == "forbidden":
            return None
        raise
    if index.can_write and not workspace.is_indexed:
        async with context.store() as store:
            await start_index(store, workspace)
    return index


async def prepare_index(context: Context, workspace: Workspace) -> None:
    """Create the collection of a shared workspace while an administrator is here, who alone may. Never raises a
    ToolError."""
    try:
        if workspace.is_shared and await find_index(context, workspace) is None:
            await _create_index(context, workspace)
    except ToolError as error:
        context.log.info("items_not_searched", "a workspace cannot be searched by meaning", code=_get_code(error))


async def _create_index(context: Context, workspace: Workspace) -> CollectionInfo:
    settings = await context.get_settings(ItemSettings)
    return await context.collections.open(
        str(workspace.id),
        workspace.owner,
        workspace.role,
        model=settings.embedding_model,
        member_writes=workspace.member_writes,
        derived=True,
    )


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
        texts = await _fetch_pending(context, workspace)
        await _index(context, workspace, index, texts, SEARCH_SECONDS)
    return await count_pending(context, workspace)


async def index_all(context: Context, workspace: Workspace, index: CollectionInfo) -> IndexedCount:
    """Index all that is pending now, the newest first, and report how far it is. An item that fails is passed over;
    after some in a row, the rest stays pending."""
    total = await count_pending(context, workspace)
    done = IndexedCount(0, "")
    before, problem = AFTER_ALL, ""
    while not problem and (texts := await _fetch_pending(context, workspace, before)):
        await context.report_progress(done.indexed, max(total, done.indexed))
        before = texts[-1].id
        indexed, problem = await _index(context, workspace, index, texts, math.inf)
        done = IndexedCount(done.indexed + indexed, problem)
    await context.report_progress(done.indexed, max(total, done.indexed))
    return done


async def _fetch_pending(context: Context, workspace: Workspace, before: int = AFTER_ALL) -> list[IndexedText]:
    async with context.store() as store:
        return _read_texts(await store.fetch(FIND_PENDING, workspace.id, BATCH, before))


async def count_pending(context: Context, workspace: Workspace) -> int:
    """Count the items whose last change is not indexed."""
    async with context.store() as store:
        return await store.fetchval(COUNT_PENDING, workspace.id)


async def index_written(context: Context, workspace: Workspace, items: Iterable[int]) -> None:
    """Index items with short texts that were just written, if the workspace is searched by meaning. Never fails: what
    is not indexed stays pending."""
    if not workspace.is_indexed:
        return
    try:
        index = await find_index(context, workspace)
        if index is None or not index.can_write:
            return
        async with context.store() as store:
            rows = await store.fetch(FIND_WRITTEN, workspace.id, list(items), MAX_SHORT_TEXT)
        await _index(context, workspace, index, _read_texts(rows), WRITE_SECONDS)
    except Exception as error:  # noqa: BLE001 they are written: no fault of the index may look like one of the write
        context.log.info("items_not_indexed", "items that were written wait for a search", error=type(error).__name__)


async def forget_items(context: Context, workspace: Workspace, items: Iterable[int]) -> None:
    """Take deleted items out of the index. Never fails: a search takes out what it finds of them."""
    gone = list(items)
    if not (gone and workspace.is_indexed):
        return
    try:
        index = await find_index(context, workspace)
        if index is not None and index.can_write:
            for one in gone:
                await context.collections.delete(index.id, str(one), derived=True)
    except Exception as error:  # noqa: BLE001 as above
        context.log.info("items_not_forgotten", "deleted items wait for a search", error=type(error).__name__)


async def _index(
    context: Context, workspace: Workspace, index: CollectionInfo, texts: Sequence[IndexedText], seconds: float
) -> IndexedCount:
    """Index items one after the other while there is time, at least one, and mark them."""
    ends_at = math.inf
    count, failures, problem = 0, 0, ""
    indexed: list[IndexedText] = []
    for text in texts:
        try:
            await _put(context, index, text)
            indexed.append(text)
            count, failures = count + 1, 0
        except ToolError as error:
            context.log.info("item_not_indexed", "an item could not be indexed", code=_get_code(error))
            failures, problem = failures + 1, str(error)
        if len(indexed) == MARKED_AT_ONCE:
            await _mark(context, workspace, indexed)
            indexed = []
        if failures == MAX_FAILURES or time.monotonic() > ends_at:
            break
        ends_at = min(ends_at, time.monotonic() + seconds)
    await _mark(context, workspace, indexed)
    return IndexedCount(count, problem if failures == MAX_FAILURES else "")


async def _mark(context: Context, workspace: Workspace, indexed: Sequence[IndexedText]) -> None:
    if indexed:
        async with context.store() as store:
            ids, revisions = [text.id for text in indexed], [text.revision for text in indexed]
            await store.execute(MARK_INDEXED, workspace.id, ids, revisions)


async def _put(context: Context, index: CollectionInfo, text: IndexedText) -> None:
    """Store an item's document, unless there is one of this revision or a newer one."""
    document = NewDocument(
        key=str(text.id),
        title=flatten_line(text.title),
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
