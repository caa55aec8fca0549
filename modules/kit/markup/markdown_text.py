"""Texts as Markdown that reads back as the same: escapes, code, addresses, marks, lists, quotes and tables."""

import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

from modules.kit.markup.adf_nodes import format_json
from modules.kit.markup.markdown_runs import Inline, Mark
from modules.kit.turns import count_each, count_work

# Each alternative begins with one character, for which `re` looks quickly.
_ESCAPED_SIGNS = (
    r"\\|`|\*|\[|\]|~|<(?=[A-Za-z/!?])|_(?:(?<![^\W_]_)|(?![^\W_]))|&(?=#?[A-Za-z0-9]{1,31};)|\{(?==|color=)"
)
_ESCAPED = re.compile(_ESCAPED_SIGNS)
_PLAIN_WORD = r"[^\s\\`*\[\]~<_&{$!]++"
_PLAIN_TEXT = re.compile(rf"(?![0-9]{{1,9}}[.)](?: |$))[^\W_][^\s\\`*\[\]~<_&{{$!]*+(?: {_PLAIN_WORD})*+")
_ESCAPED_WITH_MATH = re.compile(rf"{_ESCAPED_SIGNS}|\$")
_LINE_START = re.compile(
    r"(#{1,6}(?=[ \t]|$)|[>|]|[-+](?=[ \t]|$)|=++[ \t]*+$|:?-++|:(?=-))|([0-9]{1,9})([.)](?=[ \t]|$))"
)
_ENTITY = re.compile(r"&(?=#?[A-Za-z0-9]{1,31};)")
_TICKS = re.compile(r"`++")
_ODD_ADDRESS = re.compile(r"[\s()<>\\]|^$")
_AUTOLINK = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>&]++")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,40}")
_NOTHING = "<wbr>"
"""Stands between two spans of code, which would be read as one."""
_PLAIN_COLOR = re.compile(r"[#A-Za-z0-9_]{1,30}")

_Wrap = tuple[str, str, bool]
"""What opens and closes a mark, and whether it has to stand at a word."""
_WRAPS: dict[str, _Wrap] = {
    "strike": ("~~", "~~", True), "strong": ("**", "**", True), "em": ("*", "*", True),
    **{name: (f"<{name}>", f"</{name}>", False) for name in ("u", "ins", "sub", "sup", "small", "big")},
}  # fmt: skip
_NAMES = ("link", "color", "background", "u", "ins", "sub", "sup", "small", "big", "mark", "strike", "strong", "em")
_ORDER = {name: place for place, name in enumerate(_NAMES)}
"""Links hold whole runs and stand first; marks that stand at words are last."""

_Piece = tuple[str, tuple[_Wrap, ...]]


class Block(NamedTuple):
    """A block of Markdown. `kind` is `text`, `list` or another word; `marker` is that of the items of a list."""

    text: str
    kind: str = "other"
    marker: str = ""


def is_plain(text: str) -> bool:
    """Check whether a text is a line of words without any sign that Markdown knows: it stands for itself, also alone in
    a block."""
    return _PLAIN_TEXT.fullmatch(text) is not None


def escape_text(text: str, *, has_math: bool = False) -> str:
    """Plain text as inline Markdown, in which `$` may begin a formula."""
    return (_ESCAPED_WITH_MATH if has_math else _ESCAPED).sub(_escape_sign, text)


def _escape_sign(found: "re.Match[str]") -> str:
    return f"\\{found[0]}"


def format_runs(runs: Sequence[Inline], *, has_math: bool = False) -> str:
    """Runs as one line of inline Markdown, which reads back as the same runs, but for bold, italic and struck white
    space at the edge of words. A `node` is Markdown already."""
    count_work(20 * (len(runs) + 1))
    simple = _format_simple_runs(runs, has_math=has_math)
    if simple is not None:
        return simple
    pieces: list[_Piece] = []
    spaces: set[int] = set()
    for run in count_each(_merge_texts(runs)):
        wraps = _list_wraps(run.marks) if run.marks else ()
        text = run.text
        if run.kind != "text":
            pieces.append((_format_atom(run), wraps))
        elif wraps and wraps[-1][2] and (text[0].isspace() or text[-1].isspace()):
            for number, part in enumerate(split_spaces(text)):
                if part and number != 1:
                    spaces.add(len(pieces))
                if part:
                    pieces.append((escape_text(part, has_math=has_math), wraps))
        else:
            pieces.append((escape_text(text, has_math=has_math), wraps))
    return _join(_drop_marks_at_spaces(pieces, spaces) if spaces else pieces)


