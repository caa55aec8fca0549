"""Word files (Office Open XML, ECMA-376) as Markdown: headings, lists, tables, and the text of all else.

A file is a zip archive with XML. Only parts that are named here are opened, each of a bounded size, by a parser that
refuses declarations of entities.
"""

import re
from collections.abc import Iterator
from io import BytesIO
from xml.etree.ElementTree import Element
from zipfile import BadZipFile, ZipFile

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import ParseError, fromstring

from gateway.uploads.formats import ExtractedText, UnreadableDocument, UnreadableReason
from gateway.uploads.text_reading import clean_text

MAX_PART_BYTES = 48 * 1024 * 1024
"""Of one part, unpacked: a zip bomb has more."""
MAX_PARTS = 10_000

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_STRICT = b"http://purl.oclc.org/ooxml/wordprocessingml/main"
_TRANSITIONAL = _W[1:-1].encode()
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_TITLE = "{http://purl.org/dc/elements/1.1/}title"
_OLE = b"\xd0\xcf\x11\xe0"
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")
_LEFT_OUT = frozenset({f"{_W}{name}" for name in ("del", "moveFrom", "instrText", "delText", "rt")} | {_FALLBACK})
"""What a reader does not see, or sees twice: deleted text, codes of fields, readings over characters."""
_SIGNS = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-", f"{_W}softHyphen": ""}
_HEADING_NAME = re.compile(r"heading ([1-9])", re.IGNORECASE)
_MAX_LIST_LEVEL = 8


def read_docx(content: bytes) -> ExtractedText:
    """Read a Word file.

    Raises:
        UnreadableDocument: it is none, or cannot be read.
    """
    if content.startswith(_OLE) and _ENCRYPTED_PACKAGE in content:
        raise UnreadableDocument(UnreadableReason.ENCRYPTED)
    if not content.startswith(b"PK"):
        raise UnreadableDocument(UnreadableReason.WRONG_CONTENT)
    try:
        with ZipFile(BytesIO(content)) as archive:
            return _read_archive(archive)
    except DefusedXmlException:
        raise UnreadableDocument(UnreadableReason.TOO_COMPLEX) from None
    except (BadZipFile, ParseError):
        raise UnreadableDocument(UnreadableReason.DAMAGED) from None


def _read_archive(archive: ZipFile) -> ExtractedText:
    if len(archive.infolist()) > MAX_PARTS:
        raise UnreadableDocument(UnreadableReason.TOO_COMPLEX)
    document = _read_part(archive, "word/document.xml")
    body = None if document is None else document.find(f"{_W}body")
    if body is None:
        raise UnreadableDocument(UnreadableReason.WRONG_CONTENT)
    formatter = _BodyFormatter(_read_heading_levels(_read_part(archive, "word/styles.xml")))
    text = clean_text("\n\n".join(formatter.format_blocks(body)))
    title = _read_title(_read_part(archive, "docProps/core.xml")) or formatter.title
    return ExtractedText(" ".join(clean_text(title).split()), text)


def _read_part(archive: ZipFile, name: str) -> Element | None:
    """Read one part of the archive; None where there is none.

    Raises:
        UnreadableDocument: it is encrypted, or larger than any document.
    """
    try:
        info = archive.getinfo(name)
    except KeyError:
        return None
    if info.flag_bits & 1:
        raise UnreadableDocument(UnreadableReason.ENCRYPTED)
    with archive.open(info) as part:
        content = part.read(MAX_PART_BYTES + 1)
    if len(content) > MAX_PART_BYTES:
        raise UnreadableDocument(UnreadableReason.TOO_COMPLEX)
    return fromstring(content.replace(_STRICT, _TRANSITIONAL), forbid_dtd=True)


def _read_title(properties: Element | None) -> str:
    return "" if properties is None else (properties.findtext(_TITLE) or "").strip()


