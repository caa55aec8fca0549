"""Trees of HTML as people and programs write it, and of XML: a text never leads to a deep tree or to long work.

HTML is read as tolerantly as a browser reads it, in linear time (the standard library's parser needs quadratic time for
some broken texts in the versions that MCPist runs on). XML is read by Expat, with the entities of HTML and no others.
"""

import html
import re
from dataclasses import dataclass, field
from html.entities import name2codepoint
from xml.parsers import expat

MAX_DEPTH = 60
"""Elements in elements. HTML that is deeper is read as if the rest stood beside each other."""

_TAG = re.compile(r"<(/?)([A-Za-z][^\s/>]*+)((?:[^>=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+'|(?![\"'])[^\s>]*+))*+)>")
_END = re.compile(r"</([A-Za-z]++)\s*+>")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_ATTRIBUTE = re.compile(r"([^\s\"'>/=]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'>]++)))?")
_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
_RAW = frozenset({"script", "style", "template", "noscript", "title", "head", "iframe", "object", "svg", "math"})
"""Elements whose content no reader sees as text, or cannot."""
_CELLS = frozenset({"td", "th"})
_CLOSED_BY = {
    "li": frozenset({"li"}), "tr": _CELLS | {"tr"}, "td": _CELLS, "th": _CELLS, "tbody": _CELLS | {"thead", "tr"},
    "dt": frozenset({"dt", "dd"}), "dd": frozenset({"dt", "dd"}),
}  # fmt: skip
"""Elements that the beginning of another closes, unless a list or a table stands between."""
_BOUNDARIES = frozenset({"ul", "ol", "table", "dl"})
_CLOSE_PARAGRAPH = """
    address article aside blockquote details div dl fieldset footer form h1 h2 h3 h4 h5 h6 header hr main nav ol pre
    p section table ul
"""
_CLOSES_P = frozenset(_CLOSE_PARAGRAPH.split())


