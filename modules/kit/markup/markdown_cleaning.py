"""Markdown written by strangers: what no reader of the rendered text sees is taken out.

Comments, the attributes of tags, titles of links, what follows the language of a fence, definitions of links and
footnotes that nothing uses and character references to invisible characters can carry orders to a model that no
reviewer ever saw. The text of code stays as it is, and so does the alternative text of a Markdown image, which is all
that a model has of it. HTML that would hide what it contains (`<script>`, `hidden`) loses its attributes and keeps its
contents: vendors show those.
"""

import re
from collections import defaultdict
from collections.abc import Iterable

from modules.kit.markup.markdown_blocks import parse_blocks
from modules.kit.markup.markdown_inline_cleaning import (
    SOME_SPACE,
    SPACE,
    TAG_NAME,
    TITLE,
    InlineCleaner,
    LeafChanges,
    LinkDefinition,
    TextEdit,
    normalize_label,
    remove_references,
    rewrite_tag,
)
from modules.kit.markup.markdown_tree import Leaf, find_cells
from modules.kit.text_cleaning import CutText, clean_text

# What may begin something invisible; a text without any of it is returned at once.
_SUSPECT = re.compile(r"[<\[`~|]|&#")
_VALUE = re.compile(r"[^\s>]*+")

_LABEL = r"\[((?:[^\[\]\\]|\\.){1,999})\]"
_DEFINITION = re.compile(rf"{_LABEL}:{SPACE}(?:<(?:[^<>\n\\]|\\.)*+>|[^\s<]\S*+)", re.DOTALL)
_DEFINITION_TITLE = re.compile(rf"{SOME_SPACE}{TITLE}(?=[ \t]*+(?:\n|$))", re.DOTALL)
_LINE_END = re.compile(r"[ \t]*+(?:\n|$)")
_LANGUAGE = re.compile(r"(`++|~++)[ \t]*+([A-Za-z0-9_+#.-]{0,40})")
MAX_HIDDEN_CHARACTERS = 8_000
"""Characters that a Markdown text is looked at beyond those that are shown: the comments of a template are long."""

_GONE = "\0"
"""Stands for a line break within something that was taken out; cleaned text has no such character."""
_BREAKS = re.compile(r"[\n\0]")


def clean_markdown(text: str, *, is_cut: bool = False) -> str:
    """`text` without what is invisible in it when it is rendered. `is_cut` says that more followed, so that what is not
    closed at the end may be invisible too. The time is linear."""
    text = clean_text(text.replace("\r\n", "\n").replace("\r", "\n"))
    if not _SUSPECT.search(text):
        return text
    leaves = parse_blocks(text)
    changes = _Cleaner(is_cut=is_cut).clean_leaves(leaves)
    shown = _find_shown_labels(leaves, changes)
    lines: list[str] = []
    for leaf, change in zip(leaves, changes, strict=True):
        footnote = _get_footnote(leaf)
        if footnote is None or footnote in shown:
            _write_leaf(leaf, change, shown, lines)
    return "\n".join(lines)


def clean_markdown_block(text: str, limit: int) -> CutText:
    """At most `limit` characters of :func:`clean_markdown`, which looks at ``MAX_HIDDEN_CHARACTERS`` more."""
    head = text[: limit + MAX_HIDDEN_CHARACTERS]
    cleaned = clean_markdown(head, is_cut=len(head) < len(text))
    return CutText(cleaned[:limit], len(cleaned) > limit or len(head) < len(text))


def _get_footnote(leaf: Leaf) -> str | None:
    """The label, as it is referred to, of the footnote that a leaf belongs to."""
    label = next((one.marker for one in leaf.containers if one.kind == "footnote"), None)
    return None if label is None else normalize_label(f"^{label}")


