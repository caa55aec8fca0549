"""Markdown as Atlassian's document format: what `adf_formatting.py` writes, and any other CommonMark."""

import json
import re
from collections.abc import Sequence
from typing import Any, cast
from uuid import uuid4

from modules.kit.errors import ToolError
from modules.kit.markup.adf_inline_parsing import parse_adf_inline, parse_media_link
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
from modules.kit.markup.adf_table_formatting import HEADERS
from modules.kit.markup.markdown_blocks import parse_tree
from modules.kit.markup.markdown_inline import unescape
from modules.kit.markup.markdown_tree import (
    Container,
    ItemList,
    Leaf,
    get_code,
    get_first_text,
    get_heading_text,
    get_paragraph_text,
    get_table,
    group_items,
)
from modules.kit.turns import count_each

MAX_LENGTH = 500_000
"""Characters of Markdown."""

_TASK = re.compile(r"\[([ xX>])\](?: |$)")
_OPENING = re.compile(r"\[!([A-Za-z]{1,30})(?: (?=\{)|\])")
_IMAGE = re.compile(r"!\[((?:[^\[\]\\]|\\.)*+)\]\((?:<([^<>\n]+)>|([^()\s]+))\)")
_ALERTS = {"important": "info", "caution": "error"}
"""GitHub's names of panels that are not Atlassian's."""
_DECODER = json.JSONDecoder()


def parse_adf(markdown: str) -> AdfNode:
    """Parse Markdown as a document.

    Raises:
        ToolError: it is too long, or has something that the format does not take; the text says what.
    """
    if len(markdown) > MAX_LENGTH:
        raise ToolError(f"the Markdown has {len(markdown)} characters: send at most {MAX_LENGTH} at once")
    return {"version": 1, "type": "doc", "content": _make_blocks(parse_tree(markdown))}


def _make_blocks(parts: Sequence[Container | Leaf]) -> list[AdfNode]:
    if len(parts) == 1 and isinstance(first := parts[0], Leaf):
        return _make_leaf_blocks(first)
    blocks: list[AdfNode] = []
    for part in group_items(parts):
        if isinstance(part, Leaf):
            blocks += _make_leaf_blocks(part)
        else:
            blocks += [_make_list(part)] if isinstance(part, ItemList) else _make_container_blocks(part)
    return blocks


def _make_list(part: ItemList) -> AdfNode:
    """The list of items with one sign: of tasks or decisions if all are."""
    items = part.items
    if part.sign not in ".)" and (sign := _TASK.match(get_first_text(items[0]))):
        signs = [_TASK.match(get_first_text(item)) for item in items]
        is_decision = sign[1] == ">"
        if all(one and (one[1] == ">") is is_decision for one in signs):
            made = _make_decisions(items) if is_decision else _make_tasks(items)
            if made is not None:
                return made
    content = [_make_item(item) for item in count_each(items)]
    if part.sign not in ".)":
        return {"type": "bulletList", "content": content}
    attrs = {"attrs": {"order": part.start}} if part.start != 1 else {}
    return {"type": "orderedList", **attrs, "content": content}


def _make_item(item: Container) -> AdfNode:
    return {"type": "listItem", "content": _make_blocks(item.parts) or [_make_paragraph("")]}


def _make_tasks(items: Sequence[Container]) -> AdfNode | None:
    """A list of tasks; None where one has more in it than text and further tasks."""
    content: list[AdfNode] = []
    for item in count_each(items):
        below = _make_blocks(item.parts[1:])
        if any(one["type"] not in ("paragraph", "taskList") for one in below):
            return None
        text = get_first_text(item)
        state = "TODO" if text[1] == " " else "DONE"
        inline = parse_adf_inline(text[4:])
        for one in below:
            if one["type"] == "paragraph":
                inline += [{"type": "hardBreak"}, *list_children(one)]
        content.append(_make_task("taskItem", state, inline))
        content += [one for one in below if one["type"] == "taskList"]
    return {"type": "taskList", "attrs": {"localId": str(uuid4())}, "content": content}


def _make_decisions(items: Sequence[Container]) -> AdfNode | None:
    if any(len(item.parts) > 1 for item in items):
        return None
    content = [_make_task("decisionItem", "DECIDED", parse_adf_inline(get_first_text(item)[4:])) for item in items]
    return {"type": "decisionList", "attrs": {"localId": str(uuid4())}, "content": content}


def _make_task(kind: str, state: str, content: list[AdfNode]) -> AdfNode:
    attrs = {"localId": str(uuid4()), "state": state}
    return {"type": kind, "attrs": attrs, **({"content": content} if content else {})}


def _make_container_blocks(block: Container) -> list[AdfNode]:
    if block.kind == "footnote":
        label = f"\\[^{block.marker}\\]: {get_first_text(block)}"
        return [_make_paragraph(label), *_make_blocks(block.parts[1:])]
    opened = _read_opening(get_first_text(block))
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
    content = [] if text in ("", "<br>") else parse_adf_inline(text)
    return {"type": "paragraph", "content": content} if content else {"type": "paragraph"}


def _make_leaf_blocks(leaf: Leaf) -> list[AdfNode]:
    match leaf.kind:
        case "paragraph" | "html":
            if not leaf.table_rule:
                return _make_text_blocks(get_paragraph_text(leaf))
            before = _make_text_blocks(get_paragraph_text(leaf)) if leaf.table_rule > 1 else []
            return [*before, _make_table(leaf)]
        case "heading":
            content = parse_adf_inline(get_heading_text(leaf))
            made: AdfNode = {"type": "heading", "attrs": {"level": leaf.level}}
            return [{**made, "content": content} if content else made]
        case "break":
            return [{"type": "rule"}]
        case "code" | "fence":
            word, text = get_code(leaf)
            return [_read_json(text) if word == "adf" else _make_code(word, text)]
        case "blank":
            return []


def _make_text_blocks(text: str) -> list[AdfNode]:
    image = _IMAGE.fullmatch(text) if text.startswith("![") else None
    if image:
        address = unescape(image[2] or image[3])
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
    rows = get_table(leaf)
    width = max(map(len, rows))  # a cell that the head has no column for is not lost
    content: list[AdfNode] = []
    kind = "tableHeader"
    for row in count_each(rows):
        cells = [{"type": kind, "content": [_make_paragraph(cell)]} for cell in row]
        cells += [{"type": kind, "content": [_make_paragraph("")]} for _ in range(width - len(cells))]
        content.append({"type": "tableRow", "content": cells})
        kind = "tableCell"
    return {"type": "table", "content": content}
