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
    """A passage that either leg has found. `likeness` is its cosine to the query by :func:`scale_similarity`, None
    where words alone are compared; `coverage` the share of the query's words that it has (0 to 1)."""

    id: _Id
    likeness: float | None
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


def fuse(candidates: Iterable[SearchCandidate[_Id]], *, limit: int) -> list[FusedHit[_Id]]:
    """Order candidates by likeness in meaning and words together, and return the best `limit`.

    Whatever was compared by meaning is a hit, also below its model's floor: callers see how near it is. By words alone
    a hit needs LEAST_COVERAGE. Equal scores are ordered by likeness, coverage and the order of `candidates`.
    """
    hits = [FusedHit(one, _score(one), reason) for one in candidates if (reason := _explain(one)) is not None]
    hits.sort(key=lambda hit: (-hit.score, -(hit.candidate.likeness or 0.0), -hit.candidate.coverage))
    return hits[:limit]


def _score(candidate: SearchCandidate[_Id]) -> float:
    words = (candidate.coverage - CHANCE_COVERAGE) / (1 - CHANCE_COVERAGE)
    return max(0.0, candidate.likeness or 0.0) + WORDS_WEIGHT * max(0.0, words)


def _explain(candidate: SearchCandidate[_Id]) -> MatchReason | None:
    if candidate.coverage >= LEAST_COVERAGE:
        is_near = candidate.likeness is not None and candidate.likeness >= 0
        return MatchReason.BOTH if is_near else MatchReason.WORDS
    return None if candidate.likeness is None else MatchReason.MEANING
