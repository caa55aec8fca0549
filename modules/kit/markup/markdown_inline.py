"""Inline Markdown as a tree: CommonMark's, strikethrough of GitHub's dialect, some tags of HTML, and raw markup.

A mark may stand beside punctuation where CommonMark would not see one (`「**語**」です`). Raw markup is a code span
with `{=name}` behind it, as Pandoc has it; definitions of links and footnotes are text. Time is linear: marks nested
deeper than ``MAX_DEPTH`` stay text.
"""

import itertools
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from modules.kit.markup.markup_tree import decode_entities

MAX_DEPTH = 20
_MOST_OPENERS = 12
"""Marks that are looked at for the one that a mark closes."""
_MOST_OPENED = 100
"""Brackets and tags that wait for their end."""

InlineKind = Literal["text", "code", "raw", "break", "emphasis", "strong", "strike", "link", "image", "tag"]

_SPECIAL = re.compile(r"[\\`<\]&\n]|!?\[|\*++|_++|~++")
_BACKTICKS = re.compile(r"`++")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])|(&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)")
_PLAIN = r"(?:[^\s()\\]|\\.|[(](?:[^\s()\\]|\\.)*+[)])"
_ADDRESS = re.compile(
    rf"\][(][ \n]*+(?:<((?:[^<>\n\\]|\\.)*+)>|((?!<){_PLAIN}*+))"
    r"(?:[ \n]++(?:\"((?:[^\"\\]|\\.)*+)\"|'((?:[^'\\]|\\.)*+)'))?[ \n]*+[)]",
    re.DOTALL,
)
_AUTOLINK = re.compile(r"<([A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*+)>")
_TAG = re.compile(
    r"<(/?)(u|ins|sub|sup|small|big|b|strong|i|em|s|del|br|span)"
    r"(?: style=\"color: ?([A-Za-z0-9#(), .%]{1,40});?\")? ?/?>",
    re.IGNORECASE,
)
_RAW_NAME = re.compile(r"\{=([a-z]{1,20})\}")
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_KINDS: dict[str, InlineKind] = {
    "b": "strong", "strong": "strong", "i": "emphasis", "em": "emphasis", "s": "strike", "del": "strike",
}  # fmt: skip


@dataclass(slots=True, eq=False)
class Inline:
    """A part of inline text. `text` is that of text, code and raw markup, and the name of a tag; `address` and `title`
    are a link's or an image's, whose alternative text is in `text`. `title` is also the name of what raw markup is for,
    and the color of a `span`. `height` is the number of levels in it."""

    kind: InlineKind
    text: str = ""
    address: str = ""
    title: str = ""
    children: "list[Inline]" = field(default_factory=list["Inline"])
    height: int = 0


class _Run(NamedTuple):
    """A run of `*`, `_` or `~` that may be a mark."""

    sign: str
    length: int
    can_open: bool
    can_close: bool


@dataclass(slots=True, eq=False)
class _Opened:
    """A bracket or a tag that waits for its end, and where it stands among the items."""

    name: str
    place: int
    literal: str
    color: str = ""


@dataclass(slots=True, eq=False)
class _Mark:
    """A run that waits for its end; what is left of it is the text at `place`."""

    run: _Run
    left: int
    place: int


def parse_inline(text: str) -> list[Inline]:
    """Parse inline Markdown, such as the text of a paragraph."""
    return _Parser(text).parse() if _SPECIAL.search(text) else [Inline("text", text)] if text else []


def get_text(parts: Sequence[Inline]) -> str:
    """The text of `parts` without marks."""
    return "".join(" " if one.kind == "break" else one.text + get_text(one.children) for one in parts)


