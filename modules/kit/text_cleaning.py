"""A vendor's text is written by strangers: what a person would not see is taken out, and what is long is cut.

Invisible characters can carry orders to a model that no reviewer ever saw (Unicode tags), and direction overrides show
code in another order than it has (CVE-2021-42574).
"""

import re
from typing import NamedTuple

MAX_LINE_LENGTH = 1_024
"""Of a title, a name or a place: more than vendors take, or people write."""
MAX_NAME_LENGTH = 4_096
MAX_URL_LENGTH = 4_096
MAX_IDENTIFIER_LENGTH = 4_096
MAX_HIDDEN_CHARACTERS = 2_000
"""Characters that a text is looked at beyond those that are shown, for those that are taken out."""

# Controls but tab and line breaks; marks and overrides of direction; fillers, operators and joiners that show nothing;
# tags. What scripts and emoji need stays: U+200C, U+200D, and one variation selector after a visible character.
_HIDDEN_CHARACTERS = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
_HIDDEN = re.compile(f"[{_HIDDEN_CHARACTERS}]")
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_EXTRA_SELECTOR = re.compile(f"(?<![^\\s{_SELECTORS}\u200c\u200d])[{_SELECTORS}]+|(?<=[{_SELECTORS}])[{_SELECTORS}]+")
_SELECTOR_OR_JOINER = re.compile(f"[{_SELECTORS}\u200c\u200d]")
_EXTRA_JOINER = re.compile("(?<![^\\s\u200c\u200d])[\u200c\u200d]+")

_WORD = f"[^\\s{_HIDDEN_CHARACTERS}{_SELECTORS}\u200c\u200d]+"
CLEAN_LINE_PATTERN = f"^(?:{_WORD}(?: {_WORD})*)?$"
"""Of texts up to ``MAX_LINE_LENGTH`` that :func:`clean_line` leaves as they are; for Python and for Rust's regex."""
PLAIN_PATTERN = "^[ -~]*$"
"""Of texts that :func:`clean_name`, :func:`clean_url` and :func:`keep_identifier` leave as they are, up to their
lengths."""


class CutText(NamedTuple):
    """A text, and whether there was more of it."""

    text: str
    truncated: bool


def clean_text(text: str) -> str:
    """`text` without what is invisible; line breaks as they are."""
    if text.isascii() and text.isprintable():
        return text
    visible = _HIDDEN.sub("", text)
    return _EXTRA_JOINER.sub("", _EXTRA_SELECTOR.sub("", visible)) if _SELECTOR_OR_JOINER.search(visible) else visible


def is_clean(text: str) -> bool:
    """Check whether nothing in `text` is invisible, wherever it is cut; false also for a text of which little is."""
    is_plain = text.isascii() and text.isprintable()
    return is_plain or not (_HIDDEN.search(text) or _SELECTOR_OR_JOINER.search(text))


def clean_name(text: str) -> str:
    """Clean the name or path of a file: nothing but what is invisible is missing, or it could not be asked for. No file
    system has names longer than ``MAX_NAME_LENGTH``."""
    return "".join(clean_text(text[:MAX_NAME_LENGTH]).splitlines())


def clean_url(text: str) -> str:
    """Clean an address. A cut one leads nowhere: a longer one is left out, and its length stands for it."""
    if len(text) > MAX_URL_LENGTH:
        return f"(left out: an address of {len(text)} characters)"
    return clean_name(text)


def keep_identifier(text: str) -> str:
    """An id, key or cursor of a vendor's as it is: with a character less it names nothing. One that is longer than
    ``MAX_IDENTIFIER_LENGTH``, or has invisible characters, is left out, and the reason stands for it."""
    if len(text) > MAX_IDENTIFIER_LENGTH:
        return f"(left out: an id of {len(text)} characters)"
    return text if text.isprintable() and clean_text(text) == text else "(left out: an id with invisible characters)"


def clean_line(text: str) -> str:
    """`text` as one short line: a title, a name. One that was cut says how long it is."""
    is_usual = len(text) <= MAX_LINE_LENGTH and text.isascii() and text.isprintable()
    if is_usual and "  " not in text and text[:1] != " " and text[-1:] != " ":
        return text
    line = " ".join(clean_text(text[: 4 * MAX_LINE_LENGTH]).split())
    if len(line) <= MAX_LINE_LENGTH:
        return line
    mark = f"… ({len(text)} characters)"
    return line[: MAX_LINE_LENGTH - len(mark)] + mark


def clean_block(text: str, limit: int) -> CutText:
    """`text` as lines, at most `limit` characters of it."""
    head = text[: limit + MAX_HIDDEN_CHARACTERS]
    cleaned = clean_text(head.replace("\r\n", "\n")).replace("\r", "\n")
    return CutText(cleaned[:limit], len(cleaned) > limit or len(head) < len(text))
