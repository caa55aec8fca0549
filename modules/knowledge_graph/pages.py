"""Reading of a user's graph, a page at a time. Nothing is omitted: the remainder is on the next page."""

import base64
import binascii
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, LiteralString

from modules.kit import Store, ToolError
from modules.knowledge_graph.models import FoundEntity, Relation, check_storable

PAGE_BYTES = 60_000  # of text: about 20,000 tokens, below what LLM clients cut off
MAX_LINES = 2_000
MAX_RELATIONS = 500

# Each way to choose gives the names from the cursor's on, in order, one more than fit, and how many there are in all.
CHOOSE_ALL = """
WITH chosen AS (
    SELECT name, (SELECT entities FROM modules.kg_graphs WHERE tenant_id = $1 AND user_id = $2) AS total
    FROM modules.kg_entities WHERE tenant_id = $1 AND user_id = $2 AND name >= $3 ORDER BY name LIMIT $5 + 2
)"""
CHOOSE_MATCHING = """
WITH matches AS (
    SELECT name FROM modules.kg_entities
    WHERE tenant_id = $1 AND user_id = $2 AND (strpos(folded, $8) > 0 OR strpos(folded, $9) > 0)
    UNION SELECT entity FROM modules.kg_observations
    WHERE tenant_id = $1 AND user_id = $2 AND (strpos(folded, $8) > 0 OR strpos(folded, $9) > 0)
), chosen AS (
    SELECT name, (SELECT count(*) FROM matches) AS total FROM matches WHERE name >= $3 ORDER BY name LIMIT $5 + 2
)"""
CHOOSE_NAMED = """
WITH chosen AS (
    SELECT name, cardinality($8::text[]) AS total
    FROM (SELECT DISTINCT n COLLATE "C" AS name FROM unnest($8::text[]) AS n) AS named
    WHERE name >= $3 ORDER BY name LIMIT $5 + 2
)"""
# A line is an observation, or an entity without any, or a name without an entity. A page is the lines that fit.
# OFFSET 0 keeps the planner to one index look-up a name: joined, it reads the whole graph while statistics are missing.
SELECT_LINES = """, lines AS (
    SELECT c.name, c.total, e.type, coalesce(o.nth, 0) AS nth, o.observation,
        octet_length(c.name) + coalesce(octet_length(o.observation), 0) AS size
    FROM chosen c
    LEFT JOIN LATERAL (
        SELECT type FROM modules.kg_entities WHERE tenant_id = $1 AND user_id = $2 AND name = c.name OFFSET 0
    ) AS e ON true
    LEFT JOIN LATERAL (
        SELECT nth, observation FROM modules.kg_observations
        WHERE tenant_id = $1 AND user_id = $2 AND entity = c.name OFFSET 0
    ) AS o ON true
    WHERE (c.name, coalesce(o.nth, 0)) > ($3, $4::bigint)
    ORDER BY name, nth LIMIT $6
), measured AS (
    SELECT *, sum(size) OVER (ORDER BY name, nth) - size AS before, count(*) OVER () AS total_lines FROM lines
)
SELECT name, total, type, nth, observation, total_lines FROM measured WHERE before < $7 ORDER BY name, nth
"""
READ_GRAPH: LiteralString = CHOOSE_ALL + SELECT_LINES
SEARCH: LiteralString = CHOOSE_MATCHING + SELECT_LINES
GET_NODES: LiteralString = CHOOSE_NAMED + SELECT_LINES

RELATIONS_AROUND = """
SELECT from_entity, to_entity, type, count(*) OVER () AS total FROM (
    SELECT r.* FROM unnest($3::text[]) AS n (name) CROSS JOIN LATERAL (
        SELECT from_entity, to_entity, type FROM modules.kg_relations
        WHERE tenant_id = $1 AND user_id = $2 AND from_entity = n.name OFFSET 0
    ) AS r
    UNION SELECT r.* FROM unnest($3::text[]) AS n (name) CROSS JOIN LATERAL (
        SELECT from_entity, to_entity, type FROM modules.kg_relations
        WHERE tenant_id = $1 AND user_id = $2 AND to_entity = n.name OFFSET 0
    ) AS r
) AS around
ORDER BY from_entity = ANY ($3::text[]) AND to_entity = ANY ($3::text[]) DESC, from_entity, to_entity, type LIMIT $4
"""
RELATIONS_AFTER = """
SELECT from_entity, to_entity, type FROM modules.kg_relations
WHERE tenant_id = $1 AND user_id = $2 AND (from_entity, to_entity, type) > ($3, $4, $5)
ORDER BY from_entity, to_entity, type LIMIT $6
"""