@dataclass(slots=True, eq=False)
class Element:
    """An element of a tree. Of XML, `start` is where its first tag begins and `end` where its last tag begins, in bytes
    of UTF-8."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict[str, str])
    children: "list[Element | str]" = field(default_factory=list["Element | str"])
    start: int = 0
    end: int = 0

    def find(self, name: str) -> "Element | None":
        """The first child with a name."""
        return next((one for one in self.children if isinstance(one, Element) and one.name == name), None)

    def get_text(self) -> str:
        """The text of the element and all in it."""
        parts: list[str] = []
        waiting: list[Element | str] = [self]
        while waiting:
            one = waiting.pop()
            if isinstance(one, str):
                parts.append(one)
            else:
                waiting.extend(reversed(one.children))
        return "".join(parts)


class MalformedMarkupError(ValueError):
    """A text is no well-formed XML, or too deep; the message says where, and holds nothing of the text."""


def parse_html(text: str) -> Element:
    """Parse HTML. Comments and what is no content (scripts, styles, the head) are left out. Linear in the length."""
    return _HtmlParser(text).parse()


def decode_entities(text: str) -> str:
    """`text` with the characters that its references stand for; those of absurd length stay."""
    return _ENTITY.sub(lambda found: html.unescape(found[0]), text) if "&" in text else text


class _HtmlParser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.root = Element("")
        self.path = [self.root]

    def parse(self) -> Element:
        place, text = 0, self.text
        while (found := text.find("<", place)) >= 0:
            if found > place:
                self._add_text(text[place:found])
            tag = _TAG.match(text, found)
            following = "" if tag else text[found + 1 : found + 2]
            if not (tag or following.isalpha() or following in ("/", "!", "?")):
                self._add_text("<")
                place = found + 1
                continue
            place = self._read_tag(tag) if tag else self._skip_markup(found, following)
            if not place:
                return self.root  # whatever is not closed hides the rest, as in a browser
        if place < len(text):
            self._add_text(text[place:])
        return self.root

    def _skip_markup(self, place: int, following: str) -> int:
        """The end of a comment or a declaration, 0 for none."""
        if self.text.startswith("<!--", place):
            end = self.text.find("-->", place + 2)
            return end + 3 if end >= 0 else 0
        return 0 if following.isalpha() else self.text.find(">", place) + 1

    def _add_text(self, text: str) -> None:
        self.path[-1].children.append(decode_entities(text) if "&" in text else text)

    def _read_tag(self, tag: "re.Match[str]") -> int:
        name = tag[2].lower()
        if tag[1]:
            self._close_innermost(name)
        elif name in _RAW:
            ends = (one.end() for one in _END.finditer(self.text, tag.end()) if one[1].lower() == name)
            return next(ends, 0)
        else:
            self._open(name, tag[3])
        return tag.end()

    def _open(self, name: str, attributes: str) -> None:
        if name in _CLOSED_BY:
            self._close_up_to_boundary(_CLOSED_BY[name])
        elif name in _CLOSES_P and self.path[-1].name == "p":
            self.path.pop()
        element = Element(name, _read_attributes(attributes) if attributes else {}, [])
        self.path[-1].children.append(element)
        if name not in _VOID and len(self.path) <= MAX_DEPTH:
            self.path.append(element)

    def _close_innermost(self, name: str) -> None:
        if self.path[-1].name == name:
            self.path.pop()
            return
        for number in range(len(self.path) - 1, 0, -1):
            if self.path[number].name == name:
                del self.path[number:]
                return

    def _close_up_to_boundary(self, names: frozenset[str]) -> None:
        outermost = 0
        for number in range(len(self.path) - 1, 0, -1):
            if self.path[number].name in _BOUNDARIES:
                break
            if self.path[number].name in names:
                outermost = number
        if outermost:
            del self.path[outermost:]


def _read_attributes(attributes: str) -> dict[str, str]:
    return {
        one[1].lower(): decode_entities(one[2] or one[3] or one[4] or "") for one in _ATTRIBUTE.finditer(attributes)
    }


_PROLOGUE = (
    "<!DOCTYPE x ["
    + "".join(f'<!ENTITY {name} "&#38;#{code};">' if name in ("amp", "lt") else f'<!ENTITY {name} "&#{code};">'
              for name, code in name2codepoint.items())
    + "]><x>"
).encode()  # fmt: skip
_PROLOGUE_LENGTH = len(_PROLOGUE)


def parse_xml(text: str) -> Element:
    """Parse the inside of an XML document, whose names may have prefixes that are declared nowhere.

    Raises:
        MalformedMarkupError: it is not well-formed, has a document type, or is deeper than ``MAX_DEPTH``.
    """
    reader = XmlReader()
    reader.feed(text.encode("utf-8", "replace"))
    return reader.close()


class XmlReader:
    """Reads XML piece by piece, so that a long document does not block a loop; see :func:`parse_xml`."""

    def __init__(self) -> None:
        self._document = Element("")
        self._path = [self._document]
        self._length = 0
        self._parser = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._add_text
        self._parse(_PROLOGUE)

    def feed(self, data: bytes) -> None:
        """Read on; `data` may end anywhere."""
        self._length += len(data)
        self._parse(data)

    def close(self) -> Element:
        """The tree, once all was read."""
        self._parse(b"</x>", is_final=True)
        root = self._document.children[0]
        assert isinstance(root, Element)
        root.name, root.start, root.end = "", 0, self._length
        return root

    def _parse(self, data: bytes, *, is_final: bool = False) -> None:
        try:
            self._parser.Parse(data, is_final)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            column = error.offset - (_PROLOGUE_LENGTH if error.lineno == 1 else 0)
            raise MalformedMarkupError(f"{reason}, line {error.lineno}, column {column}") from None

    def _add_text(self, text: str) -> None:
        self._path[-1].children.append(text)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        path = self._path
        if len(path) > MAX_DEPTH + 1:
            raise MalformedMarkupError(f"elements are nested deeper than {MAX_DEPTH}")
        element = Element(name, attributes, [], self._parser.CurrentByteIndex - _PROLOGUE_LENGTH)
        path[-1].children.append(element)
        path.append(element)

    def _end(self, _name: str) -> None:
        self._path.pop().end = self._parser.CurrentByteIndex - _PROLOGUE_LENGTH
