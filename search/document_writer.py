"""Documents: what is written to `search.documents`, `search.chunks` and `search.token_counts`.

Everything here is done in a transaction that holds the lock of the collection's row, so versions and counts are exact.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from core.db import Row, UnitOfWork
from core.errors import LimitReached
from search.collection_table import CollectionState, change_size, read_tenant_bytes
from search.document_reader import read_document
from search.index_tokens import count_tokens, format_vector_of_tokens, split_lexeme, subtract_counts
from search.prepared_document import PreparedChunk, PreparedDocument
from search.records import IndexedDocument, VersionChanged

CHUNKS_AT_ONCE = 128
"""Chunks of one statement, each of which has a time limit; a large index takes 2 ms for a chunk."""
TOKENS_AT_ONCE = 5_000


class _Stored(NamedTuple):
    id: UUID
    version: int
    chunks: int
    bytes: int


async def store_document(
    work: UnitOfWork,
    collection: CollectionState,
    document: PreparedDocument,
    *,
    expected_version: int | None,
    quota: int,
) -> IndexedDocument:
    """Store a document in place of the one with its key.

    Raises:
        VersionChanged: it has another version than expected.
        core.errors.LimitReached: the tenant would have more than `quota` bytes.
    """
    stored = await _find_stored(work, collection.id, document.draft.key)
    _check_version(stored, expected_version)
    growth = document.bytes - (stored.bytes if stored else 0)
    if growth > 0:  # before anything is written that nobody would delete
        _check_quota(await read_tenant_bytes(work) + growth, quota)
    removed: Mapping[int, Mapping[str, int]] = (
        {} if stored is None else await _delete_chunks(work, collection.id, stored.id)
    )
    row = await _write_row(work, collection.id, document, stored)
    for start in range(0, len(document.chunks), CHUNKS_AT_ONCE):
        await _insert_chunks(work, collection, row["id"], document.chunks[start : start + CHUNKS_AT_ONCE], start)
    added = count_tokens(chunk.tokens for chunk in document.chunks)
    await _change_counts(work, collection.id, {collection.generation: added}, removed)
    chunks = len(document.chunks) - (stored.chunks if stored else 0)
    await change_size(work, collection.id, documents=int(stored is None), chunks=chunks, size=growth)
    if growth > 0:  # exact now: the tenant's sum is locked until the commit
        _check_quota(await read_tenant_bytes(work), quota)
    draft = document.draft
    return read_document(
        row,
        text=draft.text if draft.keep_text else None,
        chunk_ranges=tuple((one.chunk.start, one.chunk.start + one.chunk.length) for one in document.chunks),
    )


async def delete_document(
    work: UnitOfWork, collection: CollectionState, key: str, *, expected_version: int | None
) -> bool:
    """Delete a document; tell whether there was one.

    Raises:
        VersionChanged: it has another version than expected.
    """
    stored = await _find_stored(work, collection.id, key)
    _check_version(stored, expected_version)
    if stored is None:
        return False
    removed = await _delete_chunks(work, collection.id, stored.id)
    await work.execute(_DELETE, collection.id, stored.id)
    await _change_counts(work, collection.id, {}, removed)
    await change_size(work, collection.id, documents=-1, chunks=-stored.chunks, size=-stored.bytes)
    await work.execute(_NOTE_DELETED, collection.id, stored.version)
    return True


async def add_generation(
    work: UnitOfWork, collection: UUID, document: UUID, generation: int, chunks: Sequence[PreparedChunk]
) -> None:
    """Store a document's chunks of a further generation beside those that are searched; what an earlier attempt has
    stored of it is replaced."""
    removed = await _delete_chunks(work, collection, document, generation)
    for start in range(0, len(chunks), CHUNKS_AT_ONCE):
        await _insert_chunks_of(work, collection, generation, document, chunks[start : start + CHUNKS_AT_ONCE], start)
    await _change_counts(work, collection, {generation: count_tokens(one.tokens for one in chunks)}, removed)


def _check_version(stored: _Stored | None, expected: int | None) -> None:
    version = stored.version if stored else 0
    if expected is not None and expected != version:
        raise VersionChanged(version, expected)


def _check_quota(used: int, quota: int) -> None:
    if used > quota:
        raise LimitReached(
            f"the storage of documents is full: at most {quota >> 20} MB of one tenant. Delete some, or ask an "
            "administrator",
            retry_after=3600.0,
        )


async def _find_stored(work: UnitOfWork, collection: UUID, key: str) -> _Stored | None:
    row = await work.fetchrow(_FIND, collection, key)
    return None if row is None else _Stored(row["id"], row["version"], row["chunks"], row["bytes"])


async def _write_row(work: UnitOfWork, collection: UUID, document: PreparedDocument, stored: _Stored | None) -> Row:
    draft = document.draft
    values = (
        draft.title,
        draft.text if draft.keep_text else None,
        list(dict.fromkeys(draft.tags)),
        document.metadata,
        draft.url,
        draft.max_chunk_chars,
        draft.parent,
        len(document.chunks),
        document.bytes,
    )
    if stored is None:
        row = await work.fetchrow(_INSERT, collection, draft.key, *values)
    else:
        row = await work.fetchrow(_UPDATE, collection, stored.id, *values)
    assert row is not None
    return row


async def _insert_chunks(
    work: UnitOfWork, collection: CollectionState, document: UUID, chunks: Sequence[PreparedChunk], first: int
) -> None:
    await _insert_chunks_of(work, collection.id, collection.generation, document, chunks, first)


async def _insert_chunks_of(
    work: UnitOfWork, collection: UUID, generation: int, document: UUID, chunks: Sequence[PreparedChunk], first: int
) -> None:
    await work.execute(
        _INSERT_CHUNKS,
        collection,
        document,
        generation,
        list(range(first, first + len(chunks))),
        [one.chunk.start for one in chunks],
        [one.chunk.length for one in chunks],
        [one.chunk.heading for one in chunks],
        [one.vector for one in chunks],
        [format_vector_of_tokens(generation, one.tokens) for one in chunks],
    )


async def _delete_chunks(
    work: UnitOfWork, collection: UUID, document: UUID, generation: int | None = None
) -> Mapping[int, Mapping[str, int]]:
    """Delete a document's chunks; return how many of each generation had each token."""
    removed: dict[int, dict[str, int]] = defaultdict(dict)
    for row in await work.fetch(_DELETE_CHUNKS, collection, document, generation):
        removed[row["generation"]][split_lexeme(row["lexeme"])] = row["chunks"]
    return removed


