"""Inline Markdown as nodes of Atlassian's document format: what `adf_inline_formatting.py` writes, and
any other CommonMark.

Marks may cross each other, since they are sets in that format. One that is never closed is text.
"""

import html
import json
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any, cast
from urllib.parse import parse_qsl, unquote

from modules.kit.errors import ToolError
from modules.kit.markup.adf_inline_formatting import get_emoji_code
from modules.kit.markup.adf_nodes import RAW_SPAN, STATUS_COLORS, AdfNode, is_flat

_SPECIAL = re.compile(
    r"\\[!-/:-@\[-`{-~\n]|`++|\*++|_++|~~|!?\[|\]|<|&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});|\n"
)
_TICKS = re.compile(r"`++")
_LINK_ADDRESS = re.compile(
    r"\((?:<([^<>\n]*+)>|((?:[^\s()<]|\([^\s()]*+\))(?:[^\s()]|\([^\s()]*+\))*+))(?:[ \t]++\"[^\"\n]*+\")?\)"
)
_TAG = re.compile(
    r"<(?:(w?br) ?/?|(/?)(u|sub|sup|strong|b|em|i|s|del|span|mark)"
    r"|(span) (color|background)=\"(#[0-9a-fA-F]{3,8}|[a-z]{1,30})\""
    r"|(https?://[^\s<>\\]++))>"
)
_JSON_TAG = "<mark {"
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])|&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_SPECIAL_LINK = re.compile(r"(mention|emoji|date|status|media):([^\s?]*+)(?:\?(\S*+))?")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_SIMPLE_TAGS = {
    "u": "underline", "strong": "strong", "b": "strong", "em": "em", "i": "em", "s": "strike", "del": "strike",
}  # fmt: skip
_SIGNS = {"**": "strong", "__": "strong", "*": "em", "_": "em", "~~": "strike"}
_SIMPLE_MARKS = frozenset({"strong", "em", "strike", "underline", "textColor", "backgroundColor", "subsup"})
_MAX_OPEN_TAGS = 20
"""Of one name, within each other."""
_MAX_WRONG_TAGS = 20
"""Where JSON is looked for and none found: the decoder counts lines from the beginning for each."""
_DECODER = json.JSONDecoder()


def parse_inline(text: str) -> list[AdfNode]:
    """Parse inline Markdown. A line break in it stays one.

    Raises:
        ToolError: it names something that the format does not take, such as a day that does not exist.
    """
    if not _SPECIAL.search(text):
        return [{"type": "text", "text": text}] if text else []
    return _Reader(text).read()


