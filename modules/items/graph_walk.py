"""Walks over the relations of a workspace, in both directions.

Neighbours are found level by level, never path by path: in a graph with cycles and hubs there are far more paths than
items (docs/decisions/0151-items.md has the times).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, LiteralString
from uuid import UUID

from modules.kit import Store

MAX_DEPTH = 3
MAX_PATH_LENGTH = 10
MAX_EDGES = 5_000
"""Edges that are told of the items around one."""
MAX_VISITED = 20_000
"""Items that the search for a path looks at."""
MAX_PATHS = 10
MAX_COUNTED_PATHS = 1_000_000
WALK_TIMEOUT_MS = 5_000

_OF_WORKSPACE: LiteralString = "r.tenant_id = $1 AND r.workspace_id = $3"


def _build_level(before: LiteralString, seen: LiteralString, depth: LiteralString) -> LiteralString:
    """Build the query of the newest items next to those in `before` that are in none of `seen`. Of each item at most $7
    relations of a direction are read: as many as have enough new ones in any case."""
    return f"""
    SELECT DISTINCT n.id FROM {before} f CROSS JOIN LATERAL (
        (SELECT r.target AS id FROM modules.item_relations r WHERE {_OF_WORKSPACE} AND r.source = f.id
            ORDER BY r.target DESC LIMIT $7)
        UNION ALL (SELECT r.source FROM modules.item_relations r WHERE {_OF_WORKSPACE} AND r.target = f.id
            ORDER BY r.source DESC LIMIT $7)) n
    WHERE $5 >= {depth} AND n.id NOT IN ({seen})
    ORDER BY n.id DESC LIMIT $6 - (SELECT count(*) - 1 FROM ({seen}) AS s)"""  # noqa: S608 names of ours


_CENTER: LiteralString = "SELECT id FROM center"
_UNTIL_FIRST: LiteralString = "SELECT id FROM center UNION ALL SELECT id FROM first"
_UNTIL_SECOND: LiteralString = "SELECT id FROM center UNION ALL SELECT id FROM first UNION ALL SELECT id FROM second"
WALK_AROUND: LiteralString = f"""
WITH center AS MATERIALIZED (SELECT $4::bigint AS id WHERE $2::uuid IS NOT NULL),
first AS MATERIALIZED ({_build_level("center", _CENTER, "1")}),
second AS MATERIALIZED ({_build_level("first", _UNTIL_FIRST, "2")}),
third AS MATERIALIZED ({_build_level("second", _UNTIL_SECOND, "3")}),
nodes AS MATERIALIZED (
    SELECT id, 0 AS distance FROM center UNION ALL SELECT id, 1 FROM first
    UNION ALL SELECT id, 2 FROM second UNION ALL SELECT id, 3 FROM third
), edges AS (
    SELECT DISTINCT least(r.source, r.target) AS one, greatest(r.source, r.target) AS other
    FROM modules.item_relations r WHERE {_OF_WORKSPACE}
    AND r.source = ANY (ARRAY(SELECT id FROM nodes)) AND r.target = ANY (ARRAY(SELECT id FROM nodes))
    ORDER BY 1, 2 LIMIT $8
)
SELECT ARRAY(SELECT id FROM nodes ORDER BY distance, id DESC) AS ids,
    ARRAY(SELECT distance FROM nodes ORDER BY distance, id DESC) AS distances,
    ARRAY(SELECT one FROM edges ORDER BY one, other) AS ones,
    ARRAY(SELECT other FROM edges ORDER BY one, other) AS others
"""  # noqa: S608 names of ours

_NEIGHBOURS: LiteralString = f"""
    SELECT f.id AS one, n.id AS other FROM unnest($4::bigint[]) AS f (id) CROSS JOIN LATERAL (
        SELECT r.target AS id FROM modules.item_relations r WHERE {_OF_WORKSPACE} AND r.source = f.id
        UNION SELECT r.source FROM modules.item_relations r WHERE {_OF_WORKSPACE} AND r.target = f.id) n
    WHERE $2::uuid IS NOT NULL"""  # noqa: S608 the same
_AS_ARRAYS: LiteralString = "SELECT array_agg(p.one) AS ones, array_agg(p.other) AS others FROM"
FIND_MEETINGS: LiteralString = f"""
{_AS_ARRAYS} ({_NEIGHBOURS} AND n.id IN (SELECT unnest($5::bigint[])) LIMIT $6) p
"""
FIND_NEXT: LiteralString = f"""
{_AS_ARRAYS} ({_NEIGHBOURS} AND n.id NOT IN (SELECT unnest($5::bigint[])) LIMIT $6) p
"""
LIMIT_TIME = "SELECT set_config('statement_timeout', $3, true) WHERE $1::uuid IS NOT NULL AND $2::uuid IS NOT NULL"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Items around one by their distance from it, itself first, and the relations among them, each once."""

    distances: Mapping[int, int]
    edges: Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class FoundPaths:
    """Shortest paths between two items, from the first to the second, and how many there are, counted up to a million.
    `is_complete`: all was looked at that could have been on one."""

    paths: Sequence[Sequence[int]]
    total: int
    is_complete: bool = True


