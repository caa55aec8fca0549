"""Items in JSON Lines, sent in parts and read three times: items that have a key, then their relations, which may lead
to any of them, then items without a key, to which nothing leads."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from cli.moving_in.graph_lines import RefusedEntry
from cli.moving_in.text_lines import parse_object, read_text_lines
from core.errors import Unavailable

if TYPE_CHECKING:
    from cli.client.mcp_tools import ToolCaller

MAX_PART_CHARS = 200_000
"""Of one call; the tool takes 250,000."""
MAX_PART_LINES = 200
"""Of one call; the tool names so many refused lines."""
COUNTS = ("created", "updated", "relations", "refused_count")


@dataclass(slots=True)
class ItemReport:
    """What was written. `counts` has the names of ``COUNTS``; `lines` are those of items and statuses. `pending` items
    of the workspace are not indexed for searches by meaning, where it is searched so."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    refused: list[RefusedEntry] = field(default_factory=list[RefusedEntry])
    lines: int = 0
    pending: int = 0

    def refuse(self, place: str, reason: str) -> None:
        """Add what was refused, by where it stands."""
        self.counts["refused_count"] += 1
        self.refused.append(RefusedEntry(place, reason))

    def to_document(self) -> dict[str, Any]:
        """Build its part of the JSON report."""
        return {
            **self.counts,
            "pending": self.pending,
            "refused": [{"place": one.place, "reason": one.reason} for one in self.refused],
        }


@dataclass(frozen=True, slots=True)
class ItemText:
    """A line and where it stands; where it could not be read, the `problem` in its place."""

    place: str
    text: str
    problem: str = ""


def read_item_file(path: Path) -> Iterator[ItemText]:
    """Read the lines of a file.

    Raises:
        Invalid: the file cannot be read.
    """
    for number, text, problem in read_text_lines(path):
        yield ItemText(f"line {number}", text or "", problem)


class ItemLinesImport:
    """One import of lines, which `read` reads from the beginning at each call; `report` says how far it is."""

    def __init__(self, read: Callable[[], Iterable[ItemText]], workspace: str | None, *, replaces: bool) -> None:
        self.report = ItemReport()
        self._read = read
        self._replaces = replaces
        self._workspace = {} if workspace is None else {"workspace": workspace}
        self._skipped: set[str] = set()

    def run(self, caller: "ToolCaller | None", tell: Callable[[str], None]) -> None:
        """Send the lines; without a `caller` only count them.

        Raises:
            Invalid: they cannot be read.
            core.errors.MCPistError: a call failed.
        """
        for part in _gather_parts(self._read_keyed()):
            self._send(caller, part, tell)
        for part in _gather_parts(self._read_relations()):
            self._send_relations(caller, part)
        for part in _gather_parts(self._read_others()):
            self._send(caller, part, tell)

    def _read_keyed(self) -> Iterator[ItemText]:
        """Read what has a key, without its relations, and statuses; refuse what cannot be read."""
        for line in self._read():
            if line.problem:
                self._refuse(line.place, line.problem)
            elif len(line.text) > MAX_PART_CHARS:
                self._refuse(line.place, f"has {len(line.text):,} characters, which no item may have")
            elif _find_key(value := parse_object(line.text)) or "statuses" in value:
                bare = {name: part for name, part in value.items() if name != "related"}
                yield ItemText(line.place, json.dumps(bare, ensure_ascii=False))

    def _read_relations(self) -> Iterator[ItemText]:
        for line in self._read():
            value = parse_object(line.text)
            key = _find_key(value)
            if key and value.get("related") and line.place not in self._skipped:
                related = json.dumps({"key": key, "related": value["related"]}, ensure_ascii=False)
                yield ItemText(line.place, related)

    def _read_others(self) -> Iterator[ItemText]:
        for line in self._read():
            value = parse_object(line.text)
            if line.text and line.place not in self._skipped and not (_find_key(value) or "statuses" in value):
                yield line

    def _send(self, caller: "ToolCaller | None", part: Sequence[ItemText], tell: Callable[[str], None]) -> None:
        if caller is not None:
            told = self._call(caller, part, replaces=self._replaces)
            self.report.counts["created"] += told.created
            self.report.counts["updated"] += told.updated
        self.report.lines += len(part)
        tell(f"{self.report.lines} lines")

    def _send_relations(self, caller: "ToolCaller | None", part: Sequence[ItemText]) -> None:
        """Set the relations of items that were written before."""
        if caller is not None:
            self._call(caller, part, replaces=True)

    def _call(self, caller: "ToolCaller", part: Sequence[ItemText], *, replaces: bool) -> "_ItemAnswer":
        text = "\n".join(line.text for line in part)
        params = {"jsonl": text, "replace": replaces, **self._workspace}
        told = _read_answer(caller.call("items", "import_items", params))
        self.report.counts["relations"] += told.relations
        self.report.pending = told.pending or 0
        for refused in told.refused:
            reason = f"{refused.field} {refused.reason}" if refused.field else refused.reason
            self._refuse(part[refused.line - 1].place, reason)
        return told

    def _refuse(self, place: str, reason: str) -> None:
        self._skipped.add(place)
        self.report.refuse(place, reason)


class _RefusedItem(msgspec.Struct):
    line: int
    field: str
    reason: str


class _ItemAnswer(msgspec.Struct):
    created: int
    updated: int
    relations: int
    refused: list[_RefusedItem]
    pending: int | None = None


def _read_answer(answer: Mapping[str, Any]) -> _ItemAnswer:
    try:
        return msgspec.convert(answer, _ItemAnswer)
    except msgspec.ValidationError:
        raise Unavailable("this MCPist answers in a form that is not known here: is one of the two older?") from None


def _find_key(value: Mapping[str, Any]) -> str:
    """Return the key of a line, also where it stands as type and id; empty where the line has none."""
    if value.get("key"):
        return str(value["key"])
    type, id = value.get("type"), value.get("id")
    if not type or id is None:
        return ""
    return str(id) if isinstance(id, str) and not id.isdigit() else f"{type}-{id}"


def _gather_parts(lines: Iterable[ItemText]) -> Iterator[list[ItemText]]:
    part: list[ItemText] = []
    size = 0
    for line in lines:
        if part and (size + len(line.text) + 1 > MAX_PART_CHARS or len(part) == MAX_PART_LINES):
            yield part
            part, size = [], 0
        part.append(line)
        size += len(line.text) + 1
    if part:
        yield part
