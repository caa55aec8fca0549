"""Words for error texts: everything that comes from outside is quoted and cut, so no text grows with the input."""

import json
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

import orjson

_SHOWN = 60  # characters of a caller's own text
_LISTED = 12  # names in a list
_COMPARED = 32  # characters that are compared by similarity: difflib takes quadratic time and more


def cut_text(text: str, limit: int) -> str:
    """Cut the text to at most `limit` characters, with an ellipsis where it was longer."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def quote_value(value: object) -> str:
    """Quote the value as a JSON string on one line, cut; what cannot be printed becomes a question mark."""
    text = json.dumps(make_printable(cut_text(str(value), _SHOWN)), ensure_ascii=False)
    return text if text.isprintable() else "".join(character if character.isprintable() else "?" for character in text)


def make_printable(text: str) -> str:
    """Make the same text, fit for UTF-8."""
    return text.encode("utf-8", "replace").decode()


def format_names(names: Iterable[object]) -> str:
    """Format the first names and the number of the others; "none" for none."""
    names = list(names)
    listed = ", ".join(make_printable(cut_text(str(name), _SHOWN)) for name in names[:_LISTED])
    omitted = len(names) - _LISTED
    return f"{listed} and {omitted} more" if omitted > 0 else listed or "none"


def suggest_name(name: str, names: Iterable[str]) -> str:
    """`; did you mean "x"?` with the nearest of the names, or nothing."""
    by_beginning = {name[:_COMPARED]: name for name in reversed(list(names))}
    matches = get_close_matches(name[:_COMPARED], by_beginning, n=1, cutoff=0.6)
    return f"; did you mean {quote_value(by_beginning[matches[0]])}?" if matches else ""


def describe_type(value: object) -> str:
    """Return JSON's name of the value's type, with an article."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, list):
        return "an array"
    return "an object" if isinstance(value, dict) else "another type"


def encode_compact_json(value: Any) -> bytes | None:
    """Compact JSON, or None for what JSON cannot hold: deeper than 254 levels, or a number beyond 64 bits."""
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        return None