async def _change_counts(
    work: UnitOfWork,
    collection: UUID,
    added: Mapping[int, Mapping[str, int]],
    removed: Mapping[int, Mapping[str, int]],
) -> None:
    for generation in sorted({*added, *removed}):
        changes = sorted(subtract_counts(added.get(generation, {}), removed.get(generation, {})).items())
        for start in range(0, len(changes), TOKENS_AT_ONCE):
            part = changes[start : start + TOKENS_AT_ONCE]
            more = [(token, change) for token, change in part if change > 0]
            fewer = [(token, -change) for token, change in part if change < 0]
            if more:
                await work.execute(_ADD_COUNTS, collection, generation, *_split_pairs(more))
            if fewer:
                tokens, counts = _split_pairs(fewer)
                await work.execute(_SUBTRACT_COUNTS, collection, generation, tokens, counts)
                await work.execute(_DELETE_COUNTS, collection, generation, tokens)


def _split_pairs(pairs: Sequence[tuple[str, int]]) -> tuple[list[str], list[int]]:
    return [token for token, _ in pairs], [count for _, count in pairs]


_FIND = """SELECT id, version, chunks, bytes FROM search.documents
    WHERE tenant_id = $1 AND $2::uuid IS NOT NULL AND collection_id = $3 AND key = $4"""
