"""Tools that move a graph in and out."""

from typing import Annotated

from pydantic import Field

from modules.kit import Context, Store, run_in_turns, tool
from modules.knowledge_graph import graph_store, pages
from modules.knowledge_graph.entity_index import change_graph
from modules.knowledge_graph.json_lines import LINE_END, ParsedGraph, format_entity, format_relations, parse_graph
from modules.knowledge_graph.models import ExportedPart, ImportReport, RefusedLine, Relation
from modules.knowledge_graph.settings import GraphSettings
from modules.knowledge_graph.tools import CHANGE_HINTS, READ, READ_HINTS, WRITE, CursorText

MAX_IMPORT_CHARS = 250_000
MAX_REFUSED = 100
PART_ENTITIES = 500
AFTER_ALL_OBSERVATIONS = 2**63 - 1


@tool(hints=READ_HINTS, scopes=[READ], aliases=["kg_export_graph"], keywords="backup, download, エクスポート, 書き出し")
async def export_graph(context: Context, cursor: CursorText = None) -> ExportedPart:
    """The graph as JSON Lines, as the MCP memory server keeps it. Parts joined as they are make the file."""
    start = pages.decode_cursor(cursor)
    async with context.store() as graph:
        entities, next_cursor = "", None
        if start.relation is None:
            entities, next_cursor = await _export_entities(graph, start)
        relations: list[Relation] = []
        if next_cursor is None:
            relations, next_cursor = await pages.fetch_relations_after(graph, start)
    message = "There is more: nextCursor leads to the next part." if next_cursor else "This is the last part."
    return ExportedPart(
        message=message,
        jsonl=entities + format_relations(relations),
        nextCursor=next_cursor and next_cursor.encode(),
    )


@tool(hints=CHANGE_HINTS, scopes=[WRITE], aliases=["kg_import_graph"], keywords="restore, upload, インポート, 取り込み")
async def import_graph(
    context: Context,
    jsonl: Annotated[
        str,
        Field(
            max_length=MAX_IMPORT_CHARS,
            description='Lines {"type":"entity","name","entityType","observations"} and '
            '{"type":"relation","from","to","relationType"}',
        ),
    ],
) -> ImportReport:
    """Add a graph in JSON Lines, as the MCP memory server keeps it. What cannot be stored is told by line; all else is
    written at once. Known entities get the new type and observations; nothing is removed, and nothing added twice."""
    parsed = await run_in_turns(parse_graph, jsonl, size=len(jsonl))
    limits = await context.get_settings(GraphSettings)
    async with change_graph(context) as graph:
        counts = await graph_store.import_entities(graph, limits, parsed.types, parsed.folded, parsed.columns)
        relations = await _select_relations(graph, parsed)
        created = await graph_store.create_relations(graph, limits, relations) if relations else 0
    refused = sorted(parsed.refused, key=lambda one: (one.line, one.observation or 0))
    return ImportReport(
        message=_format_import(counts, created, len(refused)),
        entitiesCreated=counts.created,
        entitiesUpdated=counts.updated,
        observationsAdded=counts.observations,
        relationsCreated=created,
        relationsExisting=len(relations) - created,
        refusedCount=len(refused),
        refused=refused[:MAX_REFUSED],
    )


MOVE_TOOLS = (export_graph, import_graph)


async def _export_entities(store: Store, start: pages.Cursor) -> tuple[str, pages.Cursor | None]:
    """Write the lines of entities after `start`. A part ends with a whole line where it has one; the cursor of a line
    that goes on names its last observation."""
    page = await pages.fetch_page(store, pages.READ_GRAPH, start, PART_ENTITIES)
    entities, next_cursor = page.entities, page.next_cursor
    if next_cursor is not None and len(entities) > 1:  # the last one may not be complete: it begins the next part
        entities = entities[:-1]
        next_cursor = pages.Cursor(entities[-1].name, AFTER_ALL_OBSERVATIONS)
    is_cut = next_cursor is not None and next_cursor.nth != AFTER_ALL_OBSERVATIONS
    goes_on = bool(start.name) and start.nth != AFTER_ALL_OBSERVATIONS
    parts: list[str] = []
    if goes_on and not (entities and entities[0].continued):
        parts.append(LINE_END)  # its observations were deleted meanwhile, or it was
    for nth, entity in enumerate(entities):
        is_last = not (is_cut and nth == len(entities) - 1)
        parts.append(format_entity(entity, is_first=not entity.continued, is_last=is_last))
    return "".join(parts), next_cursor


async def _select_relations(store: Store, parsed: ParsedGraph) -> list[Relation]:
    """Select the relations whose ends are entities by now; the others are told."""
    ends = {name for source, to, _ in parsed.relations for name in (source, to)} - parsed.types.keys()
    known = await graph_store.find_known_names(store, sorted(ends)) if ends else frozenset[str]()
    unknown = ends - known
    selected: list[Relation] = []
    for (source, to, kind), line in parsed.relations.items():
        if missing := next((name for name in (source, to) if name in unknown), None):
            parsed.refused.append(RefusedLine(line=line, reason=f"there is no entity \u201c{missing}\u201d"))
        else:
            selected.append(Relation.model_validate({"from": source, "to": to, "relationType": kind}))
    return selected


def _format_import(counts: graph_store.ImportCounts, relations: int, refused: int) -> str:
    told = f" Refused: {refused}, see refused." if refused else ""
    return (
        f"Entities: {counts.created} created, {counts.updated} updated. "
        f"Added {counts.observations} observations and {relations} relations.{told}"
    )
