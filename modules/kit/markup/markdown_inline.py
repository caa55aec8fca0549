"""Inline Markdown as runs of text, each with its marks: what every writer of a vendor's format begins with.

It is CommonMark with strikethrough, some tags of HTML and raw markup (a code span with `{=name}` behind it, as Pandoc
has it). Marks are sets, as they are in the vendors' formats, and may cross each other; one that is never closed is
text. A mark may stand beside punctuation where CommonMark would not see one (`は**「語」**です`). Definitions of links
and footnotes are text. The time is linear in the length.
"""

import html
import json
import re
from collections.abc import Sequence
from typing import Any, cast

from modules.kit.markup.markdown_runs import EM, STRIKE, STRONG, Inline, InlineDialect, LinkKind, Mark
from modules.kit.markup.markdown_tokens import MATH_TOKEN, PLAIN_TOKEN, TOKEN_WORK, read_code
from modules.kit.turns import count_each, count_work

_MOST_OPENED = 100
"""Brackets that wait for their end."""
_MOST_TAGS = 20
"""Tags of one name that wait for their end."""
_MOST_WRONG_TAGS = 20
"""Where JSON is looked for and none found: the decoder counts lines from the beginning for each."""

_BACKTICKS = re.compile(r"`++")
_FORMULA = re.compile(r"\$((?:[^$\\\n]|\\.)++)\$(?![0-9])")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])|&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_PLAIN = r"(?:[^\s()\\]|\\.|[(](?:[^\s()\\]|\\.)*+[)])"
_ADDRESS = re.compile(
    rf"\][(][ \n]*+(?:<((?:[^<>\n\\]|\\.)*+)>|((?!<){_PLAIN}*+))"
    r"(?:[ \n]++(?:\"((?:[^\"\\]|\\.)*+)\"|'((?:[^'\\]|\\.)*+)'))?[ \n]*+[)]",
    re.DOTALL,
)
_TAG = re.compile(
    r"<(?:(w?br) ?/?|(/?)(u|ins|sub|sup|small|big|strong|b|em|i|s|del|span|mark)"
    r"|span (?:(color|background)=\"([#A-Za-z0-9_]{1,30})\"|style=\"color: ?([A-Za-z0-9#(), .%]{1,40});?\")"
    r"|([A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>\\]*+))>",
    re.IGNORECASE,
)
_JSON_TAG = "<mark {"
_RAW_NAME = re.compile(r"\{=([a-z]{1,20})\}")
_DECODER = json.JSONDecoder()


_USUAL_SIGNS = {2: "**", 3: "*", 6: "~~"}
_USUAL_MARKS = {2: (STRONG,), 3: (EM,), 6: (STRIKE,)}
_SIGNS = {"**": STRONG, "__": STRONG, "*": EM, "_": EM, "~~": STRIKE}
_TAG_MARKS = {"strong": STRONG, "b": STRONG, "em": EM, "i": EM, "s": STRIKE, "del": STRIKE}
_BREAK = Inline("break")
_LINE = Inline("line")


def parse_inline(text: str, dialect: InlineDialect) -> list[Inline]:
    """Parse inline Markdown, such as the text of a paragraph."""
    search = (MATH_TOKEN if dialect.has_math else PLAIN_TOKEN).search
    made: list[Inline] = []
    place = 0
    count_work(TOKEN_WORK)
    while found := search(text, place):
        group = found.lastindex
        if group is None:
            return _Reader(text, dialect, made, place).read()
        start, end = found.span()
        count_work(TOKEN_WORK + end - place)
        if start > place:
            made.append(Inline("text", text[place:start]))
        made.append(_make_usual(found, group))
        place = end
    if place < len(text):
        made.append(Inline("text", text[place:] if place else text))
    return made


def _make_usual(found: "re.Match[str]", group: int) -> Inline:
    """The run of a token that is read at once."""
    if group == 1:
        return Inline("code", read_code(found[1]))
    if group == 5:
        return Inline("text", found[4], (Mark("link", found[5]),))
    return Inline("text", found[group], _USUAL_MARKS[group])


def unescape(text: str) -> str:
    """Return what a text of Markdown without marks says."""
    if "\\" not in text and "&" not in text:
        return text
    return _ESCAPE.sub(lambda found: found[1] or html.unescape(found[0]), text)


