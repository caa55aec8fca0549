"""Entities that may be the same: evidence from their names, observations and meaning, put together to one score a pair.

Each source of evidence takes about linear time in the names, also where many look alike: of names with one key each is
paired with the first only, and a name within many others says nothing. Of meanings, only entities are paired of which
each is the other's nearest.
"""

import heapq
import itertools
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from modules.kit import Store
from modules.kit.turns import count_each, count_work
from modules.knowledge_graph.models import DuplicatePair
from modules.knowledge_graph.search_text import SEPARATOR, build_title, simplify_katakana

NAMES_AT_ONCE = 2_000
MAX_SHARERS = 4
"""Entities that share an observation; what more of them have in common says nothing about any two."""
MAX_CONTAINERS = 5
MAX_SHARED_PAIRS = 5_000
MAX_COMPARED = 200
"""Characters of a name's form; longer ones are not compared: normalisation can make 3,600 of 200."""
SORTED_AT_ONCE = 1_000
MAX_PARTS = 8
MAX_IDEOGRAPHIC = 20
MIN_ONE_APART = 5
MIN_SCORE = 0.5
SAME_FORM = 0.95
OTHER_TYPE_FACTOR = 0.85
LEAST_LIKENESS = 0.65
"""In meaning, 0 being chance; below it are colleagues and sister products. Over 34 made-up entities in Japanese and
English, eight of nine true pairs were above it, and of false ones only those that a number tells apart."""

_WORD = re.compile(r"[^\W_]+")
_IDEOGRAPHIC = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_MARK = re.compile(r"[0-9]+|(?<![^\W_])[^\W\d_](?![^\W_])")
_IDEOGRAPH = re.compile(r"[\u3400-\u9fff]")

NAMES_AFTER = """
SELECT name, type, left(split_part(folded, $5, 1), $6) AS form FROM modules.kg_entities
WHERE tenant_id = $1 AND user_id = $2 AND name > $3 ORDER BY name LIMIT $4
"""
SHARED_OBSERVATIONS = """
WITH shared AS (
    SELECT array_agg(entity) AS entities FROM modules.kg_observations WHERE tenant_id = $1 AND user_id = $2
    GROUP BY fingerprint HAVING count(*) BETWEEN 2 AND $3
)
SELECT a.entity AS first, b.entity AS second, count(*) AS observations
FROM shared CROSS JOIN LATERAL unnest(entities) AS a (entity) CROSS JOIN LATERAL unnest(entities) AS b (entity)
WHERE a.entity < b.entity GROUP BY a.entity, b.entity ORDER BY count(*) DESC, a.entity, b.entity LIMIT $4
"""


MeaningPairs = Sequence[tuple[str, str, float]]
"""Titles of two entities in the index, and their likeness in meaning."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why two entities may be the same; `weight` is how likely that makes it, 0 to 1."""

    first: str
    second: str
    weight: float
    reason: str


class EntityName(NamedTuple):
    """A name, the entity's type, and the beginning of the searchable form without case and width."""

    name: str
    type: str
    form: str


@dataclass(frozen=True, slots=True)
class _FoldedName:
    """A name, its plainest form, the words of that, and those without anything between them."""

    name: str
    form: str
    words: tuple[str, ...]
    compact: str


async def fetch_names(store: Store) -> list[EntityName]:
    """Fetch the names of all entities."""
    names: list[EntityName] = []
    while True:
        after = names[-1].name if names else ""
        rows = await store.fetch(NAMES_AFTER, after, NAMES_AT_ONCE, SEPARATOR, MAX_COMPARED + 1)
        names += [EntityName(row["name"], row["type"], row["form"]) for row in rows]
        if len(rows) < NAMES_AT_ONCE:
            return names


async def fetch_shared(store: Store) -> list[tuple[str, str, int]]:
    """Fetch pairs of entities with the number of observations that they share."""
    rows = await store.fetch(SHARED_OBSERVATIONS, MAX_SHARERS, MAX_SHARED_PAIRS)
    return [(row["first"], row["second"], row["observations"]) for row in rows]


def build_reports(
    names: Sequence[EntityName], shared: Sequence[tuple[str, str, int]], similar: MeaningPairs, limit: int
) -> tuple[int, list[DuplicatePair]]:
    """Return how many pairs there are, and the `limit` most likely ones. To be run in turns."""
    types = {one.name: one.type for one in count_each(names)}
    folded = [_fold_name(one) for one in names if len(one.form) <= MAX_COMPARED]
    sources = (
        _pair_by_key(folded, _get_form, SAME_FORM, "the same but for case, width or spelling"),
        _pair_by_key(folded, _get_compact, 0.9, "the same but for spaces and punctuation"),
        _pair_by_key(folded, _get_sorted_words, 0.85, "the same words in another order"),
        _pair_one_apart(folded),
        _pair_contained(folded),
        _pair_shared(shared),
        _pair_similar(similar, {build_title(one.name): one for one in count_each(names)}),
    )
    pairs = _rank((found for source in sources for found in source), types)
    best = heapq.nsmallest(limit, count_each(pairs), key=lambda one: (-one.score, one.first, one.second))
    return len(pairs), best


def _rank(evidence: Iterable[Evidence], types: Mapping[str, str]) -> list[DuplicatePair]:
    """Put together what speaks for each pair."""
    by_pair: defaultdict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    for one in evidence:
        first, second = sorted((one.first, one.second))
        by_pair[first, second].setdefault(one.reason, one.weight)
        count_work(20)
    pairs: list[DuplicatePair] = []
    for (first, second), reasons in by_pair.items():
        count_work(20)
        score = 1 - math.prod(1 - weight for weight in reasons.values())
        if types.get(first) != types.get(second):
            score *= OTHER_TYPE_FACTOR
        if score >= MIN_SCORE:
            pairs.append(DuplicatePair(first=first, second=second, score=round(score, 2), reasons=list(reasons)))
    return pairs


