"""Markdown as HTML: what `html_reading.py` writes, and any other CommonMark with tables and tasks.

    convert_markdown_to_html("Call **Ada**")  ->  "<p>Call <strong>Ada</strong></p>"

HTML in the Markdown is text but for a few tags (`<br>`, `<u>`, `<sub>`): nothing is written that was not said here.
"""

import html
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from modules.kit.markup.markdown_blocks import parse_tree
from modules.kit.markup.markdown_inline import parse_inline
from modules.kit.markup.markdown_runs import Inline, InlineDialect, Mark
from modules.kit.markup.markdown_tokens import UsualPart, divide_usual, read_code
from modules.kit.markup.markdown_tree import (
    Container,
    ItemList,
    Leaf,
    get_code,
    get_heading_text,
    get_paragraph_text,
    get_table,
    group_items,
)
from modules.kit.turns import count_each, count_work

_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_ADDRESS = re.compile(r"(?:https?|mailto|tel|ftp|sip|callto|file)?:|[/#?]|[^:\s]*+$", re.IGNORECASE)
_FEW = 100
"""Runs whose writing is not counted: their parsing was."""
_TASK = re.compile(r"\[([ xX])\](?:[ \t]+|$)")
_BOXES = {None: "", False: "☐ ", True: "☑ "}
_STYLES = {"color": "color", "background": "background-color"}
TAGS = frozenset({"u", "ins", "sub", "sup", "small", "big", "b", "strong", "i", "em", "s", "del", "span"})
COLOR = re.compile(r"[A-Za-z0-9#(), .%]{1,40}")
_DIALECT = InlineDialect(TAGS, COLOR)


def convert_markdown_to_html(markdown: str) -> str:
    """Convert Markdown to HTML, without line breaks between blocks. The time is linear in the length."""
    return "".join(HtmlWriter().write_blocks(parse_tree(remove_illegal(markdown))))


def remove_illegal(text: str) -> str:
    """`text` without characters that neither HTML nor XML may hold."""
    return _ILLEGAL.sub("", text)


def escape(text: str) -> str:
    """`text` as that of an element."""
    return html.escape(text, quote=False)


class ItemRun(NamedTuple):
    """Items of one list of HTML. `tasks` says of each whether it is done, None where it is no task; none or all are."""

    name: str
    start: int
    items: list[Container]
    tasks: list[bool | None]


