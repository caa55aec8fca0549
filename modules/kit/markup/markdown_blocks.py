"""The blocks of a Markdown text (CommonMark 0.31, with the tables and footnotes of GitHub's dialect), line by line.

Every line of the source belongs to one leaf and keeps its prefix, so that the source can be written again with changes.
Inline text is not parsed here. Time is linear: containers deeper than ``MAX_DEPTH`` are taken for text.
"""

import re

from modules.kit.markup.markdown_cursor import LineCursor
from modules.kit.markup.markdown_html import HTML_ALONE, HTML_KINDS
from modules.kit.markup.markdown_tree import Container, Leaf, LeafKind, SourceLine, find_cells
from modules.kit.turns import count_work

MAX_DEPTH = 100
_LINE = 25
"""What a line costs beside its characters, of which most are only copied here."""
_WORK_AT_ONCE = 500
"""How much work is counted together."""
_TAB = 4
_CODE_INDENT = 4

_HEADING = re.compile(r"(#{1,6})(?:[ \t]|$)")
_FENCE = re.compile(r"(`{3,}+)[^`]*$|(~{3,}+)")
_BREAK = re.compile(r"(?:(?:\*[ \t]*+){3,}+|(?:-[ \t]*+){3,}+|(?:_[ \t]*+){3,}+)$")
_UNDERLINE = re.compile(r"(=++|-++)[ \t]*+$")
_ITEM = re.compile(r"([-+*]|[0-9]{1,9}[.)])(?=[ \t]|$)")
_RULE = re.compile(r"\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*+$")
_FOOTNOTE = re.compile(r"\[\^[^\]\s]{1,200}\]:")
# A line of text, or of an item with text, that begins nothing else: a letter, bold text, code or a bracket comes first.
_USUAL = re.compile(r"( *+)(?:([-+*]|[0-9]{1,9}[.)]) )?+(?=[^\W\d_]|\*\*[^\W_]|`[^`]|\[[^^])")


