"""The tokens of inline Markdown, and texts of which most consist, which are divided at once."""

import re
from collections.abc import Iterator
from typing import Any

from modules.kit.turns import count_work

_MOST_AT_ONCE = 5_000
"""Characters that are divided without a rest (see `turns.py`)."""
TOKEN_WORK = 20
"""What a token costs beside its characters (see `turns.py`)."""

_WORD = r"[^\s\\`*_~\[\]<&$]++"
_WORDS = rf"{_WORD}(?: ++{_WORD})*+"
# The groups are what most texts have, read at once: code, bold, italic, struck words, and a link. Each alternative
# begins with one character, for which `re` looks quickly.
_USUAL_TOKENS = (
    rf"`([^`\n]++)`(?![`{{])|\*\*({_WORDS})\*\*(?!\*)|\*({_WORDS})\*(?!\*)|\[({_WORDS})\]\((https?://[^\s()<>\\&]++)\)"
    rf"|~~({_WORDS})~~(?!~)"
)
_OTHER_TOKENS = (
    r"\\[!-/:-@\[-`{-~\n]", "``*+", r"\*\**+", "__*+", "~~*+", r"!\[", r"\[", r"\]", "<", r"\n[ \t]*+",
    r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});",
)  # fmt: skip
PLAIN_TOKEN = re.compile("|".join((_USUAL_TOKENS, *_OTHER_TOKENS)))
MATH_TOKEN = re.compile("|".join((_USUAL_TOKENS, *_OTHER_TOKENS, r"\$")))
# Of the other tokens, the first takes the rest of the text with it.
_PLAIN_DIVIDER = re.compile("|".join((_USUAL_TOKENS, *(rf"{one}(?s:.*+)" for one in _OTHER_TOKENS))))
_MATH_DIVIDER = re.compile("|".join((_USUAL_TOKENS, *(rf"{one}(?s:.*+)" for one in (*_OTHER_TOKENS, r"\$")))))
_NOT_USUAL: list[Any] = [None] * 6
_NO_PARTS: Iterator[Any] = iter(())

UsualPart = tuple[str | None, str | None, str | None, str | None, str, str | None, str]
"""Code, bold, italic, the words and the address of a link, and struck words, of which one is there and others are None;
then the text up to the next part, which may be empty."""


def divide_usual(text: str, *, has_math: bool = False) -> tuple[str, Iterator[UsualPart]] | None:
    """Divide inline Markdown of nothing but text and words with one usual mark into the text that it begins with and
    the parts behind it; None for any other, and for a long one: :func:`parse_inline` reads these.

    A writer makes of them what it makes of the same runs. Making runs takes longer than reading the text.
    """
    if len(text) > _MOST_AT_ONCE:
        return None
    parts: list[Any] = (_MATH_DIVIDER if has_math else _PLAIN_DIVIDER).split(text)
    count_work(TOKEN_WORK + 3 * len(parts) + len(text))
    if len(parts) == 1:
        return text, _NO_PARTS
    if parts[-7:-1] == _NOT_USUAL:
        return None
    rest = iter(parts)
    start = next(rest)
    return start, zip(rest, rest, rest, rest, rest, rest, rest, strict=True)


def read_code(code: str) -> str:
    """The text of a span of code on one line."""
    return code[1:-1] if code[0] == code[-1] == " " and code.strip() else code
