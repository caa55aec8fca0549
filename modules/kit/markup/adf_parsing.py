"""Markdown as Atlassian's document format: what `adf_formatting.py` writes, and any other CommonMark."""

import asyncio
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import uuid4

from modules.kit.errors import ToolError
from modules.kit.markup.adf_formatting import HEADERS
from modules.kit.markup.adf_inline_parsing import parse_inline, parse_media_link, unescape
from modules.kit.markup.adf_nodes import (
    CARD_NAMES,
    CONTAINERS,
    LANGUAGE,
    PANELS,
    TITLED,
    AdfNode,
    is_flat,
    list_children,
)
from modules.kit.markup.markdown_blocks import Container, Leaf, find_cells, parse_blocks

MAX_LENGTH = 500_000
"""Characters of Markdown."""
_TURN_LENGTH = 10_000
MAX_CONTAINERS = 100

_TASK = re.compile(r"\[([ xX>])\](?: |$)")
_OPENING = re.compile(r"\[!([A-Za-z]{1,30})(?: (?=\{)|\])")
_IMAGE = re.compile(r"!\[((?:[^\[\]\\]|\\.)*+)\]\((?:<([^<>\n]+)>|([^()\s]+))\)")
_CLOSING_SIGNS = re.compile(r"(?:^|[ \t])#+[ \t]*$")
_LONG_HTML = re.compile(r"^ {0,3}<(?:[!?]|script|pre|style|textarea)", re.IGNORECASE | re.MULTILINE)
_FENCE = re.compile(r" {0,3}(`{3,}+|~{3,}+)")
_ITEM = re.compile(r"[-+*](?:[ \t]|$)|[0-9]{1,9}[.)](?:[ \t]|$)|[ \t]")
_ALERTS = {"important": "info", "caution": "error"}
"""GitHub's names of panels that are not Atlassian's."""
_DECODER = json.JSONDecoder()


@dataclass(eq=False)
class _Block:
    """A container with what is in it, in order."""

    container: Container | None
    parts: "list[_Block | Leaf]" = field(default_factory=list["_Block | Leaf"])


def parse_adf(markdown: str) -> AdfNode:
    """Parse Markdown as a document.

    Raises:
        ToolError: it is too long, or has something that the format does not take; the text says what.
    """
    _check_length(markdown)
    return _build_document(_parse_part(_normalize(markdown)))


async def parse_adf_in_turns(markdown: str) -> AdfNode:
    """Parse Markdown as :func:`parse_adf` does, and let others be served in between.

    Raises:
        ToolError: as there.
    """
    _check_length(markdown)
    blocks: list[AdfNode] = []
    for number, part in enumerate(_divide(_normalize(markdown))):
        if number:
            await asyncio.sleep(0)
        blocks += _parse_part(part)
    return _build_document(blocks)


def _check_length(markdown: str) -> None:
    if len(markdown) > MAX_LENGTH:
        raise ToolError(f"the Markdown has {len(markdown)} characters: send at most {MAX_LENGTH} at once")


def _normalize(markdown: str) -> str:
    return markdown.replace("\r\n", "\n").replace("\r", "\n")


def _build_document(blocks: list[AdfNode]) -> AdfNode:
    return {"version": 1, "type": "doc", "content": blocks}


def _parse_part(text: str) -> list[AdfNode]:
    return _make_blocks(_build_tree(parse_blocks(text)).parts)


def _divide(text: str) -> Iterator[str]:
    """Divide a text where a block at the margin begins behind a blank line, so that no block is torn."""
    if len(text) <= _TURN_LENGTH or _LONG_HTML.search(text):
        yield text
        return
    lines: list[str] = []
    size, fence, was_blank = 0, "", False
    for line in text.split("\n"):
        if size > _TURN_LENGTH and not fence and was_blank and line.strip(" \t") and not _ITEM.match(line):
            yield "\n".join(lines)
            lines, size = [], 0
        lines.append(line)
        size += len(line)
        was_blank = not line.strip(" \t")
        sign = _FENCE.match(line)
        if fence and sign and sign[1].startswith(fence) and line.strip(" \t") == sign[1]:
            fence = ""
        elif not fence and sign:
            fence = sign[1]
    yield "\n".join(lines)


