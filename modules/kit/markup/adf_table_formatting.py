"""Tables of Atlassian's document format that Markdown can say: each cell is one paragraph."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from modules.kit.markup.adf_inline_formatting import format_inline
from modules.kit.markup.adf_nodes import AdfNode, build_options, get_attrs, list_children, list_marks
from modules.kit.turns import count_each

_CELL_KEYS = frozenset({"type", "attrs", "content"})


class PlainRow(NamedTuple):
    """A row of a table whose cells hold one paragraph each: their types, widths and content. Lists of a row are fewer
    objects than cells."""

    kinds: list[str]
    widths: list[Any]
    contents: list[list[AdfNode]]


def read_plain_rows(table: AdfNode) -> list[PlainRow] | None:
    """The rows of a table; None where a row or cell is not plain, or rows have another number of cells."""
    rows: list[PlainRow] = []
    for row in count_each(list_children(table)):
        if row.keys() - _CELL_KEYS or get_attrs(row):
            return None
        found = PlainRow([], [], [])
        for cell in list_children(row):
            # Most cells are read here: a call for each takes longer.
            parts: Any = cell.get("content")
            one: Any = parts[0] if len(cell) == 2 and parts.__class__ is list and len(parts) == 1 else None
            if one.__class__ is dict and len(one) == 2 and one.get("type") == "paragraph" and "content" in one:
                found.widths.append(None)
                found.contents.append(list_children(one))
            elif not _read_plain_cell(cell, found):
                return None
            found.kinds.append(cell["type"])
        if not found.kinds or (rows and len(rows[0].kinds) != len(found.kinds)):
            return None
        rows.append(found)
    return rows or None


def _read_plain_cell(cell: AdfNode, row: PlainRow) -> bool:
    """Add the width and content of a cell to its row; false for one that is not plain."""
    content, attrs = list_children(cell), get_attrs(cell)
    if len(content) != 1 or content[0]["type"] != "paragraph" or cell.keys() - _CELL_KEYS:
        return False
    if attrs.keys() - {"colwidth"} or content[0].keys() - _CELL_KEYS or get_attrs(content[0]):
        return False
    row.widths.append(attrs.get("colwidth"))
    row.contents.append(list_children(content[0]))
    return True


def find_paragraph(node: AdfNode) -> AdfNode | None:
    """The paragraph that is all in a node, and has nothing but content; None for anything else."""
    parts: Any = node.get("content")
    if parts.__class__ is not list or len(parts) != 1:
        return None
    one: Any = parts[0]
    is_usual = one.__class__ is dict and len(one) == 2 and one.get("type") == "paragraph" and "content" in one
    return one if is_usual else None


def read_layout(table: AdfNode, rows: Sequence[PlainRow]) -> AdfNode | None:
    """Read what a plain table does not say of itself; None where Markdown cannot say it."""
    header = _find_header(rows)
    widths = rows[0].widths
    if header is None or any(row.widths != widths for row in count_each(rows, 20)):
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


def _find_header(rows: Sequence[PlainRow]) -> str | None:
    kinds = [row.kinds for row in rows]
    for name, is_header in HEADERS.items():
        first, other = (
            ["tableHeader" if is_header(row, column) else "tableCell" for column in range(len(kinds[0]))]
            for row in (0, 1)
        )
        if kinds[0] == first and all(one == other for one in kinds[1:]):
            return name
    return None


def format_table_lines(rows: Sequence[PlainRow]) -> list[str]:
    """Format the rows as a table of Markdown."""
    lines = [_format_row(row) for row in count_each(rows)]
    lines.insert(1, f"|{' --- |' * len(rows[0].kinds)}")
    return lines


def _format_row(row: PlainRow) -> str:
    texts = [format_inline(content).replace("|", "\\|") for content in row.contents]
    return f"| {' | '.join(texts)} |"
