"""Elements that hold one line of words with simple marks, as most paragraphs, items and rows of tables do.

One match of a pattern checks that nothing in the line has to be escaped, joined or left out, so that its Markdown is
made by replacing tags; it becomes a tree only where somebody asks for its children.
"""

import re

from modules.kit.markup.markup_tree import Element

# What Markdown, HTML or XML could read otherwise is in no line: signs, white space but single spaces, references, and
# characters that XML may not hold.
_SIGNLESS = r"[^\s\\`*\[\]~<_&{|!\x00-\x1f\ud800-\udfff\ufffe\uffff]++|!(?!<a )|(?<=[^\W_])_(?=[^\W_])"
_TEXT = rf"(?:{_SIGNLESS}| (?! )){{1,1000}}+"
_WORDS = rf"(?:{_SIGNLESS}| (?![ <]))++"
_MARKED = (
    rf"<(?:strong>(?! ){_WORDS}</strong|em>(?! ){_WORDS}</em|code>(?! ){_WORDS}</code"
    rf"|a href=\"https?://[^\s\"<>()\\&]++\">(?! ){_WORDS}</a|b>(?! ){_WORDS}</b|i>(?! ){_WORDS}</i)>"
)
LINE = rf"(?![0-9]{{1,9}}[.)](?:[ <]|$))(?=[^\W_]|<[a-z])(?:{_TEXT}|{_MARKED}(?!<(?!/|[uo]l>))){{1,60}}+(?<! )"
"""The pattern of a line: it begins with a word or a mark, and two marks have text between them. It is short: a
match is never divided between turns of the loop."""


def build_cell_pattern(attributes: str = "") -> str:
    """The pattern of cells that are lines or empty; `attributes` is that of attributes that say nothing."""
    content = rf"(?:<p{attributes}>(?:{LINE})?+</p>|<p{attributes} ?/>|{LINE})?+"
    return rf"(?:<td{attributes}>{content}</td>|<th{attributes}>{content}</th>)++"


_TOKEN = re.compile(r"([^<]++)|<([a-z]++)(?: href=\"([^\"]*+)\")?+>([^<]++)</[a-z]++>")
_LINK = re.compile(r"<a href=\"([^\"]*+)\">([^<]++)</a>")
_CELL = re.compile(r"<(t[dh])>(<p>)?+([^<]*+(?:<(?!/?t[dh]>|/p>)[^<]*+)*+)(?:</p>)?+</t[dh]>")


class LineElement(Element):
    """An element with a line; `is_wrapped`: with a paragraph that has it. Without a name it is but the line, in an
    element with other content. Its children are parsed when asked for."""

    __slots__ = ("is_wrapped", "line")

    def __init__(self, name: str, line: str, *, is_wrapped: bool = False) -> None:
        self.name, self.line, self.is_wrapped = name, line, is_wrapped
        self.attributes, self.start, self.end = {}, 0, 0

    def __getattr__(self, name: str) -> "list[Element | str]":
        if name != "children":
            raise AttributeError(name)
        self.children = [LineElement("p", self.line)] if self.is_wrapped else _parse_line(self.line)
        return self.children

    def format(self) -> str:
        """The line as Markdown."""
        return format_line(self.line)


class RowElement(Element):
    """A row of a table whose cells are lines, or empty, and all `td` or all `th`. Its children are parsed when asked
    for."""

    __slots__ = ("source",)

    def __init__(self, source: str) -> None:
        self.name, self.source = "tr", source
        self.attributes, self.start, self.end = {}, 0, 0

    def __getattr__(self, name: str) -> "list[Element | str]":
        if name != "children":
            raise AttributeError(name)
        self.children = [_make_cell(*one.groups()) for one in _CELL.finditer(self.source)]
        return self.children

    @property
    def cell_name(self) -> str:
        """The name of each of its cells."""
        return self.source[1:3]

    def format_cells(self) -> list[str]:
        """The cells as Markdown."""
        source = self.source
        if "<p" in source:
            source = source.replace("<p>", "").replace("</p>", "").replace("<p/>", "").replace("<p />", "")
        cells = source[4:-5].split("</td><td>" if source[2] == "d" else "</th><th>")
        return [format_line(cell) for cell in cells] if source.count("<") > 2 * len(cells) else cells


def format_line(line: str) -> str:
    """A line as Markdown."""
    if "<" not in line:
        return line
    line = line.replace("<strong>", "**").replace("</strong>", "**").replace("<code>", "`").replace("</code>", "`")
    line = line.replace("<em>", "*").replace("</em>", "*")
    if "<" not in line:
        return line
    line = line.replace("<b>", "**").replace("</b>", "**").replace("<i>", "*").replace("</i>", "*")
    return _LINK.sub(_format_link, line)


def _format_link(found: "re.Match[str]") -> str:
    address, text = found.groups()
    return f"<{address}>" if text == address else f"[{text}]({address})"


def _parse_line(line: str) -> list[Element | str]:
    children: list[Element | str] = []
    for text, name, address, words in _TOKEN.findall(line):
        children.append(text or Element(name, {"href": address} if address else {}, [words]))
    return children


def _make_cell(name: str, paragraph: str | None, line: str) -> Element:
    if line and line[:2] != "<p":
        return LineElement(name, line, is_wrapped=paragraph is not None)
    return Element(name, {}, [Element("p")] if line or paragraph else [])
