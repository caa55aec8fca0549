"""Notion's rich text as inline Markdown, and back (https://developers.notion.com/reference/rich-text).

Beside what Markdown has: `<u>`, `<span color="red">`, `$formula$`, `<br>` for a line break within a block, and
mentions as links, such as `[@Ada](mention:user:ID)`, `[Plan](mention:page:ID)` and `[1 May](mention:date:2026-05-01)`.
"""

import itertools
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from modules.kit import ToolError
from modules.kit.text_cleaning import clean_text

MAX_CHARACTERS = 2_000
"""Of one text of Notion's; 1,000 of a formula (https://developers.notion.com/reference/request-limits)."""
MAX_PARTS = 100
"""Of one rich text."""
_MAX_FORMULA = 1_000

RichText = list[dict[str, Any]]

_PLAIN = {"bold": False, "italic": False, "strikethrough": False, "underline": False, "code": False, "color": "default"}
_MARKS = {"underline": ("<u>", "</u>"), "strikethrough": ("~~", "~~"), "bold": ("**", "**"), "italic": ("*", "*")}
_ESCAPED = re.compile(r"([\\`*~\[\]$]|<(?=[A-Za-z/!])|\{(?=color=)|(?<![^\W_])_|_(?![^\W_]))")
_SPECIAL = re.compile(r"[\\`*_~$\[<]")
_ODD_ADDRESS = re.compile(r"[\s()]")
_BREAK = re.compile(r"<br ?/?>")
_SPAN = re.compile(r'<span color="([a-z_]{1,30})">')
_LABEL_SIGN = re.compile(r"[\\\[\]]|`++")
_LINK_ADDRESS = re.compile(r"\((?:<([^<>\n]*+)>|((?:[^\s()]|\([^\s()]*+\))*+))\)")
_FORMULA = re.compile(r"\$((?:[^$\\\n]|\\.)++)\$(?![0-9])", re.DOTALL)
_TICKS = re.compile(r"`++")
_MENTION = re.compile(r"mention:(user|page|database|data_source|date):([^\s:][^\s]*)")
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


class _Part(NamedTuple):
    """A run of text with one set of marks. `link` is an address or a mention's; `formula` marks an expression."""

    text: str
    marks: frozenset[str] = frozenset()
    color: str = "default"
    link: str = ""
    formula: bool = False


def format_rich_text(items: Iterable[Mapping[str, Any]]) -> str:
    """Format a rich text, as Notion sends it, as inline Markdown. Invisible characters are taken out."""
    parts = _merge([_read_item(item) for item in items])
    groups = itertools.groupby(parts, key=lambda part: (part.color, part.link))
    return "".join(_format_group(color, link, list(group)) for (color, link), group in groups)


def _read_item(item: Mapping[str, Any]) -> _Part:
    annotations: dict[str, Any] = {**_PLAIN, **(item.get("annotations") or {})}
    marks = frozenset(name for name in (*_MARKS, "code") if annotations[name])
    color = str(annotations["color"])
    text = clean_text(str(item.get("plain_text") or ""))
    if item.get("type") == "equation":
        expression = cast("dict[str, Any]", item.get("equation") or {}).get("expression")
        return _Part(clean_text(str(expression or text)), marks, color, formula=True)
    return _Part(text, marks, color, _read_link(item))


def _read_link(item: Mapping[str, Any]) -> str:
    mention = cast("Mapping[str, Any]", item.get("mention") or {})
    kind = mention.get("type")
    target = cast("Any", mention.get(str(kind)))
    if kind in ("user", "page", "database", "data_source"):
        return f"mention:{kind}:{target['id']}"
    if kind == "date":
        value = f"{target['start']}/{target['end']}" if target.get("end") else target["start"]
        return f"mention:date:{value}" + (f"@{target['time_zone']}" if target.get("time_zone") else "")
    return clean_text(str(item.get("href") or ""))


def _format_group(color: str, link: str, parts: list[_Part]) -> str:
    """Parts of one color and link: a mark is written where it begins or ends between two of them."""
    texts: list[str] = []
    open_marks: frozenset[str] = frozenset()
    for text, marks in (*itertools.chain.from_iterable(map(_format_words, parts)), ("", frozenset[str]())):
        texts += [closing for name, (_, closing) in _MARKS.items() if name in open_marks - marks]
        texts += [opening for name, (opening, _) in _MARKS.items() if name in marks - open_marks]
        texts.append(text)
        open_marks = marks
    whole = "".join(texts)
    whole = f"[{whole}]({format_address(link)})" if link else whole
    return whole if color == "default" else f'<span color="{color}">{whole}</span>'


