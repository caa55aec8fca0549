"""HTML as Markdown. What a reader does not see is left out: comments, attributes, hidden elements and characters.

    convert_html_to_markdown("<p>Call <b>Ada</b></p>")  ->  "Call **Ada**"

The result reads back as the same blocks by `html_writing.py`. Any text is taken for HTML; nothing fails.
"""

import re
from collections.abc import Sequence

from modules.kit.markup.html_parsing import parse_html
from modules.kit.markup.markdown_runs import EM, STRIKE, STRONG, Inline, Mark
from modules.kit.markup.markdown_text import (
    Block,
    format_fence,
    format_item,
    format_paragraph,
    format_quote,
    format_runs,
    format_table,
    is_autolink,
    is_language,
    is_plain,
    join_blocks,
)
from modules.kit.markup.markup_lines import LineElement, ListElement, RowElement
from modules.kit.markup.markup_tree import Element
from modules.kit.text_cleaning import clean_text
from modules.kit.turns import count_each, count_work

Nodes = Sequence[Element | str]

_HIDDEN = re.compile(
    r"display\s*+:\s*+none|visibility\s*+:\s*+hidden|mso-hide\s*+:\s*+all|"
    r"(?:font-size|opacity)\s*+:\s*+0*+\.?+0*+(?:[a-z%]{1,4})?+\s*+(?:;|!|$)",
    re.IGNORECASE,
)
_COLOR = re.compile(r"(?:^|;)\s*+color\s*+:\s*+([A-Za-z0-9#(), .%]{1,40})\s*+(?:;|$)")
_WORD_LANGUAGE = re.compile(r"(?:^|\s)lang(?:uage)?-(\S++)")
_ODD_ADDRESS = re.compile(r"(?:javascript|vbscript|data|cid|file|about):", re.IGNORECASE)
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_BLOCK_WORK = 20
_SPACE_RUN = re.compile(r"[ \t\r\n\f]+")
_MARKS = {
    "b": STRONG, "strong": STRONG, "i": EM, "em": EM, "cite": EM, "s": STRIKE, "del": STRIKE, "strike": STRIKE,
    **{name: Mark(name) for name in ("u", "ins", "sub", "sup", "small", "big")},
}  # fmt: skip
_BLOCK_NAMES = """
    address article aside blockquote body center details dd div dl dt fieldset figcaption figure footer form h1 h2 h3
    h4 h5 h6 header hr html li main nav ol p pre section summary table tbody td tfoot th thead tr ul
"""
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_TABLE_PARTS = frozenset({"thead", "tbody", "tfoot"})


def convert_html_to_markdown(html: str, *, keep_line_breaks: bool = False) -> str:
    """Convert HTML to Markdown. The time is linear in the length.

    Args:
        html: the text; broken HTML is read as a browser reads it.
        keep_line_breaks: a line feed is a line break, as in texts that may be plain or HTML.
    """
    tree = parse_html(html.replace("\r\n", "\n").replace("\n", "<br>") if keep_line_breaks else html)
    return clean_text(join_blocks(HtmlFormatter().format_blocks(tree.children))).strip("\n")


