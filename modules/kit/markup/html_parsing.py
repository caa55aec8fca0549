"""HTML as people and programs write it, read as tolerantly as a browser reads it, in linear time.

The standard library's parser needs quadratic time for some broken texts in the versions that MCPist runs on.
"""

import html
import re

from modules.kit.markup.markup_lines import LINE, LIST_LEVELS, LineElement, RowElement, build_cell_pattern, find_list
from modules.kit.markup.markup_tree import MAX_DEPTH, Element
from modules.kit.turns import count_work

_TAG_WORK = 20
"""What a tag costs beside the characters before it (see `turns.py`)."""

_TAG = re.compile(r"<(/?)([A-Za-z][^\s/>]*+)((?:[^>=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+'|(?![\"'])[^\s>]*+))*+)>")
_USUAL = re.compile(
    r"([^<]*+)<(?:([a-z][a-z0-9]*+)((?:\s++[a-z-]++=\"[^\"<>&]*+\")*+)>(?:([^<&]++)</\2>)?+|/([a-z][a-z0-9]*+)>)"
)
"""A text and a tag, or an element with a text and nothing else, as programs write them."""
_TEXT_AND_LINE = re.compile(
    rf"([^<]*+)<(?:(li|p|h[1-6])>({LINE})(?:(</\2>)|(?=<[uo]l>))|tr>({build_cell_pattern()})</tr>|(?=([uo]l)>))"
)
"""A text and an element with a line, or a row of lines, or what may be a list of lines."""
_END = re.compile(r"</([A-Za-z]++)\s*+>")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_ATTRIBUTE = re.compile(r"([^\s\"'>/=]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s\"'>]++)))?")
_VOID = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
_RAW = frozenset({"script", "style", "template", "noscript", "title", "head", "iframe", "object", "svg", "math"})
"""Elements whose content no reader sees as text, or cannot."""
_CELLS = frozenset({"td", "th"})
_CLOSED_BY = {
    "li": frozenset({"li"}), "tr": _CELLS | {"tr"}, "td": _CELLS, "th": _CELLS, "tbody": _CELLS | {"thead", "tr"},
    "dt": frozenset({"dt", "dd"}), "dd": frozenset({"dt", "dd"}),
}  # fmt: skip
"""Elements that the beginning of another closes, unless a list or a table stands between."""
_USUAL_PARENTS = {"li": "ul", "td": "tr", "th": "tr", "tr": "tbody"}
"""Where nothing has to be closed: a row or a part of a table is never within what it would close."""
_BOUNDARIES = frozenset({"ul", "ol", "table", "dl"})
_CLOSE_PARAGRAPH = """
    address article aside blockquote details div dl fieldset footer form h1 h2 h3 h4 h5 h6 header hr main nav ol pre
    p section table ul
"""
_CLOSES_P = frozenset(_CLOSE_PARAGRAPH.split())
_CLOSING = _CLOSES_P | _CLOSED_BY.keys()


def parse_html(text: str) -> Element:
    """Parse HTML. Comments and what is no content (scripts, styles, the head) are left out. Linear in the length."""
    return _HtmlParser(text).parse()


def decode_entities(text: str) -> str:
    """`text` with the characters that its references stand for; those of absurd length stay."""
    return _ENTITY.sub(lambda found: html.unescape(found[0]), text) if "&" in text else text


