"""Pages of lists with opaque cursors ([2025-11-25] Pagination)."""

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from gateway.mcp.jsonrpc import INVALID_PARAMS
from gateway.mcp.request_context import Params, ProtocolError

PAGE_SIZE = 100
MAX_CURSOR_LENGTH = 400

Item = TypeVar("Item")


def build_page(
    items: Sequence[Item], key: Callable[[Item], str], params: Params, *, size: int = PAGE_SIZE
) -> tuple[Sequence[Item], dict[str, Any]]:
    """Return the page that `params` ask for, and the field with the next cursor. A cursor says after which key to go
    on; `items` are sorted by their keys, so a page stays right where they change in between.

    Raises:
        ProtocolError: -32602 the cursor is none of ours.
    """
    cursor = params.get("cursor")
    if cursor is not None:
        after = _decode_cursor(cursor)
        items = [item for item in items if key(item) > after]
    page = items[:size]
    return page, {} if len(items) <= size else {"nextCursor": _encode_cursor(key(page[-1]))}


def _encode_cursor(key: str) -> str:
    return base64.urlsafe_b64encode(key.encode()).decode()


def _decode_cursor(cursor: str) -> str:
    if 0 < len(cursor) <= MAX_CURSOR_LENGTH and cursor.isascii():
        try:
            decoded = base64.b64decode(cursor, altchars=b"-_", validate=True)
            if base64.urlsafe_b64encode(decoded).decode() == cursor:
                return decoded.decode()
        except (binascii.Error, ValueError):
            pass
    raise ProtocolError(INVALID_PARAMS, "Unknown cursor; begin the list again without one")
