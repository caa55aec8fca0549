"""Inline Markdown as nodes of Atlassian's document format: what `adf_inline_formatting.py` writes, and
any other CommonMark."""

import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from typing import Any, cast
from urllib.parse import parse_qsl, unquote

from modules.kit.errors import ToolError
from modules.kit.markup.adf_inline_formatting import COLOR, get_emoji_code
from modules.kit.markup.adf_nodes import RAW_SPAN, STATUS_COLORS, AdfNode, is_flat
from modules.kit.markup.markdown_inline import parse_inline, unescape
from modules.kit.markup.markdown_runs import Inline, InlineDialect, LinkKind, Mark
from modules.kit.markup.markdown_tokens import divide_usual, read_code
from modules.kit.turns import count_each

_SPECIAL_LINK = re.compile(r"(mention|emoji|date|status|media):([^\s?]*+)(?:\?(\S*+))?")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TAGS = frozenset({"u", "sub", "sup", "strong", "b", "em", "i", "s", "del"})
_MARK_TYPES = {"u": "underline", "color": "textColor", "background": "backgroundColor"}
_SIMPLE_MARKS = frozenset({"strong", "em", "strike", "underline", "textColor", "backgroundColor", "subsup"})


def parse_adf_inline(text: str) -> list[AdfNode]:
    """Parse inline Markdown. A line break in it stays one.

    Raises:
        ToolError: it names something that the format does not take, such as a day that does not exist.
    """
    divided = divide_usual(text)
    if divided is None:
        return [_make_inline_node(run) for run in count_each(parse_inline(text, _DIALECT))]
    start, parts = divided
    nodes: list[AdfNode] = [{"type": "text", "text": start}] if start else []
    for code, strong, em, words, address, struck, behind in parts:
        if strong:
            nodes.append({"type": "text", "text": strong, "marks": [{"type": "strong"}]})
        elif code:
            nodes.append(_make_code(read_code(code)))
        elif words:
            nodes.append({"type": "text", "text": words, "marks": [{"type": "link", "attrs": {"href": address}}]})
        else:
            mark = {"type": "em" if em else "strike"}
            nodes.append({"type": "text", "text": em or struck, "marks": [mark]})
        if behind:
            nodes.append({"type": "text", "text": behind})
    return nodes


def _make_inline_node(run: Inline) -> AdfNode:
    """The node of a run, with its marks as far as the format allows them there."""
    kind, text, marks, value, _ = run
    if kind == "text":
        node: AdfNode = {"type": "text", "text": text}
        if marks:
            node["marks"] = _make_marks(marks)
        return node
    if kind in ("break", "line"):
        return {"type": "hardBreak"}
    if kind == "image":
        marks = marks if any(one.name == "link" for one in marks) else (*marks, Mark("link", value))
        return {"type": "text", "text": text or value, "marks": _make_marks(marks)}
    node = value if kind == "node" else _make_code(text)
    if not marks:
        return node
    is_code = node["type"] == "text" and "\n" not in node["text"]
    kept = [one for one in _make_marks(marks) if one["type"] not in _SIMPLE_MARKS]
    kept = [one for one in kept if is_code or one["type"] != "link"]
    return {**node, "marks": [*node.get("marks", []), *kept]} if kept and node["type"] != "hardBreak" else node


def _make_marks(marks: Sequence[Mark]) -> list[AdfNode]:
    """The marks of the format, with the last of each type: a text has one color and one link."""
    if len(marks) == 1:
        return [_make_mark(marks[0])]
    made = [_make_mark(one) for one in marks]
    return list({one["type"]: one for one in made}.values())


def _make_mark(mark: Mark) -> AdfNode:
    name, value, _ = mark
    if name == "mark":
        return value
    if name == "link":
        return {"type": "link", "attrs": {"href": value}}
    if name in ("sub", "sup"):
        return {"type": "subsup", "attrs": {"type": name}}
    kind = _MARK_TYPES.get(name, name)
    return {"type": kind, "attrs": {"color": value}} if value else {"type": kind}


