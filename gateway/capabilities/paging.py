"""Pages of lists with opaque cursors ([2025-11-25] Pagination)."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from core.caller import Caller
from core.secret import Secret
from gateway.mcp.jsonrpc import INVALID_PARAMS
from gateway.mcp.request_context import Params, ProtocolError

PAGE_SIZE = 100
MAX_CURSOR_LENGTH = 400
_MAC = 16

Item = TypeVar("Item")


class CapabilityPage(NamedTuple):
    """One page: its items, and the field with the next cursor, which is empty on the last one."""

    items: Sequence[Any]
    next_cursor: dict[str, str]


class ListPages:
    """Pages of the lists of callers. A cursor says after which key to go on, under a MAC of the deployment's own `key`:
    it is good for one list of one person, on every gateway, whichever of their credentials they come with."""

    def __init__(self, key: Secret) -> None:
        self._key = key

    def build_page(
        self, caller: Caller, method: str, items: Sequence[Item], key: Callable[[Item], str], params: Params
    ) -> CapabilityPage:
        """Build the page of the list of `method` that `params` ask for; `items` are sorted by their keys, so a page
        stays right where they change in between.

        Raises:
            ProtocolError: -32602 the cursor is none of ours, or of another list or person.
        """
        list_id = f"list cursor\0{method}\0{caller.tenant_id}\0{caller.user_id}\0"
        if (cursor := params.get("cursor")) is not None:
            after = self._decode_cursor(cursor, list_id)
            items = [item for item in items if key(item) > after]
        page = items[:PAGE_SIZE]
        return CapabilityPage(
            page, {} if len(items) <= PAGE_SIZE else {"nextCursor": self._encode_cursor(key(page[-1]), list_id)}
        )

    def _encode_cursor(self, key: str, list_id: str) -> str:
        return base64.urlsafe_b64encode(self._compute_mac(key.encode(), list_id) + key.encode()).decode()

    def _decode_cursor(self, cursor: str, list_id: str) -> str:
        if 0 < len(cursor) <= MAX_CURSOR_LENGTH and cursor.isascii():
            try:
                decoded = base64.b64decode(cursor, altchars=b"-_", validate=True)
            except binascii.Error:
                decoded = b""
            mac, key = decoded[:_MAC], decoded[_MAC:]
            if hmac.compare_digest(mac, self._compute_mac(key, list_id)):
                return key.decode()
        raise ProtocolError(INVALID_PARAMS, "Unknown cursor; begin the list again without one")

    def _compute_mac(self, key: bytes, list_id: str) -> bytes:
        return hmac.digest(self._key.reveal().encode(), list_id.encode() + key, hashlib.sha256)[:_MAC]