class HtmlFormatter:
    """Formats a tree of HTML; one for another kind of markup overrides what it has besides."""

    def format_blocks(self, nodes: Nodes) -> list[Block]:
        """Format nodes as blocks; inline ones between them are paragraphs."""
        if len(nodes) == 1 and (made := self._format_single(nodes[0])) is not None:
            return made
        blocks: list[Block] = []
        inline: list[Element | str] = []
        for node in count_each(nodes, 20):
            if isinstance(node, str) or not self.is_block(node):
                inline.append(node)
                continue
            self._add_paragraph(inline, blocks)
            count_work(_BLOCK_WORK)
            if not is_hidden(node):
                blocks += self.format_block(node, blocks[-1].marker if blocks else "")
        self._add_paragraph(inline, blocks)
        return blocks

    def _format_single(self, node: Element | str) -> list[Block] | None:
        """Format what stands alone, as in most cells and items, at once; None for what has to be looked at."""
        if isinstance(node, str):
            return [Block(node, "text")] if is_plain(node) else None
        return self.format_paragraph_block(node) if node.name == "p" and not node.attributes else None

    def _add_paragraph(self, inline: list[Element | str], blocks: list[Block]) -> None:
        if not inline:
            return
        first = inline[0]
        if isinstance(first, LineElement) and len(inline) == 1:
            blocks.append(Block(first.format(), "text"))
        elif line := format_paragraph(self.format_inline(inline)):
            blocks.append(Block(line, "text"))
        inline.clear()

    def is_block(self, element: Element) -> bool:
        """Check whether an element stands beside paragraphs, not in one."""
        if element.name in _BLOCKS or isinstance(element, LineElement):
            return element.name != ""
        for one in element.children:  # noqa: SIM110, a generator takes twice as long
            if not isinstance(one, str) and one.name in _BLOCKS:
                return True
        return False

    def format_block(self, element: Element, marker: str) -> list[Block]:
        """Format an element that is a block; `marker` is that of a list right before it."""
        name = element.name
        if name == "p":
            return self.format_paragraph_block(element)
        if name in _HEADINGS:
            is_line = isinstance(element, LineElement)
            line = element.format() if is_line else format_paragraph(self.format_inline(element.children))
            return [Block(f"{_HEADINGS[name]} {_escape_closing(line)}".rstrip())]
        if name in ("ul", "ol"):
            return self.format_list(element, marker)
        if name == "hr":
            return [Block("---", "rule")]
        if name == "pre":
            return [self._format_pre(element)]
        if name == "blockquote":
            inner = join_blocks(self.format_blocks(element.children))
            return [Block(format_quote(inner))] if inner else []
        if name == "table":
            return self.format_table_block(element)
        return self.format_blocks(element.children)

    def format_paragraph_block(self, element: Element) -> list[Block]:
        """Format a paragraph; nothing for one without text."""
        if isinstance(element, LineElement):
            return [Block(element.format(), "text")]
        nodes = element.children
        if len(nodes) == 1 and isinstance(nodes[0], str) and is_plain(nodes[0]):
            return [Block(nodes[0], "text")]
        line = format_paragraph(self.format_inline(element.children))
        return [Block(line, "text")] if line else []

    def format_list(self, element: Element, marker: str) -> list[Block]:
        """Format a list; `marker` is that of a list right before it, which would be the same list."""
        is_bullets = element.name == "ul"
        if isinstance(element, ListElement):
            count_work(_BLOCK_WORK)
            sign = ("*" if marker == "-" else "-") if is_bullets else ")" if marker == "." else "."
            return [Block("\n".join(element.format_items(sign)), "list", sign)]
        items = [one for one in element.children if isinstance(one, Element) and not is_hidden(one)]
        if not items:
            return []
        if is_bullets:
            sign, start = "*" if marker == "-" else "-", ""
        else:
            sign, start = ")" if marker == "." else ".", element.attributes.get("start", "1")
        first = int(start) if start.isdecimal() and len(start) < 9 else 1
        texts: list[str] = []
        for number, item in enumerate(items, first):
            if isinstance(item, LineElement):
                texts.append(f"{sign if is_bullets else f'{number}{sign}'} {item.format()}")
                continue
            count_work(_BLOCK_WORK)
            blocks = self.format_blocks(item.children if item.name == "li" else [item])
            texts.append(format_item(sign if is_bullets else f"{number}{sign}", blocks))
        return [Block("\n".join(texts), "list", sign)]

    def _format_pre(self, element: Element) -> Block:
        code = element.find("code") or element
        language = _WORD_LANGUAGE.search(code.attributes.get("class", ""))
        word = language[1] if language and is_language(language[1]) else ""
        return Block(format_fence(element.get_text().strip("\n"), word))

    def format_table_block(self, element: Element) -> list[Block]:
        """Format a table. A cell that spans several stands in the first of them; its paragraphs are lines."""
        rows = [
            row.format_cells() if isinstance(row, RowElement) else [self._format_cell(cell) for cell in get_cells(row)]
            for row in count_each(get_rows(element))
        ]
        rows = [row for row in rows if row]
        return [Block(format_table(rows))] if rows else []

    def _format_cell(self, cell: Element) -> str:
        if (text := get_plain_text(cell)) is not None:
            return text
        blocks = self.format_blocks(cell.children)
        if len(blocks) == 1:
            return blocks[0].text.replace("\n", "<br>")
        return "<br>".join([one.text.replace("\n", "<br>") for one in blocks])

    def format_inline(self, nodes: Nodes) -> str:
        """Format nodes as inline Markdown."""
        runs: list[Inline] = []
        self.add_runs(nodes, (), runs)
        return format_runs(runs)

    def add_runs(self, nodes: Nodes, marks: tuple[Mark, ...], runs: list[Inline]) -> None:
        """Add the runs of inline nodes, which have these marks."""
        for node in count_each(nodes):
            if isinstance(node, str):
                add_text(node, marks, runs)
            elif not is_hidden(node):
                self.add_element(node, marks, runs)

    def add_element(self, element: Element, marks: tuple[Mark, ...], runs: list[Inline]) -> None:
        """Add the runs of an inline element."""
        name = element.name
        if name in _MARKS:
            self.add_runs(element.children, add_mark(marks, _MARKS[name]), runs)
        elif name == "br":
            runs.append(Inline("break", "", marks))
        elif name == "a":
            self.add_anchor(element, marks, runs)
        elif name in ("code", "tt", "kbd", "samp"):
            if code := " ".join(element.get_text().split()):
                runs.append(Inline("code", code, marks))
        elif name == "img":
            _add_image(element, marks, runs)
        else:
            color = _COLOR.search(element.attributes.get("style", "")) if name == "span" else None
            inner = add_mark(marks, Mark("color", color[1].strip())) if color else marks
            self.add_runs(element.children, inner, runs)
            if name in _BLOCKS:
                add_text(" ", marks, runs)

    def add_anchor(self, element: Element, marks: tuple[Mark, ...], runs: list[Inline]) -> None:
        """Add the runs of a link to an address."""
        address = element.attributes.get("href", "").strip()
        if _ODD_ADDRESS.match(address):
            self.add_runs(element.children, marks, runs)
        else:
            self.add_link(element, address, marks, runs)

    def add_link(self, element: Element, address: str, marks: tuple[Mark, ...], runs: list[Inline]) -> None:
        """Add what is in an element as a link; without an address, or with nothing to see, it is none."""
        text = element.get_text()
        if text == address and is_autolink(address):
            runs.append(Inline("node", "", marks, f"<{address}>"))
            return
        is_seen = bool(address) and (bool(text.strip()) or element.find("img") is not None)
        self.add_runs(element.children, add_mark(marks, Mark("link", address)) if is_seen else marks, runs)