def _format_simple_runs(runs: Sequence[Inline], *, has_math: bool) -> str | None:
    """Runs as most lines have them: texts, and between them words with one mark, or code; None for others."""
    texts: list[str] = []
    was_text = was_other = False
    for kind, text, marks, _, _ in count_each(runs):
        is_text = kind == "text" and not marks
        if is_text and not was_text:
            texts.append(escape_text(text, has_math=has_math))
        elif was_other or len(marks) > 1 or (texts and texts[-1].endswith(("!", "`"))):
            return None
        elif kind == "text" and marks and not (text[0].isspace() or text[-1].isspace()):
            before, after, _ = _get_wrap(marks[0])
            texts.append(f"{before}{escape_text(text, has_math=has_math)}{after}")
        elif kind == "code" and not marks:
            texts.append(format_code_span(text))
        else:
            return None
        was_text, was_other = is_text, not is_text
    return "".join(texts)


def _merge_texts(runs: Sequence[Inline]) -> list[Inline]:
    """Runs with neighbouring texts of the same marks as one: what escapes look at stands beside each other."""
    merged: list[Inline] = []
    texts: list[str] = []
    for run in count_each(runs, 20):
        if run.kind == "text" and texts and merged[-1].marks == run.marks:
            texts.append(run.text)
            continue
        if len(texts) > 1:
            merged[-1] = merged[-1]._replace(text="".join(texts))
        texts = [run.text] if run.kind == "text" else []
        if run.text or run.kind != "text":
            merged.append(run)
        else:
            texts = []
    if len(texts) > 1:
        merged[-1] = merged[-1]._replace(text="".join(texts))
    return merged


def _format_atom(run: Inline) -> str:
    match run.kind:
        case "code":
            return format_code_span(run.text)
        case "raw":
            return f"{format_code_span(run.text)}{{={run.value}}}"
        case "math":
            return f"${run.text}$"
        case "image":
            return format_image(run.text, run.value, run.title)
        case "break" | "line":
            return "<br>"
        case _:
            return run.value


def _list_wraps(marks: Sequence[Mark]) -> tuple[_Wrap, ...]:
    if len(marks) == 1:
        return (_get_wrap(marks[0]),)
    return tuple([_get_wrap(one) for one in sorted(marks, key=lambda mark: _ORDER[mark.name])])


def _get_wrap(mark: Mark) -> _Wrap:
    name, value, _ = mark
    if name in _WRAPS:
        return _WRAPS[name]
    if name == "link":
        return "[", f"]({format_address(value)})", False
    if name == "mark":
        return f"<mark {format_json(value)}>", "</mark>", False
    is_plain = name == "background" or _PLAIN_COLOR.fullmatch(value)
    return f'<span {name}="{value}">' if is_plain else f'<span style="color: {value}">', "</span>", False


def _drop_marks_at_spaces(pieces: list[_Piece], spaces: set[int]) -> list[_Piece]:
    """Take marks that stand at words off the white space at their edges: there they would be none."""
    kept = list(pieces)
    for number in spaces:
        before = next((pieces[one][1] for one in (number - 1, number - 2) if one >= 0 and one not in spaces), ())
        following = range(number + 1, min(number + 3, len(pieces)))
        after = next((pieces[one][1] for one in following if one not in spaces), ())
        text, marks = pieces[number]
        kept[number] = text, tuple(one for one in marks if not one[2] or (one in before and one in after))
    return kept


def _join(pieces: Sequence[_Piece]) -> str:
    """Write each mark where it begins and where it ends; marks may cross."""
    texts: list[str] = []
    open_marks: tuple[_Wrap, ...] = ()
    for piece, marks in count_each((*pieces, ("", ()))):
        text = piece
        if marks != open_marks:
            kept = _list_kept(open_marks, marks) if open_marks and marks else ()
            texts += [wrap[1] for wrap in reversed(open_marks) if wrap not in kept]
            new = tuple([wrap for wrap in marks if wrap not in kept])
            open_marks = (*kept, *new)
            text = "".join([*(wrap[0] for wrap in new), text])
        if texts and text[:1] == "`" and texts[-1].endswith("`"):
            texts.append(_NOTHING)
        elif texts and text[:1] == "[" and texts[-1].endswith("!"):
            texts[-1] = f"{texts[-1][:-1]}\\!"
        texts.append(text)
    return "".join(texts)