async def walk_around(store: Store, workspace: UUID, center: int, depth: int, most: int) -> Surroundings:
    """Find at most `most` items within `depth` relations of one, the nearest first, of each distance the newest."""
    read_of_each = 2 * most + 2
    row = await store.fetchrow(WALK_AROUND, workspace, center, depth, most, read_of_each, MAX_EDGES)
    assert row is not None
    distances = dict(zip(row["ids"], row["distances"], strict=True))
    return Surroundings(distances, list(zip(row["ones"], row["others"], strict=True)))


async def find_shortest_paths(store: Store, workspace: UUID, source: int, target: int, longest: int) -> FoundPaths:
    """Find the shortest paths of at most `longest` relations: from both ends at once, and the smaller side goes on."""
    if source == target:
        return FoundPaths([[source]], 1)
    await store.fetchval(LIMIT_TIME, str(WALK_TIMEOUT_MS))
    sides = _Side.begin(source), _Side.begin(target)
    for length in range(1, longest + 1):
        near, far = sorted(sides, key=lambda side: len(side.frontier))
        meetings = await _fetch_pairs(store, FIND_MEETINGS, workspace, near.frontier, far.frontier, MAX_VISITED)
        if meetings:
            found = meetings if near is sides[0] else [(other, one) for one, other in meetings]
            return _join_paths(*sides, found)
        if length == longest:
            break
        room = MAX_VISITED - sum(len(side.parents) for side in sides)
        pairs = await _fetch_pairs(store, FIND_NEXT, workspace, near.frontier, list(near.parents), room)
        if len(pairs) >= room:
            return FoundPaths([], 0, is_complete=False)
        near.advance(pairs)
        if not near.frontier:
            break
    return FoundPaths([], 0)


@dataclass(slots=True)
class _Side:
    """What was seen from one end: each item's neighbours that are one nearer to it, and the items that are farthest
    away."""

    parents: dict[int, list[int]]
    frontier: list[int]
    counts: dict[int, int] = field(default_factory=dict[int, int])
    """In how many ways each item is reached."""

    @classmethod
    def begin(cls, end: int) -> "_Side":
        return cls({end: []}, [end], {end: 1})

    def advance(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Take in the next items, of which each is beside the one before it in `pairs`."""
        found: dict[int, list[int]] = {}
        for one, other in pairs:
            found.setdefault(other, []).append(one)
        for item, before in found.items():
            self.counts[item] = min(MAX_COUNTED_PATHS, sum(self.counts[one] for one in before))
        self.parents |= found
        self.frontier = list(found)

    def trace(self, item: int) -> Iterator[list[int]]:
        """Trace the ways from the end to an item."""
        before = self.parents[item]
        if not before:
            yield [item]
        for one in before:
            for way in self.trace(one):
                yield [*way, item]


def _join_paths(first: _Side, second: _Side, meetings: Sequence[tuple[int, int]]) -> FoundPaths:
    total = sum(first.counts[one] * second.counts[other] for one, other in meetings)
    paths = (
        [*before, *reversed(after)]
        for one, other in sorted(meetings)
        for before in islice(first.trace(one), MAX_PATHS)
        for after in islice(second.trace(other), MAX_PATHS)
    )
    return FoundPaths(list(islice(paths, MAX_PATHS)), min(total, MAX_COUNTED_PATHS))


async def _fetch_pairs(
    store: Store, sql: LiteralString, workspace: UUID, items: Sequence[int], others: Sequence[int], most: int
) -> list[tuple[int, int]]:
    row: Any = await store.fetchrow(sql, workspace, items, others, most)
    return list(zip(row["ones"] or (), row["others"] or (), strict=True))