def _find_shown_labels(leaves: list[Leaf], changes: list[LeafChanges]) -> set[str]:
    """Labels that what is shown refers to: a footnote counts only once something shown refers to it."""
    uses: dict[str | None, set[str]] = defaultdict(set)
    for leaf, change in zip(leaves, changes, strict=True):
        uses[_get_footnote(leaf)] |= change.uses
    shown: set[str] = set()
    waiting = [uses[None]]
    while waiting:
        found = waiting.pop() - shown
        shown |= found
        waiting.extend(uses[label] for label in found if label in uses)
    return shown


class _Cleaner:
    """Goes through the leaves in order. `closer` is what ends a comment or a quoted value that a block of HTML left
    open: browsers hide everything up to it, whatever Markdown makes of that."""

    def __init__(self, *, is_cut: bool) -> None:
        self.is_cut = is_cut
        self.closer = ""

    def clean_leaves(self, leaves: list[Leaf]) -> list[LeafChanges]:
        changes: list[LeafChanges] = []
        for number, leaf in enumerate(leaves):
            is_last = self.is_cut and number == len(leaves) - 1
            changes.append(self._clean_leaf(leaf, leaf.text, is_last=is_last))
        return changes

    def _clean_leaf(self, leaf: Leaf, text: str, *, is_last: bool) -> LeafChanges:
        change = LeafChanges()
        closer, start = self.closer, 0
        if closer and leaf.kind == "html":
            start = self._close(text, change)
        if leaf.kind == "fence" and not closer:
            _clean_fence(leaf.lines[0].text, change)
        elif leaf.kind == "html":
            self._clean_html(text, start, change)
        elif leaf.kind in ("paragraph", "heading"):
            begin = _read_definitions(text, change) if leaf.kind == "paragraph" else 0
            for first, last in _split_cells(leaf, begin, change):
                part = InlineCleaner(text[first:last], is_cut=is_last and last == len(text)).clean()
                change.edits.extend(TextEdit(start + first, end + first, new) for start, end, new in part.edits)
                change.uses |= part.uses
        return self._hide(text, change) if closer and leaf.kind != "html" else change

    def _close(self, text: str, change: LeafChanges) -> int:
        """Remove what is hidden of a block of HTML; where it is seen again."""
        found = text.find(self.closer)
        end = found + len(self.closer)
        if found >= 0 and self.closer != "-->":
            end = text.find(">", end) + 1 or len(text)
        if found >= 0:
            self.closer = ""
        end = len(text) if found < 0 else end
        change.remove(0, end)
        return end

    def _hide(self, text: str, change: LeafChanges) -> LeafChanges:
        """Remove what is hidden of another leaf: there, a closer counts only within HTML, which stands in the edits."""
        edits = sorted(change.edits)
        seen = next((n for n, one in enumerate(edits) if self.closer in text[one.start : one.end]), len(edits))
        hidden = LeafChanges(uses=change.uses, definitions=change.definitions)
        hidden.remove(0, edits[seen].end if seen < len(edits) else len(text))
        hidden.edits.extend(edits[seen + 1 :])
        self.closer = self.closer if seen == len(edits) else ""
        return hidden

    def _clean_html(self, text: str, place: int, change: LeafChanges) -> None:
        """Clean a block of HTML as a browser reads it."""
        while (place := text.find("<", place)) >= 0:
            if text.startswith("<!--", place):
                # `<!-->` and `<!--->` are whole comments.
                short = next((len(one) for one in ("<!-->", "<!--->") if text.startswith(one, place)), 0)
                end = place + short if short else text.find("-->", place + 4) + 3
                if not short and end == 2:
                    self.closer = "-->"
                    end = len(text)
            elif text.startswith(("<!", "<?"), place) or (
                text.startswith("</", place) and not text[place + 2 : place + 3].isalpha()
            ):
                end = text.find(">", place) + 1 or len(text)
            elif name := TAG_NAME.match(text, place):
                end = self._find_end_of_tag(text, name.end())
                is_open = end > len(text)
                end = min(end, len(text))
                change.edits.append(TextEdit(place, end, "" if is_open else rewrite_tag(text[place:end], name[0])))
                place = end
                continue
            else:
                place += 1
                continue
            change.remove(place, end)
            place = end
        remove_references(text, change)

    def _find_end_of_tag(self, text: str, place: int) -> int:
        """The end of a tag, or more than the length of the text where it is open: then a quote may be, too."""
        end = text.find(">", place)
        while place < len(text):
            if 0 <= end < place:
                end = text.find(">", place)
            equals = text.find("=", place)
            if equals < 0 or 0 <= end < equals:
                return end + 1 if end >= 0 else len(text) + 1
            place = equals + 1
            while text[place : place + 1].isspace():
                place += 1
            quote = text[place : place + 1]
            if quote in ("'", '"'):
                place = text.find(quote, place + 1) + 1
                if not place:
                    self.closer = quote
                    return len(text) + 1
            else:
                value = _VALUE.match(text, place)
                place = value.end() if value else place
        return len(text) + 1


