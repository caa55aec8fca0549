"""Read the audit log of one tenant: pages of what happened, newest first, and the check of its chain.

What is appended shows once it is sealed; a command that wants the last second calls ``Sealer.seal_all`` before.
"""

import base64
import binascii
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

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
CALL_KIND = "call"

_FIRST = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = datetime(9999, 1, 1, tzinfo=UTC)
_END = (_LAST, 2**63 - 1)
_CLOCK_AHEAD = timedelta(days=1)
"""How far a process's clock may be ahead of the sealer's before `since` misses its events."""


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which items; None is any. `since` is included, `until` is not.

    `kind` is a kind or the part before the dot (``token``); ``call`` means calls, without denials. `outcome` may be
    ``unknown`` (begun, and never heard of again) or ``pending``.
    """

    since: datetime | None = None
    until: datetime | None = None
    user: UUID | None = None
    kind: str | None = None
    module: str | None = None
    tool: str | None = None
    outcome: str | None = None
    request_id: str | None = None


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
    """Some items, and what to ask for the next with; None at the end."""

    items: tuple[AuditEntry, ...]
    next_cursor: str | None


# An outcome has the time of its intent, so that one index finds both; it is sealed after it, never before.
# A clause for the request's id stands apart because it has an index.
_PAGE = """
WITH item AS (
    SELECT e.seq, e.at, e.kind, e.user_id, e.credential_id, e.client, e.request_id, e.module, e.tool, e.digest,
        e.arguments, e.detail, e.actor, o.detail AS more,
        CASE WHEN e.kind = 'call.intent' THEN o.duration_us ELSE nullif(e.duration_us, 0) END AS duration_us,
        CASE WHEN e.kind <> 'call.intent' THEN e.outcome
            ELSE coalesce(o.outcome, CASE WHEN e.at < now() - $12::interval THEN 'unknown' ELSE 'pending' END)
        END AS outcome
    FROM audit.events e
    LEFT JOIN LATERAL (
        SELECT x.outcome, x.duration_us, x.detail FROM audit.events x
        WHERE x.tenant_id = $1 AND x.at = e.at AND x.intent = e.id AND x.kind = 'call.outcome'
            AND x.sealed_at >= e.sealed_at
        ORDER BY x.seq LIMIT 1
    ) o ON e.kind = 'call.intent'
    WHERE e.tenant_id = $1 AND e.kind <> 'call.outcome'
        AND e.at >= $2 AND e.at < $3 AND (e.at, e.seq) < ($4, $5) AND e.sealed_at >= $6
        AND ($7::uuid IS NULL OR e.user_id = $7)
        AND ($8::text IS NULL OR e.kind = $8 OR starts_with(e.kind, $8 || '.'))
        AND ($9::text IS NULL OR e.module = $9)
        AND ($10::text IS NULL OR e.tool = $10)
        AND """
_ANY_REQUEST = "$11::text IS NULL"
_ONE_REQUEST = "e.request_id = $11::text AND e.request_id <> ''"
_REST = """
)
SELECT page.*, u.email FROM (
    SELECT * FROM item WHERE $13::text IS NULL OR outcome = $13 ORDER BY at DESC, seq DESC LIMIT $14
) page LEFT JOIN core.users u ON u.tenant_id = $1 AND u.id = page.user_id ORDER BY page.at DESC, page.seq DESC
"""


async def fetch_audit_page(
    database: Database,
    tenant_id: UUID,
    filter: AuditFilter,
    cursor: str | None = None,
    limit: int = 50,
    *,
    unknown_after: timedelta = UNKNOWN_AFTER,
) -> AuditPage:
    """Fetch the next items that match, newest first. A call without an outcome is unknown after `unknown_after`.

    Raises:
        core.errors.Invalid: the cursor is none that a page gave, or `limit` is not between 1 and 500.
        core.errors.Unavailable: the database is away.
    """
    if not 1 <= limit <= MAX_ITEMS:
        raise Invalid(f"limit must be between 1 and {MAX_ITEMS}")
    args = _build_arguments(filter, _END if cursor is None else _decode_position(cursor), unknown_after)
    sql = _PAGE + (_ANY_REQUEST if filter.request_id is None else _ONE_REQUEST) + _REST
    async with database.tenant(tenant_id) as work:
        rows = await work.fetch(sql, *args, limit + 1)
    items = tuple(map(_to_entry, rows[:limit]))
    return AuditPage(items, _encode_position(items[-1]) if len(rows) > limit else None)


def _build_arguments(filter: AuditFilter, before: tuple[datetime, int], unknown_after: timedelta) -> list[Any]:
    since = max(filter.since or _FIRST, _FIRST)
    return [
        since,
        filter.until or _LAST,
        *before,
        since - _CLOCK_AHEAD,
        filter.user,
        "call.intent" if filter.kind in (CALL_KIND, "call.outcome") else filter.kind,
        filter.module,
        filter.tool,
        filter.request_id,
        unknown_after,
        filter.outcome,
    ]


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


def _encode_position(item: AuditEntry) -> str:
    return base64.urlsafe_b64encode(msgspec.msgpack.encode((to_microseconds(item.at), item.seq))).decode().rstrip("=")


def _decode_position(cursor: str) -> tuple[datetime, int]:
    try:
        raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        time, seq = msgspec.msgpack.decode(raw, type=tuple[int, int])
    except (ValueError, binascii.Error, msgspec.MsgspecError):
        raise Invalid("this cursor is not from a page of the audit log: leave it out to begin anew") from None
    at = to_datetime(time * 1000)
    if at is None or not 0 <= seq < 2**63:
        raise Invalid("this cursor is not from a page of the audit log: leave it out to begin anew")
    return at, seq