def _build_tree(leaves: Iterable[Leaf]) -> _Block:
    root = _Block(None)
    path = [root]
    for leaf in leaves:
        depth = 0
        while depth < len(leaf.containers) and depth + 1 < len(path):
            if path[depth + 1].container is not leaf.containers[depth]:
                break
            depth += 1
        del path[depth + 1 :]
        for container in leaf.containers[depth:]:
            node = _Block(container)
            path[-1].parts.append(node)
            path.append(node)
        if leaf.kind != "blank":
            path[-1].parts.append(leaf)
    return root


def _make_blocks(parts: Sequence[_Block | Leaf]) -> list[AdfNode]:
    blocks: list[AdfNode] = []
    items: list[_Block] = []
    for part in parts:
        is_item = isinstance(part, _Block) and part.container is not None and part.container.kind == "item"
        if items and not (is_item and _get_sign(cast("_Block", part)) == _get_sign(items[0])):
            blocks += _make_lists(items)
            items = []
        if is_item:
            items.append(cast("_Block", part))
        elif isinstance(part, Leaf):
            blocks += _make_leaf_blocks(part)
        else:
            blocks += _make_container_blocks(part)
    return blocks + _make_lists(items) if items else blocks


def _get_sign(item: _Block) -> str:
    return item.container.marker[-1] if item.container else ""


def _make_lists(items: Sequence[_Block]) -> list[AdfNode]:
    """The list of items with one sign: of tasks or decisions if all are."""
    signs = [_TASK.match(_get_first_text(item)) for item in items]
    kinds = {sign[1] == ">" for sign in signs if sign}
    if all(signs) and len(kinds) == 1 and items[0].container and not items[0].container.marker[0].isdigit():
        made = _make_decisions(items) if True in kinds else _make_tasks(items)
        if made is not None:
            return [made]
    marker = items[0].container.marker if items[0].container else "-"
    content = [_make_item(item) for item in items]
    if not marker[0].isdigit():
        return [{"type": "bulletList", "content": content}]
    first = int(marker[:-1])
    attrs = {"attrs": {"order": first}} if first != 1 else {}
    return [{"type": "orderedList", **attrs, "content": content}]


def _make_item(item: _Block) -> AdfNode:
    return {"type": "listItem", "content": _make_blocks(item.parts) or [_make_paragraph("")]}


def _get_first_text(block: _Block) -> str:
    first = block.parts[0] if block.parts else None
    if isinstance(first, Leaf) and first.kind == "paragraph":
        return _join_lines(first) if first.table_rule != 1 else ""
    return ""


def _make_tasks(items: Sequence[_Block]) -> AdfNode | None:
    """A list of tasks; None where one has more in it than text and further tasks."""
    content: list[AdfNode] = []
    for item in items:
        below = _make_blocks(item.parts[1:])
        if any(one["type"] not in ("paragraph", "taskList") for one in below):
            return None
        text = _get_first_text(item)
        state = "TODO" if text[1] == " " else "DONE"
        inline = parse_inline(text[4:])
        for one in below:
            if one["type"] == "paragraph":
                inline += [{"type": "hardBreak"}, *list_children(one)]
        content.append(_make_task("taskItem", state, inline))
        content += [one for one in below if one["type"] == "taskList"]
    return {"type": "taskList", "attrs": {"localId": str(uuid4())}, "content": content}


def _make_decisions(items: Sequence[_Block]) -> AdfNode | None:
    if any(len(item.parts) > 1 for item in items):
        return None
    content = [_make_task("decisionItem", "DECIDED", parse_inline(_get_first_text(item)[4:])) for item in items]
    return {"type": "decisionList", "attrs": {"localId": str(uuid4())}, "content": content}


def _make_task(kind: str, state: str, content: list[AdfNode]) -> AdfNode:
    attrs = {"localId": str(uuid4()), "state": state}
    return {"type": kind, "attrs": attrs, **({"content": content} if content else {})}


