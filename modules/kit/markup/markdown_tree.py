"""The blocks of a Markdown text as a tree: containers with what is in them, and lists of items."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from modules.kit.markup.markdown_blocks import Container, Leaf, find_cells, parse_blocks

_CLOSING_SIGNS = re.compile(r"(?:^|[ \t])#+[ \t]*$")
_TASK = re.compile(r"\[([ xX])\](?:[ \t]+|$)")


@dataclass(slots=True, eq=False)
class TreeBranch:
    """A container with what is in it, in order; blank lines are left out."""

    container: Container | None
    parts: "list[TreeBranch | Leaf]" = field(default_factory=list["TreeBranch | Leaf"])


@dataclass(slots=True, eq=False)
class ItemList:
    """Items of one list. `is_ordered` with numbers from `start`; `tasks` says for each item whether it is done, None
    where it is no task."""

    is_ordered: bool
    start: int
    items: list[TreeBranch] = field(default_factory=list[TreeBranch])
    tasks: list[bool | None] = field(default_factory=list["bool | None"])
    marker: str = ""


def parse_tree(markdown: str) -> TreeBranch:
    """Parse a Markdown text as a tree of containers and leaves."""
    root = TreeBranch(None)
    path = [root]
    for leaf in parse_blocks(markdown.replace("\r\n", "\n").replace("\r", "\n")):
        depth = 0
        while depth < len(leaf.containers) and depth + 1 < len(path):
            if path[depth + 1].container is not leaf.containers[depth]:
                break
            depth += 1
        del path[depth + 1 :]
        for container in leaf.containers[depth:]:
            branch = TreeBranch(container)
            path[-1].parts.append(branch)
            path.append(branch)
        if leaf.kind != "blank":
            path[-1].parts.append(leaf)
    return root


def group_items(parts: Iterable["TreeBranch | Leaf"]) -> "list[TreeBranch | Leaf | ItemList]":
    """`parts` with items that follow each other as lists: another kind of marker begins another list, and so does the
    first task behind items that are none."""
    groups: list[TreeBranch | Leaf | ItemList] = []
    for part in parts:
        if isinstance(part, Leaf) or part.container is None or part.container.kind != "item":
            groups.append(part)
            continue
        marker = part.container.marker[-1]
        task = None if marker in ".)" else _take_task(part)
        last = groups[-1] if groups else None
        is_same = isinstance(last, ItemList) and last.marker == marker and (last.tasks[0] is None) == (task is None)
        if not (isinstance(last, ItemList) and is_same):
            start = int(part.container.marker[:-1] or 1)
            last = ItemList(marker in ".)", start, marker=marker)
            groups.append(last)
        last.items.append(part)
        last.tasks.append(task)
    return groups


def _take_task(item: TreeBranch) -> bool | None:
    """Take the mark of a task out of an item; whether it is done, None for no task."""
    first = item.parts[0] if item.parts else None
    if not isinstance(first, Leaf) or first.kind != "paragraph" or first.table_rule:
        return None
    found = _TASK.match(first.lines[0].text)
    if not found:
        return None
    first.lines[0] = first.lines[0]._replace(text=first.lines[0].text[found.end() :])
    return found[1] != " "


def get_paragraph_text(leaf: Leaf) -> str:
    """The inline text of a paragraph, before its table if it has one; spaces that make a hard break stay."""
    lines = leaf.lines[: leaf.table_rule - 1] if leaf.table_rule else leaf.lines
    return "\n".join(line.text.lstrip(" \t") for line in lines).rstrip(" \t")


def get_heading_text(leaf: Leaf) -> str:
    """The inline text of a heading of either form."""
    if leaf.is_closed:
        return "\n".join(line.text for line in leaf.lines[:-1]).strip()
    return _CLOSING_SIGNS.sub("", leaf.text.lstrip("#").strip())


def get_code(leaf: Leaf) -> tuple[str, str]:
    """The first word behind a fence, and the text of the code, of either form."""
    if leaf.kind == "code":
        return "", "\n".join(line.text for line in leaf.lines).rstrip("\n")
    lines = leaf.lines[1 : len(leaf.lines) - 1 if leaf.is_closed else None]
    opening = leaf.lines[0].text
    return (opening.lstrip(opening[0]).split() or [""])[0], "\n".join(line.text for line in lines)


def get_table(leaf: Leaf) -> list[list[str]]:
    """The cells of a table, its head first, each row as wide as the widest; inline Markdown."""
    rows = [_get_row(line.text) for number, line in enumerate(leaf.lines) if number >= leaf.table_rule - 1]
    del rows[1]
    width = max(map(len, rows))
    return [[*row, *([""] * (width - len(row)))] for row in rows]


def _get_row(line: str) -> list[str]:
    return [line[start:end].strip().replace("\\|", "|") for start, end in find_cells(line)]
