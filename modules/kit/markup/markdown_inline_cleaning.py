"""Inline Markdown written by strangers: what of it no reader of the rendered text sees (see `markdown_cleaning.py`)."""

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import NamedTuple

from modules.kit.markup.markdown_html import CLOSE_TAG, OPEN_TAG
from modules.kit.text_cleaning import clean_text

_SPECIAL = re.compile(r"[\\`<\[\]]|!\[|&#")
_BACKTICKS = re.compile(r"`++")
_AUTOLINK = re.compile(
    r"<[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*+>|<[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,99}@[A-Za-z0-9.-]++>"
)
_TAG = re.compile(rf"{OPEN_TAG}|{CLOSE_TAG}")
TAG_NAME = re.compile(r"</?[A-Za-z][^\s/>]*+")
_KNOWN_NAME = re.compile(r"</?[A-Za-z][A-Za-z0-9]{0,11}")
_TAG_ADDRESS = re.compile(r"\b(href|src)\s*+=\s*+(?:\"([^\"\s]*+)\"|'([^'\s]*+)'|([^\s\"'=<>`]++))", re.IGNORECASE)
_CHARACTER = re.compile(r"&#(?:[xX]([0-9a-fA-F]{1,6})|([0-9]{1,7}));")
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
SPACE = r"[ \t]*+(?:\n[ \t]*+)?"
_DESTINATION = r"(?:<(?:[^<>\n\\]|\\.)*+>|(?!<)(?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.|\((?:[^\s()\\]|\\.)*+\))*+\))*+)"
TITLE = r"(?:\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|\((?:[^()\\]|\\.)*+\))"
SOME_SPACE = r"(?:[ \t]++(?:\n[ \t]*+)?|\n[ \t]*+)"
_LINK_END = re.compile(rf"\]\({SPACE}{_DESTINATION}({SOME_SPACE}{TITLE})?{SPACE}\)", re.DOTALL)


class TextEdit(NamedTuple):
    start: int
    end: int
    text: str


class LinkDefinition(NamedTuple):
    """A link definition in a leaf: where it is, and where its title."""

    label: str
    start: int
    title: int
    end: int


@dataclass(slots=True, eq=False)
class LeafChanges:
    """What is taken out of a leaf, what it defines, and which labels it refers to."""

    edits: list[TextEdit] = field(default_factory=list[TextEdit])
    definitions: list[LinkDefinition] = field(default_factory=list[LinkDefinition])
    uses: set[str] = field(default_factory=set[str])

    def remove(self, start: int, end: int) -> None:
        if end > start:
            self.edits.append(TextEdit(start, end, ""))


def normalize_label(label: str) -> str:
    return " ".join(label.casefold().split())


class InlineCleaner:
    """Inline text, which is parsed by itself."""

    def __init__(self, text: str, *, is_cut: bool) -> None:
        self.text, self.place, self.is_cut = text, 0, is_cut
        self.change = LeafChanges()
        self.runs: dict[int, list[int]] = {}
        for run in _BACKTICKS.finditer(self.text):
            self.runs.setdefault(len(run[0]), []).append(run.start())
        self.missing: set[str] = set()
        self.openers: list[tuple[int, bool]] = []
        self.inactive = 0
        """Of the openers, the first so many cannot begin a link any more: a link holds no link."""
        self.last_bracket = -1

    def clean(self) -> LeafChanges:
        while found := _SPECIAL.search(self.text, self.place):
            self.place = found.start()
            match found[0]:
                case "\\":
                    self.place += 2 if self.text[self.place + 1 : self.place + 2] in _PUNCTUATION else 1
                case "`":
                    self._skip_code()
                case "<":
                    self._clean_angle()
                case "&#":
                    _remove_reference(self.text, self.place, self.change)
                    self.place += 2
                case "]":
                    self._close_bracket()
                case opener:
                    self.place += len(opener)
                    self.openers.append((self.place, opener == "!["))
                    self.last_bracket = self.place
        return self.change

    def _skip_code(self) -> None:
        run = _BACKTICKS.match(self.text, self.place)
        length = len(run[0]) if run else 1
        self.place += length
        starts = self.runs.get(length, [])
        closing = bisect_left(starts, self.place)
        if closing < len(starts):
            self.place = starts[closing] + length

    def _clean_angle(self) -> None:
        text, place = self.text, self.place
        if autolink := _AUTOLINK.match(text, place):
            self.place = autolink.end()
        elif tag := _TAG.match(text, place):
            name = TAG_NAME.match(text, place)
            self.change.edits.append(TextEdit(place, tag.end(), rewrite_tag(tag[0], name[0] if name else tag[0])))
            self.place = tag.end()
        elif end := self._find_end_of_markup():
            self.change.remove(place, end)
            self.place = end
        elif (self.is_cut and text[place + 1 : place + 2] in ("!", "?", "/")) or self._is_cut_tag():
            self.change.remove(place, len(text))
            self.place = len(text)
        else:
            self.place += 1

    def _is_cut_tag(self) -> bool:
        if not self.is_cut or self.text.find(">", self.place) >= 0:
            return False
        return self.text[self.place + 1 : self.place + 2].isalpha()

    def _find_end_of_markup(self) -> int:
        """The end of a comment, an instruction, a declaration or a CDATA section; 0 for none."""
        text, place = self.text, self.place
        if text.startswith("<!--", place):
            for short in ("<!-->", "<!--->"):
                if text.startswith(short, place):
                    return place + len(short)
            return self._find("-->", place + 4)
        if text.startswith("<?", place):
            return self._find("?>", place + 2)
        if text.startswith("<![CDATA[", place):
            return self._find("]]>", place + 9)
        is_declaration = text.startswith("<!", place) and text[place + 2 : place + 3].isalpha()
        return self._find(">", place + 2) if is_declaration else 0

    def _find(self, closer: str, place: int) -> int:
        """The end of the next `closer`, or 0; that there is none more is remembered."""
        if closer in self.missing:
            return 0
        found = self.text.find(closer, place)
        if found < 0:
            self.missing.add(closer)
            return 0
        return found + len(closer)

    def _close_bracket(self) -> None:
        place = self.place
        self.place += 1
        if not self.openers:
            return
        start, is_image = self.openers.pop()
        is_active = is_image or len(self.openers) >= self.inactive
        self.inactive = min(self.inactive, len(self.openers))
        if self.last_bracket == start and place - start < 1000:
            self.change.uses.add(normalize_label(self.text[start:place]))
        link = _LINK_END.match(self.text, place) if is_active else None
        if link is None:
            return
        if link[1]:
            self.change.remove(*link.span(1))
        self.place = link.end()
        if not is_image:
            self.inactive = len(self.openers)


def rewrite_tag(tag: str, name: str) -> str:
    """A tag with no attribute but an address; nothing of one whose name could be a sentence."""
    if not _KNOWN_NAME.fullmatch(name):
        return ""
    address = _TAG_ADDRESS.search(tag, len(name))
    value = address and (address[2] or address[3] or address[4])
    attribute = f' {address[1].lower()}="{value}"' if address and value else ""
    return f"{name}{attribute}>"


def remove_references(text: str, change: LeafChanges) -> None:
    for found in _CHARACTER.finditer(text):
        _remove_reference(text, found.start(), change)
    change.edits.sort()


def _remove_reference(text: str, place: int, change: LeafChanges) -> None:
    """Remove a character reference to something invisible."""
    found = _CHARACTER.match(text, place)
    if not found:
        return
    number = int(found[1], 16) if found[1] else int(found[2])
    if 0 < number <= 0x10FFFF and not clean_text(chr(number)):
        change.remove(place, found.end())
