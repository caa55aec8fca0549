"""Reading by tools of other modules (docs/decisions/0149-tools-that-read-by-other-tools.md)."""

from typing import NamedTuple
from uuid import UUID


class ReadAccess(NamedTuple):
    """Whether the caller can use a reading tool of another module now. Where not, `reason` says why, for a model, and
    `connect_url` is where they connect an account, "" where that does not help.

    `account` tells accounts apart: what was read by one account is none of another's. It is None where the tool has no
    vendor.
    """

    is_usable: bool
    reason: str = ""
    connect_url: str = ""
    account: UUID | None = None
