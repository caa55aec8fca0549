"""Changes of a user's graph. Every change first locks that user's row in `kg_graphs` (:func:`lock`), then is one
statement, which sees all that was committed before the lock was granted."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import LiteralString

from modules.kit import Store, ToolError
from modules.kit.turns import count_work
from modules.knowledge_graph.entity_names import build_unknown_entities_error
from modules.knowledge_graph.models import EntityAdditions, Relation, SavedEntity
from modules.knowledge_graph.search_text import fold_texts
from modules.knowledge_graph.settings import GraphSettings

EntityNotes = Mapping[str, Iterable[str]]  # entity to its observations, in the order in which they are kept

LOCK_GRAPH = """
INSERT INTO modules.kg_graphs (tenant_id, user_id) VALUES ($1, $2)
ON CONFLICT (tenant_id, user_id) DO UPDATE SET tenant_id = excluded.tenant_id
"""

# Which entities the index of a person who has one has to catch up with (entity_index).
_IF_INDEXED = "EXISTS (SELECT FROM modules.kg_graphs WHERE tenant_id = $1 AND user_id = $2 AND is_indexed)"
_WAIT_AGAIN = """
    ON CONFLICT (tenant_id, user_id, entity) DO UPDATE SET
        change = DEFAULT, has_lost = kg_unindexed.has_lost OR excluded.has_lost
