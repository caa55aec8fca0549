"""Division of a document into chunks, which are embedded and found one by one: by its headings, then by blocks and
sentences, and at last anywhere between two characters. Time is linear in the text, whatever is in it.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import pairwise
from typing import NamedTuple

MAX_HEADING_CHARS = 200
"""Characters of one heading in a path."""
MAX_PATH_CHARS = 500
HEADING_SEPARATOR = " > "
SMALL_SECTION = 16
"""A section smaller than this part of a chunk goes with what follows."""

_FRONT_MATTER = re.compile(
    r"\ufeff?---[ \t]*\r?\n(?=[A-Za-z_][\w-]{0,50}[ \t]*:)(?:(?!---|\.\.\.)[^\n]{0,10000}\n){1,1000}"
    r"(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)"
)
_CJK = re.compile(
    r"[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef"
    r"\U00020000-\U0003ffff]+"
)
_ATX = re.compile(r" {0,3}(#{1,6})(?=[ \t])")
_SETEXT = re.compile(r" {0,3}(?:(=+)|-{2,})[ \t]*\Z")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})")
_LIST_ITEM = re.compile(r"[ \t]{0,12}(?:[-*+・]|[0-9]{1,9}[.)])[ \t]")
_SENTENCE_END = re.compile(
    r"(?<![。！？｡])[。！？｡]++[」』）)\]\"'”’]*+|(?<![.!?])[.!?]++[)\]\"'”’]*+(?=\s)",
)
_SOFT_BREAK = re.compile(r"[\s、，,;；]")
_JOINER = "\u200d"
_EMOJI_MODIFIERS = range(0x1F3FB, 0x1F400)
_LOW_SURROGATES = range(0xDC00, 0xE000)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Part of a text: ``text[start:start + length]``. `heading` is the path of its headings, ``Guide > Install``."""

    heading: str
    start: int
    length: int


class _Kind(Enum):
    TEXT = auto()
    ROWS = auto()
    """A table, a list's item or fenced code: divided at ends of lines first."""
    HEADING = auto()


class _Block(NamedTuple):
    kind: _Kind
    start: int
    end: int
    level: int = 0
    title: str = ""


class _Line(NamedTuple):
    start: int
    end: int
    """Without the line's end."""
    after: int


