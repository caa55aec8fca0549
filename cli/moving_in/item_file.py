"""A file of items in JSON Lines, sent in parts and read three times: items that have a key, then their relations, which
may lead to any of them, then items without a key, to which nothing in the file leads."""

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
    """What was written. `counts` has the names of ``COUNTS``; `lines` are those of items and statuses."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COUNTS, 0))
    refused: list[RefusedEntry] = field(default_factory=list[RefusedEntry])
    lines: int = 0

    def refuse(self, number: int, reason: str) -> None:
        """Add a line that was refused."""
        self.counts["refused_count"] += 1
        self.refused.append(RefusedEntry(f"line {number}", reason))

    def to_document(self) -> dict[str, Any]:
        """Build its part of the JSON report."""
        return {**self.counts, "refused": [{"place": one.place, "reason": one.reason} for one in self.refused]}


@dataclass(frozen=True, slots=True)
class _ItemText:
    number: int
    text: str


class ItemFileImport:
    """One import of a file; `report` says how far it is."""

    def __init__(self, path: Path, workspace: str | None, *, replaces: bool) -> None:
        self.report = ItemReport()
        self._path = path
        self._replaces = replaces
        self._workspace = {} if workspace is None else {"workspace": workspace}
        self._skipped: set[int] = set()

    def run(self, caller: "ToolCaller | None", tell: Callable[[str], None]) -> None:
        """Send the file; without a `caller` only count its lines.

        Raises:
            Invalid: the file cannot be read.
            core.errors.MCPistError: a call failed.
        """
        for part in _gather_parts(self._read_keyed()):
            self._send(caller, part, tell)
        for part in _gather_parts(self._read_relations()):
            self._send_relations(caller, part)
        for part in _gather_parts(self._read_others()):
            self._send(caller, part, tell)

    def _read_keyed(self) -> Iterator[_ItemText]:
        """Read what has a key, without its relations, and statuses; refuse what cannot be read."""
        for number, text, problem in read_text_lines(self._path):
            if text is None:
                self._refuse(number, problem)
            elif text and len(text) > MAX_PART_CHARS:
                self._refuse(number, f"has {len(text):,} characters, which no item may have")
            elif text and (_find_key(value := parse_object(text)) or "statuses" in value):
                bare = {name: part for name, part in value.items() if name != "related"}
                yield _ItemText(number, json.dumps(bare, ensure_ascii=False))

    def _read_relations(self) -> Iterator[_ItemText]:
        for number, text, _ in read_text_lines(self._path):
            value = parse_object(text or "")
            key = _find_key(value)
            if key and value.get("related") and number not in self._skipped:
                yield _ItemText(number, json.dumps({"key": key, "related": value["related"]}, ensure_ascii=False))

    def _read_others(self) -> Iterator[_ItemText]:
        for number, text, _ in read_text_lines(self._path):
            value = parse_object(text or "")
            if text and number not in self._skipped and not (_find_key(value) or "statuses" in value):
                yield _ItemText(number, text)

    def _send(self, caller: "ToolCaller | None", part: Sequence[_ItemText], tell: Callable[[str], None]) -> None:
        if caller is not None:
            told = self._call(caller, part, replaces=self._replaces)
            self.report.counts["created"] += told.created
            self.report.counts["updated"] += told.updated
        self.report.lines += len(part)
        tell(f"{self.report.lines} lines")

    def _send_relations(self, caller: "ToolCaller | None", part: Sequence[_ItemText]) -> None:
        """Set the relations of items that were written before."""
        if caller is not None:
            self._call(caller, part, replaces=True)

    def _call(self, caller: "ToolCaller", part: Sequence[_ItemText], *, replaces: bool) -> "_ItemAnswer":
        text = "\n".join(line.text for line in part)
        params = {"jsonl": text, "replace": replaces, **self._workspace}
        told = _read_answer(caller.call("items", "import_items", params))
        self.report.counts["relations"] += told.relations
        for refused in told.refused:
            reason = f"{refused.field} {refused.reason}" if refused.field else refused.reason
            self._refuse(part[refused.line - 1].number, reason)
        return told

    def _refuse(self, number: int, reason: str) -> None:
        self._skipped.add(number)
        self.report.refuse(number, reason)


class _RefusedItem(msgspec.Struct):
    line: int
    field: str
    reason: str


class _ItemAnswer(msgspec.Struct):
    created: int
    updated: int
    relations: int
    refused: list[_RefusedItem]


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


def _gather_parts(lines: Iterable[_ItemText]) -> Iterator[list[_ItemText]]:
    part: list[_ItemText] = []
    size = 0
    for line in lines:
        if part and (size + len(line.text) + 1 > MAX_PART_CHARS or len(part) == MAX_PART_LINES):
            yield part
            part, size = [], 0
        part.append(line)
        size += len(line.text) + 1
    if part:
        yield part