def _make_code(code: str) -> AdfNode:
    """The node of a span of code, which may hold any other as JSON."""
    node: Any = None
    if code.startswith(RAW_SPAN):
        try:
            node = json.loads(code[len(RAW_SPAN) - 1 :])
        except (ValueError, RecursionError):
            node = None
    if isinstance(node, dict) and is_flat(node):
        found = cast("AdfNode", node)
        if isinstance(found.get("type"), str) and (found["type"] != "text" or isinstance(found.get("text"), str)):
            return found
    return {"type": "text", "text": code, "marks": [{"type": "code"}]}


def _resolve(label: str, address: str, kind: LinkKind) -> AdfNode | None:
    """Make the node that a link or image stands for; None for any other link."""
    if kind == "autolink":
        is_card = address.startswith(("https://", "http://"))
        return {"type": "inlineCard", "attrs": {"url": address}} if is_card else None
    found = _SPECIAL_LINK.fullmatch(address)
    if not found:
        return None
    name, target = found[1], unquote(found[2])
    query = dict(parse_qsl(found[3] or "", keep_blank_values=True))
    if (kind == "image") != (name == "media") or not target:
        return None
    return _MAKERS[name](label, target, query)


def _make_mention(label: str, target: str, query: dict[str, str]) -> AdfNode:
    attrs = {"id": target, **({"text": f"@{label.removeprefix('@')}"} if label.strip("@ ") else {}), **query}
    return {"type": "mention", "attrs": attrs}


def _make_emoji(label: str, target: str, query: dict[str, str]) -> AdfNode:
    attrs = {"shortName": f":{target.strip(':')}:", "id": query.get("id", get_emoji_code(label)), "text": label}
    return {"type": "emoji", "attrs": attrs}


def _make_date(_label: str, target: str, _query: dict[str, str]) -> AdfNode:
    try:
        day = date.fromisoformat(target) if _DAY.fullmatch(target) else None
    except ValueError:
        day = None
    if day is None:
        raise ToolError(f"date:{target[:40]} is no day: write [](date:2026-01-31)")
    stamp = datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()
    return {"type": "date", "attrs": {"timestamp": str(int(stamp) * 1000)}}


def _make_status(label: str, target: str, query: dict[str, str]) -> AdfNode:
    if target not in STATUS_COLORS:
        raise ToolError(f"status:{target[:40]} is no color of a status: use one of {', '.join(STATUS_COLORS)}")
    style = {"style": query["style"]} if query.get("style") else {}
    return {"type": "status", "attrs": {"text": label, "color": target, **style}}


def parse_media_link(label: str, address: str) -> AdfNode | None:
    """Parse an image whose address names a file of the document; None for any other."""
    return _resolve(unescape(label), address, "image")


def _make_media(label: str, target: str, query: dict[str, str]) -> AdfNode:
    """Make a file in a line of text out of its alternative text, its id and what else is known of it."""
    sizes = {name: int(query[name]) for name in ("width", "height") if re.fullmatch("[0-9]{1,6}", query.get(name, ""))}
    alt = {"alt": label} if label else {}
    attrs = {"type": "file", "id": target, "collection": query.get("collection", ""), **alt, **sizes}
    return {"type": "mediaInline", "attrs": attrs}


_MAKERS: dict[str, Callable[[str, str, dict[str, str]], AdfNode]] = {
    "mention": _make_mention,
    "emoji": _make_emoji,
    "date": _make_date,
    "status": _make_status,
    "media": _make_media,
}


def _is_mark(value: AdfNode) -> bool:
    return isinstance(value.get("type"), str) and is_flat(value)


_DIALECT = InlineDialect(_TAGS, COLOR, is_mark=_is_mark, resolve=_resolve)