def _clean_fence(opening: str, change: LeafChanges) -> None:
    """Keep the first word behind a fence, if it may be the name of a language."""
    found = _LANGUAGE.match(opening)
    if found:
        is_word = opening[found.end() : found.end() + 1] in ("", " ", "\t")
        change.remove(found.end() if is_word else found.end(1), len(opening))


def _read_definitions(text: str, change: LeafChanges) -> int:
    """Read the link definitions that a paragraph begins with; where its text begins."""
    place = 0
    while found := _DEFINITION.match(text, place):
        title = _DEFINITION_TITLE.match(text, found.end())
        end = _LINE_END.match(text, title.end() if title else found.end())
        if end is None or not found[1].strip():
            break
        change.definitions.append(LinkDefinition(normalize_label(found[1]), place, found.end(), end.end()))
        place = end.end()
    return place


def _split_cells(leaf: Leaf, start: int, change: LeafChanges) -> Iterable[tuple[int, int]]:
    """The parts of a leaf whose inline text is parsed by itself: the cells of a table, else all of it. A table shows no
    cells beyond those of its head."""
    rule = leaf.table_rule
    if not rule:
        return [(start, len(leaf.text))]
    place = sum(len(line.text) + 1 for line in leaf.lines[: rule - 1])
    parts = [(start, place - 1)] if place > start else []
    width = len(find_cells(leaf.lines[rule].text))
    for _, line in leaf.lines[rule - 1 :]:
        cells = find_cells(line)
        parts.extend((place + first, place + last) for first, last in cells[:width])
        if len(cells) > width:
            change.remove(place + cells[width - 1][1], place + len(line))
        place += len(line) + 1
    return parts


def _write_leaf(leaf: Leaf, change: LeafChanges, shown: set[str], lines: list[str]) -> None:
    """Write the lines of a leaf that are left. A leaf of which nothing is left becomes a blank line."""
    edits = change.edits
    for one in change.definitions:
        edits.append(
            TextEdit(one.title if one.label in shown else one.start, one.end, "\n" if one.label in shown else "")
        )
    if not edits:
        lines.extend(prefix + text for prefix, text in leaf.lines)
        return
    kept = _BREAKS.split(_apply(leaf.text, sorted(edits)))
    left = [
        (prefix, line)
        for (prefix, text), line in zip(leaf.lines, kept, strict=False)
        if line.strip() or not text.strip()
    ]
    first = leaf.lines[0].prefix
    if not left:
        lines.append(first.rstrip())
        return
    lines.append(first + left[0][1])
    lines.extend(prefix + line for prefix, line in left[1:])


def _apply(text: str, edits: list[TextEdit]) -> str:
    """`text` with the edits; line breaks within what is removed are marked, so that every line keeps its number."""
    parts: list[str] = []
    place = 0
    for start, end, new in edits:
        if start < place:
            continue  # within something that was taken out already
        breaks = text.count("\n", start, end) - new.count("\n")
        parts += (text[place:start], new, _GONE * breaks)
        place = end
    return "".join((*parts, text[place:]))
