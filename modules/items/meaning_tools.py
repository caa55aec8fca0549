"""Tools that find items by their meaning, and index them for that."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from modules.items.errors import build_denied, build_failed, build_invalid
from modules.items.item_tools import READ, READ_HINTS
from modules.items.listed_rows import fetch_listed
from modules.items.meaning_index import count_pending, forget_items, index_all, index_pending, open_index
from modules.items.models import ListedItem, QueryText, TypeName, WorkspaceParameter
from modules.items.workspaces import Workspace, find_workspace
from modules.kit import (
    CollectionInfo,
    Context,
    DocumentedError,
    DocumentFilter,
    Execution,
    SearchHit,
    ToolError,
    tool,
)
from modules.kit.collections import NO_FILTER
from modules.kit.results import Missable

MAX_SIMILAR = 50


class SimilarItem(BaseModel):
    """An item that fits a query. `similarity` is the cosine of both (-1 to 1); `matched` is why it was found."""

    item: ListedItem
    similarity: float
    matched: Literal["meaning", "words", "both"]


class SimilarItems(BaseModel):
    """Items by how well they fit. `pending` items were changed and are not indexed yet: a search indexes some of them,
    the newest first."""

    items: list[SimilarItem]
    pending: int


class IndexedItems(BaseModel):
    """How many items were indexed, and how many still are not; `problem` is why, where something failed."""

    indexed: int
    pending: int
    problem: Missable[str] = None


@tool(hints=READ_HINTS, scopes=[READ], keywords="meaning, similar, 意味, 似ている")
async def semantic_search(
    context: Context,
    query: Annotated[QueryText, Field(description="What is looked for, in any words")],
    limit: Annotated[int, Field(ge=1, le=MAX_SIMILAR, description="Most items")] = 10,
    types: Annotated[list[TypeName], Field(max_length=10, fail_fast=True, description="Only these types")] = [],  # noqa: B006 - pydantic copies it
    workspace: WorkspaceParameter = None,
) -> SimilarItems:
    """Find items by what they mean, also in other words or another language."""
    if not query.strip():
        raise build_invalid("query", query, "is blank")
    async with context.store() as store:
        found = await find_workspace(store, workspace)
    if found is None:
        return SimilarItems(items=[], pending=0)
    with _tell_as_documented():
        index = await open_index(context, found)
        if index is None:
            return SimilarItems(items=[], pending=await count_pending(context, found))
        pending = await index_pending(context, found, index)
        hits = await _search(context, index, query, types, limit)
        return SimilarItems(items=await _build_items(context, found, hits, limit), pending=pending)


@tool(
    hints=READ_HINTS,
    scopes=[READ],
    execution=Execution.ASYNC,
    keywords="reindex, embed, meaning, 索引",
)
async def index_items(context: Context, workspace: WorkspaceParameter = None) -> IndexedItems:
    """Index all items for searches by meaning: after a large import, which searches catch up with slowly."""
    async with context.store() as store:
        found = await find_workspace(store, workspace)
    if found is None:
        return IndexedItems(indexed=0, pending=0)
    with _tell_as_documented():
        index = await open_index(context, found)
        if index is None or not index.can_write:
            raise build_denied(found.full_name)
        done = await index_all(context, found, index)
    pending = await count_pending(context, found)
    return IndexedItems(indexed=done.indexed, pending=pending, problem=done.problem or None)


MEANING_TOOLS = (semantic_search, index_items)


@contextmanager
def _tell_as_documented() -> Generator[None]:
    """Tell what the search engine refuses by the code of a failure, which is the document's."""
    try:
        yield
    except DocumentedError:
        raise
    except ToolError as error:
        raise build_failed(str(error)) from None


async def _search(
    context: Context, index: CollectionInfo, query: str, types: Sequence[str], limit: int
) -> dict[int, SearchHit]:
    """Return the best passage of each item, the best item first."""
    filters = [DocumentFilter(metadata={"type": one}) for one in dict.fromkeys(types)] or [NO_FILTER]
    hits = [
        hit
        for one in filters
        for hit in await context.collections.search(
            query, collections=[index.id], filter=one, limit=min(MAX_SIMILAR, 2 * limit), one_per_document=True
        )
    ]
    if len(filters) > 1:
        hits.sort(key=lambda hit: hit.similarity, reverse=True)
    return {int(hit.key): hit for hit in hits}


async def _build_items(
    context: Context, workspace: Workspace, hits: dict[int, SearchHit], limit: int
) -> list[SimilarItem]:
    async with context.store() as store:
        items = await fetch_listed(store, workspace, hits)
    await forget_items(context, workspace, hits.keys() - items.keys())
    found = [
        SimilarItem(item=item, similarity=round(hits[id].similarity, 4), matched=hits[id].matched.value)
        for id, item in items.items()
    ]
    return found[:limit]
