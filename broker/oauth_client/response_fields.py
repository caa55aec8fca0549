"""Fields of a token endpoint's response: JSON, or the form encoding that some vendors still send."""

import re
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import parse_qsl

import orjson

MOST_FIELDS = 200
LONGEST_TEXT = 200
_FORM = re.compile(rb"[A-Za-z_][A-Za-z0-9_.-]*=[\x21-\x7e]*")


def parse_fields(body: bytes) -> Mapping[str, Any] | None:
    """The object that an answer is; None where it is none. Which form it has is seen from itself: vendors send either
    under any media type."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError:
        return _parse_form(body)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


def resolve_pointer(document: object, pointer: str) -> object:
    """Resolve a JSON pointer (RFC 6901); None where it points to nothing."""
    found: Any = document
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = cast("dict[str, Any]", found).get(key)
        elif isinstance(found, list) and re.fullmatch("[0-9]{1,4}", key):
            found = next(iter(cast("list[Any]", found)[int(key) : int(key) + 1]), None)
        else:
            return None
    return found


def clean_text(value: object) -> str:
    """Return a name or id fit to be stored and shown; empty where it is none."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if abs(value) < 10**30 else ""
    if not isinstance(value, str):
        return ""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in value[:LONGEST_TEXT]).split())


def resolve_text(document: object, *pointers: str) -> str:
    """Return the text at the first pointer that points to one."""
    return next((found for pointer in pointers if (found := clean_text(resolve_pointer(document, pointer)))), "")


def _parse_form(body: bytes) -> Mapping[str, Any] | None:
    body = body.strip()
    if not all(_FORM.fullmatch(part) for part in body.split(b"&", MOST_FIELDS)):
        return None
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError:
        return None
    found = dict(pairs)
    return found if len(found) == len(pairs) else None  # a field twice: which one is meant?
