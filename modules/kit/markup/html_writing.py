"""Markdown as HTML: what `html_reading.py` writes, and any other CommonMark with tables and tasks.

    convert_markdown_to_html("Call **Ada**")  ->  "<p>Call <strong>Ada</strong></p>"

HTML in the Markdown is text but for a few tags (`<br>`, `<u>`, `<sub>`): nothing is written that was not said here.
"""

import html
import re
from collections.abc import Sequence

from modules.kit.markup.markdown_blocks import Leaf
from modules.kit.markup.markdown_inline import Inline, parse_inline
from modules.kit.markup.markdown_tree import (
    ItemList,
    TreeBranch,
    get_code,
    get_heading_text,
    get_paragraph_text,
    get_table,
    group_items,
    parse_tree,
)

_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_ADDRESS = re.compile(r"(?:https?|mailto|tel|ftp|sip|callto|file)?:|[/#?]|[^:\s]*+$", re.IGNORECASE)
_MARKS = {"strong": "strong", "emphasis": "em", "strike": "del"}


def convert_markdown_to_html(markdown: str) -> str:
    """Convert Markdown to HTML, without line breaks between blocks. The time is linear in the length."""
    return "".join(HtmlWriter().write_blocks(parse_tree(remove_illegal(markdown)).parts))


def remove_illegal(text: str) -> str:
    """`text` without characters that neither HTML nor XML may hold."""
    return _ILLEGAL.sub("", text)


def escape(text: str) -> str:
    """`text` as that of an element."""
    return html.escape(text, quote=False)


class HtmlWriter:
    """Writes a tree of Markdown as HTML; one for another kind of markup overrides what it has besides."""

    def write_blocks(self, parts: Sequence[TreeBranch | Leaf]) -> list[str]:
        """Write blocks, each by itself."""
        made: list[str] = []
        for part in group_items(parts):
            if isinstance(part, ItemList):
                made.append(self.write_list(part))
            elif isinstance(part, TreeBranch):
                made.append(self._write_branch(part))
            else:
                made += self.write_leaf(part)
        return made

    def _write_branch(self, branch: TreeBranch) -> str:
        if branch.container is not None and branch.container.kind == "quote":
            return self.write_quote(branch)
        label = escape(f"[^{branch.container.marker}]: ") if branch.container else ""
        return f"<p>{label}</p>" + "".join(self.write_blocks(branch.parts))

    def write_quote(self, branch: TreeBranch) -> str:
        """Write a quote."""
        return f"<blockquote>{''.join(self.write_blocks(branch.parts))}</blockquote>"

    def write_list(self, items: ItemList) -> str:
        """Write a list; a task shows a box."""
        name = "ol" if items.is_ordered else "ul"
        start = f' start="{items.start}"' if items.is_ordered and items.start != 1 else ""
        boxes = {None: "", False: "☐ ", True: "☑ "}
        written = "".join(
            f"<li>{boxes[task]}{self.write_item(item.parts)}</li>"
            for item, task in zip(items.items, items.tasks, strict=True)
        )
        return f"<{name}{start}>{written}</{name}>"

    def write_item(self, parts: Sequence[TreeBranch | Leaf]) -> str:
        """Write what is in an item, whose first paragraph is no element."""
        first = parts[0] if parts else None
        if isinstance(first, Leaf) and first.kind == "paragraph" and not first.table_rule:
            text = get_paragraph_text(first)
            if not self.is_special(text):
                return self.write_inline(text) + "".join(self.write_blocks(parts[1:]))
        if len(parts) == 1 and isinstance(first, Leaf) and first.text == "<p></p>":
            parts = parts[1:]
        return "".join(self.write_blocks(parts))

    def is_special(self, text: str) -> bool:
        """Check whether a paragraph's text is another block than a paragraph."""
        return not text

    def write_leaf(self, leaf: Leaf) -> list[str]:
        """Write a block of text."""
        match leaf.kind:
            case "paragraph" | "html":
                return self._write_paragraph(leaf)
            case "heading":
                return [f"<h{leaf.level}>{self.write_inline(get_heading_text(leaf))}</h{leaf.level}>"]
            case "break":
                return ["<hr/>"]
            case "fence" | "code":
                return [self.write_code(*get_code(leaf))]
            case "blank":
                return []

    def _write_paragraph(self, leaf: Leaf) -> list[str]:
        text = get_paragraph_text(leaf)
        made = [self.write_text(text)] if text else []
        return [*made, self.write_table(get_table(leaf))] if leaf.table_rule else made

    def write_text(self, text: str) -> str:
        """Write a paragraph."""
        return "<p></p>" if text == "<p></p>" else f"<p>{self.write_inline(text)}</p>"

    def write_code(self, word: str, code: str) -> str:
        """Write a block of code; `word` is that behind the fence."""
        language = f' class="language-{html.escape(word)}"' if word else ""
        return f"<pre><code{language}>{escape(code)}</code></pre>"

    def write_table(self, rows: Sequence[Sequence[str]]) -> str:
        """Write a table of inline Markdown; a head without text is none."""
        has_head = any(rows[0])
        made = [self._write_row(rows[0], "th")] if has_head else []
        made += [self._write_row(row, "td") for row in rows[1:]]
        return f"<table><tbody>{''.join(made)}</tbody></table>"

    def _write_row(self, row: Sequence[str], name: str) -> str:
        return "<tr>" + "".join(f"<{name}>{self.write_cell(cell)}</{name}>" for cell in row) + "</tr>"

    def write_cell(self, text: str) -> str:
        """Write what is in a cell of a table."""
        return self.write_inline(text)

    def write_inline(self, text: str) -> str:
        """Write inline Markdown."""
        return self.write_parts(parse_inline(text))

    def write_parts(self, parts: Sequence[Inline]) -> str:
        """Write parsed inline Markdown."""
        return "".join(self.write_part(one) for one in parts)

    def write_part(self, part: Inline) -> str:
        """Write one part of inline Markdown."""
        match part.kind:
            case "text":
                return escape(part.text)
            case "code":
                return f"<code>{escape(part.text)}</code>"
            case "raw":
                return self.write_raw(part)
            case "break":
                return "<br/>"
            case "link":
                return self.write_link(part)
            case "image":
                return self.write_image(part)
            case "tag" if part.text == "span" and not part.title:
                return self.write_parts(part.children)
            case "tag":
                style = f' style="color: {html.escape(part.title)};"' if part.title else ""
                return f"<{part.text}{style}>{self.write_parts(part.children)}</{part.text}>"
            case _:
                name = _MARKS[part.kind]
                return f"<{name}>{self.write_parts(part.children)}</{name}>"

    def write_raw(self, part: Inline) -> str:
        """Write raw markup, which is text here."""
        return f"<code>{escape(part.text)}</code>"

    def write_link(self, part: Inline) -> str:
        """Write a link; one whose address could run a program is its text."""
        text = self.write_parts(part.children)
        if not _ADDRESS.match(part.address):
            return text
        return f'<a href="{html.escape(part.address)}">{text or escape(part.address)}</a>'

    def write_image(self, part: Inline) -> str:
        """Write an image."""
        if not _ADDRESS.match(part.address):
            return escape(part.text)
        return f'<img src="{html.escape(part.address)}" alt="{html.escape(part.text)}"/>'
