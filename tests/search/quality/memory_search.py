"""A search in memory by the product's own tokens, weights, coverage and fusion, and what it is compared with."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from search.embedding.model import EmbeddingModel
from search.fusion import SearchCandidate, compute_idf, fuse, measure_coverage, scale_similarity
from search.tokens import tokenize, tokenize_query

CANDIDATES = 100
"""Of each leg, as the product takes them."""
RANK_CONSTANT = 60
BM25_K, BM25_B = 1.2, 0.75

Scores = npt.NDArray[np.float64]
Method = Callable[["MemorySearch", str], list[str]]


@dataclass(frozen=True, slots=True)
class Passage:
    """A document of one passage: `text` is what is embedded and tokenized."""

    id: str
    text: str


@dataclass
class MemorySearch:
    """A collection of passages with the vectors of all texts and questions."""

    model: EmbeddingModel
    passages: Sequence[Passage]
    vectors: Mapping[str, npt.NDArray[np.float32]]
    tokens: list[Counter[str]] = field(init=False)
    counts: Counter[str] = field(init=False)

    def __post_init__(self) -> None:
        self.tokens = [Counter(tokenize(one.text)) for one in self.passages]
        self.counts = Counter(token for one in self.tokens for token in one)

    @cached_property
    def matrix(self) -> npt.NDArray[np.float32]:
        return np.stack([self.vectors[one.text] for one in self.passages])

    @cached_property
    def lengths(self) -> Scores:
        lengths = np.asarray([one.total() for one in self.tokens], dtype=np.float64)
        return lengths / lengths.mean()

    def weigh(self, question: str) -> dict[str, float]:
        return compute_idf({token: self.counts[token] for token in tokenize_query(question)}, len(self.passages))

    def measure_similarity(self, question: str) -> Scores:
        return np.asarray(self.matrix @ self.vectors[question], dtype=np.float64)

    def measure_bm25(self, question: str) -> Scores:
        scores = np.zeros(len(self.passages))
        for token, weight in self.weigh(question).items():
            found = np.asarray([one[token] for one in self.tokens], dtype=np.float64)
            scores += weight * found * (BM25_K + 1) / (found + BM25_K * (1 - BM25_B + BM25_B * self.lengths))
        return scores

    def name(self, order: Sequence[int]) -> list[str]:
        return [self.passages[place].id for place in order]


def search_product(index: MemorySearch, question: str) -> list[str]:
    """What the product does: the candidates of both legs, fused."""
    similarity = index.measure_similarity(question)
    weights = index.weigh(question)
    coverage = np.asarray([measure_coverage(weights, one) for one in index.tokens])
    near, worded = sort_scores(similarity)[:CANDIDATES], sort_scores(coverage)[:CANDIDATES]
    places = dict.fromkeys([*near, *(place for place in worded if coverage[place] > 0)])
    floor = index.model.floor
    candidates = [
        SearchCandidate(place, scale_similarity(float(similarity[place]), floor), float(coverage[place]))
        for place in places
    ]
    hits = fuse(candidates, limit=CANDIDATES)
    return index.name([hit.candidate.id for hit in hits])


def search_vectors(index: MemorySearch, question: str) -> list[str]:
    """Order by meaning alone."""
    return index.name(sort_scores(index.measure_similarity(question)))


def search_bm25(index: MemorySearch, question: str) -> list[str]:
    """Order by words alone."""
    scores = index.measure_bm25(question)
    return index.name([place for place in sort_scores(scores) if scores[place] > 0])


def search_ungated(index: MemorySearch, question: str) -> list[str]:
    """Order by reciprocal rank fusion of both, whatever the words weigh."""
    scores = np.zeros(len(index.passages))
    for leg in (index.measure_similarity(question), index.measure_bm25(question)):
        for rank, place in enumerate(sort_scores(leg), 1):
            if leg[place] > 0:
                scores[place] += 1 / (RANK_CONSTANT + rank)
    return index.name(sort_scores(scores))


def sort_scores(scores: Scores) -> list[int]:
    return [int(place) for place in np.argsort(-scores, kind="stable")]


METHODS: Mapping[str, Method] = {
    "ours": search_product,
    "BM25": search_bm25,
    "plain vectors": search_vectors,
    "ungated RRF": search_ungated,
}


@dataclass(frozen=True, slots=True)
class Quality:
    """How many of `questions` have their answer in first place, in the first three, and the mean reciprocal rank."""

    questions: int
    first: int
    in_three: int
    mrr: float


def measure_quality(ranks: Sequence[int | None]) -> Quality:
    """Measure ranks from 1 on; None where the answer was not found at all."""
    found = [rank for rank in ranks if rank is not None]
    return Quality(
        len(ranks),
        sum(rank == 1 for rank in found),
        sum(rank <= 3 for rank in found),
        sum(1 / rank for rank in found) / len(ranks),
    )


def find_rank(order: Sequence[str], answer: str) -> int | None:
    return order.index(answer) + 1 if answer in order else None
