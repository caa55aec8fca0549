"""Texts as Markdown that reads back as the same: escapes, code, addresses, marks, lists, quotes and tables."""

import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

_ESCAPED = re.compile(r"([\\`*\[\]~]|<(?=[A-Za-z/!?])|(?<![^\W_])_|_(?![^\W_])|&(?=#?[A-Za-z0-9]{1,31};)|\{(?==))")
_LINE_START = re.compile(r"(#{1,6}(?=[ \t]|$)|>|[-+](?=[ \t]|$)|=++$|-++$)|([0-9]{1,9})([.)](?=[ \t]|$))")
_SPACES = re.compile(r"[ \t\r\n\f]+")
_TICKS = re.compile(r"`++")
_ODD_ADDRESS = re.compile(r"[\s()<>\\]|^$")
_AUTOLINK = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>&]++")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,40}")
_NOTHING = "<span></span>"
"""Stands between two spans of code, which would be read as one."""
_SIGNS = frozenset("*_~")


class Block(NamedTuple):
    """A block of Markdown. `kind` is `text`, `list` or another word; `marker` is that of the items of a list."""

    text: str
    kind: str = "other"
    marker: str = ""


class Part(NamedTuple):
    """A part of inline Markdown. `sign` is the mark around its text, and `tag` the one of HTML that stands for it where
    the mark would not be seen."""

    text: str
    sign: str = ""
    tag: str = ""


def escape_text(text: str) -> str:
    """Plain text as inline Markdown; any white space but no-break spaces is one space."""
    return _ESCAPED.sub(r"\\\1", _SPACES.sub(" ", text))


def join_parts(parts: Sequence[Part]) -> str:
    """Inline Markdown of parts, which reads back as the same parts."""
    made: list[str] = []
    last = ""
    for number, part in enumerate(parts):
        following = parts[number + 1] if number + 1 < len(parts) else Part("")
        text = _mark(part, last[-1:], following.sign[:1] or following.text[:1]) if part.sign else part.text
        if last.endswith(" "):
            text = text.lstrip(" ")
        if last.endswith("!") and text.startswith("["):
            made[-1] = f"{last[:-1]}\\!"
        elif last.endswith("`") and text.startswith("`"):
            made.append(_NOTHING)
        if text:
            made.append(text)
            last = text
    return "".join(made)


def _mark(part: Part, before: str, after: str) -> str:
    text, sign, tag = part
    edges = {text[0], text[-1]}
    is_nested = (
        sign == "*" and text.startswith("**") and text.endswith("**") and text.count("**") == 2 and "***" not in text
    )
    if (
        {before, after} & _SIGNS
        or (edges & _SIGNS and not is_nested)
        or text[-1] == "\\"
        or text[0].isspace()
        or text[-1].isspace()
    ):
        return f"<{tag}>{text}</{tag}>"
    return f"{sign}{text}{sign}"


def split_spaces(text: str) -> tuple[str, str, str]:
    """Spaces at the start, the text and spaces at the end: a mark stands at words."""
    words = text.strip(" ")
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
    found = _LINE_START.match(line)
    if not found:
        return line
    place = found.start(1) if found[1] else found.start(3)
    return f"{line[:place]}\\{line[place:]}"


def format_code_span(code: str) -> str:
    """A text as a code span."""
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
    address = address.replace("\n", "%0A").replace("&", "&amp;") if _ESCAPED.search(address) else address
    if not _ODD_ADDRESS.search(address):
        return address
    return "<" + re.sub(r"([<>\\])", r"\\\1", address) + ">"


def format_link(text: str, address: str, plain: str) -> str:
    """A link; `plain` is its text without marks."""
    if plain == address and _AUTOLINK.fullmatch(address):
        return f"<{address}>"
    return f"[{text}]({format_address(address)})"


def format_image(alternative: str, address: str, title: str = "") -> str:
    """An image."""
    behind = ' "' + re.sub(r'(["\\])', r"\\\1", title) + '"' if title else ""
    return f"![{escape_text(alternative)}]({format_address(address)}{behind})"


def join_blocks(blocks: Sequence[Block]) -> str:
    """Blocks with blank lines between."""
    return "\n\n".join(one.text for one in blocks)


def format_item(marker: str, blocks: Sequence[Block]) -> str:
    """An item of a list, its first line behind the marker."""
    parts = list(blocks) or [Block("<p></p>")]
    if parts[0].kind == "rule":
        parts[0] = Block("___")
    text = parts[0].text
    for before, one in itertools.pairwise(parts):
        is_tight = before.kind == "text" and one.kind == "list" and (one.marker in "-*" or one.text.startswith("1"))
        text += ("\n" if is_tight and not before.text.startswith("<") else "\n\n") + one.text
    indent = " " * (len(marker) + 1)
    lines = text.split("\n")
    return "\n".join([f"{marker} {lines[0]}", *(indent + line if line else "" for line in lines[1:])])


def format_quote(text: str) -> str:
    """A text as a quote."""
    return "\n".join(f"> {line}" if line else ">" for line in text.split("\n"))


def format_table(rows: Sequence[Sequence[str]]) -> str:
    """Cells of inline Markdown as a table, whose first row is its head."""
    width = max(map(len, rows))
    lines = [
        "| " + " | ".join(cell.replace("|", "\\|") for cell in [*row, *([""] * (width - len(row)))]) + " |"
        for row in rows
    ]
    return "\n".join([lines[0], "|" + " --- |" * width, *lines[1:]])