class _Parser:
    def __init__(self, text: str) -> None:
        self.text, self.place = text, 0
        self.items: list[Inline | _Run] = []
        self.opened: list[_Opened] = []
        self.waiting: dict[str, int] = {}
        self.runs: dict[int, list[int]] = {}
        for run in _BACKTICKS.finditer(text):
            self.runs.setdefault(len(run[0]), []).append(run.start())

    def parse(self) -> list[Inline]:
        while found := _SPECIAL.search(self.text, self.place):
            self._add_text(self.text[self.place : found.start()])
            self.place = found.start()
            self._read_special(found[0])
        self._add_text(self.text[self.place :])
        self._drop_opened(0)
        return _pair_marks(self.items)

    def _add_text(self, text: str) -> None:
        if text:
            self.items.append(Inline("text", text))

    def _is_opener(self, place: int) -> bool:
        return bool(self.opened) and self.opened[-1].place == place

    def _take(self, length: int, text: str | None = None) -> None:
        self._add_text(self.text[self.place : self.place + length] if text is None else text)
        self.place += length

    def _read_special(self, sign: str) -> None:
        match sign[0]:
            case "\\":
                self._read_escape()
            case "`":
                self._read_code()
            case "<":
                self._read_angle()
            case "&":
                entity = _ENTITY.match(self.text, self.place)
                self._take(len(entity[0]) if entity else 1, decode_entities(entity[0]) if entity else None)
            case "\n":
                self._read_line_end()
            case "]":
                self._close_bracket()
            case "!" | "[":
                self._open(sign, len(sign))
            case _:
                self._read_run(sign)

    def _read_escape(self) -> None:
        following = self.text[self.place + 1 : self.place + 2]
        if following == "\n":
            self.items.append(Inline("break"))
            self.place += 2
            self._skip_spaces()
        elif following in _PUNCTUATION:
            self._take(2, following)
        else:
            self._take(1)

    def _read_line_end(self) -> None:
        last = self.items[-1] if self.items else None
        is_hard = False
        if isinstance(last, Inline) and last.kind == "text" and not self._is_opener(len(self.items) - 1):
            is_hard = last.text.endswith("  ")
            last.text = last.text.rstrip(" \t")
        if is_hard:
            self.items.append(Inline("break"))
            self.place += 1
        else:
            self._take(1, " ")
        self._skip_spaces()

    def _skip_spaces(self) -> None:
        while self.text.startswith((" ", "\t"), self.place):
            self.place += 1

    def _read_code(self) -> None:
        run = _BACKTICKS.match(self.text, self.place)
        length = len(run[0]) if run else 1
        starts = self.runs.get(length, [])
        number = bisect_left(starts, self.place + length)
        if number >= len(starts):
            self._take(length)
            return
        code = self.text[self.place + length : starts[number]]
        self.place = starts[number] + length
        if raw := _RAW_NAME.match(self.text, self.place):
            self.place = raw.end()
            self.items.append(Inline("raw", _strip_pad(code), title=raw[1]))
        else:
            self.items.append(Inline("code", _strip_pad(code.replace("\n", " "))))

    def _read_angle(self) -> None:
        if autolink := _AUTOLINK.match(self.text, self.place):
            address = decode_entities(autolink[1])
            self.items.append(Inline("link", address=address, children=[Inline("text", address)], height=1))
            self.place = autolink.end()
            return
        tag = _TAG.match(self.text, self.place)
        name = tag[2].lower() if tag else ""
        if tag is None or (tag[3] and (name != "span" or tag[1])):
            self._take(1)
        elif name == "br":
            self.items.append(Inline("break"))
            self.place = tag.end()
        elif not tag[1]:
            self._open(name, len(tag[0]), tag[3] or "")
        elif self.waiting.get(name):
            self._close_tag(name)
            self.place = tag.end()
        else:
            self._take(len(tag[0]))

    def _open(self, name: str, length: int, color: str = "") -> None:
        if len(self.opened) >= _MOST_OPENED:
            self._take(length)
            return
        literal = self.text[self.place : self.place + length]
        self.items.append(Inline("text", literal))
        self.opened.append(_Opened(name, len(self.items) - 1, literal, color.strip()))
        self.waiting[name] = self.waiting.get(name, 0) + 1
        self.place += length

    def _drop_opened(self, number: int) -> None:
        """What was opened and never closed is text, which stands among the items already."""
        for one in self.opened[number:]:
            self.waiting[one.name] -= 1
        del self.opened[number:]

    def _find_opened(self, names: Sequence[str]) -> int:
        number = len(self.opened) - 1
        while self.opened[number].name not in names:
            number -= 1
        return number

    def _close_tag(self, name: str) -> None:
        number = self._find_opened([name])
        opened = self.opened[number]
        self._drop_opened(number)
        children = _pair_marks(self.items[opened.place + 1 :])
        kind = _KINDS.get(name, "tag")
        made = _wrap(kind, children, text="" if kind != "tag" else name, title=opened.color)
        self.items[opened.place :] = [made] if made else [Inline("text", opened.literal), *children]
        if made is None:
            self._add_text(f"</{name}>")

    def _close_bracket(self) -> None:
        if not (self.waiting.get("[") or self.waiting.get("![")):
            self._take(1)
            return
        number = self._find_opened(["[", "!["])
        opened = self.opened[number]
        self._drop_opened(number)
        found = _ADDRESS.match(self.text, self.place)
        if not found:
            self._take(1)
            return
        address = _unescape(found[1] if found[1] is not None else found[2] or "")
        title = _unescape(found[3] or found[4] or "")
        children = _pair_marks(self.items[opened.place + 1 :])
        if opened.name == "![":
            made: Inline | None = Inline("image", get_text(children), address, title)
        else:
            made = _wrap("link", children, address=address, title=title)
            self._close_outer_brackets()
        if made is None:
            self._take(1)
            return
        self.items[opened.place :] = [made]
        self.place = found.end()

    def _close_outer_brackets(self) -> None:
        """A link holds no link: what was opened before it is text."""
        kept = [one for one in self.opened if one.name != "["]
        if len(kept) < len(self.opened):
            self.waiting["["] = 0
            self.opened = kept

    def _read_run(self, run: str) -> None:
        text, end = self.text, self.place + len(run)
        before, after = text[self.place - 1 : self.place] if self.place else "", text[end : end + 1]
        can_open = bool(after) and not after.isspace()
        can_close = bool(before) and not before.isspace()
        if run[0] == "_":
            can_open, can_close = can_open and not before.isalnum(), can_close and not after.isalnum()
        if (run[0] == "~" and len(run) != 2) or not (can_open or can_close):
            self._take(len(run))
            return
        self.items.append(_Run(run[0], len(run), can_open, can_close))
        self.place = end


