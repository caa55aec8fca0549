"""Pages: `limit` items at most, and an opaque `next_cursor` that the next request gives back as `cursor`."""

import base64
import binascii
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, Any, TypeVar
from uuid import UUID

import msgspec
from fastapi import Query

from core.api.schemas import NO_CONTROL_CHARACTERS
from core.errors import Invalid

MAX_PAGE_SIZE = 200
MAX_CURSOR_LENGTH = 3_000

TextKey = Annotated[str, msgspec.Meta(pattern=NO_CONTROL_CHARACTERS, max_length=400)]
PriorityKey = Annotated[int, msgspec.Meta(ge=-1_000_000, le=1_000_000)]
TimestampKey = tuple[datetime, UUID]
"""What may stand in a cursor: it is input like any other."""

_Item = TypeVar("_Item")

Cursor = Annotated[
    str | None,
    Query(max_length=MAX_CURSOR_LENGTH, description="`next_cursor` of the previous page; omit it for the first page."),
]
PageLimit = Annotated[int, Query(ge=1, le=MAX_PAGE_SIZE, description="Maximum number of items on the page.")]


def encode_cursor(key: Any) -> str:
    """Encode the cursor of the page after the item with that key."""
    return base64.urlsafe_b64encode(msgspec.msgpack.encode(key)).decode().rstrip("=")


def decode_cursor(cursor: str, form: Any) -> Any:
    """Decode the key in a cursor, which must have the type `form`.

    Raises:
        Invalid: no page has given this cursor.
    """
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        return msgspec.msgpack.decode(raw, type=form)
    except (ValueError, binascii.Error, msgspec.MsgspecError):
        raise Invalid("this cursor is not from a page of this list: leave it out to begin anew") from None


def split_page(items: Sequence[_Item], limit: int, key: Callable[[_Item], Any]) -> tuple[Sequence[_Item], str | None]:
    """Split items that were requested with one more than `limit` into a page and the cursor for the next, if any."""
    if len(items) <= limit:
        return items, None
    return items[:limit], encode_cursor(key(items[limit - 1]))
