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
from html import escape
from typing import NamedTuple
from urllib.parse import quote, unquote

from modules.kit.markup.html_reading import (
    HtmlFormatter,
    add_mark,
    add_text,
    get_cells,
    get_plain_text,
    get_rows,
    is_hidden,
)
from modules.kit.markup.markdown_inline import Inline, Mark
from modules.kit.markup.markdown_text import (
    Block,
    escape_text,
    format_code_span,
    format_fence,
    format_item,
    format_paragraph,
    format_quote,
    format_table,
    is_language,
    join_blocks,
)
from modules.kit.markup.markup_lines import ListElement, RowElement
from modules.kit.markup.markup_tree import Element
from modules.kit.markup.xml_parsing import parse_xml
from modules.kit.text_cleaning import clean_text
from modules.kit.turns import count_each, count_work

MARK = "{=storage}"
PANELS = ("info", "note", "warning", "tip", "panel", "expand")
IMAGE_HINTS = ("ac:width", "ac:height", "ac:align", "ac:layout", "ac:border", "ac:thumbnail")
_DROPPED = frozenset({"ac:macro-id", "ac:local-id", "local-id", "class", "ac:schema-version", "id"})
_DROPPED_ELEMENTS = frozenset({"colgroup", "ac:task-id", "ac:task-uuid"})
_LAYOUT = frozenset({"ac:layout", "ac:layout-section", "ac:layout-cell"})
_BLOCK_ELEMENTS = _LAYOUT | {"ac:image", "ac:task-list", "ac:adf-extension"}
_KNOWN_BLOCKS = frozenset("p h1 h2 h3 h4 h5 h6 ul ol hr blockquote table div".split())  # noqa: SIM905
_INLINE_MACROS = frozenset({"status", "anchor", "jira", "mathinline", "profile", "view-file"})
_KNOWN_INLINE = frozenset(["", *"br code b strong i em s del u ins sub sup small big a span".split()])  # noqa: SIM905
_LARGE_BLOCKS = frozenset({"table", "ul", "ol"})
_LINK_BODIES = ("ac:link-body", "ac:plain-text-link-body")
_RESOURCE_NOISE = frozenset({"ri:version-at-save", "ri:local-id", "ri:userkey"})
_BODY = "ac:rich-text-body"
_BLOCK_WORK = 20
_HOLE = "\0"
_ODD_SIGN = re.compile(r"[\s%#/()<>\\&\[\]*_`!\"]")
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
        head, _, tail = serialize(element, hole=body).partition(_HOLE)
        self._add(element.start, Block(format_code_span(head) + MARK))
        self._divide_children(body, self._find_stop(body.start))
        self._add(body.end, Block(format_code_span(tail) + MARK))


def get_body(element: Element) -> Element | None:
    """The element that holds the blocks of a layout or a macro, where these are shown as blocks of their own."""
    if element.name in _LAYOUT:
        return element if element.children else None
    body = element.find(_BODY) if element.name == "ac:structured-macro" else None
    if body is None or not body.children or _get_panel_title(element) is not None:
        return None
    return body if element.children[-1] is body else None


def _get_panel_title(macro: Element) -> str | None:
    """The title of a panel, which may be empty; None for what is no panel, or one with other parameters."""
    name = macro.attributes.get("ac:name")
    others = [one for one in macro.children if isinstance(one, Element) and one.name != _BODY]
    if name not in PANELS or len(others) > 1 or macro.find(_BODY) is None:
        return None
    if not others:
        return ""
    is_title = others[0].name == "ac:parameter" and others[0].attributes.get("ac:name") == "title"
    title = " ".join(others[0].get_text().split())
    return title if is_title and title and all(isinstance(one, str) for one in others[0].children) else None