def _fold_name(name: EntityName) -> _FoldedName:
    count_work(100 + len(name.form))
    form = simplify_katakana(name.form)
    words = tuple(_WORD.findall(form)) or (form,)
    return _FoldedName(name.name, form, words, "".join(words))


def _pair_by_key(
    names: Sequence[_FoldedName], key: Callable[[_FoldedName], str], weight: float, reason: str
) -> Iterator[Evidence]:
    """Pair each name with the first of the same key."""
    firsts: dict[str, _FoldedName] = {}
    for one in names:
        count_work(20)
        first = firsts.setdefault(key(one), one)
        # What has the same form has every other key in common, too: that is told once.
        if first is not one and (weight == SAME_FORM or first.form != one.form):
            yield Evidence(first.name, one.name, weight, reason)


def _pair_one_apart(names: Sequence[_FoldedName]) -> Iterator[Evidence]:
    """Pair names that are neighbours, in order of their beginnings or of their ends, and one letter apart."""
    long = [one for one in count_each(names) if len(one.compact) >= MIN_ONE_APART]
    for order in (_get_compact, _get_reversed):
        for one, other in itertools.pairwise(_sort_names(long, order)):
            if _are_one_apart(one.compact, other.compact):
                yield Evidence(one.name, other.name, 0.6, "one letter apart")


def _sort_names(names: Sequence[_FoldedName], order: Callable[[_FoldedName], str]) -> Iterator[_FoldedName]:
    """Sort names in small parts, between which others are served."""
    parts: list[list[_FoldedName]] = []
    for start in range(0, len(names), SORTED_AT_ONCE):
        parts.append(sorted(names[start : start + SORTED_AT_ONCE], key=order))
        count_work(10_000)
    for one in heapq.merge(*parts, key=order):
        count_work(30)
        yield one


def _get_form(name: _FoldedName) -> str:
    return name.form


def _get_sorted_words(name: _FoldedName) -> str:
    return " ".join(sorted(name.words))


def _get_compact(name: _FoldedName) -> str:
    return name.compact


def _get_reversed(name: _FoldedName) -> str:
    return name.compact[::-1]


def _are_one_apart(one: str, other: str) -> bool:
    """Check whether one letter was changed, added or left out. A digit or an ideograph makes another name."""
    shorter, longer = sorted((one, other), key=len)
    if len(longer) - len(shorter) > 1 or one == other:
        return False
    count_work(len(longer))
    start = next((nth for nth, (a, b) in enumerate(zip(shorter, longer, strict=False)) if a != b), len(shorter))
    rest = longer[start + 1 :]
    if shorter[start + len(shorter) + 1 - len(longer) :] != rest:
        return False
    differing = longer[start] + (shorter[start] if len(shorter) == len(longer) else "")
    return differing.isalpha() and _IDEOGRAPH.search(differing) is None


def _pair_contained(names: Sequence[_FoldedName]) -> Iterator[Evidence]:
    """Pair names of which one is the beginning or the end of the other."""
    by_form: dict[str, _FoldedName] = {}
    for one in names:
        count_work(20)
        by_form.setdefault(" ".join(one.words), one)
    containers: defaultdict[str, list[_FoldedName]] = defaultdict(list)
    for one in names:
        for part in _list_parts(one):
            if part in by_form and len(containers[part]) <= MAX_CONTAINERS:
                containers[part].append(one)
    for part, whole in containers.items():
        if len(whole) <= MAX_CONTAINERS:
            for one in whole:
                weight = 0.5 + 0.25 * len(part) / max(1, len(" ".join(one.words)))
                yield Evidence(by_form[part].name, one.name, weight, "one name contains the other")


def _list_parts(name: _FoldedName) -> set[str]:
    """List the beginnings and ends of a name, by words; by characters where it is written without spaces."""
    words, joiner = name.words, " "
    if len(words) == 1 and len(words[0]) <= MAX_IDEOGRAPHIC and _IDEOGRAPHIC.search(words[0]):
        words, joiner = tuple(words[0]), ""
    most = min(len(words), MAX_PARTS if joiner else MAX_IDEOGRAPHIC)
    parts = {joiner.join(words[:size]) for size in range(1, most)} | {
        joiner.join(words[-size:]) for size in range(1, most)
    }
    count_work(20 + 10 * len(parts))
    least = 2 if _IDEOGRAPHIC.search(name.form) else 3
    return {part for part in parts if len(part) >= least and not part.isdecimal()}


def _pair_shared(shared: Sequence[tuple[str, str, int]]) -> Iterator[Evidence]:
    for first, second, number in shared:
        weight = 0.3 if number == 1 else min(0.8, 0.4 + 0.1 * number)
        yield Evidence(first, second, weight, f"{number} shared observation{'s' if number > 1 else ''}")


def _pair_similar(similar: MeaningPairs, by_title: Mapping[str, EntityName]) -> Iterator[Evidence]:
    """Pair what is near in meaning, unless numbers or single letters tell the names apart, as of Room 101 and 102."""
    for first, second, likeness in similar:
        if first in by_title and second in by_title:  # the index may not know yet that one was deleted
            one, other = by_title[first], by_title[second]
            marks, others = sorted(_MARK.findall(one.form)), sorted(_MARK.findall(other.form))
            if one is not other and (not (marks and others) or marks == others):
                yield Evidence(one.name, other.name, likeness - 0.15, "near in meaning")
