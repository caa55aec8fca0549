"""Our own cursors: which page of a vendor's list comes next, and how large it is.

A vendor's URLs are never followed.
"""

import base64
import binascii
import json
import re
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

from modules.kit.errors import ToolError

_NEXT = re.compile(r'<([^<>]{1,2000})>\s*;[^,<]*\brel="?next"?')
# Some lists are paged by number, some by a key of the vendor's own.
_PAGING = ("page", "per_page", "after")
_VALUE = re.compile(r"[A-Za-z0-9+/=_:-]{1,500}")

PagingParameters = dict[str, str | int]


def parse_paging(cursor: str | None, per_page: int) -> PagingParameters:
    """Parse the query parameters for the page that `cursor` names; the first page for None. A cursor keeps the size
    that its first page had: with another one, the next page would start elsewhere.

    Raises:
        ToolError: the cursor is not one that :func:`next_cursor` made.
    """
    if cursor is None:
        return {"per_page": per_page}
    decoded = decode_cursor(cursor)
    if not isinstance(decoded, dict) or not decoded:
        raise build_unknown_cursor_error()
    pairs = cast("dict[Any, Any]", decoded)
    if not all(name in _PAGING and isinstance(value, str) and _VALUE.fullmatch(value) for name, value in pairs.items()):
        raise build_unknown_cursor_error()
    numbers = [pairs[name] for name in ("page", "per_page") if name in pairs]
    if not all(value.isascii() and value.isdigit() and 0 < int(value) < 10**6 for value in numbers):
        raise build_unknown_cursor_error()
    return {"per_page": per_page, **pairs}


def build_next_cursor(link: str | None, per_page: object) -> str:
    """Build the cursor for the page that a Link header (RFC 8288) calls next; "" where there is none."""
    match = _NEXT.search(link or "")
    if not match:
        return ""
    query = dict(parse_qsl(urlsplit(match[1]).query))
    paging = {name: query[name] for name in _PAGING if _VALUE.fullmatch(query.get(name, ""))}
    return encode_cursor({"per_page": str(per_page), **paging}) if paging.keys() - {"per_page"} else ""


def encode_cursor(value: object) -> str:
    """Encode the opaque form of a cursor's content."""
    return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode()


def decode_cursor(cursor: str) -> Any:
    """Decode a cursor made by :func:`encode_cursor`.

    Raises:
        ToolError: the text is no such cursor.
    """
    try:
        return json.loads(base64.b64decode(cursor, altchars=b"-_", validate=True))
    except (ValueError, binascii.Error, RecursionError):
        raise build_unknown_cursor_error() from None


def build_unknown_cursor_error() -> ToolError:
    return ToolError("cursor was not returned by this tool; leave it out to start at the beginning")