class StorageFormatter(HtmlFormatter):
    """Formats a tree of the storage format."""

    def is_block(self, element: Element) -> bool:
        """Check whether an element stands beside paragraphs: macros do where they are not in one."""
        if element.name == "ac:structured-macro":
            return element.attributes.get("ac:name") not in _INLINE_MACROS
        return element.name in _BLOCK_ELEMENTS or super().is_block(element)

    def format_block(self, element: Element, marker: str) -> list[Block]:
        """Format an element that is a block."""
        name = element.name
        if name == "p" and not element.attributes:
            return self.format_paragraph_block(element)
        if name == "ac:structured-macro":
            return [self._format_macro(element)]
        if name == "ac:image":
            return [Block(self.format_inline([element]), "text")]
        if name == "ac:task-list":
            return self._format_tasks(element, marker)
        if name == "blockquote" and not element.attributes.get("style", "").strip():
            return super().format_block(element, marker) or [format_raw(element)]
        is_known = name in _KNOWN_BLOCKS and not element.attributes.get("style", "").strip()
        return super().format_block(element, marker) if is_known else [format_raw(element)]

    def format_paragraph_block(self, element: Element) -> list[Block]:
        """Format a paragraph; one without text is kept."""
        return super().format_paragraph_block(element) or [Block("<p></p>", "text")]

    def format_list(self, element: Element, marker: str) -> list[Block]:
        """Format a list whose parts are items."""
        if isinstance(element, ListElement):
            return super().format_list(element, marker)
        items = [one for one in element.children if isinstance(one, Element)]
        is_plain = items and all(one.name == "li" and not is_hidden(one) for one in items)
        return super().format_list(element, marker) if is_plain else [format_raw(element)]

    def _format_macro(self, macro: Element) -> Block:
        title, body = _get_panel_title(macro), macro.find(_BODY)
        if title is not None and body is not None:
            blocks = self.format_blocks(body.children)
            head = f"[!{macro.attributes['ac:name'].upper()}] {escape_text(title)}".rstrip()
            between = "\n" if blocks and blocks[0].kind == "text" and blocks[0].text[0] != "<" else "\n\n"
            return Block(format_quote(head + between + join_blocks(blocks) if blocks else head))
        return self._format_code(macro) or format_raw(macro)

    def _format_code(self, macro: Element) -> Block | None:
        language, code = "", ""
        if macro.attributes.get("ac:name") != "code":
            return None
        for one in macro.children:
            if isinstance(one, str):
                continue
            if one.name == "ac:plain-text-body":
                code = one.get_text()
            elif one.attributes.get("ac:name") == "language" and is_language(one.get_text()):
                language = one.get_text()
            else:
                return None
        return Block(format_fence(code, language))

    def _format_tasks(self, element: Element, marker: str) -> list[Block]:
        sign = "*" if marker == "-" else "-"
        texts: list[str] = []
        for task in count_each(element.children):
            if isinstance(task, str):
                continue
            status, body = task.find("ac:task-status"), task.find("ac:task-body")
            blocks = self.format_blocks(body.children) if body else []
            if task.name != "ac:task" or not blocks or blocks[0].kind != "text":
                return [format_raw(element)]
            box = "[x]" if status and status.get_text().strip() == "complete" else "[ ]"
            texts.append(format_item(sign, [Block(f"{box} {blocks[0].text}", "text"), *blocks[1:]]))
        return [Block("\n".join(texts), "list", sign)] if texts else [format_raw(element)]

    def format_table_block(self, element: Element) -> list[Block]:
        """Format a table; one that Markdown cannot say is kept."""
        texts: list[list[str]] = []
        for row in count_each(get_rows(element)):
            found = self._format_row(row, is_first=not texts)
            if found is None or not found or (texts and len(found) != len(texts[0])):
                return [format_raw(element)]
            texts.append(found)
        if not texts:
            return [format_raw(element)]
        if _is_plain_row(get_rows(element)[0]):
            texts.insert(0, [""] * len(texts[0]))
        elif not any(texts[0]):
            return [format_raw(element)]
        return [Block(format_table(texts))]

    def _format_row(self, row: Element, *, is_first: bool) -> list[str] | None:
        """The cells of a row; None where Markdown cannot say one."""
        if isinstance(row, RowElement):
            return row.format_cells() if is_first or row.cell_name == "td" else None
        cells = get_cells(row)
        names = {cell.name for cell in cells}
        texts = [self._format_plain_cell(cell) for cell in cells]
        said = [one for one in texts if one is not None]
        is_plain = names == {"td"} or (is_first and names == {"th"})
        return said if is_plain and len(said) == len(texts) else None

    def _format_plain_cell(self, cell: Element) -> str | None:
        """A cell with one paragraph of text; None for another, which Markdown cannot say."""
        if cell.attributes and _is_special_cell(cell):
            return None
        if (text := get_plain_text(cell)) is not None:
            return text
        if _holds_large_block(cell):
            return None
        blocks = self.format_blocks(cell.children)
        if len(blocks) > 1 or (blocks and blocks[0].kind != "text"):
            return None
        return blocks[0].text.replace("<p></p>", "") if blocks else ""

    def add_element(self, element: Element, marks: tuple[Mark, ...], runs: list[Inline]) -> None:
        """Add the runs of an inline element."""
        name = element.name
        if name == "ac:link":
            self._add_resource_link(element, marks, runs)
        elif name == "ac:image":
            runs.append(_read_picture(element, marks))
        elif name == "time" and (day := element.attributes.get("datetime", "")):
            runs.append(Inline("text", day, add_mark(marks, Mark("link", f"date:{day}"))))
        elif name == "ac:emoticon" and not element.attributes.get("ac:emoji-fallback", ":").isascii():
            add_text(element.attributes["ac:emoji-fallback"], marks, runs)
        elif name not in _KNOWN_INLINE:
            runs.append(_make_raw_run(element, marks))
        else:
            super().add_element(element, marks, runs)

    def add_anchor(self, element: Element, marks: tuple[Mark, ...], runs: list[Inline]) -> None:
        """Add the runs of a link to an address."""
        self.add_link(element, element.attributes.get("href", ""), marks, runs)

    def _add_resource_link(self, link: Element, marks: tuple[Mark, ...], runs: list[Inline]) -> None:
        elements = [one for one in link.children if isinstance(one, Element)]
        targets = [one for one in elements if one.name.startswith("ri:")]
        bodies = [one for one in elements if not one.name.startswith("ri:")]
        address = _get_address(link, targets)
        if not address or len(bodies) > 1 or any(one.name not in _LINK_BODIES for one in bodies):
            runs.append(_make_raw_run(link, marks))
        elif bodies and bodies[0].get_text().strip():
            self.add_runs(bodies[0].children, add_mark(marks, Mark("link", address)), runs)
        else:
            runs.append(Inline("text", _get_default_text(address), add_mark(marks, Mark("link", address))))


