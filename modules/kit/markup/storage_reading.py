"""Confluence's storage format as Markdown (https://confluence.atlassian.com/doc/confluence-storage-format-790796544.html).

Beside what Markdown has:

* `> [!INFO] Title`, and NOTE, WARNING, TIP, PANEL and EXPAND: panels;
* `[text](page:KEY/Title#anchor)`, `[@user](user:ID)`, `[text](space:KEY)`, `[text](attachment:file.pdf)`,
  `[text](#anchor)`, `[2026-05-01](date:2026-05-01)`, and `![alt](attachment:a.png "width=300")`;
* what Markdown cannot say: a fence `{=storage}`, or within a line a span of code with `{=storage}` behind it. Such a
  span alone on a line begins or ends what holds other blocks (a layout, another macro): both lines have to stay.

Left out: ids that Confluence makes by itself, classes, widths of columns and colors of cells, comments.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from modules.kit.markup.html_reading import is_hidden
from modules.kit.markup.markdown_text import Block, format_code_span, format_paragraph, join_blocks
from modules.kit.markup.markup_tree import Element
from modules.kit.markup.storage_formatting import BODY, LAYOUT, StorageFormatter, get_panel_title
from modules.kit.markup.storage_markup import HOLE, MARK, serialize
from modules.kit.markup.xml_parsing import parse_xml
from modules.kit.text_cleaning import clean_text
from modules.kit.turns import count_each, count_work

_BLOCK_WORK = 20
_TAG = re.compile(rb"</?[^\s/>]++(?:[^>\"']++|\"[^\"]*+\"|'[^']*+')*+>")


class Piece(NamedTuple):
    """A part of a document: its storage format as it was, and its Markdown, which is empty for what has none."""

    source: str
    markdown: str


def convert_storage_to_markdown(storage: str) -> str:
    """Convert a document to Markdown.

    Raises:
        MalformedMarkupError: it is not well-formed, or nested too deep.
    """
    return join_pieces(divide_storage(storage))


def join_pieces(pieces: Iterable[Piece]) -> str:
    """The Markdown of all pieces."""
    return "\n\n".join(one.markdown for one in pieces if one.markdown)


def divide_storage(storage: str) -> list[Piece]:
    """Divide a document into its blocks; the sources together are the document.

    Raises:
        MalformedMarkupError: it is not well-formed, or nested too deep.
    """
    data = storage.encode("utf-8", "replace")
    found = _Divider(data).divide(parse_xml(storage))
    if not found:
        return [Piece(storage, "")]
    starts = [0, *(start for start, _ in found[1:]), len(data)]
    return [
        Piece(data[starts[number] : starts[number + 1]].decode(), clean_text(markdown))
        for number, (_, markdown) in enumerate(count_each(found))
    ]


class _Divider:
    """Finds where blocks begin, also those in layouts and macros, whose tags are pieces by themselves."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.formatter = StorageFormatter()
        self.found: list[tuple[int, str]] = []
        self.marker = ""

    def divide(self, root: Element) -> list[tuple[int, str]]:
        self._divide_children(root, 0)
        return self.found

    def _divide_children(self, parent: Element, place: int) -> None:
        """Divide what is in an element, whose content begins at `place`."""
        inline: list[Element | str] = []
        for node in count_each(parent.children, 20):
            if isinstance(node, str) or not self.formatter.is_block(node):
                inline.append(node)
                continue
            self._add_inline(inline, place)
            count_work(_BLOCK_WORK)
            self._divide_block(node)
            place = self._find_stop(node.end)
        self._add_inline(inline, place)

    def _find_stop(self, place: int) -> int:
        """Where the tag at `place` ends."""
        tag = _TAG.match(self.data, place)
        return tag.end() if tag else place

    def _add_inline(self, inline: list[Element | str], place: int) -> None:
        """Add text that is in no paragraph; white space belongs to the piece before it."""
        if line := format_paragraph(self.formatter.format_inline(inline)):
            self._add(place, Block(line, "text"))
        inline.clear()

    def _add(self, place: int, *blocks: Block) -> None:
        self.found.append((place, join_blocks(blocks)))
        self.marker = blocks[-1].marker if blocks else self.marker

    def _divide_block(self, element: Element) -> None:
        body = get_body(element)
        if body is None or is_hidden(element):
            blocks = [] if is_hidden(element) else self.formatter.format_block(element, self.marker)
            self._add(element.start, *blocks)
            return
        head, _, tail = serialize(element, hole=body).partition(HOLE)
        self._add(element.start, Block(format_code_span(head) + MARK))
        self._divide_children(body, self._find_stop(body.start))
        self._add(body.end, Block(format_code_span(tail) + MARK))


def get_body(element: Element) -> Element | None:
    """The element that holds the blocks of a layout or a macro, where these are shown as blocks of their own."""
    if element.name in LAYOUT:
        return element if element.children else None
    body = element.find(BODY) if element.name == "ac:structured-macro" else None
    if body is None or not body.children or get_panel_title(element) is not None:
        return None
    return body if element.children[-1] is body else None
