"""The index of a person's entities, for searches by meaning: a document for each, of its name, type and observations.

It begins with the person's first search by meaning. From then on each statement that changes entities also says which
(`kg_unindexed`), and what waits is indexed after the change where that is cheap, else by the next searches. What was
deleted leaves the index with the change itself. A process that ends between the two loses nothing.
"""

import asyncio
import contextlib
import hashlib
import math
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from uuid import UUID

from modules.kit import Collections, Context, NewDocument, Store, ToolError
from modules.knowledge_graph.graph_store import lock_graph
from modules.knowledge_graph.search_text import build_title

COLLECTION = "entities"
NAME_FIELD = "name"
"""In the metadata of a document: the entity's name."""
MAX_INDEXED_CHARS = 50_000
"""Of one entity's observations, the newest; a second or two to embed."""
MAX_CHANGE = 2**63 - 1
CHEAP_ENTITIES = 5
CHEAP_CHARS = 4_000
CHEAP_SECONDS = 1.0
"""What a change may spend on new contents."""
BATCH = 50
SEARCH_SECONDS = 3.0
"""What a search spends on what waits, if there is so much; the document that is then begun is finished."""

START_INDEX = """
WITH started AS (
    UPDATE modules.kg_graphs SET is_indexed = true WHERE tenant_id = $1 AND user_id = $2
)
INSERT INTO modules.kg_unindexed (tenant_id, user_id, entity)
SELECT $1, $2, name FROM modules.kg_entities WHERE tenant_id = $1 AND user_id = $2
ON CONFLICT (tenant_id, user_id, entity) DO NOTHING
"""
# Those whose old contents have to go come first, and all of them are fetched.
WAITING = """
WITH waiting AS (
    SELECT entity, change, has_lost FROM modules.kg_unindexed
    WHERE tenant_id = $1 AND user_id = $2 AND change <= $5
    ORDER BY has_lost DESC, change
    LIMIT greatest($3, (
        SELECT count(*) FROM modules.kg_unindexed WHERE tenant_id = $1 AND user_id = $2 AND has_lost
    ))
)
SELECT w.entity, w.change, w.has_lost, e.type, coalesce(o.text, '') AS text
FROM waiting w
LEFT JOIN LATERAL (
    SELECT type FROM modules.kg_entities WHERE tenant_id = $1 AND user_id = $2 AND name = w.entity OFFSET 0
) AS e ON true
LEFT JOIN LATERAL (
    SELECT string_agg(n.observation, E'\\n' ORDER BY n.nth) AS text FROM (
        SELECT nth, observation, sum(length(observation)) OVER (ORDER BY nth DESC) AS length
        FROM modules.kg_observations WHERE tenant_id = $1 AND user_id = $2 AND entity = w.entity OFFSET 0
    ) AS n WHERE n.length <= $4
) AS o ON true
ORDER BY w.has_lost DESC, w.change
"""
COUNT_WAITING = """
SELECT count(*) AS pending, coalesce(max(change), 0) AS newest FROM modules.kg_unindexed
WHERE tenant_id = $1 AND user_id = $2
"""
# What has changed meanwhile still waits. Where somebody else has settled a later change, nobody knows whose document
# came last: it waits again.
SETTLE = """
WITH settled AS (
    DELETE FROM modules.kg_unindexed q USING unnest($3::text[], $4::bigint[]) AS s (entity, change)
    WHERE q.tenant_id = $1 AND q.user_id = $2 AND q.entity = s.entity AND q.change = s.change RETURNING q.entity
)
INSERT INTO modules.kg_unindexed (tenant_id, user_id, entity)
SELECT $1, $2, s.entity FROM unnest($3::text[]) AS s (entity) WHERE s.entity NOT IN (SELECT entity FROM settled)
ON CONFLICT (tenant_id, user_id, entity) DO NOTHING
"""
WAIT_ANEW = """
INSERT INTO modules.kg_unindexed (tenant_id, user_id, entity) SELECT $1, $2, unnest($3::text[])
ON CONFLICT (tenant_id, user_id, entity) DO NOTHING
"""
POSTPONE = """
UPDATE modules.kg_unindexed SET change = DEFAULT WHERE tenant_id = $1 AND user_id = $2 AND entity = $3
"""


@dataclass(frozen=True, slots=True)
class EntityIndex:
    """The index as it is now: how many entities wait, and why they still do where something failed."""

    collection: UUID
    pending: int
    problem: str

    def describe(self) -> str:
        """Describe what a search has not looked at, as the end of a message; empty where that is nothing."""
        if not self.pending:
            return ""
        return f" Changed and not indexed yet: {self.pending:,}; {self.problem or 'each search indexes some'}."


@dataclass(frozen=True, slots=True)
class _Waiting:
    """An entity as it is now, or that there is none (`type` is None). `has_lost`: the index may have deleted text."""

    name: str
    change: int
    has_lost: bool
    type: str | None
    text: str

    @property
    def key(self) -> str:
        """The document's key, which takes fewer characters than a name may have."""
        return hashlib.blake2b(self.name.encode(), digest_size=16).hexdigest()