class _Scale:
    """Measures texts in a unit in which a chunk's limit is the same for English and Japanese."""

    def __init__(self, text: str, max_chars: int, max_cjk_chars: int) -> None:
        self._text = text
        self._ascii = text.isascii()
        self.char, self.cjk_char = max_cjk_chars, max_chars
        self.limit = max_chars * max_cjk_chars
        self.window = max(max_chars, max_cjk_chars)

    def weigh(self, start: int, end: int) -> int:
        """Weigh a part of the text; its own length in time."""
        if self._ascii:
            return (end - start) * self.char
        cjk = sum(found.end() - found.start() for found in _CJK.finditer(self._text, start, end))
        return cjk * self.cjk_char + (end - start - cjk) * self.char

    def find_limit(self, start: int, end: int) -> int:
        """Find the end of the longest part from `start` that is no heavier than a chunk."""
        if self._ascii:
            return min(end, start + self.limit // self.char)
        weight = 0
        for place in range(start, min(end, start + self.window)):
            weight += self.cjk_char if _CJK.match(self._text, place, place + 1) else self.char
            if weight > self.limit:
                return max(place, start + 1)
        return min(end, start + self.window)


def split_document(text: str, *, max_chars: int, max_cjk_chars: int) -> list[Chunk]:
    """Divide a text, Markdown or plain, into chunks of at most `max_chars` characters, or `max_cjk_chars` Japanese ones
    (a mixture in proportion).

    Every character that is no white space is in exactly one chunk, and chunks are in the text's order. Fenced code,
    rows of tables and items of lists stay whole where they fit. Front matter is in no chunk, unless there is no more.
    """
    scale = _Scale(text, max_chars, max_cjk_chars)
    front = _FRONT_MATTER.match(text)
    start = front.end() if front is not None and text[front.end() :].strip() else 0
    return list(_pack_sections(text, _find_sections(text, start), scale))


# Sections: a heading and the blocks up to the next one -----------------------------------------------------------


class _Section(NamedTuple):
    path: tuple[str, ...]
    blocks: list[_Block]


def _find_sections(text: str, start: int) -> Iterator[_Section]:
    titles: list[tuple[int, str]] = []
    blocks: list[_Block] = []
    path: tuple[str, ...] = ()
    for block in _find_blocks(text, start):
        if block.kind is _Kind.HEADING:
            if blocks:
                yield _Section(path, blocks)
            while titles and titles[-1][0] >= block.level:
                titles.pop()
            titles.append((block.level, block.title))
            path = tuple(title for _, title in titles)
            blocks = []
        blocks.append(block)
    if blocks:
        yield _Section(path, blocks)


def _pack_sections(text: str, sections: Iterator[_Section], scale: _Scale) -> Iterator[Chunk]:
    """Pack each section by itself; one that is tiny, or a heading alone, waits for the next."""
    waiting = _Section((), [])
    for section in sections:
        joined = _join_sections(waiting, section) if waiting.blocks else section
        if _is_small(joined, scale):
            waiting = joined
            continue
        waiting = _Section((), [])
        yield from _pack_blocks(text, joined, scale)
    if waiting.blocks:
        yield from _pack_blocks(text, waiting, scale)


def _is_small(section: _Section, scale: _Scale) -> bool:
    start, end = section.blocks[0].start, section.blocks[-1].end
    if end - start > scale.window:
        return False
    part = 2 if all(block.kind is _Kind.HEADING for block in section.blocks) else SMALL_SECTION
    return scale.weigh(start, end) * part < scale.limit


def _join_sections(one: _Section, other: _Section) -> _Section:
    """Join what waits and what follows: under the second's path if the first is above it, else what they share."""
    shared = 0
    while shared < min(len(one.path), len(other.path)) and one.path[shared] == other.path[shared]:
        shared += 1
    is_above = shared == len(one.path)
    return _Section(other.path if is_above else other.path[:shared], [*one.blocks, *other.blocks])


def _pack_blocks(text: str, section: _Section, scale: _Scale) -> Iterator[Chunk]:
    """Fill chunks with whole blocks, and divide what is larger than a chunk."""
    heading = _write_path(section.path)
    for start, end in _fill((piece for block in section.blocks for piece in _divide_block(text, block, scale)), scale):
        [(left, right)] = _trim_parts(text, (start, end))
        yield Chunk(heading, left, right - left)


def _write_path(path: Sequence[str]) -> str:
    return HEADING_SEPARATOR.join(title for title in path if title)[:MAX_PATH_CHARS]


_Part = tuple[int, int]


def _fill(pieces: Iterator[_Part], scale: _Scale) -> Iterator[_Part]:
    """Join neighbours while they fit."""
    start = end = weight = 0
    for piece_start, piece_end in pieces:
        added = scale.weigh(end, piece_end)
        if weight and weight + added <= scale.limit:
            end, weight = piece_end, weight + added
            continue
        if weight:
            yield start, end
        start, end, weight = piece_start, piece_end, scale.weigh(piece_start, piece_end)
    if weight:
        yield start, end


# Blocks: paragraphs, fenced code, tables, items of lists ----------------------------------------------------------


def _find_blocks(text: str, start: int) -> Iterator[_Block]:
    """Find the blocks of a text from a place on, none of which is blank."""
    lines = _read_lines(text, start)
    paragraph: list[_Line] = []
    for line in lines:
        content = text[line.start : line.end]
        if not content or content.isspace():
            yield from _end_block(text, paragraph)
            paragraph = []
        elif (fence := _FENCE.match(content)) is not None:
            yield from _end_block(text, paragraph)
            paragraph = []
            yield _read_fence(text, line, fence[1], lines)
        elif (heading := _read_atx(content, line)) is not None:
            yield from _end_block(text, paragraph)
            paragraph = []
            yield heading
        elif len(paragraph) == 1 and (heading := _read_setext(text, paragraph[0], content, line)) is not None:
            paragraph = []
            yield heading
        else:
            if paragraph and _begins_block(text, paragraph[-1], content):
                yield from _end_block(text, paragraph)
                paragraph = []
            paragraph.append(line)
    yield from _end_block(text, paragraph)


def _read_lines(text: str, start: int) -> Iterator[_Line]:
    while start < len(text):
        found = text.find("\n", start)
        after = len(text) if found < 0 else found + 1
        end = after if found < 0 else found
        yield _Line(start, end - 1 if end > start and text[end - 1] == "\r" else end, after)
        start = after


def _begins_block(text: str, before: _Line, content: str) -> bool:
    """Check whether a line begins a block though no blank line is before it."""
    if _LIST_ITEM.match(content) is not None:
        return True
    return _is_row(content) != _is_row(text[before.start : before.start + 200])


def _is_row(content: str) -> bool:
    return content.lstrip(" \t").startswith("|")


def _end_block(text: str, paragraph: list[_Line]) -> Iterator[_Block]:
    if paragraph:
        first = text[paragraph[0].start : paragraph[0].end]
        rows = _is_row(first) or _LIST_ITEM.match(first) is not None
        yield _Block(_Kind.ROWS if rows else _Kind.TEXT, paragraph[0].start, paragraph[-1].end)


def _read_fence(text: str, opening: _Line, marker: str, lines: Iterator[_Line]) -> _Block:
    """Read fenced code up to the line that closes it, or the text's end (CommonMark 4.5)."""
    end = opening.end
    for line in lines:
        end = line.end
        content = text[line.start : line.end].strip(" \t")
        if content.startswith(marker) and not content.strip(marker[0]):
            break
    return _Block(_Kind.ROWS, opening.start, end)


def _read_atx(content: str, line: _Line) -> _Block | None:
    """Read ``## Title ##``. A heading without a title is text."""
    found = _ATX.match(content)
    if found is None:
        return None
    title = content[found.end() :].strip()
    bare = title.rstrip("#")
    if bare != title and (not bare or bare[-1] in " \t"):
        title = bare.rstrip()
    return _Block(_Kind.HEADING, line.start, line.end, len(found[1]), _write_title(title)) if title else None


def _read_setext(text: str, before: _Line, content: str, line: _Line) -> _Block | None:
    """Read a title that is underlined by ``===`` or ``---``."""
    found = _SETEXT.match(content)
    title = text[before.start : before.end].strip()
    if found is None or len(title) > MAX_HEADING_CHARS or _is_row(title) or _LIST_ITEM.match(title):
        return None
    return _Block(_Kind.HEADING, before.start, line.end, 1 if found[1] else 2, _write_title(title))


def _write_title(title: str) -> str:
    return " ".join(title[:MAX_HEADING_CHARS].split())


# Parts of a block that is larger than a chunk ----------------------------------------------------------------------


def _divide_block(text: str, block: _Block, scale: _Scale) -> Iterator[_Part]:
    if scale.weigh(block.start, block.end) <= scale.limit:
        yield block.start, block.end
        return
    part = block.start, block.end
    if block.kind is not _Kind.ROWS:
        yield from _divide_text(text, part, scale)
        return
    for row in _divide_at_lines(text, part):
        yield from [row] if scale.weigh(*row) <= scale.limit else _divide_text(text, row, scale)


def _divide_text(text: str, part: _Part, scale: _Scale) -> Iterator[_Part]:
    """Divide at ends of sentences; a sentence that is too large at ends of lines; such a line anywhere."""
    for sentence in _divide_at_sentences(text, part):
        if scale.weigh(*sentence) <= scale.limit:
            yield sentence
            continue
        for line in _divide_at_lines(text, sentence):
            yield from [line] if scale.weigh(*line) <= scale.limit else _cut(text, line, scale)


def _divide_at_sentences(text: str, part: _Part) -> Iterator[_Part]:
    ends = [part[0], *(found.end() for found in _SENTENCE_END.finditer(text, *part)), part[1]]
    yield from _trim_parts(text, ends)


def _divide_at_lines(text: str, part: _Part) -> Iterator[_Part]:
    ends = [part[0]]
    while (found := text.find("\n", ends[-1], part[1])) >= 0:
        ends.append(found + 1)
    yield from _trim_parts(text, [*ends, part[1]])


def _trim_parts(text: str, ends: Sequence[int]) -> Iterator[_Part]:
    """Yield the parts between two ends, without the white space at theirs, and none that is blank."""
    for start, end in pairwise(ends):
        content = text[start:end]
        if content and not content.isspace():
            left = len(content) - len(content.lstrip())
            yield start + left, start + len(content.rstrip())


def _cut(text: str, part: _Part, scale: _Scale) -> Iterator[_Part]:
    """Cut at the last white space or comma of a chunk's second half, or between any two characters."""
    start, end = part
    while start < end:
        limit = scale.find_limit(start, end)
        place = limit if limit == end else _find_cut(text, start, limit)
        yield from _trim_parts(text, [start, place])
        start = place


def _find_cut(text: str, start: int, limit: int) -> int:
    for place in range(limit, (start + limit) // 2, -1):
        if _SOFT_BREAK.match(text, place - 1):
            return place
    for place in range(limit, start, -1):
        if not _continues_character(text, place):
            return place
    return limit


def _continues_character(text: str, place: int) -> bool:
    """Check whether what stands there belongs to the character before it."""
    here, before = text[place], text[place - 1]
    return (
        unicodedata.category(here)[0] == "M"
        or _JOINER in (here, before)
        or ord(here) in _EMOJI_MODIFIERS
        or ord(here) in _LOW_SURROGATES
    )