class _Parser:
    """Reads line by line. `is_tree` says that only the tree is asked for: the leaves are not listed, and do not know
    what they are in."""

    __slots__ = ("containers", "is_tree", "leaf", "leaves", "parts", "path")

    def __init__(self, *, is_tree: bool) -> None:
        self.is_tree = is_tree
        self.containers: list[Container] = []
        self.path: tuple[Container, ...] = ()
        self.leaf: Leaf | None = None
        self.leaves: list[Leaf] = []
        self.parts: list[Container | Leaf] = []

    def add_line(self, line: str) -> None:
        usual = _USUAL.match(line)
        if (usual and self._add_usual(line, usual)) or (line[:1] == "|" and self._add_row(line)):
            return
        cursor = LineCursor(line)
        matched = self._match_containers(cursor)
        is_inside = matched == len(self.containers)
        if is_inside and self.leaf and self._continue_raw(self.leaf, cursor):
            return
        paragraph = self.leaf if self.leaf and self.leaf.kind == "paragraph" else None
        if paragraph is not None and paragraph.table_rule and not is_inside:
            paragraph = None
        is_table = paragraph is not None and paragraph.table_rule > 0
        opened = self._open_containers(cursor, matched, None if is_table else paragraph)
        # A paragraph goes on, lazily, in a line that lacks the marks of its containers but begins no other block.
        paragraph = paragraph if opened == matched else None
        start = cursor.column
        if self._open_leaf(cursor, opened, paragraph):
            return
        is_deep = cursor.column - start >= _CODE_INDENT
        if paragraph is not None:
            _add_text(paragraph, cursor.rest(), is_loose=not is_inside or is_deep)
            return
        self._close_to(opened)
        self._start("paragraph", cursor.rest())

    def _add_usual(self, line: str, usual: "re.Match[str]") -> bool:
        """Add a line of a kind that most texts have most of; false where it has to be looked at closely."""
        leaf, containers = self.leaf, self.containers
        if leaf is not None and leaf.kind != "paragraph":
            return False
        marker = usual[2]
        if marker is None:
            if containers or usual.end():
                return False
            if leaf is None:
                self._start("paragraph", SourceLine("", line))
            else:
                leaf.is_loose = False
                leaf.lines.append(SourceLine("", line))
            return True
        column, matched, opened = usual.end(1), 0, len(containers)
        for container in containers:
            if container.kind != "item":
                return False
            if column < container.indent:
                break
            column -= container.indent
            matched += 1
        if column >= _CODE_INDENT or matched == MAX_DEPTH:
            return False
        if matched == opened:
            if leaf is not None and not leaf.table_rule and marker[:-1] not in ("", "1"):
                return False
        else:
            del containers[matched:]
        item = Container("item", column + len(marker) + 1, marker, False, [])
        (containers[-1].parts if matched else self.parts).append(item)
        containers.append(item)
        end = usual.end()
        self._start("paragraph", SourceLine(line[:end], line[end:]))
        return True

    def _add_row(self, line: str) -> bool:
        """Add a row of a table that is in nothing else; false where there is none."""
        if self.containers or self.leaf is None or not self.leaf.table_rule:
            return False
        self.leaf.lines.append(SourceLine("", line))
        return True

    def _add_container(self, container: Container) -> None:
        (self.containers[-1].parts if self.containers else self.parts).append(container)
        self.containers.append(container)
        self.leaf = None

    def _match_containers(self, cursor: LineCursor) -> int:
        is_blank: bool | None = None
        for number, container in enumerate(self.containers):
            mark = cursor.mark()
            if container.kind == "quote":
                if cursor.skip_columns(_CODE_INDENT) == _CODE_INDENT or not cursor.line.startswith(">", cursor.place):
                    cursor.reset(mark)
                    return number
                cursor.advance(1)
                cursor.skip_columns(1)
                is_blank = None
                continue
            if is_blank is None:
                is_blank = cursor.is_blank
            is_short = cursor.skip_columns(container.indent) < container.indent
            # A list item that begins with a blank line ends with a second one.
            is_empty = number == len(self.containers) - 1 and not container.is_filled
            if is_short and (not is_blank or is_empty):
                cursor.reset(mark)
                return number
        return len(self.containers)

    def _continue_raw(self, leaf: Leaf, cursor: LineCursor) -> bool:
        """Add the line to an open fence or HTML block."""
        if leaf.kind == "fence":
            fence = leaf.lines[0].text
            mark = cursor.mark()
            if cursor.skip_columns(_CODE_INDENT) < _CODE_INDENT:
                closing = cursor.line[cursor.place :].rstrip(" \t")
                length = len(fence) - len(fence.lstrip(fence[0]))
                if len(closing) >= length and closing == fence[0] * len(closing):
                    leaf.is_closed, self.leaf = True, None
                    leaf.lines.append(cursor.rest())
                    return True
            cursor.reset(mark)
            cursor.skip_columns(leaf.level)
            leaf.lines.append(cursor.rest())
            return True
        if leaf.kind != "html" or (leaf.end is None and cursor.is_blank):
            return False
        leaf.lines.append(cursor.rest())
        if leaf.end and leaf.end.search(cursor.line, cursor.place):
            self.leaf = None
        return True

    def _open_containers(self, cursor: LineCursor, matched: int, paragraph: Leaf | None) -> int:
        while matched < MAX_DEPTH:
            mark = cursor.mark()
            indent = cursor.skip_columns(_CODE_INDENT)
            if indent == _CODE_INDENT:
                cursor.reset(mark)
                return matched
            container = self._read_container(cursor, indent, paragraph if matched == len(self.containers) else None)
            if container is None:
                cursor.reset(mark)
                return matched
            self._close_to(matched)
            self._add_container(container)
            matched, paragraph = matched + 1, None
        return matched

    def _read_container(self, cursor: LineCursor, indent: int, paragraph: Leaf | None) -> Container | None:
        """Read the start of a container that is indented by `indent` columns; `paragraph` is one that it would
        interrupt."""
        line, place = cursor.line, cursor.place
        if line.startswith(">", place):
            cursor.advance(1)
            cursor.skip_columns(1)
            return Container("quote")
        footnote = _FOOTNOTE.match(line, place)
        if footnote and not paragraph:
            cursor.advance(len(footnote[0]))
            return Container("footnote", _CODE_INDENT, footnote[0][2:-2])
        item = _ITEM.match(line, place)
        if not item or _BREAK.match(line, place):
            return None
        is_empty = not line[item.end() :].strip(" \t")
        if paragraph and (is_empty or item[1][:-1] not in ("", "1")):
            return None
        before = cursor.column
        cursor.advance(len(item[1]))
        inner = cursor.mark()
        if is_empty or cursor.skip_columns(_CODE_INDENT + 1) > _CODE_INDENT:
            cursor.reset(inner)
            cursor.skip_columns(1)
        width = len(item[1]) + 1 if is_empty else cursor.column - before
        return Container("item", indent + width, item[1])

    def _open_leaf(self, cursor: LineCursor, matched: int, paragraph: Leaf | None) -> bool:
        """Open another leaf than a paragraph, or go on in one; false where the line is a paragraph's."""
        if cursor.is_blank:
            self._add_blank(cursor, matched)
            return True
        mark = cursor.mark()
        if cursor.skip_columns(_CODE_INDENT) == _CODE_INDENT:
            if paragraph is not None and not paragraph.table_rule:
                cursor.skip_columns(len(cursor.line) * _TAB)
                return False
            self._close_to(matched)
            self._add_code(cursor)
            return True
        indent = cursor.column - mark[1]
        line = cursor.rest()
        is_inside = paragraph is not None and matched == len(self.containers)
        if is_inside and paragraph is not None and not paragraph.table_rule and _UNDERLINE.match(line.text):
            paragraph.kind, paragraph.level = "heading", 1 if line.text[0] == "=" else 2
            paragraph.lines.append(line)
            paragraph.is_closed, self.leaf = True, None
            return True
        heading = _HEADING.match(line.text)
        if heading:
            self._close_to(matched)
            self._start("heading", line, level=len(heading[1]))
            self.leaf = None
        elif _FENCE.match(line.text):
            self._close_to(matched)
            self._start("fence", line, level=indent)
        elif _BREAK.match(line.text):
            self._close_to(matched)
            self._start("break", line)
            self.leaf = None
        else:
            return self._open_html(line, matched, paragraph)
        return True

    def _open_html(self, line: SourceLine, matched: int, paragraph: Leaf | None) -> bool:
        if not line.text.startswith("<"):
            return False
        for start, end in HTML_KINDS:
            found = start.match(line.text)
            if found:
                self._close_to(matched)
                self._start("html", line, end=end)
                # `<!-->` is a whole comment: its end may overlap its beginning.
                begin = 2 if line.text.startswith("<!--") else found.end()
                if end and end.search(line.text, begin):
                    self.leaf = None
                return True
        if paragraph is None and HTML_ALONE.match(line.text):
            self._close_to(matched)
            self._start("html", line)
            return True
        return False

    def _add_blank(self, cursor: LineCursor, matched: int) -> None:
        if self.leaf is not None and self.leaf.kind == "code" and matched == len(self.containers):
            self.leaf.lines.append(cursor.rest())
            return
        self._close_to(matched)
        self.leaf = None
        if self.is_tree:
            return
        last = self.leaves[-1] if self.leaves else None
        self._set_path()
        if last is not None and last.kind == "blank" and last.containers is self.path:
            last.lines.append(cursor.rest())
        else:
            self._start("blank", cursor.rest())
            self.leaf = None

    def _add_code(self, cursor: LineCursor) -> None:
        if self.leaf is not None and self.leaf.kind == "code":
            self.leaf.lines.append(cursor.rest())
        else:
            self._start("code", cursor.rest())

    def _start(self, kind: LeafKind, line: SourceLine, level: int = 0, end: "re.Pattern[str] | None" = None) -> None:
        if not self.is_tree:
            self._set_path()
        leaf = self.leaf = Leaf(kind, self.path, [line], level, False, end)
        if not self.is_tree:
            self.leaves.append(leaf)
        if kind == "blank":
            return
        if not self.containers:
            self.parts.append(leaf)
            return
        for container in reversed(self.containers):
            if container.is_filled:
                break  # and so is each that it is in
            container.is_filled = True
        self.containers[-1].parts.append(leaf)

    def _set_path(self) -> None:
        path = tuple(self.containers)
        if self.path != path:
            self.path = path

    def _close_to(self, matched: int) -> None:
        """Close the containers beyond the first `matched`, and the leaf that was open, unless the code goes on."""
        if len(self.containers) > matched or (self.leaf is not None and self.leaf.kind != "code"):
            self.leaf = None
        del self.containers[matched:]


