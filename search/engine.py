"""The search engine: collections of documents, and what is found in them by meaning and by words.

Texts are embedded before a transaction begins; where a collection has been given another model meanwhile, it is done
again.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from typing import Protocol
from uuid import UUID

from core.db import Database, UnitOfWork
from core.errors import Forbidden, Unavailable
from search import collection_table, document_reader, document_writer, validation
from search.collection_table import CollectionPlace, CollectionState, load_collection, load_collections
from search.embedding.model import Embedder, format_vector
from search.finder import ModelQuery, SearchRequest, find_passages, group_by_model
from search.index_tokens import QueryToken, collect_query_tokens
from search.keyed_locks import KeyedLocks
from search.neighbours import load_vectors, pair_nearest
from search.prepared_document import prepare_document
from search.records import (
    ANY_DOCUMENT,
    MAX_HITS,
    MAX_PAGE,
    CollectionCaller,
    CollectionKind,
    DocumentCondition,
    DocumentDraft,
    DocumentPair,
    FoundPassage,
    IndexedDocument,
    IndexedDocumentPage,
    SearchCollection,
    SearchScope,
)
from search.reembedding import Progress, Reembedding
from search.transactions import open_search

DEFAULT_QUOTA_BYTES = 1024 << 20
ATTEMPTS = 3
WRITERS_AT_ONCE = 4
"""Transactions that write, of this process: what they leave of a pool of connections is for calls that read."""


class Embedders(Protocol):
    """The embedding models of all tenants, with their keys. Both methods raise EmbeddingError."""

    async def get_default_model(self, tenant_id: UUID) -> str:
        """Return the name of the model that a tenant's new collections get."""
        ...

    async def get_embedder(self, tenant_id: UUID, model: str) -> Embedder:
        """Return what embeds by a model."""
        ...


