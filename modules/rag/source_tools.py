"""Tools that fill collections from sources, by the account of the person who added the source."""

from typing import Annotated, Any
from uuid import UUID, uuid4

from pydantic import BaseModel, Field, ValidationError

from modules.kit import (
    CollectionInfo,
    CollectionOwner,
    ConfirmationOutcome,
    Context,
    Execution,
    Hints,
    ToolError,
    tool,
)
from modules.kit.results import Missable
from modules.kit.text_cleaning import clean_line
from modules.rag.collection_names import find_or_create, map_names
from modules.rag.models import CollectionName
from modules.rag.read_tools import READ, READ_HINTS
from modules.rag.source_sync import SOURCE_PREFIX, build_source_key, list_stored, sync_source
from modules.rag.sources import READS, AnySource, SavedSource, SyncReport
from modules.rag.write_tools import WRITE

SYNC_HINTS = Hints(read_only=False, destructive=True, idempotent=True, open_world=True)
ADD_HINTS = Hints(read_only=False, destructive=False, idempotent=False, open_world=False)
REMOVE_HINTS = Hints(read_only=False, destructive=True, idempotent=True, open_world=False)
MAX_SOURCES = 50
"""Of one person."""
UNKNOWN_SOURCE = "you have no source of this id"
CONSENT = (
    "Everybody who reads the collection {collection} will see what your account sees at {source}, also what they could "
    "not open there themselves."
)

SourceId = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$", description="source_id of one of your sources")]


class ListedSource(BaseModel):
    """A source of documents; `last_run` is missing before the first."""

    source_id: str
    source: AnySource
    collection: str
    last_run: Missable[SyncReport] = None


class SourceList(BaseModel):
    """The caller's sources."""

    sources: list[ListedSource]


class SyncResult(BaseModel):
    """Outcome of bringing a collection up to date."""

    message: str
    report: SyncReport


class RemovedSource(BaseModel):
    """A source that was removed, and how many documents went with it."""

    message: str
    documents: int


@tool(hints=ADD_HINTS, scopes=[WRITE], keywords="connect, import, repository, space, 同期, 取り込み")
async def add_source(
    context: Context,
    source: Annotated[AnySource, Field(discriminator="kind", description="Where the documents are")],
    collection: CollectionName = None,
    share: Annotated[
        bool, Field(description="For a shared collection: its readers may see what your account sees there")
    ] = False,
) -> ListedSource:
    """Add a source of documents: a GitHub repository, Notion pages or a Confluence space, read by your account. Its
    documents come when it is synchronized, now or by a schedule."""
    found = await find_or_create(context, collection)
    if not found.can_write:
        raise ToolError("you may not write to this collection")
    await _check_consent(context, found, source.label, share)
    if len((await context.documents.list(SOURCE_PREFIX, limit=MAX_SOURCES)).documents) >= MAX_SOURCES:
        raise ToolError(f"you have {MAX_SOURCES} sources, which is the most; remove one first")
    source_id, saved = uuid4().hex, SavedSource(place=source, collection=found.id)
    await context.documents.put(build_source_key(source_id), saved.model_dump(mode="json"), version=0)
    return ListedSource(source_id=source_id, source=source, collection=found.name)


@tool(hints=READ_HINTS, scopes=[READ])
async def list_sources(context: Context) -> SourceList:
    """List your sources of documents, with what their last run did."""
    names = map_names(await context.collections.list())
    page = await context.documents.list(SOURCE_PREFIX, limit=MAX_SOURCES)
    return SourceList(sources=[_build_listed(one.key, _read_source(one.value), names) for one in page.documents])


@tool(
    hints=SYNC_HINTS,
    scopes=[WRITE],
    execution=Execution.ASYNC,
    reads=READS,
    title="Sync a source",
    keywords="update, refresh, 同期",
)
async def sync_documents(context: Context, source_id: SourceId) -> SyncResult:
    """Bring a collection up to date with a source: what is new or has changed there is stored, what your account no
    longer sees is removed. It tells what was skipped, and why."""
    source = await _get_source(context, source_id)
    report = await sync_source(context, source_id, source)
    saved = source.model_copy(update={"report": report})
    await context.documents.put(build_source_key(source_id), saved.model_dump(mode="json"))
    message = (
        f"{source.place.label}: {report.added} added, {report.updated} updated, {report.unchanged} unchanged, "
        f"{report.removed} removed, {report.skipped_count} skipped."
    )
    return SyncResult(message=message, report=report)


@tool(hints=REMOVE_HINTS, scopes=[WRITE])
async def remove_source(context: Context, source_id: SourceId) -> RemovedSource:
    """Remove a source with the documents that came from it."""
    source = await _get_source(context, source_id)
    documents = 0
    for key in await list_stored(context, source_id, source.collection):
        documents += await context.collections.delete(source.collection, key)
    await context.documents.delete(build_source_key(source_id))
    return RemovedSource(message=f"Removed {source.place.label} with {documents} documents.", documents=documents)


SOURCE_TOOLS = (add_source, list_sources, sync_documents, remove_source)


async def _check_consent(context: Context, collection: CollectionInfo, label: str, share: bool) -> None:
    """Have the person agree to what the readers of a shared collection will see.

    Raises:
        ToolError: they have not.
    """
    if collection.owner is CollectionOwner.USER:
        return
    message = CONSENT.format(collection=clean_line(collection.name)[:100], source=clean_line(label)[:200])
    outcome = await context.confirm(message, label="Share it", instead="give share: true")
    if outcome is ConfirmationOutcome.NOT_ASKED and not share:
        raise ToolError(f"{message} Ask the person; if they agree, give share: true")
    if outcome is ConfirmationOutcome.DECLINED:
        raise ToolError("not added: the person did not agree to share it")


async def _get_source(context: Context, source_id: str) -> SavedSource:
    stored = await context.documents.get(build_source_key(source_id))
    if stored is None:
        raise ToolError(UNKNOWN_SOURCE, code="not_found")
    return _read_source(stored.value)


def _read_source(value: Any) -> SavedSource:
    try:
        return SavedSource.model_validate(value)
    except ValidationError:
        raise ToolError("this source was stored by another version; remove it and add it again") from None


def _build_listed(key: str, source: SavedSource, names: dict[UUID, str]) -> ListedSource:
    return ListedSource(
        source_id=key.removeprefix(SOURCE_PREFIX),
        source=source.place,
        collection=names.get(source.collection, str(source.collection)),
        last_run=source.report,
    )