def _make_container_blocks(block: _Block) -> list[AdfNode]:
    assert block.container is not None
    if block.container.kind == "footnote":
        label = f"\\[^{block.container.marker}\\]: {_get_first_text(block)}"
        return [_make_paragraph(label), *_make_blocks(block.parts[1:])]
    opened = _read_opening(_get_first_text(block))
    if opened is None:
        return [{"type": "blockquote", "content": _make_blocks(block.parts) or [_make_paragraph("")]}]
    name, options, text = opened
    title, newline, rest = text.partition("\n")
    if CONTAINERS.get(name) in TITLED:
        text = rest if newline else ""
    inner = [_make_paragraph(text.strip("\n"))] if text.strip("\n") else []
    first = block.parts[0]
    if isinstance(first, Leaf) and first.table_rule:
        inner.append(_make_table(first))
    inner += _make_blocks(block.parts[1:])
    if name == "with":
        return _dress(inner, options)
    return [_make_container(name, options, title, inner)]


def _read_opening(text: str) -> tuple[str, AdfNode, str] | None:
    """Read the name, the options and the rest of a text that begins with `[!name {JSON}]`; None if it does not."""
    found = _OPENING.match(text)
    if not found:
        return None
    name, options, end = found[1], {}, found.end()
    if found[0][-1] != "]":
        try:
            options, end = _DECODER.raw_decode(text, end)
        except (ValueError, RecursionError):
            raise ToolError(f"[!{name} ...] has no JSON object in it: leave it as it was read") from None
        if not text.startswith("]", end) or not is_flat(options):
            raise ToolError(f"[!{name} ...] has more than a JSON object in it: leave it as it was read")
        end += 1
    if name not in CONTAINERS and name != "with":
        name = _ALERTS.get(name.lower(), name.lower())
    is_known = name in CONTAINERS or name == "with"
    return (name, cast("AdfNode", options), text[end:].removeprefix(" ")) if is_known else None


def _make_container(name: str, options: AdfNode, title: str, inner: list[AdfNode]) -> AdfNode:
    kind = CONTAINERS[name]
    attrs: AdfNode = {"panelType": name} if name in PANELS else {}
    if kind in TITLED and title:
        attrs["title"] = title
    attrs |= options.get("attrs") or {}
    node: AdfNode = {"type": kind, **({"attrs": attrs} if attrs else {})}
    if options.get("marks"):
        node["marks"] = options["marks"]
    return {**node, "content": inner or [_make_paragraph("")]}


def _dress(inner: list[AdfNode], options: AdfNode) -> list[AdfNode]:
    """Give the one block within `[!with]` what its options say."""
    if len(inner) != 1:
        raise ToolError(f"[!with ...] holds {len(inner)} blocks: it is for exactly one, behind a blank line")
    node = inner[0]
    if node["type"] == "table":
        _arrange_cells(node, options)
    if isinstance(options.get("attrs"), dict):
        node["attrs"] = {**node.get("attrs", {}), **options["attrs"]}
    if isinstance(options.get("marks"), list):
        node["marks"] = options["marks"]
    return [node]


def _arrange_cells(table: AdfNode, options: AdfNode) -> None:
    is_header = HEADERS.get(str(options.get("header", "row")))
    widths: list[Any] = options["colwidth"] if isinstance(options.get("colwidth"), list) else []
    if is_header is None:
        raise ToolError(f"header of a table is one of {', '.join(HEADERS)}")
    for r, row in enumerate(table["content"]):
        for c, cell in enumerate(row["content"]):
            cell["type"] = "tableHeader" if is_header(r, c) else "tableCell"
            if c < len(widths) and widths[c] is not None:
                cell["attrs"] = {"colwidth": widths[c]}


def _make_paragraph(text: str) -> AdfNode:
    content = [] if text == "<br>" else parse_inline(text)
    return {"type": "paragraph", **({"content": content} if content else {})}


def _join_lines(leaf: Leaf) -> str:
    lines = leaf.lines[: leaf.table_rule - 1] if leaf.table_rule else leaf.lines
    return "\n".join([line.text.rstrip(" \t") for line in lines])


