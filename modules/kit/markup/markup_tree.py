"""Trees of HTML as people and programs write it, and of XML: a text never leads to a deep tree or to long work.

HTML is read as tolerantly as a browser reads it, in linear time (the standard library's parser needs quadratic time for
some broken texts in the versions that MCPist runs on). XML is read by Expat, with the entities of HTML and no others.
"""

import html
import re
from dataclasses import dataclass, field
from html.entities import name2codepoint
from xml.parsers import expat

from modules.kit.turns import count_work

MAX_DEPTH = 60
"""Elements in elements. HTML that is deeper is read as if the rest stood beside each other."""

_TAG_WORK = 20
"""What a tag costs beside the characters before it (see `turns.py`)."""
_XML_PIECE = 4_096

_TAG = re.compile(r"<(/?)([A-Za-z][^\s/>]*+)((?:[^>=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+'|(?![\"'])[^\s>]*+))*+)>")
_USUAL = re.compile(
    r"([^<]*+)<(?:([a-z][a-z0-9]*+)((?:\s++[a-z-]++=\"[^\"<>&]*+\")*+)>(?:([^<&]++)</\2>)?+|/([a-z][a-z0-9]*+)>)"
)
"""A text and a tag, or an element with a text and nothing else, as programs write them."""
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
_USUAL_PARENTS = {"li": "ul", "td": "tr", "th": "tr", "tr": "tbody"}
"""Where nothing has to be closed: a row or a part of a table is never within what it would close."""
_BOUNDARIES = frozenset({"ul", "ol", "table", "dl"})
_CLOSE_PARAGRAPH = """
    address article aside blockquote details div dl fieldset footer form h1 h2 h3 h4 h5 h6 header hr main nav ol pre
    p section table ul
"""
_CLOSES_P = frozenset(_CLOSE_PARAGRAPH.split())
_CLOSING = _CLOSES_P | _CLOSED_BY.keys()


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
        if len(self.children) == 1 and isinstance(text := self.children[0], str):
            return text
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
        """The tree; whatever is not closed hides the rest, as in a browser."""
        match, text, place = _USUAL.match, self.text, 0
        while place < len(text):
            token = match(text, place)
            end = self._read_odd(place) if token is None else self._read_usual(token)
            if end is None:
                return self.root
            place = end
        return self.root

    def _read_usual(self, token: "re.Match[str]") -> int | None:
        """Read a text and the tag or element behind it; the end, None for what has no end."""
        between, name, attributes, content, ended = token.groups()
        path = self.path
        if between:
            count_work(_TAG_WORK + len(between) // 8)
            path[-1].children.append(decode_entities(between) if "&" in between else between)
        else:
            count_work(_TAG_WORK)
        if ended:
            if path[-1].name == ended:
                path.pop()
            else:
                self._close(ended)
        elif name in _RAW:
            return self._skip_content(name, token.end(3) + 1)
        elif content is None or name in _VOID or len(path) >= MAX_DEPTH:
            self._open(name, attributes)
            return token.end(3) + 1
        else:
            if name in _CLOSING:
                self._close_for(name)
            path[-1].children.append(Element(name, _read_attributes(attributes) if attributes else {}, [content]))
        return token.end()

    def _read_odd(self, place: int) -> int | None:
        """Read a text and what is behind it, whatever it is; the end, None for what has no end."""
        found = self.text.find("<", place)
        end = found if found >= 0 else len(self.text)
        if end > place:
            self.path[-1].children.append(decode_entities(self.text[place:end]))
        if found < 0:
            return None
        count_work(_TAG_WORK + (found - place) // 8)
        tag = _TAG.match(self.text, found)
        return self._read_tag(tag) if tag else self._skip_markup(found)

    def _read_tag(self, tag: "re.Match[str]") -> int | None:
        """The end of a tag, or of an element that nobody sees; None for what has no end."""
        is_end, name, attributes = tag.groups()
        name = name.lower()
        if is_end:
            if self.path[-1].name == name:
                self.path.pop()
            else:
                self._close(name)
        elif name in _RAW:
            return self._skip_content(name, tag.end())
        else:
            self._open(name, attributes)
        return tag.end()

    def _skip_markup(self, place: int) -> int | None:
        """The end of a comment, a declaration or a sign that is none of them; None for what has no end."""
        following = self.text[place + 1 : place + 2]
        if not (following.isalpha() or following in ("/", "!", "?")):
            self.path[-1].children.append("<")
            return place + 1
        if self.text.startswith("<!--", place):
            end = self.text.find("-->", place + 2)
            return end + 3 if end >= 0 else None
        return None if following.isalpha() else self.text.find(">", place) + 1 or None

    def _skip_content(self, name: str, place: int) -> int | None:
        """The end of an element that nobody sees, None for none."""
        return next((one.end() for one in _END.finditer(self.text, place) if one[1].lower() == name), None)

    def _open(self, name: str, attributes: str) -> None:
        path = self.path
        self._close_for(name)
        element = Element(name, _read_attributes(attributes) if attributes else {}, [])
        path[-1].children.append(element)
        if name not in _VOID and len(path) <= MAX_DEPTH:
            path.append(element)

    def _close_for(self, name: str) -> None:
        """Close what the beginning of an element ends."""
        if name in _CLOSED_BY:
            if self.path[-1].name != _USUAL_PARENTS.get(name):
                self._close_up_to_boundary(_CLOSED_BY[name])
        elif name in _CLOSES_P and self.path[-1].name == "p":
            self.path.pop()

    def _close(self, name: str) -> None:
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
    reader = _XmlReader()
    data = text.encode("utf-8", "replace")
    try:
        for start in range(0, len(data), _XML_PIECE):
            reader.feed(data[start : start + _XML_PIECE])
            count_work(_XML_PIECE)
        return reader.close()
    finally:
        reader.forget()


class _XmlReader:
    """Reads XML piece by piece; see :func:`parse_xml`."""

    def __init__(self) -> None:
        self._document = Element("")
        self._length = 0
        self._parser = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        _build_tree(self._parser, self._document)
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

    def forget(self) -> None:
        """Let go of the tree, which the handlers hold in a circle: it would stay until a full collection."""
        self._parser.StartElementHandler = self._parser.EndElementHandler = self._parser.CharacterDataHandler = None

    def _parse(self, data: bytes, *, is_final: bool = False) -> None:
        try:
            self._parser.Parse(data, is_final)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            column = error.offset - (_PROLOGUE_LENGTH if error.lineno == 1 else 0)
            raise MalformedMarkupError(f"{reason}, line {error.lineno}, column {column}") from None


def _build_tree(parser: expat.XMLParserType, document: Element) -> None:
    """Have a parser add what it reads to `document`."""
    path = [document]

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(path) > MAX_DEPTH + 1:
            raise MalformedMarkupError(f"elements are nested deeper than {MAX_DEPTH}")
        element = Element(name, attributes, [], parser.CurrentByteIndex - _PROLOGUE_LENGTH)
        path[-1].children.append(element)
        path.append(element)

    def end(_name: str) -> None:
        path.pop().end = parser.CurrentByteIndex - _PROLOGUE_LENGTH

    def add_text(text: str) -> None:
        path[-1].children.append(text)

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, add_text