def _format_words(part: _Part) -> Iterator[tuple[str, frozenset[str]]]:
    """The text of a part with its marks, which stand at words and not at spaces: there they would be none."""
    marks = part.marks - {"code"}
    if part.formula:
        yield f"${part.text}$", marks
    elif "code" in part.marks:
        for number, line in enumerate(part.text.split("\n")):
            if number:
                yield "<br>", frozenset()
            if line:
                yield _format_code(line), marks
    else:
        words = part.text.strip()
        start = part.text.index(words) if words else len(part.text)
        for text, kept in ((part.text[:start], False), (words, True), (part.text[start + len(words) :], False)):
            if text:
                yield _ESCAPED.sub(r"\\\1", text).replace("\n", "<br>"), marks if kept else frozenset()


def _format_code(line: str) -> str:
    longest = max((len(run) for run in _TICKS.findall(line)), default=0)
    fence = "`" * (longest + 1)
    is_padded = line[0] == "`" or line[-1] == "`" or (line[0] == line[-1] == " " and line.strip())
    return f"{fence} {line} {fence}" if is_padded else f"{fence}{line}{fence}"


def format_address(address: str) -> str:
    """Format the address of a link or an image."""
    escaped = address.replace("<", "%3C").replace(">", "%3E")
    return f"<{escaped}>" if _ODD_ADDRESS.search(escaped) else escaped


def parse_rich_text(markdown: str) -> RichText:
    """Parse inline Markdown as the rich text of a request; texts beyond Notion's limit are divided.

    Raises:
        ToolError: it has more than 100 parts, or a part that Notion does not take.
    """
    parts = _Parser(markdown).parse()
    made = [item for part in parts for item in _make_items(part)]
    if len(made) > MAX_PARTS:
        raise ToolError(
            f"a block has {len(made)} parts of different format, and Notion takes {MAX_PARTS}: divide it into several"
        )
    return made


def _make_items(part: _Part) -> RichText:
    annotations: dict[str, Any] = dict.fromkeys(sorted(part.marks), True)
    if part.color != "default":
        annotations["color"] = part.color
    extra = {"annotations": annotations} if annotations else {}
    if part.formula:
        if len(part.text) > _MAX_FORMULA:
            raise ToolError(f"a formula has {len(part.text)} characters, and Notion takes {_MAX_FORMULA}")
        return [{"type": "equation", "equation": {"expression": part.text}, **extra}]
    if mention := _MENTION.fullmatch(part.link):
        return [{"type": "mention", "mention": _make_mention(mention[1], mention[2]), **extra}]
    link = {"link": {"url": part.link}} if part.link else {}
    return [{"type": "text", "text": {"content": text, **link}, **extra} for text in split_text(part.text)]


def _make_mention(kind: str, target: str) -> dict[str, Any]:
    if kind != "date":
        return {"type": kind, kind: {"id": target}}
    span, _, zone = target.partition("@")
    start, _, end = span.partition("/")
    date = {"start": start, **({"end": end} if end else {}), **({"time_zone": zone} if zone else {})}
    return {"type": "date", "date": date}


def split_text(text: str) -> list[str]:
    """Divide a text into pieces of at most 2,000 UTF-16 units, which is how Notion counts."""
    if len(text) * 2 <= MAX_CHARACTERS:
        return [text] if text else []
    pieces: list[str] = []
    start = units = 0
    for place, character in enumerate(text):
        size = 2 if character > "\uffff" else 1
        if units + size > MAX_CHARACTERS:
            pieces.append(text[start:place])
            start, units = place, 0
        units += size
    return [*pieces, text[start:]]


def make_plain_text(text: str) -> RichText:
    """Make the rich text of a request out of text without marks, such as that of code."""
    return [{"type": "text", "text": {"content": piece}} for piece in split_text(text)]


