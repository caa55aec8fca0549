"""Documents of a collection that are nearest to each other in meaning: their first chunks are compared, which begin
with the title."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from core.db import UnitOfWork
from search.collection_table import CollectionState
from search.fusion import scale_similarity
from search.records import DocumentPair

if TYPE_CHECKING:
    from search.embedding.model import Vector

MOST_COMPARED = 2_000
"""Documents, the last changed ones: 30 ms, and four million numbers are compared a few rows at a time."""
VECTORS_AT_ONCE = 200
"""Of one statement: each number becomes an object, 4 ms for all."""
ROWS_AT_ONCE = 500


async def load_vectors(work: UnitOfWork, collection: CollectionState) -> tuple[list[str], list[Sequence[float]]]:
    """Load the titles and vectors of the documents that were changed last."""
    titles: list[str] = []
    vectors: list[Sequence[float]] = []
    ids: list[UUID] = [row["id"] for row in await work.fetch(_NEWEST, collection.id, MOST_COMPARED)]
    for start in range(0, len(ids), VECTORS_AT_ONCE):
        part = ids[start : start + VECTORS_AT_ONCE]
        for row in await work.fetch(_VECTORS, collection.id, collection.generation, part):
            titles.append(row["title"])
            vectors.append(row["vector"])
    return titles, vectors


async def pair_nearest(
    titles: Sequence[str], vectors: Sequence[Sequence[float]], *, floor: float, least: float
) -> Sequence[DocumentPair]:
    """Pair documents of which each is the other's nearest, from a likeness of `least` on; the most alike first. Of many
    that are the same two are paired."""
    if len(titles) < 2:
        return []
    found = await asyncio.to_thread(_find_nearest, vectors)
    pairs = [
        DocumentPair(titles[one], titles[other], similarity, scale_similarity(similarity, floor))
        for one, other, similarity in found
    ]
    return sorted((pair for pair in pairs if pair.likeness >= least), key=lambda pair: -pair.similarity)


def _find_nearest(numbers: Sequence[Sequence[float]]) -> list[tuple[int, int, float]]:
    import numpy as np

    vectors: Vector = np.array(numbers, dtype=np.float32)
    nearest: list[int] = []
    similarities: list[float] = []
    for start in range(0, len(vectors), ROWS_AT_ONCE):
        products = vectors[start : start + ROWS_AT_ONCE] @ vectors.T
        rows = np.arange(len(products))
        products[rows, start + rows] = -2.0  # itself
        best = products.argmax(axis=1)
        nearest += best.tolist()
        similarities += products[rows, best].tolist()
    return [
        (one, other, similarities[one]) for one, other in enumerate(nearest) if one < other and nearest[other] == one
    ]


_NEWEST = """SELECT id FROM search.documents WHERE tenant_id = $1 AND $2::uuid IS NOT NULL AND collection_id = $3
    ORDER BY updated_at DESC, id DESC LIMIT $4"""
_VECTORS = """SELECT d.title, c.embedding::real[] AS vector
    FROM search.chunks c JOIN search.documents d
        ON d.tenant_id = $1 AND d.collection_id = $3 AND d.id = c.document_id
    WHERE c.tenant_id = $1 AND $2::uuid IS NOT NULL AND c.collection_id = $3 AND c.generation = $4 AND c.place = 0
    AND c.document_id = ANY ($5) ORDER BY d.updated_at DESC, d.id DESC"""
