"""Atlassian's document format as Markdown (see `adf_nodes.py` for the forms that Markdown lacks).

`adf_parsing.py` reads it back as an equal document, but for what says nothing: the editor's own ids of
nodes (`localId`), an `order` of 1, and bold, italic or struck white space at the edge of a text.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

from modules.kit.markup.adf_inline_formatting import format_inline, format_media, format_raw, is_address
from modules.kit.markup.adf_nodes import (
    CONTAINERS,
    LANGUAGE,
    MAX_LEVELS,
    PANELS,
    ROWS,
    TITLED,
    AdfNode,
    build_options,
    format_json,
    get_attrs,
    is_flat,
    list_children,
    list_marks,
)
from modules.kit.markup.adf_table_formatting import find_paragraph, format_table_lines, read_layout, read_plain_rows
from modules.kit.markup.markdown_text import escape_start, format_address, format_fence
from modules.kit.text_cleaning import clean_text
from modules.kit.turns import count_each, count_work

_NAMES = {kind: name for name, kind in CONTAINERS.items() if kind != "panel"}
_KNOWN_KEYS = frozenset({"type", "attrs", "marks", "content"})
_PLAIN_KEYS = frozenset({"type", "content"})
_BLOCK_WORK = 20
"""What a block costs beside its text (see `turns.py`)."""


class _Unsayable(Exception):
    """A node that Markdown has no form for."""


def format_adf(document: Any) -> str:
    """Format a document as Markdown; "" for null and for anything that is no document."""
    blocks = list_children(cast("AdfNode", document)) if isinstance(document, dict) else []
    return "\n".join(_format_blocks(blocks, 0)) if blocks else ""


def _is_list(node: AdfNode) -> bool:
    return node.get("type") in ("bulletList", "orderedList", "taskList", "decisionList")


def _format_blocks(blocks: Sequence[AdfNode], level: int) -> list[str]:
    lines: list[str] = []
    is_other = False
    for number, block in enumerate(blocks):
        if lines:
            lines.append("")
        is_other = number > 0 and _is_list(blocks[number - 1]) and not is_other
        lines += _format_block(block, level, is_other=is_other)
    return lines


def _format_block(block: AdfNode, level: int, *, is_other: bool = False) -> list[str]:
    """Format one block; `is_other` for a list with the second choice of signs."""
    count_work(_BLOCK_WORK)
    try:
        if level > MAX_LEVELS or not block.keys() <= _KNOWN_KEYS:
            raise _Unsayable
        kind = block.get("type")
        if kind in _NAMES or kind == "panel":
            return _format_table(block, level) if kind == "table" else _format_container(block, level)
        if kind in _LISTS:
            return _LISTS[kind](block, level, is_other)
        return _format_leaf(block, level)
    except _Unsayable:
        return _format_raw(block)


def _format_raw(block: AdfNode) -> list[str]:
    if not is_flat(block):
        return ["*(something that is nested too deeply to be shown)*"]
    return format_fence(format_json(block), "adf").split("\n")


def _format_leaf(block: AdfNode, level: int) -> list[str]:
    """A block without other blocks in it, within `[!with]` where it has more than Markdown says."""
    if block["type"] == "paragraph" and block.keys() <= _PLAIN_KEYS:
        return [_format_paragraph(list_children(block))]
    lines, said = _format_plain(block, level)
    rest = {name: value for name, value in get_attrs(block).items() if name not in said}
    marks = list_marks(block)
    return _dress(lines, build_options(rest, marks)) if rest or marks else lines


def _dress(lines: Sequence[str], options: AdfNode) -> list[str]:
    return _quote([f"[!with {format_json(options)}]", "", *lines])


def _quote(lines: Sequence[str]) -> list[str]:
    return [f"> {line}" if line else ">" for line in count_each(lines, 5)]


def _format_plain(block: AdfNode, level: int) -> tuple[list[str], Sequence[str]]:
    """The block as plain Markdown, and the attributes that this says."""
    attrs, content = get_attrs(block), list_children(block)
    match block.get("type"):
        case "paragraph":
            return [_format_paragraph(content)], ()
        case "heading" if isinstance(attrs.get("level"), int) and 1 <= attrs["level"] <= 6:
            text = format_inline(content)
            text = f"{text[:-1]}\\#" if text.endswith("#") else text
            return [f"{'#' * attrs['level']} {text}".rstrip(" ")], ("level",)
        case "codeBlock":
            return _format_code(content, attrs)
        case "rule" if not content:
            return ["___" if level else "---"], ()  # "- ---" would be no list
        case "blockquote" if content:
            return _quote(_format_blocks(content, level + 1)), ()
        case "mediaSingle" if len(content) == 1:
            media = content[0] if content[0].keys() <= {"type", "attrs"} else {}
            text = format_media(get_attrs(media)) if media.get("type") == "media" else ""
            said = ("layout",) if attrs.get("layout") == "center" else ()
            return ([text], said) if text and "layout" in attrs else _refuse()
        case "blockCard" | "embedCard" as kind if not content and is_address(attrs.get("url")):
            name = "card" if kind == "blockCard" else "embed"
            said = ("url", "layout") if kind == "embedCard" and attrs.get("layout") == "center" else ("url",)
            is_usual = str(attrs["url"]).startswith(("https://", "http://")) and "data" not in attrs
            is_whole = kind == "blockCard" or "layout" in attrs
            return ([f"![{name}]({format_address(attrs['url'])})"], said) if is_usual and is_whole else _refuse()
        case _:
            return _refuse()


def _refuse() -> tuple[list[str], Sequence[str]]:
    raise _Unsayable


def _format_paragraph(content: Sequence[AdfNode]) -> str:
    if len(content) == 1 and content[0].get("type") == "mediaInline":
        return format_raw(content[0])  # alone it would be a block
    return escape_start(format_inline(content)) or "<br>"


def _format_code(content: Sequence[AdfNode], attrs: AdfNode) -> tuple[list[str], Sequence[str]]:
    if not all(one.get("type") == "text" and one.keys() == {"type", "text"} for one in content):
        return _refuse()
    text = clean_text("".join(str(one["text"]) for one in content))
    language = attrs.get("language")
    is_word = isinstance(language, str) and LANGUAGE.fullmatch(language) is not None
    if "\r" in text:
        return _refuse()
    return format_fence(text, str(language) if is_word else "").split("\n"), ("language",) if is_word else ()


def _format_container(block: AdfNode, level: int) -> list[str]:
    """A node of blocks as `> [!name]`, its first paragraph or title in the same line."""
    kind, attrs, content = str(block["type"]), get_attrs(block), list_children(block)
    if not content:
        raise _Unsayable
    name, title = _NAMES.get(kind, ""), ""
    if kind == "panel":
        name = str(attrs.pop("panelType", ""))
        if name not in PANELS:
            raise _Unsayable
    if kind in TITLED and _is_title(attrs.get("title")):
        title = attrs.pop("title")
    options = build_options(attrs, list_marks(block))
    opening = f"[!{name} {format_json(options)}]" if options else f"[!{name}]"
    if kind in TITLED:
        opening = f"{opening} {title}" if title else opening
    elif content[0].get("type") == "paragraph" and not content[0].keys() & {"marks"} and not get_attrs(content[0]):
        opening, content = f"{opening} {_format_paragraph(list_children(content[0]))}", content[1:]
    inner = _format_blocks(content, level + 1)
    return _quote([opening, "", *inner] if inner and kind not in ROWS.values() else [opening, *_space(inner)])


def _space(lines: Sequence[str]) -> list[str]:
    return ["", *lines] if lines else []


def _is_title(title: object) -> bool:
    return (
        isinstance(title, str)
        and title != ""
        and title == clean_text(title).strip()
        and not set(title) & set("\n\r")
        and not title.startswith("{")
    )


def _format_table(block: AdfNode, level: int) -> list[str]:
    """A table as one of Markdown where each cell is one paragraph; else with its rows and cells as containers."""
    rows = read_plain_rows(block)
    options = read_layout(block, rows) if rows else None
    if rows is None or options is None:
        return _format_container(block, level)
    lines = format_table_lines(rows)
    return _dress(lines, options) if options else lines


def _format_items(block: AdfNode, level: int, markers: Sequence[str], kind: str) -> list[str]:
    items = list_children(block)
    if not items or list_marks(block):
        raise _Unsayable
    lines: list[str] = []
    for item, marker in zip(count_each(items, _BLOCK_WORK), markers, strict=True):
        if len(item) == 2 and item["type"] == kind and level < MAX_LEVELS:
            paragraph = find_paragraph(item)
            if paragraph is not None:
                lines.append(marker + _format_paragraph(list_children(paragraph)))
                continue
        content = list_children(item)
        if item.get("type") != kind or not content or get_attrs(item) or item.keys() - {"type", "attrs", "content"}:
            raise _Unsayable
        lines += _nest(marker, _format_blocks(content, level + 1))
    return lines


def _nest(marker: str, lines: Sequence[str]) -> list[str]:
    indent = " " * len(marker)
    first, *rest = lines
    return [marker + first, *(indent + line if line else "" for line in count_each(rest, 5))]


def _format_bullets(block: AdfNode, level: int, is_other: bool) -> list[str]:
    if get_attrs(block):
        raise _Unsayable
    return _format_items(block, level, ["* " if is_other else "- "] * len(list_children(block)), "listItem")


def _format_numbers(block: AdfNode, level: int, is_other: bool) -> list[str]:
    attrs = get_attrs(block)
    first = attrs.get("order", 1)
    count = len(list_children(block))
    is_number = isinstance(first, int) and not isinstance(first, bool) and 0 <= first < 10**9 - count
    if attrs.keys() - {"order"} or not is_number:
        raise _Unsayable
    sign = ")" if is_other else "."
    return _format_items(block, level, [f"{first + number}{sign} " for number in range(count)], "listItem")


def _format_tasks(block: AdfNode, level: int, is_other: bool) -> list[str]:
    """A list of tasks. One that is nested stands in its parent's content, behind the task that it belongs to."""
    bullet = "*" if is_other else "-"
    items = list_children(block)
    if not items or items[0].get("type") != "taskItem" or get_attrs(block) or list_marks(block):
        raise _Unsayable
    if level > MAX_LEVELS:
        raise _Unsayable
    lines: list[str] = []
    was_list = False
    for item in count_each(items):
        if item.get("type") == "taskList" and not was_list and item.keys() <= _KNOWN_KEYS:
            lines += _nest("  ", _format_tasks(item, level + 1, False))
            was_list = True
            continue
        lines.append(f"{bullet} {_format_task(item)}")
        was_list = False
    return lines


def _format_task(item: AdfNode) -> str:
    attrs = get_attrs(item)
    is_plain = item.get("type") == "taskItem" and item.keys() <= {"type", "attrs", "content"}
    if not is_plain or attrs.keys() != {"state"} or attrs["state"] not in ("TODO", "DONE"):
        raise _Unsayable
    return f"[{'x' if attrs['state'] == 'DONE' else ' '}] {format_inline(list_children(item))}"


def _format_decisions(block: AdfNode, _level: int, is_other: bool) -> list[str]:
    items = list_children(block)
    if not items or get_attrs(block) or list_marks(block):
        raise _Unsayable
    for item in items:
        is_plain = item.get("type") == "decisionItem" and item.keys() <= {"type", "attrs", "content"}
        if not is_plain or get_attrs(item) != {"state": "DECIDED"}:
            raise _Unsayable
    return [f"{'*' if is_other else '-'} [>] {format_inline(list_children(item))}" for item in items]


_LISTS: dict[Any, Callable[[AdfNode, int, bool], list[str]]] = {
    "bulletList": _format_bullets,
    "orderedList": _format_numbers,
    "taskList": _format_tasks,
    "decisionList": _format_decisions,
}