class SearchEngine:
    """All collections of a database. Every method raises SearchOff where the database has no pgvector, and
    core.errors.Invalid for an input that is wrong or over its limit.

    `quota_bytes`: what the documents of one tenant may take, vectors and tokens included.
    """

    def __init__(self, database: Database, embedders: Embedders, *, quota_bytes: int = DEFAULT_QUOTA_BYTES) -> None:
        self._database = database
        self._embedders = embedders
        self._quota = quota_bytes
        self._collection_locks = KeyedLocks()
        self._writers = asyncio.Semaphore(WRITERS_AT_ONCE)

    async def check_model(self, caller: CollectionCaller, model: str = "") -> str:
        """Return the name of a model once it has embedded something; without a name that of new collections.

        Raises:
            search.embedding.model.EmbeddingError: there is no such model, its key is missing, or it failed.
        """
        name = model or await self._embedders.get_default_model(caller.tenant_id)
        await (await self._embedders.get_embedder(caller.tenant_id, name)).embed_query("-")
        return name

    async def list_collections(self, caller: CollectionCaller) -> Sequence[SearchCollection]:
        """List the collections of a module that the caller may read: the caller's own first, then by name."""
        async with open_search(self._database, caller) as work:
            return await collection_table.list_collections(work, caller)

    async def find_collection(
        self, caller: CollectionCaller, name: str, owner: CollectionKind = CollectionKind.USER, role: str = ""
    ) -> SearchCollection | None:
        """Return a collection by its name and owner, or None where the caller may read none."""
        validation.check_collection_name(name)
        async with open_search(self._database, caller) as work:
            return await collection_table.find_collection(work, caller, CollectionPlace(name, owner, role))

    async def open_collection(
        self,
        caller: CollectionCaller,
        name: str,
        owner: CollectionKind = CollectionKind.USER,
        role: str = "",
        *,
        model: str = "",
        member_writes: bool = False,
    ) -> SearchCollection:
        """Return a collection, which is created where there is none, with the embedding `model` of this name or the
        default. `member_writes`: everybody who may read a shared one may write to it; else administrators.

        Raises:
            core.errors.Forbidden: only administrators create shared ones.
            core.errors.NotFound: the caller has no such role.
            core.errors.LimitReached: the owner has as many as it may have.
        """
        if (found := await self.find_collection(caller, name, owner, role)) is not None:
            return found
        place = CollectionPlace(name, owner, role)
        model_name = model or await self._embedders.get_default_model(caller.tenant_id)
        chosen = (await self._embedders.get_embedder(caller.tenant_id, model_name)).model
        async with open_search(self._database, caller) as work:
            await collection_table.create_collection(
                work, caller, place, model=chosen.name, dimensions=chosen.dimensions, member_writes=member_writes
            )
            found = await collection_table.find_collection(work, caller, place)
        if found is None:  # the role was taken from the caller meanwhile
            raise Forbidden("you may not read this collection")
        return found

    async def remove_collection(self, caller: CollectionCaller, collection: UUID) -> int:
        """Delete a collection with its documents; return how many there were.

        Raises:
            core.errors.NotFound, core.errors.Forbidden: there is none, or the caller may not write to it.
        """
        async with self._write(caller, collection) as work:
            return await collection_table.delete_collection(work, caller, collection)

    async def put_document(
        self,
        caller: CollectionCaller,
        collection: UUID,
        draft: DocumentDraft,
        *,
        expected_version: int | None = None,
    ) -> IndexedDocument:
        """Store a document in place of the one with its key. `expected_version` 0 means that there is none yet, None
        that any will do.

        Raises:
            search.records.VersionChanged: it has another version.
            core.errors.NotFound, core.errors.Forbidden: there is no such collection, or the caller may not write to it.
            core.errors.LimitReached: the tenant's storage is full.
            search.embedding.model.EmbeddingError: the text could not be embedded.
        """
        validation.check_document(draft)
        for _ in range(ATTEMPTS):
            state = await self._load_writable(caller, collection)
            embedder = await self._embedders.get_embedder(caller.tenant_id, state.model)
            prepared = await prepare_document(draft, embedder, state.generation)
            async with self._write(caller, collection) as work:
                state = await collection_table.lock_collection(work, caller, collection)
                if state.generation == prepared.generation:
                    return await document_writer.store_document(
                        work, state, prepared, expected_version=expected_version, quota=self._quota
                    )
        raise _changes_too_often()

    async def get_document(self, caller: CollectionCaller, collection: UUID, key: str) -> IndexedDocument | None:
        """Return a document with its text, or None."""
        validation.check_key(key)
        async with open_search(self._database, caller) as work:
            return await document_reader.fetch_document(work, caller, collection=collection, key=key)

    async def get_document_by_id(self, caller: CollectionCaller, document: UUID) -> IndexedDocument | None:
        """Return a document of any of the module's collections with its text, or None."""
        async with open_search(self._database, caller) as work:
            return await document_reader.fetch_document(work, caller, id=document)

    async def delete_document(
        self, caller: CollectionCaller, collection: UUID, key: str, *, expected_version: int | None = None
    ) -> bool:
        """Delete a document; tell whether there was one.

        Raises:
            search.records.VersionChanged: it has another version.
            core.errors.NotFound, core.errors.Forbidden: there is no such collection, or the caller may not write to it.
        """
        validation.check_key(key)
        async with self._write(caller, collection) as work:
            state = await collection_table.lock_collection(work, caller, collection)
            return await document_writer.delete_document(work, state, key, expected_version=expected_version)

    async def list_documents(
        self,
        caller: CollectionCaller,
        collections: Sequence[UUID] | None = None,
        condition: DocumentCondition = ANY_DOCUMENT,
        *,
        newest_first: bool = False,
        after: str = "",
        limit: int = 50,
    ) -> IndexedDocumentPage:
        """List documents without their texts, by key or the newest first; `collections` None means all that the caller
        may read.

        Raises:
            core.errors.NotFound: there is one of these collections that the caller may not read.
        """
        validation.check_condition(condition)
        validation.check_limit(limit, MAX_PAGE)
        async with open_search(self._database, caller) as work:
            states = await load_collections(work, caller, collections)
            return await document_reader.list_documents(
                work, [one.id for one in states], condition, newest_first=newest_first, after=after, limit=limit
            )

    async def count_tags(
        self, caller: CollectionCaller, collections: Sequence[UUID] | None = None
    ) -> Sequence[tuple[str, int]]:
        """Count the documents that have each tag, the most frequent first.

        Raises:
            core.errors.NotFound: there is one of these collections that the caller may not read.
        """
        async with open_search(self._database, caller) as work:
            states = await load_collections(work, caller, collections)
            return await document_reader.count_tags(work, [one.id for one in states])

    async def pair_nearest(self, caller: CollectionCaller, collection: UUID, *, least: float) -> Sequence[DocumentPair]:
        """Pair documents of which each is the other's nearest in meaning, the most alike first, from a likeness of
        `least` on (0 to 1). Of a large collection search.neighbours.MOST_COMPARED are compared, those that were changed
        last.

        Raises:
            core.errors.NotFound: there is no such collection that the caller may read.
            search.embedding.model.EmbeddingError: its model is not known here.
        """
        async with open_search(self._database, caller) as work:
            state = await load_collection(work, caller, collection)
            titles, vectors = await load_vectors(work, state)
        embedder = await self._embedders.get_embedder(caller.tenant_id, state.model)
        return await pair_nearest(titles, vectors, floor=embedder.model.floor, least=least)

    async def reembed(
        self, caller: CollectionCaller, collection: UUID, model: str, progress: Progress | None = None
    ) -> int:
        """Give a collection another embedding model; return how many documents this call has embedded. Until all are,
        searches find by the old model. A call that was interrupted is repeated, and goes on where that ended.

        Raises:
            core.errors.NotFound, core.errors.Forbidden: there is no such collection, or the caller may not write to it.
            core.errors.Conflict: a document's text was not kept, or another model is chosen meanwhile.
            search.embedding.model.EmbeddingError: there is no such model, or it failed.
        """
        await self._load_writable(caller, collection)
        embedder = await self._embedders.get_embedder(caller.tenant_id, model)
        return await Reembedding(lambda: self._write(caller, collection), caller, collection, embedder).run(progress)

    async def search(
        self,
        caller: CollectionCaller,
        query: str,
        *,
        collections: Sequence[UUID] | None = None,
        condition: DocumentCondition = ANY_DOCUMENT,
        scope: SearchScope = SearchScope.HYBRID,
        limit: int = 5,
        one_per_document: bool = False,
    ) -> Sequence[FoundPassage]:
        """Find the passages that fit a query best; of each document the best one only if `one_per_document`.

        Raises:
            core.errors.NotFound: there is one of these collections that the caller may not read.
            search.embedding.model.EmbeddingError: the query could not be embedded.
        """
        validation.check_query(query)
        validation.check_condition(condition)
        validation.check_limit(limit, MAX_HITS)
        tokens: Sequence[QueryToken] = [] if scope is SearchScope.MEANING else collect_query_tokens(query)
        request = SearchRequest(tokens, condition, limit, one_per_document)
        states = await self._load_filled(caller, collections)
        for _ in range(ATTEMPTS):
            queries = await self._embed_query(caller, query, states, scope)
            async with open_search(self._database, caller) as work:
                found = await find_passages(work, queries, request)
                now = await _load_filled(work, caller, collections)
            if {one.generation for one in now} <= {one.generation for one in states}:
                return found
            states = now
        raise _changes_too_often()

    async def _embed_query(
        self, caller: CollectionCaller, query: str, states: Sequence[CollectionState], scope: SearchScope
    ) -> Sequence[ModelQuery]:
        queries: list[ModelQuery] = []
        for name, group in group_by_model(states).items():
            vector, floor = None, 0.0
            if scope is not SearchScope.WORDS:
                embedder = await self._embedders.get_embedder(caller.tenant_id, name)
                vector = "{" + format_vector(await embedder.embed_query(query))[1:-1] + "}"
                floor = embedder.model.floor
            queries.append(ModelQuery(group, group[0].dimensions, floor, vector))
        return queries

    async def _load_writable(self, caller: CollectionCaller, collection: UUID) -> CollectionState:
        async with open_search(self._database, caller) as work:
            state = await load_collection(work, caller, collection)
        if not state.can_write:
            raise Forbidden("you may read this collection, and not write to it")
        return state

    async def _load_filled(
        self, caller: CollectionCaller, collections: Sequence[UUID] | None
    ) -> Sequence[CollectionState]:
        async with open_search(self._database, caller) as work:
            return await _load_filled(work, caller, collections)

    @contextlib.asynccontextmanager
    async def _write(self, caller: CollectionCaller, collection: UUID) -> AsyncGenerator[UnitOfWork]:
        """Open a transaction that writes to a collection. Writers of the same one wait here, and not with a connection
        each."""
        async with self._collection_locks.hold(collection), self._writers, open_search(self._database, caller) as work:
            yield work


async def _load_filled(
    work: UnitOfWork, caller: CollectionCaller, collections: Sequence[UUID] | None
) -> Sequence[CollectionState]:
    """Load collections without those that are empty."""
    return [one for one in await load_collections(work, caller, collections) if one.chunks]


def _changes_too_often() -> Unavailable:
    return Unavailable("the collection is embedded anew at this moment; try again")
