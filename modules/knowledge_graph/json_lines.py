"""The file of the reference MCP memory server: a line of JSON for each entity, then one for each relation.

Checked with @modelcontextprotocol/server-memory 2026.8.31 (``KnowledgeGraphManager.saveGraph`` and ``loadGraph``).
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from modules.kit.turns import count_each, count_work
from modules.knowledge_graph.graph_store import NoteColumns, build_columns
from modules.knowledge_graph.models import FoundEntity, RefusedLine, Relation, check_storable
from modules.knowledge_graph.search_text import fold_texts

BYTE_ORDER_MARK = "\ufeff"
LINE_WORK = 100
"""Work for a line besides its characters, as modules.kit.turns counts it."""


@dataclass(slots=True)
class ParsedGraph:
    """What can be stored of a text: the types of entities, their observations, relations with their lines; and what
    cannot. `folded` and `columns` are the first two as the statements take them."""

    types: dict[str, str] = field(default_factory=dict[str, str])
    notes: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])
    relations: dict[tuple[str, str, str], int] = field(default_factory=dict[tuple[str, str, str], int])
    refused: list[RefusedLine] = field(default_factory=list[RefusedLine])
    folded: list[str] = field(default_factory=list[str])
    columns: NoteColumns = field(default_factory=lambda: NoteColumns([], [], [], [], []))


class _Refused(Exception):
    """A value cannot be stored; the text says why."""


def parse_graph(text: str) -> ParsedGraph:
    """Parse a text; lines that cannot be stored are told, and so are single observations. Blank lines and further
    fields of a line are passed over, as the memory server does. To be run in turns."""
    graph = ParsedGraph()
    for number, line in iterate_lines(text):
        try:
            _read_line(graph, number, line)
        except _Refused as error:
            graph.refused.append(RefusedLine(line=number, reason=str(error)))
    graph.folded = [fold_texts(name, kind) for name, kind in count_each(list(graph.types.items()), LINE_WORK)]
    graph.columns = build_columns(graph.notes)
    return graph


def iterate_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, with their numbers; only LF ends a line, and a CR before it does not count."""
    start, number = len(BYTE_ORDER_MARK) if text.startswith(BYTE_ORDER_MARK) else 0, 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        number += 1
        count_work(end - start + LINE_WORK)
        if line := text[start:end].strip():
            yield number, line
        start = end + 1


def list_entity_names(text: str, limit: int) -> list[str]:
    """List the names of the first entities of a text."""
    names: dict[str, None] = {}
    for _, line in iterate_lines(text):
        try:
            value = _parse_object(line)
            if value.get("type") == "entity":
                names[_check_text(value, "name", 200)] = None
        except _Refused:
            continue
        if len(names) == limit:
            break
    return list(names)


def format_entity(entity: FoundEntity, *, is_first: bool, is_last: bool) -> str:
    """Format the line of an entity, or the part of it that begins (`is_first`) or ends (`is_last`) elsewhere."""
    observations = ",".join(_encode(text) for text in entity.observations)
    head = f'{{"type":"entity","name":{_encode(entity.name)},"entityType":{_encode(entity.entityType)},"observations":['
    begin = head if is_first else "," if observations else ""
    return begin + observations + (LINE_END if is_last else "")


LINE_END = "]}\n"


def format_relations(relations: Sequence[Relation]) -> str:
    """Format the lines of relations."""
    return "".join(
        _encode({"type": "relation", "from": one.source, "to": one.to, "relationType": one.relationType}) + "\n"
        for one in relations
    )


def _read_line(graph: ParsedGraph, number: int, line: str) -> None:
    value = _parse_object(line)
    kind = value.get("type")
    if kind == "entity":
        _read_entity(graph, number, value)
    elif kind == "relation":
        ends = (
            _check_text(value, "from", 200),
            _check_text(value, "to", 200),
            _check_text(value, "relationType", 200),
        )
        graph.relations.setdefault(ends, number)
    else:
        raise _Refused("type is neither entity nor relation")


def _read_entity(graph: ParsedGraph, number: int, value: dict[str, Any]) -> None:
    name, kind = _check_text(value, "name", 200), _check_text(value, "entityType", 200)
    observations = value.get("observations", ())
    if not isinstance(observations, list | tuple):
        raise _Refused("observations is no list")
    graph.types[name] = kind
    notes = graph.notes.setdefault(name, {})
    for nth, text in enumerate(cast("Sequence[Any]", observations), 1):
        try:
            notes[_check_storable_text(text, "the observation", 2000)] = None
        except _Refused as error:
            graph.refused.append(RefusedLine(line=number, observation=nth, reason=str(error)))


def _parse_object(line: str) -> dict[str, Any]:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise _Refused("no JSON object")
    return cast("dict[str, Any]", value)


def _check_text(value: dict[str, Any], name: str, limit: int) -> str:
    if name not in value:
        raise _Refused(f"{name} is missing")
    return _check_storable_text(value[name], name, limit)


def _check_storable_text(text: object, name: str, limit: int) -> str:
    if not isinstance(text, str):
        raise _Refused(f"{name} is no text")
    if len(text) > limit:
        raise _Refused(f"{name} has {len(text):,} characters, and the limit is {limit:,}")
    try:
        text.encode()
        return check_storable(text)
    except UnicodeEncodeError as error:
        raise _Refused(f"{name} has half of a character at position {error.start}") from None
    except ValueError as error:
        raise _Refused(f"{name} {error}") from None


def _encode(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
