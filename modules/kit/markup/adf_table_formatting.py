"""Tables of Atlassian's document format that Markdown can say: each cell is one paragraph."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

from modules.kit.markup.adf_inline_formatting import format_inline
from modules.kit.markup.adf_nodes import AdfNode, build_options, get_attrs, list_children, list_marks
from modules.kit.turns import count_each

_CELL_KEYS = frozenset({"type", "attrs", "content"})


class PlainCell(NamedTuple):
    """A cell of a table that holds one paragraph."""

    kind: str
    width: Any
    content: list[AdfNode]


def read_plain_rows(table: AdfNode) -> list[list[PlainCell]] | None:
    """The cells of a table; None where a row or cell is not plain, or rows have another number of cells."""
    rows: list[list[PlainCell]] = []
    for row in count_each(list_children(table)):
        if row.keys() - _CELL_KEYS or get_attrs(row):
            return None
        cells = [_read_plain_cell(cell) for cell in list_children(row)]
        found = [cell for cell in cells if cell is not None]
        if not found or len(found) < len(cells) or (rows and len(rows[0]) != len(found)):
            return None
        rows.append(found)
    return rows or None


def _read_plain_cell(cell: AdfNode) -> PlainCell | None:
    content: Any = cell.get("content")
    parts = cast("list[Any]", content) if len(cell) == 2 and isinstance(content, list) else []
    if len(parts) == 1:
        one: Any = parts[0]
        if isinstance(one, dict) and _is_usual_paragraph(cast("AdfNode", one)):
            return PlainCell(cell["type"], None, list_children(cast("AdfNode", one)))
    content, attrs = list_children(cell), get_attrs(cell)
    if len(content) != 1 or content[0]["type"] != "paragraph" or cell.keys() - _CELL_KEYS:
        return None
    if attrs.keys() - {"colwidth"} or content[0].keys() - _CELL_KEYS or get_attrs(content[0]):
        return None
    return PlainCell(cell["type"], attrs.get("colwidth"), list_children(content[0]))


def _is_usual_paragraph(node: AdfNode) -> bool:
    return node.get("type") == "paragraph" and len(node) == 2 and "content" in node


def read_layout(table: AdfNode, rows: Sequence[Sequence[PlainCell]]) -> AdfNode | None:
    """Read what a plain table does not say of itself; None where Markdown cannot say it."""
    header = _find_header(rows)
    widths = [cell.width for cell in rows[0]]
    if header is None or any([cell.width for cell in row] != widths for row in count_each(rows, 20)):
        return None
    found = build_options(get_attrs(table), list_marks(table))
    if header != "row":
        found["header"] = header
    if any(width is not None for width in widths):
        found["colwidth"] = widths
    return found


HEADERS: dict[str, Callable[[int, int], bool]] = {
    "row": lambda row, _: row == 0,
    "none": lambda _, __: False,
    "column": lambda _, column: column == 0,
    "both": lambda row, column: row == 0 or column == 0,
}
"""Which cells of a table are headers, by the word for it."""


def _find_header(rows: Sequence[Sequence[PlainCell]]) -> str | None:
    kinds = [[cell.kind for cell in row] for row in count_each(rows, 20)]
    for name, is_header in HEADERS.items():
        first, other = (
            ["tableHeader" if is_header(row, column) else "tableCell" for column in range(len(rows[0]))]
            for row in (0, 1)
        )
        if kinds[0] == first and all(one == other for one in kinds[1:]):
            return name
    return None


def format_table_lines(rows: Sequence[Sequence[PlainCell]]) -> list[str]:
    """Format the rows as a table of Markdown."""
    lines = [_format_row(row) for row in count_each(rows)]
    lines.insert(1, f"|{' --- |' * len(rows[0])}")
    return lines


def _format_row(cells: Sequence[PlainCell]) -> str:
    texts = [format_inline(cell.content).replace("|", "\\|") for cell in cells]
    return f"| {' | '.join(texts)} |"
