"""Tools that compare what entities mean: the search by meaning, and the pairs that may be the same."""

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Annotated

from pydantic import Field

from modules.kit import Context, Execution, SearchHit, Store, ToolError, run_in_turns, tool
from modules.kit.collections import MAX_HITS
from modules.knowledge_graph.duplicates import LEAST_LIKENESS, MeaningPairs, build_reports, fetch_names, fetch_shared
from modules.knowledge_graph.entity_index import NAME_FIELD, update_index
from modules.knowledge_graph.models import DuplicateReport, FoundEntity, IndexReport, MeaningMatch, MeaningMatches, Text
from modules.knowledge_graph.pages import PAGE_BYTES, fetch_relations_around
from modules.knowledge_graph.tools import NOTHING_FOUND, READ, READ_HINTS, format_count, format_omitted

MAX_PAIRS = 200

FOUND_ENTITIES = """
SELECT n.name, e.type, o.observation, o.total
FROM unnest($3::text[]) WITH ORDINALITY AS n (name, place)
CROSS JOIN LATERAL (
    SELECT type FROM modules.kg_entities WHERE tenant_id = $1 AND user_id = $2 AND name = n.name OFFSET 0
) AS e
LEFT JOIN LATERAL (
    SELECT nth, observation, count(*) OVER () AS total,
        sum(octet_length(observation)) OVER (ORDER BY nth) - octet_length(observation) AS before
    FROM modules.kg_observations WHERE tenant_id = $1 AND user_id = $2 AND entity = n.name OFFSET 0
) AS o ON o.before < $4
ORDER BY n.place, o.nth
"""


@tool(
    hints=READ_HINTS,
    scopes=[READ],
    aliases=["kg_search_by_meaning"],
    keywords="remember, recall, similar, about, semantic, 思い出す, 意味, 似た",
)
async def search_by_meaning(
    context: Context,
    query: Annotated[Text, Field(description="A question or a few words, in Japanese or English")],
    limit: Annotated[int, Field(ge=1, le=MAX_HITS, description="Most entities to return")] = 10,
) -> MeaningMatches:
    """Find entities by what is meant, also in other words or the other language, nearest first, with their relations.
    The last ones may have little to do with the query: see their similarity (1 is the same)."""
    index = await update_index(context)
    hits = await context.collections.search(query, collections=[index.collection], limit=MAX_HITS)
    nearest: dict[str, SearchHit] = {}
    for hit in hits:
        nearest.setdefault(hit.key, hit)
    async with context.store() as graph:
        entities = await _fetch_matches(graph, list(nearest.values())[:limit])
        relations, omitted = await fetch_relations_around(graph, map(_build_found, entities))
    message = f"{format_count(len(entities), 'entity')}, nearest first." if entities else NOTHING_FOUND
    return MeaningMatches(
        message=message + format_omitted(omitted) + index.describe(),
        entities=entities,
        relations=relations,
        pending=index.pending,
    )


@tool(
    hints=READ_HINTS,
    scopes=[READ],
    execution=Execution.ASYNC,
    aliases=["kg_index_graph"],
    keywords="reindex, embed, 索引",
)
async def index_graph(context: Context) -> IndexReport:
    """Index all changed entities for searches by meaning: after a large import, which searches catch up with slowly."""
    index = await update_index(context, seconds=math.inf)
    return IndexReport(message=index.describe().strip() or "Everything is indexed.", pending=index.pending)


@tool(hints=READ_HINTS, scopes=[READ], aliases=["kg_find_duplicates"], keywords="merge, same, 重複, 名寄せ")
async def find_duplicates(
    context: Context, limit: Annotated[int, Field(ge=1, le=MAX_PAIRS, description="Most pairs to return")] = 20
) -> DuplicateReport:
    """Suggest pairs of entities that may be the same, by their names, shared observations and meaning. Nothing is
    merged."""
    similar, note = await _find_similar(context)
    async with context.store() as graph:
        names = await fetch_names(graph)
        shared = await fetch_shared(graph)
    total, pairs = await run_in_turns(build_reports, names, shared, similar, limit, size=100 * len(names))
    message = f"{len(pairs)} of {total} pairs that may be the same; nothing was merged." if total else "No pairs found."
    return DuplicateReport(message=message + note, total=total, pairs=pairs)


MEANING_TOOLS = (search_by_meaning, index_graph, find_duplicates)


async def _find_similar(context: Context) -> tuple[MeaningPairs, str]:
    """Find pairs of one meaning, and what to say of those that were not looked at."""
    try:
        index = await update_index(context)
        pairs = await context.collections.pair_nearest(index.collection, least=LEAST_LIKENESS)
    except ToolError as error:
        return [], f" Meanings were not compared: {error}."
    return [(pair.first, pair.second, pair.likeness) for pair in pairs], index.describe()


async def _fetch_matches(graph: Store, hits: Sequence[SearchHit]) -> list[MeaningMatch]:
    """Fetch the entities of hits as they are now, without those that were deleted meanwhile."""
    if not hits:
        return []
    by_name = {str(hit.metadata[NAME_FIELD]): hit for hit in hits}
    rows = await graph.fetch(FOUND_ENTITIES, list(by_name), PAGE_BYTES // len(by_name))
    matches: list[MeaningMatch] = []
    for name, group in groupby(rows, lambda row: row["name"]):
        lines = list(group)
        observations = [line["observation"] for line in lines if line["observation"] is not None]
        hit, omitted = by_name[name], (lines[0]["total"] or 0) - len(observations)
        matches.append(
            MeaningMatch(
                name=name,
                entityType=lines[0]["type"],
                similarity=round(hit.similarity, 3),
                matched=hit.matched,
                observations=observations,
                omittedObservations=omitted,
                passage=hit.text if omitted else None,
            )
        )
    return matches


def _build_found(match: MeaningMatch) -> FoundEntity:
    return FoundEntity(name=match.name, entityType=match.entityType, observations=[])
