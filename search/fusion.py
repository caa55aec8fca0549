"""Fusion of the two legs of a search: passages near in meaning, and passages with the query's words.

Ranks lose how much nearer the first is than the second, so a passage's score is the sum of both measures, of words only
what is beyond chance. With the built-in model that finds more than reciprocal rank fusion, gated or not, and more than
either leg alone (`make bench ARGS="--only SQ"`).
"""

import math
import re
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

WORDS_WEIGHT = 0.4
"""What all of a query's words count beside a perfect likeness in meaning."""
CHANCE_COVERAGE = 0.2
"""Share of a query's weight that passages have by chance: words up to it count nothing."""
LEAST_COVERAGE = 0.4
"""Share of a query's weight that a passage has to have to count as found by words."""
GRAMMAR_WEIGHT = 0.25
"""Weight of a pair of characters with hiragana in it, beside others: it is grammar more often than not."""
UNKNOWN_WEIGHT = 0.5
"""Weight of a token that no passage has, beside one that a passage has: nothing can be found by it."""

_HIRAGANA = re.compile(r"[\u3041-\u309f]")
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
    """Compute the weight of each token of a query from the number of passages that have it, of `total`: rare ones weigh
    more (BM25's, which is never negative), grammar and what nobody has weigh less."""
    return {token: _weigh(token, min(count, total), total) for token, count in counts.items()}


def _weigh(token: str, count: int, total: int) -> float:
    weight = math.log1p((total - count + 0.5) / (count + 0.5))
    if not count:
        weight *= UNKNOWN_WEIGHT
    return weight * GRAMMAR_WEIGHT if _HIRAGANA.search(token) else weight


def measure_coverage(weights: Mapping[str, float], tokens: Collection[str]) -> float:
    """Compute the share of a query's weight that a passage's tokens have; 0 for a query without tokens."""
    total = sum(weights.values())
    return sum(weight for token, weight in weights.items() if token in tokens) / total if total else 0.0


def scale_similarity(similarity: float, floor: float) -> float:
    """Scale a cosine so that 0 is the model's floor and 1 the same meaning: so those of two models compare."""
    return (similarity - floor) / (1 - floor)


def fuse(
    candidates: Iterable[SearchCandidate[_Id]],
    *,
    floor: float,
    limit: int,
    least_coverage: float = LEAST_COVERAGE,
) -> list[FusedHit[_Id]]:
    """Order candidates by likeness in meaning and words together, and return the best `limit`.

    `floor` is the model's. A candidate below it that has not enough of the query's words either is noise, and left out.
    Equal scores are ordered by similarity, coverage and the order of `candidates`.
    """
    hits = [
        FusedHit(one, _score(one, floor), reason)
        for one in candidates
        if (reason := _explain(one.similarity >= floor, one.coverage >= least_coverage)) is not None
    ]
    hits.sort(key=lambda hit: (-hit.score, -hit.candidate.similarity, -hit.candidate.coverage))
    return hits[:limit]


def _score(candidate: SearchCandidate[_Id], floor: float) -> float:
    words = (candidate.coverage - CHANCE_COVERAGE) / (1 - CHANCE_COVERAGE)
    return max(0.0, scale_similarity(candidate.similarity, floor)) + WORDS_WEIGHT * max(0.0, words)


def _explain(is_near: bool, has_words: bool) -> MatchReason | None:
    if is_near:
        return MatchReason.BOTH if has_words else MatchReason.MEANING
    return MatchReason.WORDS if has_words else None
