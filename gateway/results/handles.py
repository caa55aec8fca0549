"""Handles of kept results. A handle has the id of the record and a key of its own, which is stored nowhere: the row in
the database cannot be opened without it, not even with the deployment's key."""

import base64
import binascii
import os
import re
from typing import NamedTuple
from uuid import UUID, uuid4

from core.sealed_records import HANDLE_KEY_BYTES

PREFIX = "res_"
_ID_BYTES = 16
_PATTERN = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{43}}")
"""As long as the id of a batch's step may be, and of the same letters: a reference can begin with either."""


class ResultHandle(NamedTuple):
    """What a handle says: which record, and the key that only the handle has."""

    id: UUID
    key: bytes

    @property
    def text(self) -> str:
        """The handle as its holder has it."""
        return PREFIX + base64.urlsafe_b64encode(self.id.bytes + self.key).decode().rstrip("=")


def create_handle() -> ResultHandle:
    """Create the handle of a new record."""
    return ResultHandle(uuid4(), os.urandom(HANDLE_KEY_BYTES))


def is_handle(text: str) -> bool:
    """Check whether a text has the form of a handle."""
    return _PATTERN.fullmatch(text) is not None


def parse_handle(text: str) -> ResultHandle | None:
    """Parse a handle; None where it is none."""
    if not is_handle(text):
        return None
    try:
        decoded = base64.urlsafe_b64decode(f"{text.removeprefix(PREFIX)}=")
    except (binascii.Error, ValueError):
        return None
    handle = ResultHandle(UUID(bytes=decoded[:_ID_BYTES]), decoded[_ID_BYTES:])
    return handle if handle.text == text else None