def _add_text(paragraph: Leaf, line: SourceLine, *, is_loose: bool) -> None:
    """Add a line to a paragraph, and see whether it makes a table of it and the line above."""
    if not (paragraph.table_rule or is_loose or paragraph.is_loose) and _is_rule(paragraph.lines[-1].text, line.text):
        paragraph.table_rule = len(paragraph.lines)
    paragraph.is_loose = is_loose
    paragraph.lines.append(line)


def _is_rule(above: str, line: str) -> bool:
    if "-" not in line or ("|" not in line and ":" not in line) or not _RULE.match(line):
        return False
    return len(find_cells(above)) == len(find_cells(line))


def parse_blocks(text: str) -> list[Leaf]:
    """Parse the leaves of `text`, in its order, blank lines among them."""
    return _parse(text, is_tree=False).leaves


def parse_tree(text: str) -> list[Container | Leaf]:
    """Parse a text, whose lines may end in any way, as a tree of containers and leaves. A leaf does not know what it is
    in: the tree would be a circle, and stay until a full collection."""
    return _parse(_normalize(text), is_tree=True).parts


def _normalize(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _parse(text: str, *, is_tree: bool) -> _Parser:
    parser = _Parser(is_tree=is_tree)
    add_line, work = parser.add_line, 0
    for line in text.split("\n"):
        add_line(line)
        work += _LINE + len(line) // 8
        if work > _WORK_AT_ONCE:
            count_work(work)
            work = 0
    count_work(work)
    return parser
