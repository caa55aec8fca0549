"""XML read by Expat, with the entities of HTML and no others."""

from html.entities import name2codepoint
from xml.parsers import expat

from modules.kit.markup.markup_tree import MAX_DEPTH, Element, MalformedMarkupError
from modules.kit.turns import count_work

_PIECE = 4_096
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
        for start in range(0, len(data), _PIECE):
            reader.feed(data[start : start + _PIECE])
            count_work(_PIECE)
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
