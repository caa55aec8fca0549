"""The nine tools, named as in the reference MCP memory server (with the prefix ``kg_`` as an alias)."""

from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import Field

from modules.kit import Context, Hints, tool
from modules.knowledge_graph import graph_store, pages
from modules.knowledge_graph.entity_index import change_graph
from modules.knowledge_graph.models import (
    MAX_ITEMS,
    Additions,
    AddResult,
    DeleteResult,
    Deletions,
    Entity,
    Graph,
    Names,
    Nodes,
    RelateResult,
    Relation,
    SaveResult,
    Text,
)
from modules.knowledge_graph.search_text import build_needles
from modules.knowledge_graph.settings import GraphSettings

READ = "knowledge_graph:read"
WRITE = "knowledge_graph:write"

READ_HINTS = Hints(read_only=True, destructive=False, idempotent=True, open_world=False)
ADD_HINTS = Hints(read_only=False, destructive=False, idempotent=True, open_world=False)
CHANGE_HINTS = Hints(read_only=False, destructive=True, idempotent=True, open_world=False)

NamedEntities = Annotated[Names, Field(description="Exact entity names")]
Relations = Annotated[
    list[Relation], Field(max_length=MAX_ITEMS, fail_fast=True, description="Relations in active voice")
]
Limit = Annotated[int, Field(ge=1, le=500, description="Most entities to return")]
CursorText = Annotated[str | None, Field(max_length=6000, description="nextCursor of the page before")]

NOTHING_FOUND = "No matching entities found."


@tool(hints=CHANGE_HINTS, scopes=[WRITE], aliases=["kg_create_entities"])
async def create_entities(
    context: Context,
    entities: Annotated[
        list[Entity], Field(max_length=MAX_ITEMS, fail_fast=True, description="Entities to create or update")
    ],
) -> SaveResult:
    """Remember people, things and facts about them. An existing name is updated: its type is replaced, new observations
    are added, none is removed."""
    types = {entity.name: entity.entityType for entity in entities}
    notes = graph_store.build_columns(_collect_notes((entity.name, entity.observations) for entity in entities))
    limits = await context.get_settings(GraphSettings)
    async with change_graph(context) as graph:
        saved = await graph_store.save_entities(graph, limits, types, notes)
    created = sum(entity.created for entity in saved)
    message = f"Created {format_count(created, 'entity')}, updated {len(saved) - created}."
    return SaveResult(message=message, created=created, updated=len(saved) - created, entities=saved)


@tool(hints=ADD_HINTS, scopes=[WRITE], aliases=["kg_create_relations"])
async def create_relations(context: Context, relations: Relations) -> RelateResult:
    """Connect existing entities, such as Alice works_at Acme. If one is unknown, nothing is written."""
    distinct = len(set(relations))
    limits = await context.get_settings(GraphSettings)
    async with context.store() as graph:
        created = await graph_store.create_relations(graph, limits, relations)
    message = f"Created {format_count(created, 'relation')}, {distinct - created} existed."
    return RelateResult(message=message, created=created, existing=distinct - created)


@tool(hints=ADD_HINTS, scopes=[WRITE], aliases=["kg_add_observations"])
async def add_observations(
    context: Context,
    observations: Annotated[
        list[Additions], Field(max_length=MAX_ITEMS, fail_fast=True, description="What to add to which entity")
    ],
) -> AddResult:
    """Add facts to existing entities; known ones are skipped. If an entity is unknown, nothing is written."""
    notes = graph_store.build_columns(
        _collect_notes((addition.entityName, addition.contents) for addition in observations)
    )
    limits = await context.get_settings(GraphSettings)
    async with change_graph(context) as graph:
        results = await graph_store.add_observations(graph, limits, notes)
    added = sum(result.added for result in results)
    return AddResult(message=f"Added {format_count(added, 'observation')}.", added=added, results=results)


@tool(hints=CHANGE_HINTS, scopes=[WRITE], aliases=["kg_delete_entities"])
async def delete_entities(context: Context, entityNames: NamedEntities) -> DeleteResult:  # noqa: N803
    """Delete entities with their observations and relations."""
    async with change_graph(context) as graph:
        return _build_delete_result(await graph_store.delete_entities(graph, entityNames))


@tool(hints=CHANGE_HINTS, scopes=[WRITE], aliases=["kg_delete_observations"])
async def delete_observations(
    context: Context,
    deletions: Annotated[
        list[Deletions], Field(max_length=MAX_ITEMS, fail_fast=True, description="Exact observations by entity")
    ],
) -> DeleteResult:
    """Delete single observations."""
    notes = graph_store.build_columns(
        _collect_notes((deletion.entityName, deletion.observations) for deletion in deletions)
    )
    async with change_graph(context) as graph:
        return _build_delete_result(await graph_store.delete_observations(graph, notes))


