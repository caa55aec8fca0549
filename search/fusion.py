"""Fusion of the two legs of a search: passages near in meaning, and passages with the query's words.

Reciprocal rank fusion alone makes searches by meaning worse, since every passage shares some common word with a
question. So a passage counts in the leg of words only if it has enough of the query's weight.
"""

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

RANK_CONSTANT = 60
"""k of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009)."""
LEAST_COVERAGE = 0.4
"""Share of a query's weight that a passage has to have to count as found by words."""

_Id = TypeVar("_Id", bound=Hashable)


class MatchReason(StrEnum):
    """Why a passage was found."""

    MEANING = "meaning"
    WORDS = "words"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class SearchCandidate(Generic[_Id]):
    """A passage that either leg has found: `similarity` is its cosine to the query (-1 to 1), `coverage` the share of
    the query's words that it has (0 to 1, :func:`measure_coverage`)."""

    id: _Id
    similarity: float
    coverage: float


@dataclass(frozen=True, slots=True)
class FusedHit(Generic[_Id]):
    """A candidate in its place; `score` orders hits of one search, and means nothing beside another search's."""

    candidate: SearchCandidate[_Id]
    score: float
    reason: MatchReason


def compute_idf(counts: Mapping[str, int], total: int) -> dict[str, float]:
    """Compute the weight of each token from the number of passages that have it, of `total`: rare ones weigh more, and
    one that nobody has weighs most (BM25's, which is never negative)."""
    return {token: math.log1p((total - min(count, total) + 0.5) / (count + 0.5)) for token, count in counts.items()}


def measure_coverage(weights: Mapping[str, float], tokens: Collection[str]) -> float:
    """Compute the share of a query's weight that a passage's tokens have; 0 for a query without tokens."""
    total = sum(weights.values())
    return sum(weight for token, weight in weights.items() if token in tokens) / total if total else 0.0


def fuse(
    candidates: Iterable[SearchCandidate[_Id]],
    *,
    floor: float,
    limit: int,
    least_coverage: float = LEAST_COVERAGE,
) -> list[FusedHit[_Id]]:
    """Order candidates by reciprocal rank fusion of the two legs, and return the best `limit`.

    `floor` is the model's. A candidate below it that has not enough of the query's words either is noise, and left out.
    Equal scores are ordered by similarity, coverage and the order of `candidates`.
    """
    given = list(candidates)
    near = [one for one in given if one.similarity >= floor]
    worded = [one for one in given if one.coverage >= least_coverage]
    by_meaning = _rank(near, lambda one: (-one.similarity, -one.coverage))
    by_words = _rank(worded, lambda one: (-one.coverage, -one.similarity))
    hits = [
        FusedHit(one, _score(by_meaning.get(one.id)) + _score(by_words.get(one.id)), reason)
        for one in given
        if (reason := _explain(one.id in by_meaning, one.id in by_words)) is not None
    ]
    hits.sort(key=lambda hit: (-hit.score, -hit.candidate.similarity, -hit.candidate.coverage))
    return hits[:limit]


def _rank(
    candidates: list[SearchCandidate[_Id]], key: Callable[[SearchCandidate[_Id]], tuple[float, float]]
) -> dict[_Id, int]:
    return {one.id: rank for rank, one in enumerate(sorted(candidates, key=key), 1)}


def _score(rank: int | None) -> float:
    return 0.0 if rank is None else 1 / (RANK_CONSTANT + rank)


def _explain(is_near: bool, has_words: bool) -> MatchReason | None:
    if is_near:
        return MatchReason.BOTH if has_words else MatchReason.MEANING
    return MatchReason.WORDS if has_words else None
