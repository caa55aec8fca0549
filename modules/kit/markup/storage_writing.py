"""Markdown as Confluence's storage format: what `storage_reading.py` writes, and any CommonMark."""

import re
from collections.abc import Sequence
from datetime import date
from html import escape
from urllib.parse import unquote

from modules.kit.errors import ToolError
from modules.kit.markup.html_writing import COLOR, TAGS, HtmlWriter, ItemRun, remove_illegal
from modules.kit.markup.markdown_blocks import parse_tree
from modules.kit.markup.markdown_inline import parse_inline
from modules.kit.markup.markdown_runs import Inline, InlineDialect, Mark, get_text
from modules.kit.markup.markdown_tree import Container, Leaf
from modules.kit.markup.markup_tree import MalformedMarkupError
from modules.kit.markup.storage_formatting import PANELS
from modules.kit.markup.storage_links import IMAGE_HINTS
from modules.kit.markup.storage_reading import Piece
from modules.kit.markup.xml_parsing import parse_xml
from modules.kit.turns import count_each

MAX_LENGTH = 500_000
"""Of the Markdown of one call."""

_PANEL = re.compile(r"\[!([A-Za-z]{1,20})\](?: (.*))?$")
_ALIASES = {"important": "note", "caution": "warning"}
_RAW_FENCE = "{=storage}"
_SPECIAL_STARTS = ("`", "!")
"""What a paragraph begins with that is nothing but markup or a picture."""
_HINT = re.compile(r"(width|height|align|layout|border|thumbnail)=([A-Za-z0-9._-]{1,30})")
_DAY = re.compile(r"date:([0-9]{4}-[0-9]{2}-[0-9]{2})")


def convert_markdown_to_storage(markdown: str) -> str:
    """Convert Markdown to the storage format.

    Raises:
        ToolError: it is too long, or markup of the storage format in it is broken; the text says what to do.
    """
    if len(markdown) > MAX_LENGTH:
        raise ToolError(f"the Markdown has {len(markdown)} characters: send at most {MAX_LENGTH} at once")
    writer = StorageWriter()
    storage = "".join(writer.write_blocks(parse_tree(remove_illegal(markdown))))
    if writer.has_raw:
        _check(storage)
    return storage


def replace_markdown(pieces: Sequence[Piece], markdown: str) -> str:
    """The storage format of a document whose Markdown becomes another: blocks at its start and its end that stay the
    same are kept byte for byte.

    Raises:
        ToolError: see :func:`convert_markdown_to_storage`.
    """
    if len(markdown) > MAX_LENGTH:
        raise ToolError(f"the Markdown has {len(markdown)} characters: send at most {MAX_LENGTH} at once")
    text = markdown.replace("\r\n", "\n").strip("\n")
    first, start = 0, 0
    while first < len(pieces) and _is_block_at(text, pieces[first].markdown, start):
        start += len(pieces[first].markdown) + 2 if pieces[first].markdown else 0
        first += 1
    last, end = len(pieces), len(text)
    while last > first and (begin := _find_block_before(text, pieces[last - 1].markdown, end)) >= start:
        end = begin
        last -= 1
    middle = "".join(StorageWriter().write_blocks(parse_tree(remove_illegal(text[start:end]))))
    storage = "".join([*(one.source for one in pieces[:first]), middle, *(one.source for one in pieces[last:])])
    _check(storage)
    return storage


def _is_block_at(text: str, block: str, place: int) -> bool:
    if not block:
        return True
    return text.startswith(block, place) and text[place + len(block) : place + len(block) + 2] in ("", "\n\n")


def _find_block_before(text: str, block: str, end: int) -> int:
    """Where a block that ends at `end` begins, with the blank line before it; -1 where it is another one."""
    if not block:
        return end
    begin = end - len(block)
    if begin < 0 or not text.endswith(block, 0, end):
        return -1
    return begin if begin == 0 else begin - 2 if text[begin - 2 : begin] == "\n\n" else -1


def _check(storage: str) -> None:
    try:
        parse_xml(storage)
    except MalformedMarkupError as error:
        raise ToolError(
            f"the markup `{_RAW_FENCE}` in the Markdown is not well-formed ({error}): keep it as it was read, "
            "both lines of one that begins and ends, or leave it out"
        ) from None


_MOST_LEVELS = 20
"""Of blocks in blocks that are certain to make no more elements in elements than a document may have."""


