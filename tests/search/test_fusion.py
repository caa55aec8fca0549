"""Passages near in meaning and passages with the query's words become one list."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search.fusion import MatchReason, SearchCandidate, compute_idf, fuse, measure_coverage, scale_similarity


def make(*pairs: tuple[float | None, float]) -> list[SearchCandidate[int]]:
    return [SearchCandidate(number, likeness, coverage) for number, (likeness, coverage) in enumerate(pairs)]


def order(*pairs: tuple[float | None, float]) -> list[int]:
    return [hit.candidate.id for hit in fuse(make(*pairs), limit=10)]


def test_common_words_do_not_move_what_is_near() -> None:
    assert order((0.41, 0.0), (0.4, 0.2), (0.3, 0.1)) == [0, 1, 2]


def test_the_querys_words_move_a_passage_up() -> None:
    assert order((0.5, 0.0), (0.49, 1.0), (0.3, 0.0)) == [1, 0, 2]


def test_an_identifier_is_found_though_the_model_does_not_know_it() -> None:
    assert order((-0.1, 1.0), (0.1, 0.0), (0.3, 0.0))[0] == 0


def test_what_is_below_the_floor_comes_last() -> None:
    assert order((-0.5, 0.1), (-0.1, 0.1), (0.01, 0.0)) == [2, 1, 0]


def test_by_words_alone_a_hit_needs_enough_of_them() -> None:
    assert order((None, 0.3), (None, 0.5), (None, 1.0)) == [2, 1]


def test_each_hit_says_why() -> None:
    hits = fuse(make((0.5, 1.0), (0.5, 0.3), (-0.1, 1.0), (-0.1, 0.0), (None, 0.5)), limit=10)
    reasons = {hit.candidate.id: hit.reason for hit in hits}
    assert reasons == {
        0: MatchReason.BOTH,
        1: MatchReason.MEANING,
        2: MatchReason.WORDS,
        3: MatchReason.MEANING,
        4: MatchReason.WORDS,
    }


def test_ties_keep_the_order_that_was_given() -> None:
    assert order((0.5, 0.5), (0.5, 0.5), (0.5, 0.5)) == [0, 1, 2]


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 1)), max_size=40), st.integers(0, 10))
def test_whatever_the_numbers_are(pairs: list[tuple[float, float]], limit: int) -> None:
    candidates = make(*pairs)
    hits = fuse(candidates, limit=limit)
    assert len(hits) <= limit
    assert len({hit.candidate.id for hit in hits}) == len(hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert fuse(candidates, limit=limit) == hits


def test_rare_tokens_weigh_more() -> None:
    idf = compute_idf({"the": 90, "gateway": 5, "mcpist": 1, "all": 100}, 100)
    assert idf["mcpist"] > idf["gateway"] > idf["the"] > idf["all"] > 0
    assert compute_idf({"a": 7}, 3)["a"] > 0  # a count that is older than the total


def test_grammar_and_unknown_words_weigh_less() -> None:
    idf = compute_idf({"設定": 5, "定を": 5, "gateway": 0, "server": 1}, 100)
    assert idf["設定"] == pytest.approx(4 * idf["定を"])
    assert idf["gateway"] < idf["server"]


def test_cosines_of_two_models_compare_above_their_floors() -> None:
    assert scale_similarity(0.91, 0.82) == pytest.approx(0.5)
    assert scale_similarity(0.55, 0.1) == pytest.approx(0.5)


def test_coverage_is_the_share_of_the_weight() -> None:
    weights = {"rare": 3.0, "common": 1.0}
    assert measure_coverage(weights, {"rare", "other"}) == pytest.approx(0.75)
    assert measure_coverage(weights, set()) == 0
    assert measure_coverage({}, {"a"}) == 0