def _read_heading_levels(styles: Element | None) -> dict[str, int]:
    """Read which styles are headings, by their ids: Word translates ids, and keeps the names. 0 is the title."""
    levels = dict[str, int]()
    for style in () if styles is None else styles.iter(f"{_W}style"):
        name = style.find(f"{_W}name")
        text = "" if name is None else name.get(f"{_W}val", "")
        if heading := _HEADING_NAME.fullmatch(text):
            levels[style.get(f"{_W}styleId", "")] = int(heading[1])
        elif text.lower() == "title":
            levels[style.get(f"{_W}styleId", "")] = 0
    return levels


class _BodyFormatter:
    """Formats what is in a document's body; `title` is its title or first heading, once it was formatted."""

    def __init__(self, heading_levels: dict[str, int]) -> None:
        self.title = ""
        self._heading_levels = heading_levels

    def format_blocks(self, parent: Element) -> list[str]:
        """Format paragraphs and tables; items of a list stay together."""
        blocks, is_after_item = list[str](), False
        for element in _walk(parent, f"{_W}p", f"{_W}tbl"):
            is_item = False
            if element.tag == f"{_W}tbl":
                text = self._format_table(element)
            else:
                text, is_item = self._format_paragraph(element)
            if not text:
                continue
            if is_item and is_after_item:
                blocks[-1] += f"\n{text}"
            else:
                blocks.append(text)
            is_after_item = is_item
        return blocks

    def _format_paragraph(self, paragraph: Element) -> tuple[str, bool]:
        """Format a paragraph; tell whether it is an item of a list."""
        text = "".join(_collect_text(paragraph)).strip()
        properties = paragraph.find(f"{_W}pPr")
        if not text or properties is None:
            return text, False
        style = properties.find(f"{_W}pStyle")
        level = None if style is None else self._heading_levels.get(style.get(f"{_W}val", ""))
        if level is not None:
            line = " ".join(text.split())
            self.title = self.title or line
            return f"{'#' * max(1, min(level, 6))} {line}", False
        numbering = properties.find(f"{_W}numPr")
        if numbering is None:
            return text, False
        return f"{'  ' * _read_list_level(numbering)}- {text.replace(chr(10), ' ')}", True

    def _format_table(self, table: Element) -> str:
        rows = [[self._format_cell(cell) for cell in _walk(row, f"{_W}tc")] for row in _walk(table, f"{_W}tr")]
        rows = [row for row in rows if any(row)]
        if not rows:
            return ""
        width = max(map(len, rows))
        lines = [f"| {' | '.join([*row, *[''] * (width - len(row))])} |" for row in rows]
        return "\n".join([lines[0], f"|{' --- |' * width}", *lines[1:]])

    def _format_cell(self, cell: Element) -> str:
        texts = ("".join(_collect_text(one)).strip() for one in cell.iter(f"{_W}p"))
        return " ".join(" ".join(texts).replace("|", "\\|").split())


def _read_list_level(numbering: Element) -> int:
    level = numbering.find(f"{_W}ilvl")
    value = "0" if level is None else level.get(f"{_W}val", "0")
    return min(int(value), _MAX_LIST_LEVEL) if value.isdecimal() and len(value) < 4 else 0


def _walk(parent: Element, *names: str) -> Iterator[Element]:
    """Walk over elements of these names, also those in content controls and the like, but none within another."""
    for element in parent:
        if element.tag in names:
            yield element
        elif element.tag not in _LEFT_OUT:
            yield from _walk(element, *names)


def _collect_text(element: Element) -> Iterator[str]:
    """Collect what a reader sees of an element; a paragraph in it, as of a text box, is set off by a space."""
    if element.tag == f"{_W}t":
        yield element.text or ""
        return
    for one in element:
        if one.tag in _SIGNS:
            yield _SIGNS[one.tag]
        elif one.tag not in _LEFT_OUT and not _is_hidden_run(one):
            yield from _collect_text(one)
            if one.tag == f"{_W}p":
                yield " "


def _is_hidden_run(element: Element) -> bool:
    properties = element.find(f"{_W}rPr") if element.tag == f"{_W}r" else None
    vanish = None if properties is None else properties.find(f"{_W}vanish")
    return vanish is not None and vanish.get(f"{_W}val", "true") not in ("0", "false", "off")