def _make_leaf_blocks(leaf: Leaf) -> list[AdfNode]:
    match leaf.kind:
        case "paragraph" | "html":
            before = _make_text_blocks(_join_lines(leaf)) if leaf.table_rule != 1 else []
            return [*before, _make_table(leaf)] if leaf.table_rule else before
        case "heading":
            return [_make_heading(leaf)]
        case "break":
            return [{"type": "rule"}]
        case "code":
            return [_make_code("", "\n".join([line.text for line in leaf.lines]).rstrip("\n"))]
        case "fence":
            return [_make_fenced(leaf)]
        case "blank":
            return []


def _make_text_blocks(text: str) -> list[AdfNode]:
    image = _IMAGE.fullmatch(text) if text.startswith("![") else None
    if image:
        address = image[2] or image[3]
        if node := parse_media_link(image[1], address):
            return [_wrap_media(node["attrs"])]
        if address.startswith(("https://", "http://")):
            return [_make_address_block(image[1], address)]
    return [_make_paragraph(text)]


def _wrap_media(attrs: AdfNode) -> AdfNode:
    media: AdfNode = {"type": "media", "attrs": attrs}
    return {"type": "mediaSingle", "attrs": {"layout": "center"}, "content": [media]}


def _make_address_block(label: str, address: str) -> AdfNode:
    kind = CARD_NAMES.get(label)
    if kind == "blockCard":
        return {"type": kind, "attrs": {"url": address}}
    if kind == "embedCard":
        return {"type": kind, "attrs": {"url": address, "layout": "center"}}
    return _wrap_media({"type": "external", "url": address, **({"alt": unescape(label)} if label else {})})


def _make_heading(leaf: Leaf) -> AdfNode:
    if leaf.is_closed:
        text = "\n".join([line.text.strip(" \t") for line in leaf.lines[:-1]])
    else:
        text = _CLOSING_SIGNS.sub("", leaf.text.lstrip("#").strip(" \t"))
    content = parse_inline(text)
    return {"type": "heading", "attrs": {"level": leaf.level}, **({"content": content} if content else {})}


def _make_fenced(leaf: Leaf) -> AdfNode:
    lines = leaf.lines[1 : len(leaf.lines) - 1 if leaf.is_closed else None]
    text = "\n".join([line.text for line in lines])
    opening = leaf.lines[0].text
    word = (opening.lstrip(opening[0]).split() or [""])[0]
    return _read_json(text) if word == "adf" else _make_code(word, text)


def _make_code(word: str, text: str) -> AdfNode:
    attrs = {"attrs": {"language": word}} if LANGUAGE.fullmatch(word) else {}
    return {"type": "codeBlock", **attrs, **({"content": [{"type": "text", "text": text}]} if text else {})}


def _read_json(text: str) -> AdfNode:
    try:
        node = json.loads(text)
    except (ValueError, RecursionError):
        raise ToolError("a fence `adf` holds no JSON: leave it as it was read") from None
    if not isinstance(node, dict) or not isinstance(cast("Any", node).get("type"), str) or not is_flat(node):
        raise ToolError("a fence `adf` holds no node of a document: leave it as it was read")
    return cast("AdfNode", node)


def _make_table(leaf: Leaf) -> AdfNode:
    lines = [line.text for number, line in enumerate(leaf.lines) if number != leaf.table_rule]
    width = len(find_cells(lines[leaf.table_rule - 1]))
    rows = [_read_row(line, width) for line in lines[leaf.table_rule - 1 :]]
    content: list[AdfNode] = []
    for number, row in enumerate(rows):
        kind = "tableCell" if number else "tableHeader"
        cells = [{"type": kind, "content": [one]} for one in row]
        cells += [{"type": kind, "content": [_make_paragraph("")]} for _ in range(width - len(cells))]
        content.append({"type": "tableRow", "content": cells})
    return {"type": "table", "content": content}


def _read_row(line: str, width: int) -> list[AdfNode]:
    cells = [line[start:end].strip(" \t") for start, end in find_cells(line)[:width]]
    return [_make_paragraph(cell.replace("\\|", "|")) for cell in cells]