class _Reader:
    """Reads from left to right into `parts`: texts and runs. `spans` are marks from one part to another."""

    __slots__ = ("brackets", "dialect", "parts", "place", "runs", "signs", "spans", "tags", "text", "wrong_tags")

    def __init__(self, text: str, dialect: InlineDialect, made: list[Inline], place: int) -> None:
        self.text, self.place, self.dialect = text, place, dialect
        self.parts: list[str | Inline] = [*made]
        self.spans: list[tuple[int, int, Mark]] = []
        self.signs: dict[str, int] = {}
        self.brackets: list[tuple[int, int, bool]] = []
        self.tags: dict[str, list[tuple[int, Mark | None]]] = {}
        self.wrong_tags = 0
        self.runs: dict[int, list[int]] | None = None

    def read(self) -> list[Inline]:
        text, parts = self.text, self.parts
        search = (MATH_TOKEN if self.dialect.has_math else PLAIN_TOKEN).search
        while found := search(text, self.place):
            start, end = found.span()
            count_work(TOKEN_WORK + end - self.place)
            if start > self.place:
                parts.append(text[self.place : start])
            self.place = start
            group = found.lastindex
            if group is None:
                self._read_special(found[0])
            elif _USUAL_SIGNS.get(group) in self.signs:
                self._read_signs(_USUAL_SIGNS[group])  # it may be the end of another
            else:
                parts.append(_make_usual(found, group))
                self.place = end
                if group == 5:
                    self._drop_brackets(of_images=False)
        if self.place < len(text):
            parts.append(text[self.place :])
        return self._build()

    def _take(self, part: str | Inline, length: int) -> None:
        self.parts.append(part)
        self.place += length

    def _read_special(self, sign: str) -> None:
        match sign[0]:
            case "\\":
                self._take(_BREAK if sign[1] == "\n" else sign[1], 2)
            case "\n":
                self._read_line_end(len(sign))
            case "`":
                self._read_code(len(sign))
            case "&":
                self._take(html.unescape(sign), len(sign))
            case "<":
                self._read_tag()
            case "[" | "!":
                if len(self.brackets) < _MOST_OPENED:
                    self.brackets.append((len(self.parts), self.place + len(sign), sign[0] == "!"))
                self._take(sign, len(sign))
            case "]":
                self._close_bracket()
            case "$":
                self._read_formula()
            case _:
                self._read_signs(sign)

    def _read_line_end(self, length: int) -> None:
        last = self.parts[-1] if self.parts else None
        is_hard = isinstance(last, str) and last.endswith("  ")
        if isinstance(last, str):
            self.parts[-1] = last.rstrip(" \t")
        self._take(_BREAK if is_hard else _LINE, length)

    def _read_code(self, length: int) -> None:
        if self.runs is None:
            self.runs = {}
            for run in reversed(list(_BACKTICKS.finditer(self.text, self.place))):
                self.runs.setdefault(len(run[0]), []).append(run.start())
        starts = self.runs.get(length, [])
        while starts and starts[-1] < self.place + length:
            starts.pop()
        if not starts:
            self._take("`" * length, length)
            return
        code = self.text[self.place + length : starts[-1]]
        self.place = starts[-1] + length
        raw = _RAW_NAME.match(self.text, self.place) if self.dialect.has_raw else None
        if raw:
            self._take(Inline("raw", read_code(code), value=raw[1]), len(raw[0]))
        else:
            self.parts.append(Inline("code", read_code(code.replace("\n", " "))))

    def _read_formula(self) -> None:
        formula = _FORMULA.match(self.text, self.place)
        if formula and not formula[1][0].isspace() and not formula[1][-1].isspace():
            self._take(Inline("math", formula[1]), len(formula[0]))
        else:
            self._take("$", 1)

    def _read_signs(self, run: str) -> None:
        """Read a run of one of the signs of emphasis; the signs of two are tried first, but where three open."""
        text, place, rest, single = self.text, self.place, len(run), run[0]
        before, after = text[place - 1 : place] if place else "", text[place + rest : place + rest + 1]
        can_close = before != "" and not before.isspace()
        can_open = after != "" and not after.isspace()
        if single == "_":
            can_close, can_open = can_close and not after.isalnum(), can_open and not before.isalnum()
        if not (can_open or can_close) or (single == "~" and rest != 2):
            self._take(run, rest)
            return
        double, signs = single * 2, self.signs
        if rest == 3 and can_open and single not in signs and double not in signs:
            self._toggle(single)
            rest = 2
        while rest:
            if rest >= 2 and (can_close if double in signs else can_open):
                self._toggle(double)
                rest -= 2
            elif single != "~" and (can_close if single in signs else can_open):
                self._toggle(single)
                rest -= 1
            else:
                self._take(single * rest, rest)
                rest = 0

    def _toggle(self, sign: str) -> None:
        number = len(self.parts)
        self._take(sign, len(sign))
        start = self.signs.pop(sign, None)
        if start is None or start + 1 == number:
            self.signs[sign] = number  # with nothing between the two, the first is text
        else:
            self._mark(start, number, _SIGNS[sign])

    def _mark(self, start: int, end: int, mark: Mark | None) -> None:
        self.parts[start] = self.parts[end] = ""
        if mark is not None:
            self.spans.append((start, end, mark))

    def _close_bracket(self) -> None:
        number = len(self.parts)
        found = _ADDRESS.match(self.text, self.place) if self.brackets else None
        address = unescape(found[1] or found[2] or "") if found else ""
        place = self.place
        self._take("]", 1)
        if not self.brackets:
            return
        start, label_start, is_image = self.brackets.pop()
        if not found or not address:
            return
        self.place = found.end()
        self._drop_brackets(of_images=is_image)
        kind: LinkKind = "image" if is_image else "link"
        label, title = unescape(self.text[label_start:place]), unescape(found[3] or found[4] or "")
        node = self.dialect.resolve(label, address, kind)
        if node is not None or is_image:
            made = Inline("image", label, value=address, title=title) if node is None else Inline("node", value=node)
            self.parts[start : number + 1] = [made, *[""] * (number - start)]
        else:
            if start + 1 == number:  # a link without text shows its address
                self.parts[number:] = [address, ""]
                number += 1
            self._mark(start, number, Mark("link", address, title))

    def _drop_brackets(self, *, of_images: bool) -> None:
        """A link holds no link, an image no image: what was opened before is text."""
        if self.brackets:
            self.brackets = [one for one in self.brackets if one[2] is not of_images]

    def _read_tag(self) -> None:
        text, place, tags = self.text, self.place, self.dialect.tags
        if self.dialect.is_mark and text.startswith(_JSON_TAG, place):
            self._read_json_tag()
            return
        found = _TAG.match(text, place)
        name = found[3].lower() if found and found[3] else "span"
        if not found:
            self._take("<", 1)
        elif found[1]:
            self._take(_BREAK if len(found[1]) == 2 else "", len(found[0]))
        elif found[7]:
            self._take(self._make_autolink(unescape(found[7])), len(found[0]))
        elif found[2]:
            self._close_tag(name, found[0])
        elif found[3]:
            is_known = name in tags
            self._open_tag(name, _TAG_MARKS.get(name) or Mark(name), found[0]) if is_known else self._take("<", 1)
        elif self.dialect.color.fullmatch(color := (found[5] or found[6]).strip()):
            self._open_tag("span", Mark((found[4] or "color").lower(), color), found[0])
        else:
            self._take("<", 1)

    def _make_autolink(self, address: str) -> Inline:
        node = self.dialect.resolve(address, address, "autolink")
        return Inline("text", address, (Mark("link", address),)) if node is None else Inline("node", value=node)

    def _read_json_tag(self) -> None:
        start = end = self.place + len(_JSON_TAG) - 1
        value: Any = None
        if self.wrong_tags < _MOST_WRONG_TAGS:
            try:
                value, end = _DECODER.raw_decode(self.text, start)
            except (ValueError, RecursionError):
                self.wrong_tags += 1
        is_mark = self.dialect.is_mark
        if is_mark and isinstance(value, dict) and is_mark(cast("Any", value)) and self.text.startswith(">", end):
            self._open_tag("mark", Mark("mark", value), self.text[self.place : end + 1])
        else:
            self._take("<", 1)

    def _open_tag(self, name: str, mark: Mark, tag: str) -> None:
        opened = self.tags.setdefault(name, [])
        if len(opened) < _MOST_TAGS:
            opened.append((len(self.parts), None if mark.name == "span" else mark))
        self._take(tag, len(tag))

    def _close_tag(self, name: str, tag: str) -> None:
        number = len(self.parts)
        self._take(tag, len(tag))
        if self.tags.get(name):
            start, mark = self.tags[name].pop()
            self._mark(start, number, mark)

    def _build(self) -> list[Inline]:
        changes: dict[int, tuple[int, Mark]] = {}
        for start, end, mark in self.spans:
            changes[start], changes[end] = (start, mark), (start, mark)
        made: list[Inline] = []
        active: dict[int, Mark] = {}
        marks: tuple[Mark, ...] = ()
        texts: list[str] = []
        for number, part in enumerate(count_each(self.parts, 10)):
            if isinstance(part, str):
                if part:
                    texts.append(part)
                elif number in changes:
                    _add_text(made, texts, marks)
                    start, mark = changes[number]
                    if active.pop(start, None) is None:
                        active[start] = mark
                    marks = _list_distinct(active.values())
            else:
                _add_text(made, texts, marks)
                made.append(part._replace(marks=_list_distinct((*marks, *part.marks))) if marks else part)
        _add_text(made, texts, marks)
        return made


def _list_distinct(marks: "Sequence[Mark] | Any") -> tuple[Mark, ...]:
    """Marks with the last of each name: a text has one color and one link. Those of JSON may be of any kind."""
    return tuple({one.name if one.name != "mark" else id(one): one for one in marks}.values())


def _add_text(made: list[Inline], texts: list[str], marks: tuple[Mark, ...]) -> None:
    """Add the collected texts, which have the same marks, and forget them."""
    if not texts:
        return
    text = "".join(texts) if len(texts) > 1 else texts[0]
    texts.clear()
    if made and made[-1].kind == "text" and made[-1].marks == marks:
        text = made.pop().text + text
    made.append(Inline("text", text, marks))