def _read_picture(image: Element, marks: tuple[Mark, ...]) -> Inline:
    targets = [one for one in image.children if isinstance(one, Element)]
    target = targets[0] if len(targets) == 1 else None
    if target is None or target.children:
        return _make_raw_run(image, marks)
    hints = " ".join(f"{name[3:]}={image.attributes[name]}" for name in IMAGE_HINTS if name in image.attributes)
    alternative = image.attributes.get("ac:alt", "")
    if target.name == "ri:attachment":
        address = quote_name("attachment", target.attributes.get("ri:filename", ""))
        return Inline("image", alternative, marks, address, hints)
    address = target.attributes.get("ri:value", "")
    if target.name != "ri:url" or not address.startswith(("http://", "https://")):
        return _make_raw_run(image, marks)
    return Inline("image", alternative, marks, address, hints)


def _is_plain_row(row: Element) -> bool:
    return row.cell_name == "td" if isinstance(row, RowElement) else get_cells(row)[0].name == "td"


def _is_special_cell(cell: Element) -> bool:
    spans = cell.attributes.get("colspan", "1"), cell.attributes.get("rowspan", "1")
    return spans != ("1", "1") or bool(cell.attributes.get("style", "").strip()) or is_hidden(cell)


def _holds_large_block(cell: Element) -> bool:
    """Check whether a cell has a list or table in it, which is never a line. What is in these is not looked at: tables
    in tables would be formatted and kept once for each that they are in."""
    waiting = [cell]
    while waiting:
        for one in waiting.pop().children:
            if isinstance(one, str) or is_hidden(one):
                continue
            if one.name in _LARGE_BLOCKS:
                return True
            if one.name == "div":
                waiting.append(one)
    return False


