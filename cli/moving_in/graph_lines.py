"""Lines of a knowledge graph, sent in parts; what is refused is told by where it came from."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from core.errors import Unavailable

if TYPE_CHECKING:
    from cli.client.mcp_tools import ToolCaller

MAX_PART_CHARS = 200_000
"""Of one call; the tool takes 250,000."""
COUNTS = (
    "entities_created",
    "entities_updated",
    "observations_added",
    "relations_created",
    "relations_existing",
    "refused_count",
)


@dataclass(frozen=True, slots=True)
class GraphLine:
    """A line and where it came from. Where it is a piece of an entity, it has the observations after `skipped`."""

    text: str
    place: str
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class RefusedEntry:
    """What was not imported, and why."""

    place: str
    reason: str


@dataclass(slots=True)
class GraphReport:
    """What was written. `counts` has the names of ``COUNTS``."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    refused: list[RefusedEntry] = field(default_factory=list[RefusedEntry])
    lines: int = 0

    def refuse(self, place: str, reason: str) -> None:
        """Add what was not sent at all."""
        self.counts["refused_count"] += 1
        self.refused.append(RefusedEntry(place, reason))

    def to_document(self) -> dict[str, Any]:
        """Build its part of the JSON report."""
        return {**self.counts, "refused": [{"place": one.place, "reason": one.reason} for one in self.refused]}


def send_lines(
    lines: Iterable[GraphLine], caller: "ToolCaller | None", report: GraphReport, tell: Callable[[str], None]
) -> None:
    """Send lines in as few calls as possible; without a `caller` only count them.

    Raises:
        core.errors.MCPistError: a call failed; the report says what was written before.
    """
    for part in _gather_parts(lines, report):
        if caller is not None:
            text = "\n".join(line.text for line in part)
            _add_answer(report, part, caller.call("knowledge_graph", "import_graph", {"jsonl": text}))
        report.lines += len(part)
        tell(f"{report.lines} lines")


def format_entity_line(name: str, kind: str, observations: Sequence[Any]) -> str:
    """Format the line of an entity."""
    return json.dumps({"type": "entity", "name": name, "entityType": kind, "observations": observations})


def format_relation_line(source: str, target: str, kind: str) -> str:
    """Format the line of a relation."""
    return json.dumps({"type": "relation", "from": source, "to": target, "relationType": kind})


def divide_entity(value: dict[str, Any], place: str) -> Iterator[GraphLine]:
    """Divide an entity that is too long for one call into lines with some of its observations each."""
    head = {name: value[name] for name in ("type", "name", "entityType") if name in value}
    room = MAX_PART_CHARS // 2
    start, size, observations = 0, 0, value["observations"]
    for nth, text in enumerate(observations):
        length = len(json.dumps(text)) + 1
        if size + length > room and nth > start:
            yield GraphLine(json.dumps({**head, "observations": observations[start:nth]}), place, start)
            start, size = nth, 0
        size += length
    yield GraphLine(json.dumps({**head, "observations": observations[start:]}), place, start)


def _gather_parts(lines: Iterable[GraphLine], report: GraphReport) -> Iterator[list[GraphLine]]:
    part: list[GraphLine] = []
    size = 0
    for line in lines:
        if len(line.text) > MAX_PART_CHARS:
            report.refuse(line.place, f"has {len(line.text):,} characters, which no entity may have")
            continue
        if part and size + len(line.text) + 1 > MAX_PART_CHARS:
            yield part
            part, size = [], 0
        part.append(line)
        size += len(line.text) + 1
    if part:
        yield part


class _RefusedLine(msgspec.Struct):
    line: int
    reason: str
    observation: int | None = None


class _ImportAnswer(msgspec.Struct, rename="camel"):
    entities_created: int
    entities_updated: int
    observations_added: int
    relations_created: int
    relations_existing: int
    refused_count: int
    refused: list[_RefusedLine]


def _add_answer(report: GraphReport, part: Sequence[GraphLine], answer: Mapping[str, Any]) -> None:
    try:
        told = msgspec.convert(answer, _ImportAnswer)
    except msgspec.ValidationError:
        raise Unavailable("this MCPist answers in a form that is not known here: is one of the two older?") from None
    for name in COUNTS:
        report.counts[name] += getattr(told, name)
    for refused in told.refused:
        line = part[refused.line - 1]
        nth = refused.observation
        place = line.place if nth is None else f"{line.place}, observation {line.skipped + nth}"
        report.refused.append(RefusedEntry(place, refused.reason))
