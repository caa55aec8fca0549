"""Our own cursors: opaque texts that hold where a list or a text goes on."""

import base64
import binascii
import json
from typing import Any

from modules.kit.errors import ToolError


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
    return ToolError("cursor was not returned by this tool for this list; leave it out to start at the beginning")
