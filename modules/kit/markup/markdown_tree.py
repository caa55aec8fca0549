"""Tree of a Markdown text above its lines: containers, and leaves that hold text (see `markdown_blocks.py`)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from modules.kit.turns import count_each

_CLOSING_SIGNS = re.compile(r"(?:^|[ \t])#+[ \t]*$")


class SourceLine(NamedTuple):
    """A line without its break: what belongs to containers and indentation, and the rest."""

    prefix: str
    text: str


LeafKind = Literal["paragraph", "heading", "fence", "code", "html", "break", "blank"]


@dataclass(slots=True, eq=False)
class Container:
    """A block that holds others, in order; blank lines are left out. `indent` is how many columns a line needs to stay
    in it (not for quotes); `marker` is the bullet, number or footnote label as written; `is_filled` once a leaf is in
    it."""

    kind: Literal["quote", "item", "footnote"]
    indent: int = 0
    marker: str = ""
    is_filled: bool = False
    parts: "list[Container | Leaf]" = field(default_factory=list["Container | Leaf"])


@dataclass(slots=True, eq=False)
class Leaf:
    """A block that holds text. `level` is that of a heading, or the indentation of a fence, whose first line is the
    opening one, and the last the closing one if `is_closed`. A setext underline is the last line of its heading, which
    `is_closed` then marks. `end` is what ends an HTML block; None for a blank line. `table_rule` is the number of the
    line below the head of a table, which ends its paragraph, or 0."""

    kind: LeafKind
    containers: tuple[Container, ...]
    lines: list[SourceLine]
    level: int = 0
    is_closed: bool = False
    end: "re.Pattern[str] | None" = None
    table_rule: int = 0
    is_loose: bool = False
    """Whether the last line would not go on in another block: it lacks marks of containers, or is indented as code."""

    @property
    def text(self) -> str:
        """The lines' texts, joined by line feeds."""
        return "\n".join([line.text for line in self.lines])


@dataclass(slots=True, eq=False)
class ItemList:
    """Items of one list, which have the same sign: a bullet, or what stands behind a number."""

    sign: str
    items: list[Container]

    @property
    def start(self) -> int:
        """The number of the first item; 0 for bullets."""
        return int(self.items[0].marker[:-1] or 0)


def group_items(parts: "Iterable[Container | Leaf]") -> "list[Container | Leaf | ItemList]":
    """`parts` with items that follow each other as lists."""
    groups: list[Container | Leaf | ItemList] = []
    last: ItemList | None = None
    for part in parts:
        if isinstance(part, Leaf) or part.kind != "item":
            last = None
            groups.append(part)
        elif last is not None and last.sign == part.marker[-1]:
            last.items.append(part)
        else:
            last = ItemList(part.marker[-1], [part])
            groups.append(last)
    return groups


def get_first_text(container: Container) -> str:
    """The text of the paragraph that a container begins with; empty where it begins with another block."""
    first = container.parts[0] if container.parts else None
    is_text = isinstance(first, Leaf) and first.kind == "paragraph"
    return get_paragraph_text(first) if is_text and isinstance(first, Leaf) else ""


def get_paragraph_text(leaf: Leaf) -> str:
    """The inline text of a paragraph, before its table if it has one; spaces that make a hard break stay."""
    lines = leaf.lines[: leaf.table_rule - 1] if leaf.table_rule else leaf.lines
    if len(lines) == 1:
        return lines[0].text.strip(" \t")
    return "\n".join([line.text.lstrip(" \t") for line in lines]).rstrip(" \t")


def get_heading_text(leaf: Leaf) -> str:
    """The inline text of a heading of either form."""
    if leaf.is_closed:
        return "\n".join([line.text.strip(" \t") for line in leaf.lines[:-1]]).strip()
    text = leaf.text.lstrip("#").strip(" \t")
    return _CLOSING_SIGNS.sub("", text) if text.endswith("#") else text


def get_code(leaf: Leaf) -> tuple[str, str]:
    """The first word behind a fence, and the text of the code, of either form."""
    if leaf.kind == "code":
        return "", leaf.text.rstrip("\n")
    lines = leaf.lines[1 : len(leaf.lines) - 1 if leaf.is_closed else None]
    opening = leaf.lines[0].text
    return (opening.lstrip(opening[0]).split() or [""])[0], "\n".join([line.text for line in lines])


def get_table(leaf: Leaf) -> list[list[str]]:
    """The cells of a table, its head first; inline Markdown. Rows may be wider than the head, or less wide."""
    rows = [_get_row(line.text) for line in count_each(leaf.lines[leaf.table_rule - 1 :])]
    del rows[1]
    return rows


def _get_row(line: str) -> list[str]:
    if "\\" in line:
        return [line[start:end].strip(" \t").replace("\\|", "|") for start, end in find_cells(line)]
    cells = line.rstrip(" \t").removeprefix("|").removesuffix("|").split("|")
    return [cell.strip(" \t") for cell in cells]


def find_cells(line: str) -> list[tuple[int, int]]:
    """Find where the cells of a table's row begin and end."""
    length = len(line.rstrip(" \t"))
    start = 1 if line.startswith("|") else 0
    cells: list[tuple[int, int]] = []
    place = line.find("|", start)
    while place >= 0:
        if line[place - 1] != "\\":
            cells.append((start, place))
            start = place + 1
        place = line.find("|", place + 1)
    return cells if cells and start >= length else [*cells, (start, len(line))]
