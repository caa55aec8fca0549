"""Elements that hold lines of words with simple marks, as most paragraphs, items, lists and rows of tables do.

One match of a pattern checks that nothing in the line has to be escaped, joined or left out, so that its Markdown is
made by replacing tags; it becomes a tree only where somebody asks for its children.
"""

import re

from modules.kit.markup.markup_tree import Element
from modules.kit.turns import count_each, count_work

# What Markdown, HTML or XML could read otherwise is in no line: signs, white space but single spaces, references, and
# characters that XML may not hold.
_SIGNLESS = r"[^\s\\`*\[\]~<_&{|!\x00-\x1f\ud800-\udfff\ufffe\uffff]++|!(?!<a )|(?<=[^\W_])_(?=[^\W_])"
_TEXT = rf"(?:{_SIGNLESS}| (?! )){{1,1000}}+"
_WORDS = rf"(?:{_SIGNLESS}| (?![ <]))++"
_MARKED = (
    rf"<(?:strong>(?! ){_WORDS}</strong|em>(?! ){_WORDS}</em|code>(?! ){_WORDS}</code"
    rf"|del>(?! ){_WORDS}</del"
    rf"|a href=\"https?://[^\s\"<>()\\&]++\">(?! ){_WORDS}</a|b>(?! ){_WORDS}</b|i>(?! ){_WORDS}</i)>"
)
LINE = rf"(?![0-9]{{1,9}}[.)](?:[ <]|$))(?=[^\W_]|<[a-z])(?:{_TEXT}|{_MARKED}(?!<(?!/|[uo]l>))){{1,60}}+(?<! )"
"""The pattern of a line: it begins with a word or a mark, and two marks have text between them. It is short: a
match is never divided between turns of the loop."""


def build_cell_pattern(attributes: str = "") -> str:
    """The pattern of cells that are lines or empty; `attributes` is that of attributes that say nothing."""
    content = rf"(?:<p{attributes}>(?:{LINE})?+</p>|<p{attributes} ?/>|{LINE})?+"
    return rf"(?:<td{attributes}>{content}</td>|<th{attributes}>{content}</th>)++"


ATTRIBUTES = r"(?: (?:ac:)?local-id=\"[\w-]*+\")?+"
"""The pattern of attributes that say nothing."""
_TAG_WITH_ATTRIBUTE = re.compile(r"(<[a-z]++[1-6]?+) (?:ac:)?local-id=\"[\w-]*+\"")
_ITEM = rf"<li{ATTRIBUTES}>(?:<p{ATTRIBUTES}>{LINE}</p>|{LINE})"
_LIST_OF_LINES = re.compile(
    rf"<([uo]l){ATTRIBUTES}>(?:{_ITEM}(?:<([uo]l){ATTRIBUTES}>(?:{_ITEM}</li>)++</\2>)?+</li>)++</\1>"
)
_MOST_AT_ONCE = 10_000
"""Characters of a list that is matched as a whole."""
LIST_LEVELS = 6
"""Elements in each other that such a list is."""

_PARTS = re.compile(
    r"<li>(<p>)?+([^<]*+(?:<(?!/?li>|/p>|[uo]l>)[^<]*+)*+)(?:</p>)?+"
    r"(?:(<[uo]l>)((?:<li>[^<]*+(?:<(?!/?li>)[^<]*+)*+</li>)++)</[uo]l>)?+</li>"
)
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


class ListElement(Element):
    """A list whose items are lines, behind which may be a list of lines. Its children are parsed when asked for."""

    __slots__ = ("source",)

    def __init__(self, name: str, source: str) -> None:
        self.name, self.source = name, source
        self.attributes, self.start, self.end = {}, 0, 0

    def __getattr__(self, name: str) -> "list[Element | str]":
        if name != "children":
            raise AttributeError(name)
        self.children = [_make_item(*one.groups()) for one in _PARTS.finditer(self.source)]
        return self.children

    def count_levels(self) -> int:
        """Elements in each other below it, down to its items, whose lines are not looked into."""
        source = self.source
        return 3 if source.find("<ul>", 1) > 0 or source.find("<ol>", 1) > 0 else 1

    def format_items(self, sign: str) -> list[str]:
        """The items as Markdown, each of its lines by itself; `sign` is the bullet, or what stands behind a number."""
        is_bullets = self.name == "ul"
        lines: list[str] = []
        marker = sign
        for number, (_, line, inner, items) in enumerate(count_each(_PARTS.findall(self.source)), 1):
            if not is_bullets:
                marker = f"{number}{sign}"
            shown = format_line(line)
            lines.append(f"{marker} {shown}")
            if not inner:
                continue
            if shown[0] == "<":
                lines.append("")  # behind an address that is its own text
            indent = " " * (len(marker) + 1)
            for count, one in enumerate(_split_items(items), 1):
                lines.append(f"{indent}{'-' if inner == '<ul>' else f'{count}.'} {format_line(one)}")
        return lines


def drop_attributes(source: str) -> str:
    """The source of lines without attributes that say nothing."""
    return _TAG_WITH_ATTRIBUTE.sub(r"\1", source) if "local-id=" in source else source


def find_list(text: str, place: int) -> "tuple[ListElement, int] | None":
    """The list of lines that begins at `place`, and where it ends; None for a long one, and for any other."""
    found = _LIST_OF_LINES.match(text, place, place + _MOST_AT_ONCE)
    if found is None:
        return None
    count_work((found.end() - place) // 4)
    return ListElement(found[1], drop_attributes(found[0])), found.end()


def _split_items(items: str) -> list[str]:
    """The lines of a list without lists in it."""
    if "<p>" in items:
        items = items.replace("<p>", "").replace("</p>", "")
    return items[4:-5].split("</li><li>")


def _make_item(paragraph: str | None, line: str, inner: str | None, items: str | None) -> Element:
    if not inner:
        return LineElement("li", line, is_wrapped=paragraph is not None)
    name = inner[1:3]
    return Element(
        "li", {}, [LineElement("p" if paragraph else "", line), ListElement(name, f"{inner}{items}</{name}>")]
    )


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
    line = line.replace("<em>", "*").replace("</em>", "*").replace("<del>", "~~").replace("</del>", "~~")
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
