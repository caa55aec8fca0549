"""The file of the official memory server: JSON Lines, read twice, so that each relation comes after its entities."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from cli.moving_in.graph_lines import MAX_PART_CHARS, GraphLine, GraphReport, divide_entity, send_lines
from cli.moving_in.text_lines import parse_object, read_text_lines

if TYPE_CHECKING:
    from cli.client.mcp_tools import ToolCaller


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
    for number, text, problem in read_text_lines(path):
        place = f"line {number}"
        if text is None:
            report.refuse(place, problem)
            continue
        value = parse_object(text)
        if not text or (value.get("type") == "relation") is not relations:
            continue
        if len(text) > MAX_PART_CHARS and isinstance(value.get("observations"), list):
            yield from divide_entity(value, place)
        else:
            yield GraphLine(text, place)