@contextlib.asynccontextmanager
async def change_graph(context: Context) -> AsyncGenerator[Store]:
    """Open a transaction that changes the graph. After its end the index follows, as far as that is cheap; no failure
    of that is one of the change."""
    async with context.store() as graph:
        yield graph
        waiting = await _fetch_waiting(graph, CHEAP_ENTITIES)
    if not waiting:
        return
    try:
        await _index_cheaply(context, waiting)
    except Exception as error:  # noqa: BLE001 the change is committed, and must not look as if it had failed
        context.log.warning(
            "graph_not_indexed",
            "changed entities wait for the next search by meaning",
            cause=type(error).__name__,
        )


async def update_index(context: Context, *, seconds: float | None = None) -> EntityIndex:
    """Index what waits now, for a few seconds if not otherwise said; the first time, begin with the index. What comes
    meanwhile waits on: two searches at once would else have each other index what either has settled.

    Raises:
        ToolError: the database cannot search by meaning.
    """
    index = context.collections
    collection = await index.find(COLLECTION)
    if collection is None:
        async with context.store() as graph:
            await lock_graph(graph)
            await graph.execute(START_INDEX)
        collection = await index.open(COLLECTION, derived=True)
    now, end = asyncio.get_running_loop().time, math.inf
    done, newest, problem = 0, 0, ""
    while True:
        async with context.store() as graph:
            counted = await graph.fetchrow(COUNT_WAITING)
            assert counted is not None
            newest = newest or counted["newest"]
            waiting = await _fetch_waiting(graph, BATCH if done else 1, newest)
        if problem or not waiting or now() >= end:
            return EntityIndex(collection.id, counted["pending"], problem)
        await context.report_progress(done, done + counted["pending"])
        problem = await _index_until(context, collection.id, waiting, end)
        if not done:  # the first one may have had to wait for the embedding model
            end = now() + (SEARCH_SECONDS if seconds is None else seconds)
        done += len(waiting)


async def _fetch_waiting(graph: Store, most: int, newest: int = MAX_CHANGE) -> Sequence[_Waiting]:
    rows = await graph.fetch(WAITING, most, MAX_INDEXED_CHARS, newest)
    return [_Waiting(row["entity"], row["change"], row["has_lost"], row["type"], row["text"]) for row in rows]


async def _index_until(context: Context, collection: UUID, waiting: Sequence[_Waiting], end: float) -> str:
    """Index entities until a time of the event loop. Return what failed, empty if nothing did: that entity waits behind
    all others then."""
    settled: list[_Waiting] = []
    problem = ""
    for one in waiting:
        if asyncio.get_running_loop().time() >= end:
            break
        try:
            await _index_entity(context.collections, collection, one)
        except ToolError as error:
            problem = str(error)
            break
        settled.append(one)
    async with context.store() as graph:
        await _settle(graph, settled)
        if problem:
            await graph.execute(POSTPONE, waiting[len(settled)].name)
    return problem


async def _index_cheaply(context: Context, waiting: Sequence[_Waiting]) -> None:
    """Bring what is cheap up to date, and take from the index what has lost something and is not."""
    index = context.collections
    collection = await index.find(COLLECTION)
    if collection is None:
        return
    cheap = _select_cheap(waiting)
    outdated = [one for one in waiting if one.has_lost and one not in cheap]
    for one in outdated:
        await index.delete(collection.id, one.key, derived=True)
    if outdated:
        async with context.store() as graph:
            await _settle(graph, outdated)
            await graph.execute(WAIT_ANEW, [one.name for one in outdated if one.type is not None])
    settled: list[_Waiting] = []
    try:
        async with asyncio.timeout(CHEAP_SECONDS):
            for one in cheap:
                await _index_entity(index, collection.id, one)
                settled.append(one)
    finally:
        async with context.store() as graph:
            await _settle(graph, settled)


def _select_cheap(waiting: Sequence[_Waiting]) -> list[_Waiting]:
    """Select the entities that are cheap to embed, which are few and short."""
    left = CHEAP_CHARS
    cheap: list[_Waiting] = []
    for one in waiting:
        if one.type is not None and len(cheap) < CHEAP_ENTITIES and len(one.text) <= left:
            left -= len(one.text)
            cheap.append(one)
    return cheap


async def _index_entity(index: Collections, collection: UUID, one: _Waiting) -> None:
    if one.type is None:
        await index.delete(collection, one.key, derived=True)
    else:
        text = f"{one.type}\n{one.text}"
        document = NewDocument(key=one.key, title=build_title(one.name), text=text, metadata={NAME_FIELD: one.name})
        await index.put(collection, document, derived=True)


async def _settle(graph: Store, settled: Sequence[_Waiting]) -> None:
    """Let entities wait no longer, unless they have changed; the graph is locked, as by each change of its rows."""
    await lock_graph(graph)
    await graph.execute(SETTLE, [one.name for one in settled], [one.change for one in settled])
