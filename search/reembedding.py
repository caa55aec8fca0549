"""A collection embedded anew by another model: its chunks of the next generation are stored beside those that are
searched, and take their place at once when every document has them."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from uuid import UUID

import orjson

from core.db import Row, UnitOfWork
from core.errors import Conflict
from search.collection_table import CollectionState, lock_collection
from search.document_writer import add_generation
from search.embedding.model import Embedder
from search.prepared_document import PreparedDocument, prepare_document
from search.records import CollectionCaller, DocumentDraft

DOCUMENTS_AT_ONCE = 8
Progress = Callable[[int, int], Awaitable[None]]
"""Told how many documents are embedded, of how many."""
OpenWork = Callable[[], AbstractAsyncContextManager[UnitOfWork]]


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A document that has no chunks of the next generation yet."""

    id: UUID
    version: int
    draft: DocumentDraft


class Reembedding:
    """One collection's change to the model of `embedder`. Each call of `open_work` opens a transaction that writes to
    it; an attempt that was interrupted is taken up where it ended."""

    def __init__(self, open_work: OpenWork, caller: CollectionCaller, collection: UUID, embedder: Embedder) -> None:
        self._open_work = open_work
        self._caller = caller
        self._collection = collection
        self._embedder = embedder

    async def run(self, progress: Progress | None = None) -> int:
        """Embed every document; return how many this call has embedded.

        Raises:
            core.errors.Conflict: a document's text was not kept, or another model is chosen meanwhile.
            search.embedding.model.EmbeddingError: the model failed; another call goes on from there.
        """
        done = 0
        if (generation := await self._begin()) is None:
            return done
        while True:
            async with self._open_work() as work:
                state = await self._lock(work, generation)
                waiting = await self._list_waiting(work, generation)
                if not waiting:
                    await work.execute(_SWITCH_DOCUMENTS, self._collection)
                    await work.execute(_SWITCH, self._collection)
                    await _drop_generation(work, self._collection, state.generation)
                    return done
            for document in waiting:
                prepared = await prepare_document(document.draft, self._embedder, generation)
                async with self._open_work() as work:
                    state = await self._lock(work, generation)
                    done += await self._add(work, document, prepared)
            if progress is not None:
                await progress(min(done, state.documents), state.documents)

    async def _begin(self) -> int | None:
        """Note the next model; return the number of the generation, None where the collection has that model."""
        model = self._embedder.model
        async with self._open_work() as work:
            state = await lock_collection(work, self._caller, self._collection)
            if state.next_generation is not None:
                if state.next_model == model.name:
                    return state.next_generation
                await self._discard(work, state.next_generation)
            if state.model == model.name:
                return None
            lost: int = await work.fetchval(_COUNT_WITHOUT_TEXT, self._collection)
            if lost:
                raise Conflict(f"{lost} documents cannot be embedded anew: their text was not kept")
            return await work.fetchval(_BEGIN, self._collection, model.name, model.dimensions)

    async def _lock(self, work: UnitOfWork, generation: int) -> CollectionState:
        state = await lock_collection(work, self._caller, self._collection)
        if state.next_generation != generation:
            raise Conflict("another model was chosen for the collection meanwhile")
        return state

    async def _list_waiting(self, work: UnitOfWork, generation: int) -> Sequence[_Waiting]:
        rows = await work.fetch(_LIST_WAITING, self._collection, generation, DOCUMENTS_AT_ONCE)
        if any(row["text"] is None for row in rows):
            raise Conflict("a document was stored meanwhile whose text is not kept")
        return [_read_waiting(row) for row in rows]

    async def _add(self, work: UnitOfWork, document: _Waiting, prepared: PreparedDocument) -> int:
        """Store a document's chunks, unless it was changed or deleted meanwhile; return 1 or 0."""
        if await work.fetchval(_GET_VERSION, self._collection, document.id) != document.version:
            return 0
        await add_generation(work, self._collection, document.id, prepared.generation, prepared.chunks)
        await work.execute(
            _NOTE, self._collection, document.id, prepared.generation, len(prepared.chunks), prepared.bytes
        )
        return 1

    async def _discard(self, work: UnitOfWork, generation: int) -> None:
        await _drop_generation(work, self._collection, generation)
        await work.execute(_DISCARD, self._collection)


async def _drop_generation(work: UnitOfWork, collection: UUID, generation: int) -> None:
    await work.execute(_DROP_CHUNKS, collection, generation)
    await work.execute(_DROP_COUNTS, collection, generation)


def _read_waiting(row: Row) -> _Waiting:
    draft = DocumentDraft(
        row["key"],
        row["title"],
        row["text"],
        tuple(row["tags"]),
        orjson.loads(row["metadata"]),
        row["url"],
        max_chunk_chars=row["max_chunk_chars"],
    )
    return _Waiting(row["id"], row["version"], draft)


_COUNT_WITHOUT_TEXT = """SELECT count(*) FROM search.documents
    WHERE tenant_id = $1 AND $2::uuid IS NOT NULL AND collection_id = $3 AND text IS NULL"""
_BEGIN = """UPDATE search.collections
    SET next_model = $4, next_dimensions = $5, next_generation = nextval('search.generations')
    WHERE tenant_id = $1 AND $2::uuid IS NOT NULL AND id = $3 RETURNING next_generation"""
_DISCARD = """UPDATE search.collections SET next_model = NULL, next_dimensions = NULL, next_generation = NULL
    WHERE tenant_id = $1 AND $2::uuid IS NOT NULL AND id = $3"""
_LIST_WAITING = """SELECT id, version, key, title, text, tags, metadata, url, max_chunk_chars FROM search.documents
    WHERE tenant_id = $1 AND $2::uuid IS NOT NULL AND collection_id = $3 AND next_generation IS DISTINCT FROM $4
    LIMIT $5"""
_GET_VERSION = """SELECT version FROM search.documents
    WHERE tenant_id = $1 AND $2::uuid IS NOT NULL AND collection_id = $3 AND id = $4"""
_NOTE = """UPDATE search.documents SET next_generation = $5, next_chunks = $6, next_bytes = $7
    WHERE tenant_id = $1 AND $2::uuid IS NOT NULL AND collection_id = $3 AND id = $4"""
_SWITCH_DOCUMENTS = """UPDATE search.documents SET chunks = next_chunks, bytes = next_bytes,
        next_generation = NULL, next_chunks = NULL, next_bytes = NULL
    WHERE tenant_id = $1 AND $2::uuid IS NOT NULL AND collection_id = $3"""
_SWITCH = """UPDATE search.collections SET model = next_model, dimensions = next_dimensions,
        generation = next_generation, next_model = NULL, next_dimensions = NULL, next_generation = NULL,
        (chunks, bytes) = (SELECT coalesce(sum(d.chunks), 0), coalesce(sum(d.bytes), 0) FROM search.documents d
            WHERE d.tenant_id = $1 AND d.collection_id = $3)
    WHERE tenant_id = $1 AND $2::uuid IS NOT NULL AND id = $3"""
_DROP_CHUNKS = """DELETE FROM search.chunks
    WHERE tenant_id = $1 AND $2::uuid IS NOT NULL AND collection_id = $3 AND generation = $4"""
_DROP_COUNTS = """DELETE FROM search.token_counts
    WHERE tenant_id = $1 AND $2::uuid IS NOT NULL AND collection_id = $3 AND generation = $4"""