class _Reader:
    """Reads from left to right into `parts`: texts and nodes. `spans` are marks from one part to another."""

    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0
        self.parts: list[str | AdfNode] = []
        self.spans: list[tuple[int, int, AdfNode]] = []
        self.signs: dict[str, int] = {}
        self.brackets: list[tuple[int, int, bool]] = []
        self.tags: dict[str, list[tuple[int, AdfNode]]] = {}
        self.wrong_tags = 0
        self.runs: dict[int, list[int]] = {}
        if "`" in text:
            for run in _TICKS.finditer(text):
                self.runs.setdefault(len(run[0]), []).append(run.start())
            for starts in self.runs.values():
                starts.reverse()

    def read(self) -> list[AdfNode]:
        text = self.text
        while found := _SPECIAL.search(text, self.place):
            if found.start() > self.place:
                self.parts.append(text[self.place : found.start()])
            self.place = found.start()
            self._read_special(found[0])
        if self.place < len(text):
            self.parts.append(text[self.place :])
        return self._build()

    def _take(self, part: str | AdfNode, length: int) -> None:
        self.parts.append(part)
        self.place += length

    def _read_special(self, sign: str) -> None:
        match sign[0]:
            case "\\":
                self._take({"type": "hardBreak"} if sign[1] == "\n" else sign[1], 2)
            case "\n":
                self._take({"type": "hardBreak"}, 1)
            case "`":
                self._read_code(len(sign))
            case "&":
                self._take(html.unescape(sign), len(sign))
            case "<":
                self._read_tag()
            case "[" | "!":
                self.brackets.append((len(self.parts), self.place + len(sign), sign[0] == "!"))
                self._take(sign, len(sign))
            case "]":
                self._close_bracket()
            case _:
                self._read_signs(sign)

    def _read_code(self, length: int) -> None:
        starts = self.runs[length]
        while starts and starts[-1] < self.place + length:
            starts.pop()
        if not starts:
            self._take("`" * length, length)
            return
        end = starts[-1]
        code = self.text[self.place + length : end].replace("\n", " ")
        if code.strip() and code[0] == code[-1] == " ":
            code = code[1:-1]
        node = _read_raw(code) or {"type": "text", "text": code, "marks": [{"type": "code"}]}
        self.parts.append(node)
        self.place = end + length

    def _read_signs(self, run: str) -> None:
        """Read a run of one of the signs of emphasis; the signs of two are tried first."""
        text, place = self.text, self.place
        before, after = text[place - 1 : place] if place else "", text[place + len(run) : place + len(run) + 1]
        can_close = before != "" and not before.isspace()
        can_open = after != "" and not after.isspace()
        if run[0] == "_":
            can_close, can_open = can_close and not after.isalnum(), can_open and not before.isalnum()
        rest = len(run)
        while rest:
            double, single = run[0] * 2, run[0]
            if rest >= 2 and ((double in self.signs and can_close) or (double not in self.signs and can_open)):
                self._toggle(double)
                rest -= 2
            elif run[0] != "~" and ((single in self.signs and can_close) or (single not in self.signs and can_open)):
                self._toggle(single)
                rest -= 1
            else:
                self._take(run[0] * rest, rest)
                rest = 0

    def _toggle(self, sign: str) -> None:
        number = len(self.parts)
        self._take(sign, len(sign))
        start = self.signs.pop(sign, None)
        if start is None:
            self.signs[sign] = number
        elif start + 1 == number:
            self.signs[sign] = number  # nothing is between the two: the first is text
        else:
            self._mark(start, number, {"type": _SIGNS[sign]})

    def _mark(self, start: int, end: int, mark: AdfNode) -> None:
        self.parts[start] = self.parts[end] = ""
        self.spans.append((start, end, mark))

    def _close_bracket(self) -> None:
        number = len(self.parts)
        found = _LINK_ADDRESS.match(self.text, self.place + 1) if self.brackets else None
        self._take("]", 1)
        if not self.brackets:
            return
        start, label_start, is_image = self.brackets.pop()
        if not found:
            return
        address = found[1] or found[2] or ""
        node = _make_node(unescape(self.text[label_start : self.place - 1]), address, is_image=is_image)
        self.place = found.end()
        self.brackets.clear()  # there are no links within links
        if node is not None:
            for one in range(start, number + 1):
                self.parts[one] = ""
            self.parts[start] = node
        elif not address:
            self.parts.append(found[0])
        else:
            if start + 1 == number:
                self.parts[start + 1] = address
                self.parts.append("")
                number += 1
            self._mark(start, number, {"type": "link", "attrs": {"href": address}})

    def _read_tag(self) -> None:
        text, place = self.text, self.place
        if text.startswith(_JSON_TAG, place):
            self._read_json_tag()
            return
        found = _TAG.match(text, place)
        if not found:
            self._take("<", 1)
        elif found[1]:
            self._take({"type": "hardBreak"} if found[1] == "br" else "", len(found[0]))
        elif found[7]:
            self._take({"type": "inlineCard", "attrs": {"url": found[7]}}, len(found[0]))
        elif found[2]:
            self._close_tag(found[3], found[0])
        elif found[4]:
            kind = "textColor" if found[5] == "color" else "backgroundColor"
            self._open_tag("span", {"type": kind, "attrs": {"color": found[6]}}, found[0])
        elif found[3] in ("sub", "sup"):
            self._open_tag(found[3], {"type": "subsup", "attrs": {"type": found[3]}}, found[0])
        elif found[3] in _SIMPLE_TAGS:
            self._open_tag(found[3], {"type": _SIMPLE_TAGS[found[3]]}, found[0])
        else:
            self._take(found[0], len(found[0]))

    def _read_json_tag(self) -> None:
        start = end = self.place + len(_JSON_TAG) - 1
        mark: Any = None
        if self.wrong_tags < _MAX_WRONG_TAGS:
            try:
                mark, end = _DECODER.raw_decode(self.text, start)
            except (ValueError, RecursionError):
                self.wrong_tags += 1
        is_mark = isinstance(mark, dict) and isinstance(cast("Any", mark).get("type"), str) and is_flat(mark)
        if is_mark and self.text.startswith(">", end):
            self._open_tag("mark", cast("AdfNode", mark), self.text[self.place : end + 1])
        else:
            self._take("<", 1)

    def _open_tag(self, name: str, mark: AdfNode, tag: str) -> None:
        opened = self.tags.setdefault(name, [])
        if len(opened) < _MAX_OPEN_TAGS:
            opened.append((len(self.parts), mark))
        self._take(tag, len(tag))

    def _close_tag(self, name: str, tag: str) -> None:
        number = len(self.parts)
        self._take(tag, len(tag))
        if self.tags.get(name):
            start, mark = self.tags[name].pop()
            self._mark(start, number, mark)

    def _build(self) -> list[AdfNode]:
        changes: dict[int, list[tuple[int, AdfNode]]] = {}
        for start, end, mark in self.spans:
            changes.setdefault(start, []).append((1, mark))
            changes.setdefault(end, []).append((-1, mark))
        nodes: list[AdfNode] = []
        active: dict[int, AdfNode] = {}
        marks: list[AdfNode] = []
        texts: list[str] = []
        for number, part in enumerate(self.parts):
            if number in changes:
                _add_text(nodes, texts, marks)
                for step, mark in changes[number]:
                    if step > 0:
                        active[id(mark)] = mark
                    else:
                        del active[id(mark)]
                marks = list(active.values())
            if isinstance(part, str):
                texts += [part] if part else []
            else:
                _add_text(nodes, texts, marks)
                _add_node(nodes, part, marks)
        _add_text(nodes, texts, marks)
        return nodes


