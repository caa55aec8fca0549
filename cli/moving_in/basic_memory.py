"""What basic-memory reads of a note: observations ``- [category] text #tag`` and relations ``- type [[Other]]``.

As entities of a knowledge graph: a note is one, by its title and the `type` of its front matter.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cli.moving_in.graph_lines import GraphLine, format_entity_line, format_relation_line
from cli.moving_in.markdown_folder import MarkdownDocument

DEFAULT_TYPE = "note"
DEFAULT_RELATION = "relates_to"
MAX_LINE_CHARS = 20_000
"""Longer lines are text, and no list."""

_ITEM = re.compile(r"\s{0,20}[-*]\s{1,10}")
_OBSERVATION = re.compile(r"\[([^\[\]()\n]{1,200})\]\s(?=\s*\S)")
_RELATION = re.compile(r"([^\[\]\n]{0,200})\[\[([^\[\]|\n]{1,500})")
_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_TASKS = frozenset({" ", "x", "X", "-", "/"})
_FIELDS = ("type", "permalink")


@dataclass(frozen=True, slots=True)
class Note:
    """An entity, its observations, and its relations as (type, what the link says)."""

    path: str
    title: str
    kind: str
    permalink: str
    observations: Sequence[str]
    relations: Sequence[tuple[str, str]]


def read_note(document: MarkdownDocument) -> Note:
    """Read the observations and relations of a document; code blocks and task lists have none."""
    observations: list[str] = []
    relations: list[tuple[str, str]] = []
    for item in _iterate_items(document.body):
        if (found := _OBSERVATION.match(item)) is not None:
            if found[1] not in _TASKS:
                observations.append(item.strip())
        elif (found := _RELATION.match(item)) is not None:
            relations.append((found[1].strip() or DEFAULT_RELATION, found[2].strip()))
    fields = _read_fields(document.head)
    kind, permalink = fields.get("type") or DEFAULT_TYPE, fields.get("permalink", "")
    return Note(document.path, document.title, kind, permalink, observations, relations)


def build_graph_lines(notes: Sequence[Note]) -> Iterator[GraphLine]:
    """Build the lines of all notes: entities first. A link names a note by its title, permalink or path."""
    for note in notes:
        yield GraphLine(format_entity_line(note.title, note.kind, note.observations), note.path)
    titles = _map_titles(notes)
    for note in notes:
        for kind, target in note.relations:
            title = titles.get(target.casefold(), target)
            yield GraphLine(format_relation_line(note.title, title, kind), note.path)


def _map_titles(notes: Sequence[Note]) -> Mapping[str, str]:
    """Map what a link may say, without its case, to the title; titles come before permalinks and paths."""
    titles: dict[str, str] = {}
    for note in notes:
        titles.setdefault(note.title.casefold(), note.title)
    for note in notes:
        stem = note.path.rpartition(".")[0]
        for name in (note.permalink, stem, stem.rpartition("/")[2]):
            if name:
                titles.setdefault(name.casefold(), note.title)
    return titles


def _read_fields(head: str) -> dict[str, str]:
    """Read the fields of the front matter that no document has; of one that comes twice the first."""
    fields: dict[str, str] = {}
    for line in head.split("\n"):
        name, _, value = line.partition(":")
        if name.rstrip() in _FIELDS:
            fields.setdefault(name.rstrip(), value.strip().strip("\"'"))
    return fields


def _iterate_items(text: str) -> Iterator[str]:
    """The items of lists outside of code blocks, without their marks."""
    fence = ""
    for line in text.split("\n"):
        if (found := _FENCE.match(line)) is not None:
            fence = "" if fence == found[1] else fence or found[1]
        elif not fence and len(line) <= MAX_LINE_CHARS and (item := _ITEM.match(line)) is not None:
            yield line[item.end() :]