class HtmlWriter:
    """Writes a tree of Markdown as HTML; one for another kind of markup overrides what it has besides."""

    dialect = _DIALECT

    def write_blocks(self, parts: Sequence[Container | Leaf]) -> list[str]:
        """Write blocks, each by itself."""
        made: list[str] = []
        for part in group_items(parts):
            if isinstance(part, Leaf):
                made += self.write_leaf(part)
            elif isinstance(part, ItemList):
                made += [self.write_list(run) for run in _divide_items(part)]
            elif part.kind == "quote":
                made.append(self.write_quote(part))
            else:
                made.append(f"<p>{escape(f'[^{part.marker}]: ')}</p>{''.join(self.write_blocks(part.parts))}")
        return made

    def write_quote(self, quote: Container) -> str:
        """Write a quote."""
        return f"<blockquote>{''.join(self.write_blocks(quote.parts))}</blockquote>"

    def write_list(self, run: ItemRun) -> str:
        """Write a list; a task shows a box."""
        start = f' start="{run.start}"' if run.name == "ol" and run.start != 1 else ""
        written = "".join(
            [
                f"<li>{_BOXES[task]}{self.write_item(item.parts)}</li>"
                for item, task in zip(count_each(run.items), run.tasks, strict=True)
            ]
        )
        return f"<{run.name}{start}>{written}</{run.name}>"

    def write_item(self, parts: Sequence[Container | Leaf]) -> str:
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
        width = max(map(len, rows))
        made = [self._write_row(rows[0], "th", width)] if any(rows[0]) else []
        made += [self._write_row(row, "td", width) for row in count_each(rows[1:])]
        return f"<table><tbody>{''.join(made)}</tbody></table>"

    def _write_row(self, row: Sequence[str], name: str, width: int) -> str:
        cells = [f"<{name}>{self.write_cell(cell)}</{name}>" for cell in (*row, *[""] * (width - len(row)))]
        return f"<tr>{''.join(cells)}</tr>"

    def write_cell(self, text: str) -> str:
        """Write what is in a cell of a table."""
        return self.write_inline(text)

    def write_inline(self, text: str) -> str:
        """Write inline Markdown."""
        divided = None if "&" in text or ">" in text else divide_usual(text)
        return self.write_runs(parse_inline(text, self.dialect)) if divided is None else _write_usual(*divided)

    def write_runs(self, runs: Sequence[Inline], depth: int = 0) -> str:
        """Write parsed inline Markdown; the first `depth` marks of each run are written already."""
        made: list[str] = []
        number = 0
        while number < len(runs):
            run = runs[number]
            if number > _FEW:
                count_work(20)
            if len(run.marks) <= depth:
                made.append(self.write_run(run))
                number += 1
                continue
            mark, first = run.marks[depth], number
            while number < len(runs) and len(runs[number].marks) > depth and runs[number].marks[depth] is mark:
                number += 1
            within = runs[first:number]
            made.append(self.write_mark(mark, self.write_runs(within, depth + 1), within))
        return "".join(made)

    def write_run(self, run: Inline) -> str:
        """Write a run without its marks."""
        match run.kind:
            case "code":
                return f"<code>{escape(run.text)}</code>"
            case "break":
                return "<br/>"
            case "line":
                return " "
            case "image":
                return self.write_image(run)
            case _:
                return escape(run.text)

    def write_mark(self, mark: Mark, inner: str, runs: Sequence[Inline]) -> str:
        """Write a mark around what is written of its runs."""
        if mark.name == "link":
            return self.write_link(mark, inner, runs)
        if mark.name in _STYLES:
            return f'<span style="{_STYLES[mark.name]}: {html.escape(mark.value)};">{inner}</span>'
        name = "del" if mark.name == "strike" else mark.name
        return f"<{name}>{inner}</{name}>"

    def write_link(self, mark: Mark, inner: str, _runs: Sequence[Inline]) -> str:
        """Write a link; one whose address could run a program is its text."""
        return f'<a href="{html.escape(mark.value)}">{inner}</a>' if _ADDRESS.match(mark.value) else inner

    def write_image(self, run: Inline) -> str:
        """Write an image."""
        if not _ADDRESS.match(run.value):
            return escape(run.text)
        return f'<img src="{html.escape(run.value)}" alt="{html.escape(run.text)}"/>'


def _write_usual(start: str, parts: Iterator[UsualPart]) -> str:
    """Write inline Markdown that is divided into words with one mark, in which there is nothing to escape."""
    made = [start]
    for code, strong, em, words, address, struck, text in parts:
        if strong:
            made.append(f"<strong>{strong}</strong>{text}")
        elif code:
            made.append(f"<code>{read_code(code)}</code>{text}")
        elif words:
            made.append(f'<a href="{html.escape(address)}">{words}</a>{text}')
        elif em:
            made.append(f"<em>{em}</em>{text}")
        else:
            made.append(f"<del>{struck}</del>{text}")
    return "".join(made)


def _divide_items(part: ItemList) -> list[ItemRun]:
    """The items as lists of tasks and lists of none."""
    if part.sign in ".)":
        return [ItemRun("ol", part.start, part.items, [None] * len(part.items))]
    tasks = [_take_task(item) for item in part.items]
    if not any(task is not None for task in tasks):
        return [ItemRun("ul", 0, part.items, tasks)]
    runs: list[ItemRun] = []
    for _, group in groupby(zip(part.items, tasks, strict=True), key=lambda pair: pair[1] is None):
        pairs = list(group)
        runs.append(ItemRun("ul", 0, [item for item, _ in pairs], [task for _, task in pairs]))
    return runs


def _take_task(item: Container) -> bool | None:
    """Take the mark of a task out of an item; whether it is done, None for no task."""
    first = item.parts[0] if item.parts else None
    if not isinstance(first, Leaf) or first.kind != "paragraph" or first.table_rule:
        return None
    line = first.lines[0]
    found = _TASK.match(line.text) if line.text.startswith("[") else None
    if not found:
        return None
    first.lines[0] = line._replace(text=line.text[found.end() :])
    return found[1] != " "