def _add_text(nodes: list[AdfNode], texts: list[str], marks: list[AdfNode]) -> None:
    """Add the collected texts, which have the same marks, and forget them."""
    if not texts:
        return
    node: AdfNode = {"type": "text", "text": "".join(texts)}
    texts.clear()
    if marks:
        node["marks"] = _drop_repeated(marks)
    if nodes and nodes[-1]["type"] == "text" and nodes[-1].get("marks") == node.get("marks"):
        node["text"] = nodes.pop()["text"] + node["text"]
    nodes.append(node)


def _add_node(nodes: list[AdfNode], part: AdfNode, marks: list[AdfNode]) -> None:
    """Add a node with its marks, as far as the format allows them there."""
    is_code = part["type"] == "text" and "\n" not in part["text"]
    kept = [one for one in marks if one["type"] not in _SIMPLE_MARKS and (is_code or one["type"] != "link")]
    is_break = part["type"] == "hardBreak"
    nodes.append({**part, "marks": [*part.get("marks", []), *kept]} if kept and not is_break else part)


def _drop_repeated(marks: list[AdfNode]) -> list[AdfNode]:
    """Marks with the last of each type: a text has one color and one link."""
    return list({mark["type"]: mark for mark in marks}.values()) if len(marks) > 1 else list(marks)


def _read_raw(code: str) -> AdfNode | None:
    """Read a node that stands as JSON in a span of code; None if it is only code."""
    if not code.startswith(RAW_SPAN):
        return None
    try:
        node = json.loads(code[len(RAW_SPAN) - 1 :])
    except (ValueError, RecursionError):
        return None
    if not isinstance(node, dict) or not is_flat(node):
        return None
    found = cast("AdfNode", node)
    is_known = isinstance(found.get("type"), str) and (found["type"] != "text" or isinstance(found.get("text"), str))
    return found if is_known else None


def unescape(text: str) -> str:
    """Return what a text of Markdown without marks says."""
    return _ESCAPE.sub(lambda found: found[1] or html.unescape(found[0]), text)


def _make_node(label: str, address: str, *, is_image: bool) -> AdfNode | None:
    """Make the node that a link or image stands for; None for any other link."""
    found = _SPECIAL_LINK.fullmatch(address)
    if not found:
        return None
    kind, target = found[1], unquote(found[2])
    query = dict(parse_qsl(found[3] or "", keep_blank_values=True))
    if is_image != (kind == "media") or not target:
        return None
    return _MAKERS[kind](label, target, query)


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
    return _make_node(unescape(label), address, is_image=True)


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
