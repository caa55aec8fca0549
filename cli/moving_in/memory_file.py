"""The file of the official memory server: JSON Lines, read twice, so that each relation comes after its entities."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from cli.moving_in.graph_lines import MAX_PART_CHARS, GraphLine, GraphReport, divide_entity, send_lines
from core.errors import Invalid

if TYPE_CHECKING:
    from cli.client.mcp_tools import ToolCaller

MAX_LINE_BYTES = 64 * 1024 * 1024
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def import_memory_file(
    path: Path, caller: "ToolCaller | None", report: GraphReport, tell: Callable[[str], None]
) -> None:
    """Send the entities of a file, then its relations; without a `caller` only count them.

    Raises:
        Invalid: the file cannot be read.
        core.errors.MCPistError: a call failed.
    """
    send_lines(_read_lines(path, report, relations=False), caller, report, tell)
    send_lines(_read_lines(path, GraphReport(), relations=True), caller, report, tell)


def _read_lines(path: Path, report: GraphReport, *, relations: bool) -> Iterator[GraphLine]:
    """Read the lines that are relations, or all others: whatever is neither is for the tool to refuse."""
    try:
        with path.open("rb") as file:
            for number, line in _read_raw_lines(file):
                yield from _read_line(line, f"line {number}", report, relations=relations)
    except OSError as error:
        raise Invalid(f"cannot read {path}: {error.strerror}") from None


def _read_line(line: bytes | None, place: str, report: GraphReport, *, relations: bool) -> Iterator[GraphLine]:
    if line is None:
        report.refuse(place, f"is longer than {MAX_LINE_BYTES} bytes")
        return
    try:
        text = line.decode().strip()
    except UnicodeDecodeError:
        report.refuse(place, "is not UTF-8")
        return
    value = _parse_object(text)
    if not text or (value.get("type") == "relation") is not relations:
        return
    if len(text) > MAX_PART_CHARS and isinstance(value.get("observations"), list):
        yield from divide_entity(value, place)
    else:
        yield GraphLine(text, place)


def _read_raw_lines(file: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Read lines with their numbers; None for one that is too long."""
    number = 0
    while line := file.readline(MAX_LINE_BYTES):
        number += 1
        if number == 1:
            line = line.removeprefix(BYTE_ORDER_MARK)
        if len(line) < MAX_LINE_BYTES or line.endswith(b"\n"):
            yield number, line
            continue
        while (rest := file.readline(MAX_LINE_BYTES)) and not rest.endswith(b"\n"):
            pass
        yield number, None


def _parse_object(text: str) -> dict[str, Any]:
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