class _HtmlParser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.root = Element("")
        self.path = [self.root]

    def parse(self) -> Element:
        """The tree; whatever is not closed hides the rest, as in a browser."""
        match_line, match, text, place = _TEXT_AND_LINE.match, _USUAL.match, self.text, 0
        while place < len(text):
            line = match_line(text, place)
            if line is not None and (end := self._add_line(line)):
                place = end
                continue
            token = match(text, place)
            end = self._read_odd(place) if token is None else self._read_usual(token)
            if end is None:
                return self.root
            place = end
        return self.root

    def _add_line(self, found: "re.Match[str]") -> int:
        """Add a text and an element with a line; its end, 0 where it has to be looked at closely."""
        between, name, line, closing, cells, list_name = found.groups()
        path = self.path
        if len(path) > MAX_DEPTH - LIST_LEVELS:
            return 0
        end = found.end()
        if list_name:
            whole = find_list(self.text, end - 1)
            if whole is None:
                return 0
            element, end = whole
            name = list_name
        elif cells:
            if "<td>" in cells and "<th>" in cells:
                return 0
            name, element = "tr", RowElement(cells)
        elif closing:
            element = LineElement(name, line)
        elif name == "li":
            element = Element("li", {}, [LineElement("", line)])
        else:
            return 0
        self._add_text(between)
        self._close_for(name)
        path[-1].children.append(element)
        if name == "li" and not closing:
            path.append(element)
        return end

    def _add_text(self, text: str) -> None:
        count_work(_TAG_WORK + len(text) // 8)
        if text:
            self.path[-1].children.append(decode_entities(text) if "&" in text else text)

    def _read_usual(self, token: "re.Match[str]") -> int | None:
        """Read a text and the tag or element behind it; the end, None for what has no end."""
        between, name, attributes, content, ended = token.groups()
        path = self.path
        self._add_text(between)
        if ended:
            if path[-1].name == ended:
                path.pop()
            else:
                self._close(ended)
        elif name in _RAW:
            return self._skip_content(name, token.end(3) + 1)
        elif content is None or name in _VOID or len(path) >= MAX_DEPTH:
            self._open(name, attributes)
            return token.end(3) + 1
        else:
            if name in _CLOSING:
                self._close_for(name)
            path[-1].children.append(Element(name, _read_attributes(attributes) if attributes else {}, [content]))
        return token.end()

    def _read_odd(self, place: int) -> int | None:
        """Read a text and what is behind it, whatever it is; the end, None for what has no end."""
        found = self.text.find("<", place)
        end = found if found >= 0 else len(self.text)
        if end > place:
            self.path[-1].children.append(decode_entities(self.text[place:end]))
        if found < 0:
            return None
        count_work(_TAG_WORK + (found - place) // 8)
        tag = _TAG.match(self.text, found)
        return self._read_tag(tag) if tag else self._skip_markup(found)

    def _read_tag(self, tag: "re.Match[str]") -> int | None:
        """The end of a tag, or of an element that nobody sees; None for what has no end."""
        is_end, name, attributes = tag.groups()
        name = name.lower()
        if is_end:
            if self.path[-1].name == name:
                self.path.pop()
            else:
                self._close(name)
        elif name in _RAW:
            return self._skip_content(name, tag.end())
        else:
            self._open(name, attributes)
        return tag.end()

    def _skip_markup(self, place: int) -> int | None:
        """The end of a comment, a declaration or a sign that is none of them; None for what has no end."""
        following = self.text[place + 1 : place + 2]
        if not (following.isalpha() or following in ("/", "!", "?")):
            self.path[-1].children.append("<")
            return place + 1
        if self.text.startswith("<!--", place):
            end = self.text.find("-->", place + 2)
            return end + 3 if end >= 0 else None
        return None if following.isalpha() else self.text.find(">", place) + 1 or None

    def _skip_content(self, name: str, place: int) -> int | None:
        """The end of an element that nobody sees, None for none."""
        return next((one.end() for one in _END.finditer(self.text, place) if one[1].lower() == name), None)

    def _open(self, name: str, attributes: str) -> None:
        path = self.path
        self._close_for(name)
        element = Element(name, _read_attributes(attributes) if attributes else {}, [])
        path[-1].children.append(element)
        if name not in _VOID and len(path) <= MAX_DEPTH:
            path.append(element)

    def _close_for(self, name: str) -> None:
        """Close what the beginning of an element ends."""
        if name in _CLOSED_BY:
            if self.path[-1].name != _USUAL_PARENTS.get(name):
                self._close_up_to_boundary(_CLOSED_BY[name])
        elif name in _CLOSES_P and self.path[-1].name == "p":
            self.path.pop()

    def _close(self, name: str) -> None:
        for number in range(len(self.path) - 1, 0, -1):
            if self.path[number].name == name:
                del self.path[number:]
                return

    def _close_up_to_boundary(self, names: frozenset[str]) -> None:
        outermost = 0
        for number in range(len(self.path) - 1, 0, -1):
            if self.path[number].name in _BOUNDARIES:
                break
            if self.path[number].name in names:
                outermost = number
        if outermost:
            del self.path[outermost:]


def _read_attributes(attributes: str) -> dict[str, str]:
    return {
        one[1].lower(): decode_entities(one[2] or one[3] or one[4] or "") for one in _ATTRIBUTE.finditer(attributes)
    }