_RETURNED = "id, collection_id, key, title, tags, metadata, url, version, chunks, updated_at"
_INSERT = f"""INSERT INTO search.documents (tenant_id, collection_id, key, title, text, tags, metadata, url,
        max_chunk_chars, parent, chunks, bytes, version, updated_at)
    SELECT $1, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, c.deleted_version + 1, clock_timestamp()
    FROM search.collections c WHERE c.tenant_id = $1 AND c.id = $3 AND $2::uuid IS NOT NULL
    RETURNING {_RETURNED}"""  # noqa: S608 put together from constants, as below
_UPDATE = f"""UPDATE search.documents SET title = $5, text = $6, tags = $7, metadata = $8, url = $9,
        max_chunk_chars = $10, parent = coalesce($11, parent), chunks = $12, bytes = $13, version = version + 1,
        next_generation = NULL, next_chunks = NULL, next_bytes = NULL,
        updated_at = greatest(clock_timestamp(), updated_at + interval '1 microsecond')
    WHERE tenant_id = $1 AND $2::uuid IS NOT NULL AND collection_id = $3 AND id = $4 RETURNING {_RETURNED}"""  # noqa: S608 put together from constants
_DELETE = """DELETE FROM search.documents
    WHERE tenant_id = $1 AND $2::uuid IS NOT NULL AND collection_id = $3 AND id = $4"""
_NOTE_DELETED = """UPDATE search.collections SET deleted_version = greatest(deleted_version, $4)
    WHERE tenant_id = $1 AND $2::uuid IS NOT NULL AND id = $3"""
# pgvector takes real[] for a vector: its own types are in a schema that only the database knows.
_INSERT_CHUNKS = """INSERT INTO search.chunks
        (tenant_id, collection_id, document_id, generation, place, start, length, heading, embedding, tokens)
    SELECT $1, $3, $4, $5, n.place, n.start, n.length, n.heading, n.embedding::real[], n.tokens::tsvector
    FROM unnest($6::int[], $7::int[], $8::int[], $9::text[], $10::text[], $11::text[])
        AS n(place, start, length, heading, embedding, tokens)
    WHERE $2::uuid IS NOT NULL"""
_DELETE_CHUNKS = """WITH gone AS (
        DELETE FROM search.chunks WHERE tenant_id = $1 AND $2::uuid IS NOT NULL AND collection_id = $3
        AND document_id = $4 AND ($5::bigint IS NULL OR generation = $5) RETURNING generation, tokens)
    SELECT g.generation, lexeme, count(*)::int AS chunks FROM gone g
    CROSS JOIN unnest(tsvector_to_array(g.tokens)) AS lexeme GROUP BY 1, 2"""
_ADD_COUNTS = """INSERT INTO search.token_counts AS t (tenant_id, collection_id, generation, token, chunks)
    SELECT $1, $3, $4, n.token, n.chunks FROM unnest($5::text[], $6::int[]) AS n(token, chunks)
    WHERE $2::uuid IS NOT NULL
    ON CONFLICT (tenant_id, collection_id, generation, token) DO UPDATE SET chunks = t.chunks + EXCLUDED.chunks"""
_SUBTRACT_COUNTS = """UPDATE search.token_counts t SET chunks = t.chunks - n.chunks
    FROM unnest($5::text[], $6::int[]) AS n(token, chunks)
    WHERE t.tenant_id = $1 AND $2::uuid IS NOT NULL AND t.collection_id = $3 AND t.generation = $4
    AND t.token = n.token"""
_DELETE_COUNTS = """DELETE FROM search.token_counts WHERE tenant_id = $1 AND $2::uuid IS NOT NULL AND collection_id = $3
    AND generation = $4 AND token = ANY ($5) AND chunks = 0"""