def _strip_pad(code: str) -> str:
    return code[1:-1] if code.strip() and code[0] == code[-1] == " " else code


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda found: found[1] or decode_entities(found[2]), text)


def _wrap(
    kind: InlineKind, children: list[Inline], *, text: str = "", address: str = "", title: str = ""
) -> Inline | None:
    """The node of `children`; None where it would be too deep."""
    height = 1 + max((one.height for one in children), default=0)
    return Inline(kind, text, address, title, children, height) if height <= MAX_DEPTH else None


def _pair_marks(items: Sequence[Inline | _Run]) -> list[Inline]:
    """Pair the marks of emphasis (CommonMark 0.31, appendix A)."""
    made: list[Inline] = []
    marks: list[_Mark] = []
    for item in items:
        if isinstance(item, Inline):
            made.append(item)
            continue
        left = item.length
        while left and item.can_close and (number := _find_mark(marks, item)) >= 0:
            used = _close_mark(made, marks, number, left)
            if not used:
                break
            left -= used
        if left:
            if item.can_open:
                marks.append(_Mark(item, left, len(made)))
            made.append(Inline("text", item.sign * left))
    return _merge_texts(made)


def _find_mark(marks: list[_Mark], closing: _Run) -> int:
    for number in range(len(marks) - 1, max(len(marks) - 1 - _MOST_OPENERS, -1), -1):
        opening = marks[number].run
        if opening.sign != closing.sign:
            continue
        is_double = opening.can_close or closing.can_open
        lengths = opening.length, closing.length
        if is_double and sum(lengths) % 3 == 0 and any(one % 3 for one in lengths):
            continue
        return number
    return -1


def _close_mark(made: list[Inline], marks: list[_Mark], number: int, left: int) -> int:
    """Close a mark; how many signs that took, 0 where it would be too deep."""
    mark = marks[number]
    used = 2 if min(mark.left, left) > 1 else 1
    kind: InlineKind = "strike" if mark.run.sign == "~" else "strong" if used == 2 else "emphasis"
    node = _wrap(kind, _merge_texts(made[mark.place + 1 :]))
    if node is None:
        return 0
    del marks[number + 1 :]
    mark.left -= used
    made[mark.place :] = [Inline("text", mark.run.sign * mark.left), node] if mark.left else [node]
    if not mark.left:
        marks.pop()
    return used


def _merge_texts(parts: Iterable[Inline]) -> list[Inline]:
    merged: list[Inline] = []
    for is_text, group in itertools.groupby(parts, key=lambda one: one.kind == "text"):
        if is_text:
            merged.append(Inline("text", "".join(one.text for one in group)))
        else:
            merged.extend(group)
    return merged
