"""Read the audit log of one tenant: pages of what happened, newest or oldest first, and the check of its chain.

What is appended shows once it is sealed; a command that wants the last second calls ``Sealer.seal_all`` before.
"""

import base64
import binascii
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from core.audit.page_search import CALL_KIND, SEARCH_SECONDS, AuditFilter, PageSearch, Position
from core.audit.truncation import to_datetime, to_microseconds
from core.audit.verification import ChainAnchor, ChainVerification, list_anchors, verify_chain
from core.db import Database, Row
from core.errors import Invalid

__all__ = [
    "AuditEntry",
    "AuditFilter",
    "AuditPage",
    "ChainAnchor",
    "ChainVerification",
    "fetch_audit_page",
    "list_anchors",
    "verify_chain",
]

MAX_ITEMS = 500
UNKNOWN_AFTER = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One thing that happened. A call's intent and outcome are one item of kind ``call``."""

    seq: int
    at: datetime
    kind: str
    user_id: UUID | None
    credential_id: str
    client: str
    request_id: str
    module: str
    tool: str
    outcome: str
    duration_us: int | None
    digest: bytes
    arguments: bytes | None
    detail: dict[str, str | int]
    actor: str


@dataclass(frozen=True, slots=True)
class AuditPage:
    """Some items, and what to ask for the next with; None at the end. Where the search has ended before it was full,
    `searched_until` is the time that it has come to, in its order."""

    items: tuple[AuditEntry, ...]
    next_cursor: str | None
    searched_until: datetime | None = None


async def fetch_audit_page(
    database: Database,
    tenant_id: UUID,
    filter: AuditFilter,
    cursor: str | None = None,
    limit: int = 50,
    *,
    oldest_first: bool = False,
    unknown_after: timedelta = UNKNOWN_AFTER,
    search_seconds: float = SEARCH_SECONDS,
) -> AuditPage:
    """Fetch the next items that match, newest first unless `oldest_first`.

    A call without an outcome is unknown after `unknown_after`. A search that finds too little ends after about
    `search_seconds`, and its page says how far it has come. A cursor is a place in the log: it goes on from there in
    the order that is asked for. An event that is sealed late has its place by its time, so with the oldest first a
    page may have gone past it.

    Raises:
        core.errors.Invalid: the cursor is none that a page gave, or `limit` is not between 1 and 500.
        core.errors.Unavailable: the database is away.
    """
    if not 1 <= limit <= MAX_ITEMS:
        raise Invalid(f"limit must be between 1 and {MAX_ITEMS}")
    position = None if cursor is None else _decode_position(cursor)
    search = PageSearch(filter, unknown_after, oldest_first=oldest_first)
    async with database.tenant(tenant_id) as work:
        found = await search.run(work, position, limit + 1, search_seconds)
    items = tuple(map(_to_entry, found.rows[:limit]))
    if len(found.rows) > limit:
        return AuditPage(items, _encode_position(items[-1].at, items[-1].seq))
    if found.searched_until is not None:
        return AuditPage(items, _encode_position(found.searched_until, 0), found.searched_until)
    return AuditPage(items, None)


def _to_entry(row: Row) -> AuditEntry:
    return AuditEntry(
        seq=row["seq"],
        at=row["at"],
        kind=CALL_KIND if row["kind"] == "call.intent" else row["kind"],
        user_id=row["user_id"],
        credential_id=row["credential_id"],
        client=row["client"],
        request_id=row["request_id"],
        module=row["module"],
        tool=row["tool"],
        outcome=row["outcome"],
        duration_us=row["duration_us"],
        digest=row["digest"],
        arguments=row["arguments"],
        detail=_parse_detail(row["detail"]) | _parse_detail(row["more"]),
        actor=row["actor"] or row["email"] or "",  # calls are recorded by the id of their person alone
    )


def _parse_detail(text: str | None) -> dict[str, str | int]:
    return {} if text is None else msgspec.json.decode(text)


def _encode_position(at: datetime, seq: int) -> str:
    return base64.urlsafe_b64encode(msgspec.msgpack.encode((to_microseconds(at), seq))).decode().rstrip("=")


def _decode_position(cursor: str) -> Position:
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        time, seq = msgspec.msgpack.decode(raw, type=tuple[int, int])
    except (ValueError, binascii.Error, msgspec.MsgspecError):
        raise Invalid("this cursor is not from a page of the audit log: leave it out to begin anew") from None
    at = to_datetime(time * 1000)
    if at is None or not 0 <= seq < 2**63:
        raise Invalid("this cursor is not from a page of the audit log: leave it out to begin anew")
    return at, seq