def _list_kept(open_marks: tuple[_Wrap, ...], marks: tuple[_Wrap, ...]) -> tuple[_Wrap, ...]:
    """The marks that stay open. One within another that is closed by the same tag is closed with it."""
    kept: list[_Wrap] = []
    closed: set[str] = set()
    for wrap in open_marks:
        if wrap in marks and wrap[1] not in closed:
            kept.append(wrap)
        else:
            closed.add(wrap[1])
    return tuple(kept)


def split_spaces(text: str) -> tuple[str, str, str]:
    """White space at the start, the text and white space at the end: a mark stands at words."""
    words = text.strip()
    start = text.index(words) if words else len(text)
    return text[:start], words, text[start + len(words) :]


def format_paragraph(inline: str) -> str:
    """Inline Markdown as one line of a block: spaces that would be lost and signs that would begin another block are
    escaped."""
    line = inline.strip(" \t\n")
    if line[:1] == "\xa0":
        line = f"&nbsp;{line[1:]}"
    if line[-1:] == "\xa0":
        line = f"{line[:-1]}&nbsp;"
    return escape_start(line)


def escape_start(line: str) -> str:
    """`line` with what would begin another block escaped."""
    found = None if line[:1].isalpha() else _LINE_START.match(line)
    if not found:
        return line
    place = found.start(1) if found[1] else found.start(3)
    return f"{line[:place]}\\{line[place:]}"


def format_code_span(code: str) -> str:
    """A text as a code span."""
    if "`" not in code and code[0] != " ":
        return f"`{code}`"
    longest = max((len(run) for run in _TICKS.findall(code)), default=0)
    fence = "`" * (longest + 1)
    is_padded = code[0] == "`" or code[-1] == "`" or (code[0] == code[-1] == " " and code.strip())
    return f"{fence} {code} {fence}" if is_padded else f"{fence}{code}{fence}"


def format_fence(code: str, word: str = "") -> str:
    """A text as a fenced block of code."""
    longest = max((len(run) for run in _TICKS.findall(code)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{word}\n{code}\n{fence}"


def is_language(word: str) -> bool:
    """Check whether a word can stand behind a fence."""
    return bool(_LANGUAGE.fullmatch(word))


def format_address(address: str) -> str:
    """An address as a link has it."""
    address = address.replace("\n", "%0A")
    if "&" in address:
        address = _ENTITY.sub("&amp;", address)
    if not _ODD_ADDRESS.search(address):
        return address
    return "<" + re.sub(r"([<>\\])", r"\\\1", address) + ">"


def is_autolink(address: str) -> bool:
    """Check whether an address can stand in angle brackets as a link of its own."""
    return bool(_AUTOLINK.fullmatch(address))


def format_image(alternative: str, address: str, title: str = "") -> str:
    """An image."""
    behind = ' "' + re.sub(r'(["\\])', r"\\\1", title) + '"' if title else ""
    return f"![{escape_text(alternative)}]({format_address(address)}{behind})"


def join_blocks(blocks: Sequence[Block]) -> str:
    """Blocks with blank lines between."""
    return "\n\n".join(one.text for one in blocks)


def format_item(marker: str, blocks: Sequence[Block]) -> str:
    """An item of a list, its first line behind the marker."""
    if len(blocks) == 1 and blocks[0].kind == "text" and "\n" not in blocks[0].text:
        return f"{marker} {blocks[0].text}"
    parts = list(blocks) or [Block("<p></p>")]
    if parts[0].kind == "rule":
        parts[0] = Block("___")
    text = parts[0].text
    for before, one in itertools.pairwise(parts):
        is_tight = before.kind == "text" and one.kind == "list" and (one.marker in "-*" or one.text.startswith("1"))
        text += ("\n" if is_tight and not before.text.startswith("<") else "\n\n") + one.text
    indent = " " * (len(marker) + 1)
    lines = text.split("\n")
    return "\n".join([f"{marker} {lines[0]}", *(indent + line if line else "" for line in count_each(lines[1:], 5))])


def format_quote(text: str) -> str:
    """A text as a quote."""
    return "\n".join(f"> {line}" if line else ">" for line in count_each(text.split("\n"), 5))


def format_table(rows: Sequence[Sequence[str]]) -> str:
    """Cells of inline Markdown as a table, whose first row is its head."""
    width = max(map(len, rows))
    lines = [
        "| " + " | ".join(cell.replace("|", "\\|") for cell in [*row, *([""] * (width - len(row)))]) + " |"
        for row in count_each(rows)
    ]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])
