"""A search: candidates of both legs from the database, fused, then read as the caller may read them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

import orjson

from core.db import Row, UnitOfWork
from search.collection_table import CollectionState
from search.fusion import FusedHit, SearchCandidate, compute_idf, fuse, scale_similarity
from search.index_tokens import QueryToken
from search.records import DocumentCondition, FoundPassage
from search.validation import encode_metadata

MOST_CANDIDATES = 100
"""Of each leg, of one model."""
MOST_OF_DOCUMENTS = 400
"""The same where each document counts once: a long one has more than a hundred passages."""
_LAST_CHARACTER = "\U0010ffff"


class PassageId(NamedTuple):
    """Where a chunk is: the `place`-th of a document."""

    collection: UUID
    document: UUID
    place: int


@dataclass(frozen=True, slots=True)
class ModelQuery:
    """What one model's collections are asked. `vector` is as PostgreSQL reads it, None where words alone count."""

    collections: Sequence[CollectionState]
    dimensions: int
    floor: float
    vector: str | None


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What all collections are asked; without `tokens` meanings alone count."""

    tokens: Sequence[QueryToken]
    condition: DocumentCondition
    limit: int
    one_per_document: bool = False


async def find_passages(
    work: UnitOfWork, queries: Sequence[ModelQuery], request: SearchRequest
) -> Sequence[FoundPassage]:
    """Find the passages that fit best, of collections that the caller may read.

    Cosines of two models do not compare, so each is scaled from its model's own floor on.
    """
    counts = await _count_tokens(work, queries, request.tokens)
    chunks = sum(collection.chunks for query in queries for collection in query.collections)
    idf = compute_idf(counts, chunks)
    candidates: list[SearchCandidate[PassageId]] = []
    similarities: dict[PassageId, float] = {}
    for query in queries:
        for row in await _find_candidates(work, query, request, counts, idf):
            passage = PassageId(row["collection_id"], row["document_id"], row["place"])
            similarity = None if row["distance"] is None else 1.0 - row["distance"]
            similarities[passage] = similarity or 0.0
            likeness = None if similarity is None else scale_similarity(similarity, query.floor)
            coverage = min(row["coverage"] / sum(idf.values()), 1.0) if idf else 0.0
            candidates.append(SearchCandidate(passage, likeness, coverage))
    hits = fuse(candidates, limit=len(candidates) if request.one_per_document else request.limit)
    if request.one_per_document:
        hits = _keep_best(hits)[: request.limit]
    return await _read_passages(work, hits, similarities)


def _keep_best(hits: Sequence[FusedHit[PassageId]]) -> list[FusedHit[PassageId]]:
    """Keep the first hit of each document."""
    best: dict[tuple[UUID, UUID], FusedHit[PassageId]] = {}
    for hit in hits:
        best.setdefault(hit.candidate.id[:2], hit)
    return list(best.values())


async def _count_tokens(
    work: UnitOfWork, queries: Sequence[ModelQuery], tokens: Sequence[QueryToken]
) -> dict[str, int]:
    """Count the chunks that have each token, of all collections; for a prefix at most as many as there are."""
    counts = {token.text: 0 for token in tokens}
    if not tokens:
        return counts
    states = [collection for query in queries for collection in query.collections]
    where = ([one.id for one in states], [one.generation for one in states])
    for row in await work.fetch(_COUNT, *where, [one.text for one in tokens if not one.is_prefix]):
        counts[row["token"]] = row["chunks"]
    chunks = sum(one.chunks for one in states)
    for token in tokens:
        if token.is_prefix:
            found: int = await work.fetchval(_COUNT_PREFIX, *where, token.text, token.text + _LAST_CHARACTER)
            counts[token.text] = min(found, chunks)
    return counts


async def _find_candidates(
    work: UnitOfWork,
    query: ModelQuery,
    request: SearchRequest,
    counts: Mapping[str, int],
    idf: Mapping[str, float],
) -> Sequence[Row]:
    condition = request.condition
    return await work.fetch(
        _FIND,
        [one.id for one in query.collections],
        [one.generation for one in query.collections],
        query.dimensions,
        query.vector,
        [one.text for one in request.tokens],
        [one.is_prefix for one in request.tokens],
        [idf[one.text] for one in request.tokens],
        [counts[one.text] for one in request.tokens],
        list(condition.tags),
        encode_metadata(condition.metadata) if condition.metadata else None,
        condition.key_prefix,
        condition.since,
        condition.until,
        MOST_OF_DOCUMENTS if request.one_per_document else MOST_CANDIDATES,
    )


async def _read_passages(
    work: UnitOfWork, hits: Sequence[FusedHit[PassageId]], similarities: Mapping[PassageId, float]
) -> Sequence[FoundPassage]:
    """Read what was found as rows that the caller may read: there may be fewer."""
    ids = [hit.candidate.id for hit in hits]
    if not ids:
        return []
    rows = await work.fetch(
        _READ, [one.collection for one in ids], [one.document for one in ids], [one.place for one in ids]
    )
    found = {PassageId(row["collection_id"], row["id"], row["place"]): row for row in rows}
    return [
        _build_passage(found[hit.candidate.id], hit, similarities[hit.candidate.id])
        for hit in hits
        if hit.candidate.id in found
    ]


def _build_passage(row: Row, hit: FusedHit[PassageId], similarity: float) -> FoundPassage:
    return FoundPassage(
        row["id"],
        row["collection_id"],
        row["key"],
        row["title"],
        row["heading"],
        row["place"],
        row["passage"],
        tuple(row["tags"]),
        orjson.loads(row["metadata"]),
        row["url"],
        row["updated_at"],
        similarity,
        hit.candidate.coverage,
        hit.reason,
    )


def group_by_model(collections: Sequence[CollectionState]) -> Mapping[str, Sequence[CollectionState]]:
    """Group collections by the model that has embedded them."""
    groups: dict[str, list[CollectionState]] = defaultdict(list)
    for one in collections:
        groups[one.model].append(one)
    return groups


# Conditions and no join: a plan for any parameters, which PostgreSQL makes after some calls, uses the whole index, too.
_COUNT = """SELECT t.token, sum(t.chunks)::int AS chunks FROM search.token_counts t
    WHERE t.tenant_id = $1 AND $2::uuid IS NOT NULL AND t.collection_id = ANY ($3::uuid[])
    AND t.generation = ANY ($4::bigint[]) AND t.token = ANY ($5::text[]) GROUP BY 1"""
_COUNT_PREFIX = """SELECT coalesce(sum(t.chunks), 0)::int FROM search.token_counts t
    WHERE t.tenant_id = $1 AND $2::uuid IS NOT NULL AND t.collection_id = ANY ($3::uuid[])
    AND t.generation = ANY ($4::bigint[]) AND t.token >= $5 AND t.token < $6"""
_FIND = """SELECT collection_id, document_id, place, distance, coverage
    FROM search.find_candidates($3, $4, $5, $6::text::real[], $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
    WHERE $1::uuid IS NOT NULL AND $2::uuid IS NOT NULL"""
# The collections are named beside the join, too: so PostgreSQL opens the partitions that hold them, and no others.
_READ = """SELECT d.id, d.collection_id, n.place, d.key, d.title, c.heading, d.tags, d.metadata, d.url, d.updated_at,
        substr(d.text, c.start + 1, c.length) AS passage
    FROM unnest($3::uuid[], $4::uuid[], $5::int[]) AS n(collection_id, document_id, place)
    JOIN search.collections o ON o.tenant_id = $1 AND o.id = n.collection_id
    JOIN search.documents d ON d.tenant_id = $1 AND d.collection_id = n.collection_id AND d.id = n.document_id
    JOIN search.chunks c ON c.tenant_id = $1 AND c.collection_id = n.collection_id AND c.document_id = n.document_id
        AND c.generation = o.generation AND c.place = n.place
    WHERE $2::uuid IS NOT NULL AND d.collection_id = ANY ($3) AND c.collection_id = ANY ($3)"""