"""

_SAVE: LiteralString = f"""
WITH sent AS (
    SELECT * FROM unnest($3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS s (name, type, folded, nth)
), known AS (
    SELECT name, type FROM modules.kg_entities WHERE tenant_id = $1 AND user_id = $2 AND name = ANY ($3::text[])
), saved AS (
    INSERT INTO modules.kg_entities (tenant_id, user_id, name, type, folded)
    SELECT $1, $2, name, type, folded FROM sent ORDER BY name
    ON CONFLICT (tenant_id, user_id, name) DO UPDATE SET type = excluded.type, folded = excluded.folded
), added AS (
    INSERT INTO modules.kg_observations (tenant_id, user_id, entity, observation, fingerprint, folded)
    SELECT $1, $2, entity, observation, fingerprint, folded
    FROM unnest($6::text[], $7::text[], $8::bytea[], $9::text[]) WITH ORDINALITY
        AS o (entity, observation, fingerprint, folded, nth)
    ORDER BY nth
    ON CONFLICT (tenant_id, user_id, entity, fingerprint) DO NOTHING
    RETURNING entity
), queued AS (
    INSERT INTO modules.kg_unindexed (tenant_id, user_id, entity, has_lost)
    SELECT $1, $2, name, name IN (SELECT name FROM known) AND (name, type) NOT IN (SELECT name, type FROM known)
    FROM sent WHERE {_IF_INDEXED}
        AND ((name, type) NOT IN (SELECT name, type FROM known) OR name IN (SELECT entity FROM added))
    {_WAIT_AGAIN}
), counted AS (
    UPDATE modules.kg_graphs SET
        entities = entities + (SELECT count(*) FROM sent WHERE name NOT IN (SELECT name FROM known)),
        observations = observations + (SELECT count(*) FROM added)
    WHERE tenant_id = $1 AND user_id = $2
    RETURNING entities, observations
)
"""  # noqa: S608 put together from constants
_TELL_EACH: LiteralString = """
SELECT s.name, s.type, s.name NOT IN (SELECT name FROM known) AS created,
    (SELECT count(*) FROM added a WHERE a.entity = s.name) AS added, c.entities, c.observations
FROM sent s CROSS JOIN counted c ORDER BY s.nth
"""
# Of many entities, of which no row is told: a count for each of them would take quadratic time.
_TELL_COUNTS: LiteralString = """
SELECT (SELECT count(*) FROM sent WHERE name NOT IN (SELECT name FROM known)) AS created,
    (SELECT count(*) FROM known) AS updated, (SELECT count(*) FROM added) AS added, entities, observations
FROM counted
"""
SAVE_ENTITIES: LiteralString = _SAVE + _TELL_EACH
IMPORT_ENTITIES: LiteralString = _SAVE + _TELL_COUNTS

KNOWN_NAMES = """
SELECT name FROM modules.kg_entities WHERE tenant_id = $1 AND user_id = $2 AND name = ANY ($3::text[])
"""

ADD_OBSERVATIONS: LiteralString = f"""
WITH missing AS (
    SELECT name FROM unnest($3::text[]) AS s (name)
    EXCEPT SELECT name FROM modules.kg_entities WHERE tenant_id = $1 AND user_id = $2
        AND name = ANY ($3::text[])
), added AS (
    INSERT INTO modules.kg_observations (tenant_id, user_id, entity, observation, fingerprint, folded)
    SELECT $1, $2, entity, observation, fingerprint, folded
    FROM unnest($4::text[], $5::text[], $6::bytea[], $7::text[]) WITH ORDINALITY
        AS o (entity, observation, fingerprint, folded, nth)
    WHERE NOT EXISTS (SELECT FROM missing) ORDER BY nth
    ON CONFLICT (tenant_id, user_id, entity, fingerprint) DO NOTHING
    RETURNING entity
), queued AS (
    INSERT INTO modules.kg_unindexed (tenant_id, user_id, entity)
    SELECT DISTINCT $1::uuid, $2::uuid, entity FROM added WHERE {_IF_INDEXED}
    {_WAIT_AGAIN}
), counted AS (
    UPDATE modules.kg_graphs SET observations = observations + (SELECT count(*) FROM added)
    WHERE tenant_id = $1 AND user_id = $2
    RETURNING observations
)
SELECT s.name, s.name IN (SELECT name FROM missing) AS missing,
    (SELECT count(*) FROM added a WHERE a.entity = s.name) AS added, c.observations
FROM unnest($3::text[]) WITH ORDINALITY AS s (name, nth) CROSS JOIN counted c ORDER BY s.nth
"""  # noqa: S608 the same

CREATE_RELATIONS = """
WITH sent AS (
    SELECT * FROM unnest($3::text[], $4::text[], $5::text[]) AS s (from_entity, to_entity, type)
), missing AS (
    (SELECT from_entity AS name FROM sent UNION SELECT to_entity FROM sent)
    EXCEPT SELECT name FROM modules.kg_entities WHERE tenant_id = $1 AND user_id = $2
        AND name = ANY ($3::text[] || $4::text[])
), added AS (
    INSERT INTO modules.kg_relations (tenant_id, user_id, from_entity, to_entity, type)
    SELECT $1, $2, from_entity, to_entity, type FROM sent WHERE NOT EXISTS (SELECT FROM missing)
    ON CONFLICT (tenant_id, user_id, from_entity, to_entity, type) DO NOTHING
    RETURNING 1
), counted AS (
    UPDATE modules.kg_graphs SET relations = relations + (SELECT count(*) FROM added)
    WHERE tenant_id = $1 AND user_id = $2
    RETURNING relations
)
SELECT (SELECT array_agg(name ORDER BY name) FROM missing) AS missing, (SELECT count(*) FROM added) AS added, relations
FROM counted
"""

DELETE_ENTITIES: LiteralString = f"""
WITH relations AS (
    DELETE FROM modules.kg_relations WHERE tenant_id = $1 AND user_id = $2
        AND (from_entity = ANY ($3::text[]) OR to_entity = ANY ($3::text[])) RETURNING 1
), observations AS (
    DELETE FROM modules.kg_observations WHERE tenant_id = $1 AND user_id = $2 AND entity = ANY ($3::text[]) RETURNING 1
), entities AS (
    DELETE FROM modules.kg_entities WHERE tenant_id = $1 AND user_id = $2 AND name = ANY ($3::text[]) RETURNING name
), queued AS (
    INSERT INTO modules.kg_unindexed (tenant_id, user_id, entity, has_lost)
    SELECT $1, $2, name, true FROM entities WHERE {_IF_INDEXED}
    {_WAIT_AGAIN}
), gone AS (
    SELECT (SELECT count(*) FROM entities) AS entities, (SELECT count(*) FROM observations) AS observations,
        (SELECT count(*) FROM relations) AS relations
), counted AS (
    UPDATE modules.kg_graphs g SET entities = g.entities - gone.entities,
        observations = g.observations - gone.observations, relations = g.relations - gone.relations
    FROM gone WHERE g.tenant_id = $1 AND g.user_id = $2
)
SELECT entities, observations, relations FROM gone
"""  # noqa: S608 the same

DELETE_OBSERVATIONS: LiteralString = f"""
WITH gone AS (
    DELETE FROM modules.kg_observations o USING unnest($3::text[], $4::bytea[]) AS s (entity, fingerprint)
    WHERE o.tenant_id = $1 AND o.user_id = $2 AND o.entity = s.entity AND o.fingerprint = s.fingerprint
    RETURNING o.entity
), queued AS (
    INSERT INTO modules.kg_unindexed (tenant_id, user_id, entity, has_lost)
    SELECT DISTINCT $1::uuid, $2::uuid, entity, true FROM gone WHERE {_IF_INDEXED}
    {_WAIT_AGAIN}
), counted AS (
    UPDATE modules.kg_graphs SET observations = observations - (SELECT count(*) FROM gone)
    WHERE tenant_id = $1 AND user_id = $2
)
SELECT count(*) FROM gone
"""  # noqa: S608 the same

DELETE_RELATIONS = """
WITH gone AS (
    DELETE FROM modules.kg_relations r
    USING unnest($3::text[], $4::text[], $5::text[]) AS s (from_entity, to_entity, type)
    WHERE r.tenant_id = $1 AND r.user_id = $2
        AND r.from_entity = s.from_entity AND r.to_entity = s.to_entity AND r.type = s.type RETURNING 1
), counted AS (
    UPDATE modules.kg_graphs SET relations = relations - (SELECT count(*) FROM gone)
    WHERE tenant_id = $1 AND user_id = $2
)
SELECT count(*) FROM gone
"""


@dataclass(frozen=True, slots=True)
class NoteColumns:
    """The entities of some notes; and for each note its entity, its text, its fingerprint, and what is searched."""

    names: list[str]
    entities: list[str]
    texts: list[str]
    fingerprints: list[bytes]
    folded: list[str]

    @property
    def values(self) -> tuple[list[str], list[str], list[bytes], list[str]]:
        return self.entities, self.texts, self.fingerprints, self.folded


@dataclass(frozen=True, slots=True)
class ImportCounts:
    """Numbers of entities that were created and that existed, and of new observations."""

    created: int
    updated: int
    observations: int


@dataclass(frozen=True, slots=True)
class DeletedCounts:
    """Numbers of deleted entities, relations and observations."""

    entities: int = 0
    observations: int = 0
    relations: int = 0


def build_columns(notes: EntityNotes) -> NoteColumns:
    """Return `notes` as the statements take them.

    It normalises every text, up to 40 ms for as many as one call may bring, so it is called before the transaction
    begins: no other call waits for the lock meanwhile. What brings more calls it in turns.
    """
    pairs = [(entity, text) for entity, texts in notes.items() for text in texts]
    return NoteColumns(
        list(notes),
        [entity for entity, _ in pairs],
        [text for _, text in pairs],
        [hashlib.blake2b(text.encode(), digest_size=16).digest() for _, text in pairs],
        [_fold_note(text) for _, text in pairs],
    )


async def lock_graph(store: Store) -> None:
    """Wait until no other transaction changes this user's graph."""
    await store.execute(LOCK_GRAPH)


async def save_entities(
    store: Store, limits: GraphSettings, types: Mapping[str, str], notes: NoteColumns
) -> list[SavedEntity]:
    """Create or update the entities in `types` (name to type) and add `notes` to them.

    Raises: ToolError if the graph would be too large.
    """
    await lock_graph(store)
    names = [fold_texts(name, kind) for name, kind in types.items()]
    rows = await store.fetch(SAVE_ENTITIES, list(types), list(types.values()), names, *notes.values)
    for row in rows[:1]:
        _refuse_too_many("entities", row["entities"], limits.max_entities)
        _refuse_too_many("observations", row["observations"], limits.max_observations)
    return [
        SavedEntity(name=row["name"], entityType=row["type"], created=row["created"], observationsAdded=row["added"])
        for row in rows
    ]


async def import_entities(
    store: Store, limits: GraphSettings, types: Mapping[str, str], folded: Sequence[str], notes: NoteColumns
) -> ImportCounts:
    """Do what :func:`save_entities` does for any number of entities, whose searchable forms are `folded`.

    Raises: ToolError if the graph would be too large.
    """
    await lock_graph(store)
    row = await store.fetchrow(IMPORT_ENTITIES, list(types), list(types.values()), folded, *notes.values)
    assert row is not None
    _refuse_too_many("entities", row["entities"], limits.max_entities)
    _refuse_too_many("observations", row["observations"], limits.max_observations)
    return ImportCounts(row["created"], row["updated"], row["added"])


async def find_known_names(store: Store, names: Sequence[str]) -> frozenset[str]:
    """Find which of `names` are entities."""
    return frozenset(row["name"] for row in await store.fetch(KNOWN_NAMES, names))


async def add_observations(store: Store, limits: GraphSettings, notes: NoteColumns) -> list[EntityAdditions]:
    """Add `notes` to their entities.

    Raises: ToolError if an entity is unknown or the graph would be too large; nothing is written then.
    """
    await lock_graph(store)
    rows = await store.fetch(ADD_OBSERVATIONS, notes.names, *notes.values)
    if missing := [row["name"] for row in rows if row["missing"]]:
        raise await build_unknown_entities_error(store, missing)
    for row in rows[:1]:
        _refuse_too_many("observations", row["observations"], limits.max_observations)
    return [EntityAdditions(entityName=row["name"], added=row["added"]) for row in rows]


async def create_relations(store: Store, limits: GraphSettings, relations: Iterable[Relation]) -> int:
    """Create relations; return the number of new ones.

    Raises: ToolError if an end is unknown or the graph would be too large; nothing is written then.
    """
    await lock_graph(store)
    row = await store.fetchrow(CREATE_RELATIONS, *_split_relations(relations))
    assert row is not None
    if row["missing"]:
        raise await build_unknown_entities_error(store, row["missing"])
    _refuse_too_many("relations", row["relations"], limits.max_relations)
    return row["added"]


async def delete_entities(store: Store, names: Sequence[str]) -> DeletedCounts:
    """Delete entities with their observations and relations."""
    await lock_graph(store)
    row = await store.fetchrow(DELETE_ENTITIES, names)
    assert row is not None
    return DeletedCounts(**dict(row))


async def delete_observations(store: Store, notes: NoteColumns) -> DeletedCounts:
    """Delete `notes` where they are exactly these."""
    await lock_graph(store)
    return DeletedCounts(observations=await store.fetchval(DELETE_OBSERVATIONS, notes.entities, notes.fingerprints))


async def delete_relations(store: Store, relations: Iterable[Relation]) -> DeletedCounts:
    """Delete exactly these relations."""
    await lock_graph(store)
    return DeletedCounts(relations=await store.fetchval(DELETE_RELATIONS, *_split_relations(relations)))


def _fold_note(text: str) -> str:
    count_work(len(text))
    return fold_texts(text)


def _split_relations(relations: Iterable[Relation]) -> tuple[list[str], list[str], list[str]]:
    distinct = dict.fromkeys((relation.source, relation.to, relation.relationType) for relation in relations)
    return (
        [relation[0] for relation in distinct],
        [relation[1] for relation in distinct],
        [relation[2] for relation in distinct],
    )


def _refuse_too_many(kind: str, total: int, limit: int) -> None:
    if total > limit:
        raise ToolError(
            f"Nothing was written: your graph would have {total:,} {kind}, and the limit is {limit:,}. "
            "Delete what is out of date first."
        )
