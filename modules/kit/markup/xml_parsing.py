"""XML read by Expat, with the entities of HTML and no others.

Expat calls Python for each tag. An element with a line and a row of lines (`markup_lines.py`) are known to be
well-formed, so that it is given an empty element of the same length in their place.
"""

import re
from collections.abc import Iterator
from html.entities import name2codepoint
from xml.parsers import expat

from modules.kit.markup.markup_lines import (
    ATTRIBUTES,
    LINE,
    LineElement,
    ListElement,
    RowElement,
    build_cell_pattern,
    drop_attributes,
    find_list,
)
from modules.kit.markup.markup_tree import MAX_DEPTH, Element, MalformedMarkupError
from modules.kit.turns import count_work

_PIECE = 4_096
_STAND_IN = "_"
"""The name of the elements that stand for others; a document that has the name is read without."""
_STAND_IN_LENGTH = len("<_/>")
_LINE = re.compile(
    rf"<(?:!\[CDATA\[(?:.*?\]\]>|.*+)|!--(?:.*?-->|.*+)|\?(?:.*?\?>|.*+)"
    rf"|(p|h[1-6]){ATTRIBUTES}>({LINE})</\1>"
    rf"|li{ATTRIBUTES}>(?:<p{ATTRIBUTES}>({LINE})</p></li>|({LINE})(?:(</li>)|(?=<[uo]l>)))"
    rf"|tr{ATTRIBUTES}>({build_cell_pattern(ATTRIBUTES)})</tr>|[uo]l{ATTRIBUTES}>())",
    re.DOTALL,
)
"""What is no markup, an element with a line, a row of lines, or what may be a list of lines."""
_BARE_LINE, _LIST = 4, 7
"""The groups that are a line before a list, and there for a list."""
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
    lines: list[Element] = []
    shortened = text if f"<{_STAND_IN}" in text else _take_lines(text, lines)
    try:
        return _parse(shortened, lines)
    except MalformedMarkupError:
        if not lines:
            raise
    return _parse(text, [])  # which tells the place in the text


def _take_lines(text: str, lines: list[Element]) -> str:
    """The document with stand-ins for its lines, which are added to `lines`, each with its length before its last tag
    as `end`."""
    parts: list[str] = []
    place = seen = 0
    while found := _LINE.search(text, seen):
        start, stop = found.span()
        if found.lastindex == _LIST:
            whole = find_list(text, start)
            if whole is None:
                count_work(20)
                seen = stop
                continue
            element, seen = whole
            stop = seen
        else:
            element = _make_line(*found.groups())
            seen = stop
            if element is None:
                continue
            if not element.name:
                start, stop = found.span(_BARE_LINE)
        if stop - start < _STAND_IN_LENGTH:
            continue
        count_work(20 + (stop - place) // 8)
        size = stop - start if text.isascii() else len(text[start:stop].encode())
        element.end = size - len(f"</{element.name}>") if element.name else size
        lines.append(element)
        parts += (text[place:start], f"<{_STAND_IN}{' ' * (size - _STAND_IN_LENGTH)}/>")
        place = stop
    return "".join([*parts, text[place:]])


def _make_line(
    name: str | None,
    line: str | None,
    wrapped: str | None,
    item: str | None,
    end: str | None,
    cells: str | None,
    _list: str | None,
) -> LineElement | RowElement | None:
    if name and line:
        return LineElement(name, line)
    if wrapped or item:
        name = "li" if wrapped or end else ""
        return LineElement(name, wrapped or item or "", is_wrapped=wrapped is not None)
    if cells is None:
        return None
    cells = drop_attributes(cells)
    return None if "<td>" in cells and "<th>" in cells else RowElement(cells)


def _parse(text: str, lines: list[Element]) -> Element:
    reader = _XmlReader(lines)
    data = text.encode("utf-8", "replace")
    try:
        for start in range(0, len(data), _PIECE):
            reader.feed(data[start : start + _PIECE])
            count_work(_PIECE)
        return reader.close()
    finally:
        reader.forget()


class _XmlReader:
    """Reads XML piece by piece; see :func:`parse_xml`."""

    def __init__(self, lines: list[Element]) -> None:
        self._document = Element("")
        self._length = 0
        self._parser = expat.ParserCreate("utf-8")
        self._parser.buffer_text = True
        _build_tree(self._parser, self._document, iter(lines))
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


def _build_tree(parser: expat.XMLParserType, document: Element, lines: Iterator[Element]) -> None:
    """Have a parser add what it reads to `document`, and a line for each stand-in."""
    path = [document]

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(path) > MAX_DEPTH + 1:
            raise MalformedMarkupError(f"elements are nested deeper than {MAX_DEPTH}")
        place = parser.CurrentByteIndex - _PROLOGUE_LENGTH
        line = next(lines, None) if name == _STAND_IN else None
        if isinstance(line, ListElement) and len(path) + line.count_levels() > MAX_DEPTH + 1:
            raise MalformedMarkupError(f"elements are nested deeper than {MAX_DEPTH}")
        if line is None:
            element = Element(name, attributes, [], place)
        else:
            element = line
            element.start, element.end = place, place + element.end
        path[-1].children.append(element)
        path.append(element)

    def end(_name: str) -> None:
        element = path.pop()
        element.end = element.end or parser.CurrentByteIndex - _PROLOGUE_LENGTH

    def add_text(text: str) -> None:
        path[-1].children.append(text)

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, add_text