@dataclass(frozen=True, slots=True)
class Cursor:
    """The last line that a page showed: an observation of an entity or, after all of those, a relation."""

    name: str = ""
    nth: int = 0
    relation: tuple[str, str, str] | None = None

    def encode(self) -> str:
        """Encode the opaque form that a client gets and sends back."""
        return base64.urlsafe_b64encode(json.dumps([self.name, self.nth, self.relation]).encode()).decode()


@dataclass(frozen=True, slots=True)
class GraphPage:
    """Entities that fit, names that are none, how many were chosen in all, and where the next page starts."""

    entities: list[FoundEntity]
    unknown: list[str]
    total: int
    next_cursor: Cursor | None


def decode_cursor(text: str | None) -> Cursor:
    """Decode a text made by :meth:`Cursor.text`; the beginning for None.

    Raises: ToolError if it is not such a text.
    """
    if text is None:
        return Cursor()
    try:
        name, nth, relation = json.loads(base64.urlsafe_b64decode(text))
        ends = None if relation is None else tuple(map(_check_part, relation))
        if not (isinstance(nth, int) and 0 <= nth < 2**63 and (ends is None or len(ends) == 3)):
            raise ValueError
        return Cursor(_check_part(name), nth, ends)
    except (ValueError, TypeError, binascii.Error):
        raise ToolError("cursor was not returned by this tool; leave it out to start at the beginning") from None


async def fetch_page(store: Store, query: LiteralString, start: Cursor, limit: int, *args: object) -> GraphPage:
    """Return at most `limit` entities after `start`, of those that the statement `query` selects by `args`."""
    rows = await store.fetch(query, start.name, start.nth, limit, MAX_LINES + 1, PAGE_BYTES, *args)
    lines = rows[:MAX_LINES]
    groups = [list(group) for _, group in groupby(lines, lambda line: line["name"])]
    shown = groups[:limit]
    has_more = len(groups) > limit or (bool(rows) and len(lines) < rows[0]["total_lines"])
    return GraphPage(
        entities=[_build_entity(group, start) for group in shown if group[0]["type"] is not None],
        unknown=[group[0]["name"] for group in shown if group[0]["type"] is None],
        total=rows[0]["total"] if rows else 0,
        next_cursor=Cursor(shown[-1][-1]["name"], shown[-1][-1]["nth"]) if has_more else None,
    )


async def fetch_relations_around(store: Store, entities: Iterable[FoundEntity]) -> tuple[list[Relation], int]:
    """Fetch the relations that touch `entities`, those among them first, and how many more there are. An entity that
    goes on from the page before had them there."""
    names = [entity.name for entity in entities if not entity.continued]
    if not names:
        return [], 0
    rows = await store.fetch(RELATIONS_AROUND, names, MAX_RELATIONS)
    relations = _fit_relations(rows)
    return relations, rows[0]["total"] - len(relations) if rows else 0


async def fetch_relations_after(store: Store, start: Cursor) -> tuple[list[Relation], Cursor | None]:
    """Fetch a page of all relations."""
    rows = await store.fetch(RELATIONS_AFTER, *(start.relation or ("", "", "")), MAX_RELATIONS + 1)
    relations = _fit_relations(rows[:MAX_RELATIONS])
    if len(relations) == len(rows):
        return relations, None
    last = relations[-1]
    return relations, Cursor(relation=(last.source, last.to, last.relationType))


def _build_entity(lines: Sequence[Any], start: Cursor) -> FoundEntity:
    first = lines[0]
    observations = [line["observation"] for line in lines if line["observation"] is not None]
    return FoundEntity(
        name=first["name"], entityType=first["type"], observations=observations, continued=first["name"] == start.name
    )


def _fit_relations(rows: Iterable[Any]) -> list[Relation]:
    fitting: list[Relation] = []
    size = 0
    for row in rows:
        if size >= PAGE_BYTES:
            break
        source, target, kind = row["from_entity"], row["to_entity"], row["type"]
        size += sum(len(text.encode()) for text in (source, target, kind))
        fitting.append(Relation.model_validate({"from": source, "to": target, "relationType": kind}))
    return fitting


def _check_part(value: object) -> str:
    if not isinstance(value, str) or len(value) > 200:
        raise ValueError
    return value if value == "" else check_storable(value)