class StorageWriter(HtmlWriter):
    """Writes a tree of Markdown in the storage format. `has_raw` says that what it wrote may not be well-formed, or too
    deep."""

    dialect = InlineDialect(TAGS, COLOR, has_raw=True)

    def __init__(self) -> None:
        self.has_raw = False
        self._level = 0

    def write_blocks(self, parts: Sequence[Container | Leaf]) -> list[str]:
        """Write blocks, each by itself."""
        self._level += 1
        self.has_raw = self.has_raw or self._level > _MOST_LEVELS
        made = super().write_blocks(parts)
        self._level -= 1
        return made

    def write_quote(self, quote: Container) -> str:
        """Write a quote or a panel."""
        first = quote.parts[0] if quote.parts else None
        found = None
        if isinstance(first, Leaf) and first.kind == "paragraph" and not first.table_rule:
            found = _PANEL.match(first.lines[0].text.rstrip())
        name = _ALIASES.get(found[1].lower(), found[1].lower()) if found else ""
        if found is None or name not in PANELS or not isinstance(first, Leaf):
            return super().write_quote(quote)
        del first.lines[0]
        parts = quote.parts if first.lines else quote.parts[1:]
        title = _write_parameter("title", get_text(parse_inline(found[2].strip(), self.dialect))) if found[2] else ""
        body = "".join(self.write_blocks(parts))
        return _write_macro(name, f"{title}<ac:rich-text-body>{body}</ac:rich-text-body>")

    def write_list(self, run: ItemRun) -> str:
        """Write a list, or tasks."""
        if run.tasks[0] is None:
            return super().write_list(run)
        tasks = "".join(
            f"<ac:task><ac:task-status>{'complete' if is_done else 'incomplete'}</ac:task-status>"
            f"<ac:task-body>{self.write_item(item.parts)}</ac:task-body></ac:task>"
            for item, is_done in zip(count_each(run.items), run.tasks, strict=True)
        )
        return f"<ac:task-list>{tasks}</ac:task-list>"

    def is_special(self, text: str) -> bool:
        """Check whether a paragraph's text is a picture or markup alone."""
        if text[:1] not in _SPECIAL_STARTS:
            return not text
        return all(one.kind in ("raw", "image") for one in parse_inline(text, self.dialect))

    def write_text(self, text: str) -> str:
        """Write a paragraph; a picture or markup that stands alone is in none."""
        if text[:1] not in _SPECIAL_STARTS:
            return super().write_text(text)
        runs = parse_inline(text, self.dialect)
        if [one.kind for one in runs] == ["image"] or all(one.kind == "raw" for one in runs):
            return self.write_runs(runs)
        return super().write_text(text)

    def write_code(self, word: str, code: str) -> str:
        """Write the macro of code, or markup as it is."""
        if word == _RAW_FENCE:
            self.has_raw = True
            return code
        body = code.replace("]]>", "]]]]><![CDATA[>")
        language = _write_parameter("language", word) if word else ""
        return _write_macro("code", f"{language}<ac:plain-text-body><![CDATA[{body}]]></ac:plain-text-body>")

    def write_cell(self, text: str) -> str:
        """Write a cell, which holds a paragraph."""
        return f"<p>{self.write_inline(text)}</p>" if text else "<p/>"

    def write_run(self, run: Inline) -> str:
        """Write a run without its marks; markup as it is."""
        if run.kind != "raw":
            return super().write_run(run)
        if run.value != "storage":
            return f"<code>{escape(run.text, quote=False)}</code>"
        self.has_raw = True
        return run.text

    def write_link(self, mark: Mark, inner: str, runs: Sequence[Inline]) -> str:
        """Write a link to an address or to something in Confluence."""
        kind, _, name = mark.value.partition(":")
        if day := _DAY.fullmatch(mark.value):
            _check_day(day[1])
            return f'<time datetime="{day[1]}"/>'
        target, default = "", ""
        match kind:
            case "page":
                target, default = _write_page(name)
            case "user":
                target = f'<ri:user ri:account-id="{_quote(name)}"/>'
            case "space":
                target, default = f'<ri:space ri:space-key="{_quote(name)}"/>', unquote(name)
            case "attachment":
                target, default = f'<ri:attachment ri:filename="{_quote(name)}"/>', unquote(name)
            case _ if not mark.value.startswith("#"):
                return super().write_link(mark, inner, runs)
            case _:
                default = ""
        anchor = mark.value.partition("#")[2] if kind == "page" or not target else ""
        text = "" if kind == "user" or get_text(runs) == default else inner
        body = f"<ac:link-body>{text}</ac:link-body>" if text else ""
        attribute = f' ac:anchor="{_quote(anchor)}"' if anchor else ""
        return f"<ac:link{attribute}>{target}{body}</ac:link>"

    def write_image(self, run: Inline) -> str:
        """Write a picture from an address or an attachment."""
        hints = dict(_HINT.findall(run.title))
        attributes = {f"ac:{name}": value for name, value in hints.items() if f"ac:{name}" in IMAGE_HINTS}
        if run.text:
            attributes = {"ac:alt": run.text, **attributes}
        written = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())
        kind, _, name = run.value.partition(":")
        if kind == "attachment":
            return f'<ac:image{written}><ri:attachment ri:filename="{_quote(name)}"/></ac:image>'
        if kind not in ("http", "https"):
            raise ToolError(
                "an image needs an address that begins with https:// or attachment:, such as attachment:a.png"
            )
        return f'<ac:image{written}><ri:url ri:value="{escape(run.value)}"/></ac:image>'


def _quote(name: str) -> str:
    return escape(unquote(name))


def _write_page(name: str) -> tuple[str, str]:
    space, _, title = name.partition("#")[0].rpartition("/")
    key = f' ri:space-key="{_quote(space)}"' if space else ""
    return f'<ri:page{key} ri:content-title="{_quote(title)}"/>', unquote(title)


def _write_parameter(name: str, value: str) -> str:
    return f'<ac:parameter ac:name="{name}">{escape(value, quote=False)}</ac:parameter>'


def _write_macro(name: str, content: str) -> str:
    return f'<ac:structured-macro ac:name="{name}" ac:schema-version="1">{content}</ac:structured-macro>'


def _check_day(text: str) -> None:
    try:
        date.fromisoformat(text)
    except ValueError:
        raise ToolError(f"date:{text} is no day: write [](date:2026-01-31)") from None
