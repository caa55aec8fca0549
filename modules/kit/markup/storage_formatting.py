"""Blocks and lines of Confluence's storage format as Markdown (see `storage_reading.py` for the forms)."""

from modules.kit.markup.html_reading import (
    HtmlFormatter,
    add_mark,
    add_text,
    get_cells,
    get_plain_text,
    get_rows,
    is_hidden,
)
from modules.kit.markup.markdown_runs import Inline, Mark
from modules.kit.markup.markdown_text import (
    Block,
    escape_text,
    format_fence,
    format_item,
    format_quote,
    format_table,
    is_language,
    join_blocks,
)
from modules.kit.markup.markup_lines import ListElement, RowElement
from modules.kit.markup.markup_tree import Element
from modules.kit.markup.storage_links import get_address, get_default_text, read_picture
from modules.kit.markup.storage_markup import format_raw, make_raw_run
from modules.kit.turns import count_each

PANELS = ("info", "note", "warning", "tip", "panel", "expand")
LAYOUT = frozenset({"ac:layout", "ac:layout-section", "ac:layout-cell"})
BODY = "ac:rich-text-body"
_BLOCK_ELEMENTS = LAYOUT | {"ac:image", "ac:task-list", "ac:adf-extension"}
_KNOWN_BLOCKS = frozenset("p h1 h2 h3 h4 h5 h6 ul ol hr blockquote table div".split())  # noqa: SIM905
_INLINE_MACROS = frozenset({"status", "anchor", "jira", "mathinline", "profile", "view-file"})
_KNOWN_INLINE = frozenset(["", *"br code b strong i em s del u ins sub sup small big a span".split()])  # noqa: SIM905
_LARGE_BLOCKS = frozenset({"table", "ul", "ol"})
_LINK_BODIES = ("ac:link-body", "ac:plain-text-link-body")


def get_panel_title(macro: Element) -> str | None:
    """The title of a panel, which may be empty; None for what is no panel, or one with other parameters."""
    name = macro.attributes.get("ac:name")
    others = [one for one in macro.children if isinstance(one, Element) and one.name != BODY]
    if name not in PANELS or len(others) > 1 or macro.find(BODY) is None:
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
        title, body = get_panel_title(macro), macro.find(BODY)
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
            runs.append(read_picture(element, marks))
        elif name == "time" and (day := element.attributes.get("datetime", "")):
            runs.append(Inline("text", day, add_mark(marks, Mark("link", f"date:{day}"))))
        elif name == "ac:emoticon" and not element.attributes.get("ac:emoji-fallback", ":").isascii():
            add_text(element.attributes["ac:emoji-fallback"], marks, runs)
        elif name not in _KNOWN_INLINE:
            runs.append(make_raw_run(element, marks))
        else:
            super().add_element(element, marks, runs)

    def add_anchor(self, element: Element, marks: tuple[Mark, ...], runs: list[Inline]) -> None:
        """Add the runs of a link to an address."""
        self.add_link(element, element.attributes.get("href", ""), marks, runs)

    def _add_resource_link(self, link: Element, marks: tuple[Mark, ...], runs: list[Inline]) -> None:
        elements = [one for one in link.children if isinstance(one, Element)]
        targets = [one for one in elements if one.name.startswith("ri:")]
        bodies = [one for one in elements if not one.name.startswith("ri:")]
        address = get_address(link, targets)
        if not address or len(bodies) > 1 or any(one.name not in _LINK_BODIES for one in bodies):
            runs.append(make_raw_run(link, marks))
        elif bodies and bodies[0].get_text().strip():
            self.add_runs(bodies[0].children, add_mark(marks, Mark("link", address)), runs)
        else:
            runs.append(Inline("text", get_default_text(address), add_mark(marks, Mark("link", address))))


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