class _Parser:
    """Reads inline Markdown from left to right. A mark that is never closed is text."""

    def __init__(self, text: str, marks: frozenset[str] = frozenset(), color: str = "default", link: str = "") -> None:
        self.text, self.place = text, 0
        self.marks, self.color, self.link = set(marks), color, link
        self.outer = marks
        self.parts: list[_Part] = []
        self.opened: dict[str, tuple[int, str]] = {}
        self.colors: list[str] = []
        self.runs: dict[int, list[int]] = {}
        for run in _TICKS.finditer(text):
            self.runs.setdefault(len(run[0]), []).append(run.start())

    def parse(self) -> list[_Part]:
        while self.place < len(self.text):
            found = _SPECIAL.search(self.text, self.place)
            end = found.start() if found else len(self.text)
            self._add(self.text[self.place : end])
            self.place = end
            if found:
                self._read_special(found[0])
        for name, (number, mark) in sorted(self.opened.items(), key=lambda one: -one[1][0]):
            self._undo(name, number, mark)
        return _merge(self.parts)

    def _add(self, text: str, *, formula: bool = False) -> None:
        if text:
            self.parts.append(_Part(text, frozenset(self.marks), self.color, self.link, formula))

    def _undo(self, name: str, number: int, mark: str) -> None:
        kept = self.parts[number:]
        color = kept[0].color if kept else self.color
        literal = _Part(mark, frozenset(self.outer), color, self.link)
        self.parts[number:] = [literal, *(part._replace(marks=part.marks - {name}) for part in kept)]

    def _read_special(self, sign: str) -> None:
        match sign:
            case "\\":
                following = self.text[self.place + 1 : self.place + 2]
                is_escape = following in _PUNCTUATION and following != ""
                self._take(following if is_escape else "\\", 2 if is_escape else 1)
            case "`":
                self._read_code()
            case "$":
                formula = _FORMULA.match(self.text, self.place)
                if formula and not formula[1][0].isspace() and not formula[1][-1].isspace():
                    self._add(formula[1], formula=True)
                    self.place = formula.end()
                else:
                    self._take("$", 1)
            case "[":
                self._read_link()
            case "<":
                self._read_tag()
            case _:
                self._read_mark(sign)

    def _take(self, text: str, length: int) -> None:
        self._add(text)
        self.place += length

    def _read_code(self) -> None:
        run = _TICKS.match(self.text, self.place)
        length = len(run[0]) if run else 1
        end = self._find_run(length)
        if end < 0:
            self._take("`" * length, length)
            return
        code = self.text[self.place + length : end]
        if code.strip() and code[0] == code[-1] == " ":
            code = code[1:-1]
        self.parts.append(_Part(code, frozenset(self.marks | {"code"}), self.color, self.link))
        self.place = end + length

    def _find_run(self, length: int, place: int = -1) -> int:
        """Where the next run of so many backticks begins, or -1."""
        starts = self.runs.get(length, [])
        number = bisect_right(starts, self.place if place < 0 else place)
        return starts[number] if number < len(starts) else -1

    def _find_label_end(self) -> int:
        """Where the `]` of a link's label is, or -1: a label holds no other brackets but in code."""
        place = self.place + 1
        while found := _LABEL_SIGN.search(self.text, place):
            place = found.end()
            match found[0][0]:
                case "]":
                    return found.start()
                case "[":
                    return -1
                case "`":
                    closing = self._find_run(len(found[0]), found.start())
                    place = closing + len(found[0]) if closing >= 0 else place
                case _:
                    place += 1
        return -1

    def _read_link(self) -> None:
        end = -1 if self.link else self._find_label_end()
        found = _LINK_ADDRESS.match(self.text, end + 1) if end >= 0 else None
        address = (found[1] or found[2] or "") if found else ""
        if not found or not address:
            self._take("[", 1)
            return
        inner = _Parser(self.text[self.place + 1 : end], frozenset(self.marks), self.color, address)
        self.parts.extend(inner.parse() or [_Part(address, frozenset(self.marks), self.color, address)])
        self.place = found.end()

    def _read_tag(self) -> None:
        text, place = self.text, self.place
        if found := _BREAK.match(text, place):
            self._take("\n", len(found[0]))
        elif found := _SPAN.match(text, place):
            self.colors.append(self.color)
            self.color = found[1]
            self.place = found.end()
        elif text.startswith("</span>", place) and self.colors:
            self.color = self.colors.pop()
            self.place += len("</span>")
        elif text.startswith("<u>", place) and "underline" not in self.marks:
            self._open("underline", "<u>")
        elif text.startswith("</u>", place) and "underline" in self.opened:
            self._close("underline", "</u>")
        else:
            self._take("<", 1)

    def _read_mark(self, sign: str) -> None:
        text, place = self.text, self.place
        mark = sign * 2 if text.startswith(sign * 2, place) else sign
        if mark == "~" or (mark == "_" and not self._is_at_word_edge(place)):
            self._take(mark, 1)
            return
        name = "strikethrough" if sign == "~" else "bold" if len(mark) == 2 else "italic"
        before, after = text[place - 1 : place], text[place + len(mark) : place + len(mark) + 1]
        if name in self.opened and self.opened[name][1] == mark and not before.isspace():
            self._close(name, mark)
        elif name not in self.marks and after and not after.isspace():
            self._open(name, mark)
        elif len(mark) == 2 and sign == "*" and "italic" in self.opened and not before.isspace():
            self._close("italic", "*")
        else:
            self._take(mark, len(mark))

    def _is_at_word_edge(self, place: int) -> bool:
        before, after = self.text[place - 1 : place] if place else "", self.text[place + 1 : place + 2]
        return not (before.isalnum() and after.isalnum())

    def _open(self, name: str, mark: str) -> None:
        self.opened[name] = (len(self.parts), mark)
        self.marks.add(name)
        self.place += len(mark)

    def _close(self, name: str, mark: str) -> None:
        del self.opened[name]
        self.marks.discard(name)
        self.place += len(mark)


def _merge(parts: Sequence[_Part]) -> list[_Part]:
    merged: list[_Part] = []
    for part in parts:
        if merged and merged[-1][1:] == part[1:] and not part.formula:
            merged[-1] = part._replace(text=merged[-1].text + part.text)
        else:
            merged.append(part)
    return merged