@tool(hints=CHANGE_HINTS, scopes=[WRITE], aliases=["kg_delete_relations"])
async def delete_relations(context: Context, relations: Relations) -> DeleteResult:
    """Delete single relations."""
    async with context.store() as graph:
        return _build_delete_result(await graph_store.delete_relations(graph, relations))


@tool(hints=READ_HINTS, scopes=[READ], aliases=["kg_read_graph"])
async def read_graph(context: Context, cursor: CursorText = None, limit: Limit = 200) -> Graph:
    """The whole graph, page by page: entities by name, then relations."""
    start = pages.decode_cursor(cursor)
    async with context.store() as graph:
        page = pages.GraphPage([], [], 0, None)
        if start.relation is None:
            page = await pages.fetch_page(graph, pages.READ_GRAPH, start, limit)
        relations, next_cursor = (
            ([], page.next_cursor) if page.next_cursor else await pages.fetch_relations_after(graph, start)
        )
    count_text = f"{len(page.entities)} of {page.total} entities" if page.total else "no entities"
    message = f"This page has {count_text} and {format_count(len(relations), 'relation')}."
    return Graph(
        message=message, entities=page.entities, relations=relations, nextCursor=next_cursor and next_cursor.encode()
    )


@tool(hints=READ_HINTS, scopes=[READ], aliases=["kg_search"], keywords="remember, recall, know")
async def search(
    context: Context,
    query: Annotated[Text, Field(max_length=200, description="Text, one character or more")],
    limit: Limit = 20,
    cursor: CursorText = None,
) -> Graph:
    """Find entities whose name, type or an observation contains the text, whatever its case or width, with their
    relations."""
    start = pages.decode_cursor(cursor)
    async with context.store() as graph:
        page = await pages.fetch_page(graph, pages.SEARCH, start, limit, *build_needles(query))
        relations, omitted = await pages.fetch_relations_around(graph, page.entities)
    message = f"{len(page.entities)} of {page.total} matching entities." if page.total else NOTHING_FOUND
    return Graph(
        message=message + format_omitted(omitted),
        entities=page.entities,
        relations=relations,
        nextCursor=page.next_cursor and page.next_cursor.encode(),
    )


@tool(hints=READ_HINTS, scopes=[READ], aliases=["kg_get_nodes"])
async def get_nodes(context: Context, names: NamedEntities, cursor: CursorText = None) -> Nodes:
    """Entities by name, with the relations among and around them."""
    start = pages.decode_cursor(cursor)
    async with context.store() as graph:
        page = await pages.fetch_page(graph, pages.GET_NODES, start, MAX_ITEMS, names)
        relations, omitted = await pages.fetch_relations_around(graph, page.entities)
    message = (
        f"{format_count(len(page.entities), 'entity')}, {len(page.unknown)} unknown."
        if page.entities
        else NOTHING_FOUND
    )
    return Nodes(
        message=message + format_omitted(omitted),
        entities=page.entities,
        relations=relations,
        nextCursor=page.next_cursor and page.next_cursor.encode(),
        unknown=page.unknown,
    )


TOOLS = (
    create_entities,
    create_relations,
    add_observations,
    delete_entities,
    delete_observations,
    delete_relations,
    read_graph,
    search,
    get_nodes,
)


def _collect_notes(pairs: Iterable[tuple[str, Iterable[str]]]) -> Mapping[str, dict[str, None]]:
    """Observations by entity, each once and in their order, also where an entity was named twice."""
    notes: dict[str, dict[str, None]] = {}
    for entity, observations in pairs:
        notes.setdefault(entity, {}).update(dict.fromkeys(observations))
    return notes


def _build_delete_result(counts_deleted: graph_store.DeletedCounts) -> DeleteResult:
    counts = (
        (counts_deleted.entities, "entity"),
        (counts_deleted.observations, "observation"),
        (counts_deleted.relations, "relation"),
    )
    texts = ", ".join(format_count(number, noun) for number, noun in counts if number)
    message = f"Deleted {texts}." if texts else "There was nothing to delete."
    return DeleteResult(
        message=message,
        entities=counts_deleted.entities,
        observations=counts_deleted.observations,
        relations=counts_deleted.relations,
    )


def format_count(number: int, noun: str) -> str:
    """Format a number of things, in the singular for one of them."""
    if number == 1:
        return f"1 {noun}"
    return f"{number} {noun[:-1]}ies" if noun.endswith("y") else f"{number} {noun}s"


def format_omitted(number: int) -> str:
    """Format how many relations a message does not show; nothing for 0."""
    return f" {number} more relations touch these entities and are not shown." if number else ""