def add_mark(marks: tuple[Mark, ...], mark: Mark) -> tuple[Mark, ...]:
    """`marks` with one more; one of the same name stays the outer one."""
    if not marks:
        return (mark,)
    return marks if any(one.name == mark.name for one in marks) else (*marks, mark)


def add_text(text: str, marks: tuple[Mark, ...], runs: list[Inline]) -> None:
    """Add a text, in which any white space but no-break spaces is one space."""
    if "  " in text or not text.isprintable():
        text = _SPACE_RUN.sub(" ", text)
    if text[:1] == " " and runs and runs[-1].text.endswith(" "):
        text = text[1:]
    if text:
        runs.append(Inline("text", text, marks))


def _add_image(element: Element, marks: tuple[Mark, ...], runs: list[Inline]) -> None:
    alternative, address = element.attributes.get("alt", ""), element.attributes.get("src", "").strip()
    if not address or _ODD_ADDRESS.match(address):
        add_text(alternative, marks, runs)
    else:
        runs.append(Inline("image", _SPACE_RUN.sub(" ", alternative), marks, address))


def is_hidden(element: Element) -> bool:
    """Check whether an element says that it is not shown."""
    attributes = element.attributes
    if not attributes:
        return False
    style = attributes.get("style")
    return "hidden" in attributes or (bool(style) and _HIDDEN.search(style) is not None)


def get_plain_text(element: Element) -> str | None:
    """The text of an element that stands for itself, as in most cells; None for what has to be looked at."""
    nodes = element.children
    if len(nodes) != 1:
        return None
    node = nodes[0]
    if isinstance(node, str):
        return node if is_plain(node) else None
    return get_plain_text(node) if node.name == "p" and not node.attributes else None


def get_rows(table: Element) -> list[Element]:
    """The rows of a table, of all its parts."""
    rows: list[Element] = []
    for one in table.children:
        if isinstance(one, Element) and one.name == "tr":
            rows.append(one)
        elif isinstance(one, Element) and one.name in _TABLE_PARTS:
            rows += [row for row in one.children if isinstance(row, Element) and row.name == "tr"]
    return rows


def get_cells(row: Element) -> list[Element]:
    """The cells of a row."""
    return [one for one in row.children if isinstance(one, Element) and one.name in ("td", "th")]


def _escape_closing(line: str) -> str:
    """A heading's text, whose last signs would close it."""
    return f"{line[:-1]}\\#" if line.endswith("#") and not line.endswith("\\#") else line