def quote_name(kind: str, name: str) -> str:
    """An address of a page, a file or another thing by its name."""
    return f"{kind}:{_ODD_SIGN.sub(lambda found: quote(found[0], safe=''), name)}"


def _get_default_text(address: str) -> str:
    kind, _, name = address.partition(":")
    if kind == "user":
        return "@user"
    return unquote(name.partition("#")[0].rpartition("/")[2] if kind == "page" else name) or address


def _get_address(link: Element, targets: list[Element]) -> str:
    """The address of a link to something in Confluence; empty where Markdown has no form for it."""
    anchor = link.attributes.get("ac:anchor", "")
    behind = f"#{_ODD_SIGN.sub(lambda found: quote(found[0], safe=''), anchor)}" if anchor else ""
    if set(link.attributes) - {"ac:anchor"} or len(targets) > 1 or (targets and targets[0].children):
        return ""
    if not targets:
        return behind
    values = {name: one for name, one in targets[0].attributes.items() if name not in _RESOURCE_NOISE}
    match targets[0].name, sorted(values):
        case "ri:page", ["ri:content-title"]:
            return quote_name("page", "") + "/" + quote_name("", values["ri:content-title"])[1:] + behind
        case "ri:page", ["ri:content-title", "ri:space-key"]:
            space = quote_name("page", values["ri:space-key"])
            return space + "/" + quote_name("", values["ri:content-title"])[1:] + behind
        case "ri:user", ["ri:account-id"] if not anchor:
            return quote_name("user", values["ri:account-id"])
        case "ri:space", ["ri:space-key"] if not anchor:
            return quote_name("space", values["ri:space-key"])
        case "ri:attachment", ["ri:filename"] if not anchor:
            return quote_name("attachment", values["ri:filename"])
        case _:
            return ""


def format_raw(element: Element) -> Block:
    """A block that Markdown cannot say."""
    return Block(format_fence(serialize(element), MARK))


def _make_raw_run(element: Element, marks: tuple[Mark, ...]) -> Inline:
    """A part of a line that Markdown cannot say."""
    text = serialize(element).replace("\r", "").replace("\n", "&#10;")
    return Inline("raw", text, marks, "storage") if text else Inline("text", "", marks)


def serialize(element: Element, *, hole: Element | None = None) -> str:
    """Write an element in the storage format, without what is not shown; `hole` is written without its content, for
    which a mark stands."""
    if element.name in _DROPPED_ELEMENTS or is_hidden(element):
        return ""
    count_work(_BLOCK_WORK)
    kept = {name: value for name, value in element.attributes.items() if name not in _DROPPED and name[:5] != "data-"}
    tag = element.name + "".join(f' {name}="{escape(value)}"' for name, value in kept.items())
    if element is hole:
        return f"<{tag}>{_HOLE}</{element.name}>"
    parts = [
        escape(one, quote=False) if isinstance(one, str) else serialize(one, hole=hole) for one in element.children
    ]
    if not element.name:
        return "".join(parts)
    return f"<{tag}>{''.join(parts)}</{element.name}>" if parts else f"<{tag}/>"
