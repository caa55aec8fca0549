"""The history of an account, which the connection doctor shows: its last events, never a secret in them."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any
from uuid import UUID

import orjson

from core.db import UnitOfWork

MAX_EVENTS_PER_ACCOUNT = 50


class AccountEventKind(StrEnum):
    """What happened to an account."""

    CONNECTED = "connected"
    REFRESHED = "refreshed"
    FAILED = "failed"
    """The class says how: permanent, service, not_sent, throttled or uncertain."""
    HELD_BACK = "held_back"
    """Refused, but so were many others of this vendor: nobody is blamed yet."""
    NEEDS_REAUTH = "needs_reauth"
    LATE_ANSWER = "late_answer"
    """Tokens came when another process had gone on: they are kept as a second thing to try."""
    CANDIDATE_ADOPTED = "candidate_adopted"


async def append_event(
    work: UnitOfWork, account_id: UUID, what: AccountEventKind, cls: str = "", detail: Mapping[str, Any] | None = None
) -> None:
    """Add an event in the change's own transaction; the oldest beyond :data:`MOST_KEPT` go."""
    await work.execute(_NOTE, account_id, what.value, cls, orjson.dumps(dict(detail or {})).decode())
    await work.execute(_TRIM, account_id, MAX_EVENTS_PER_ACCOUNT)


_NOTE = """INSERT INTO vault.account_events (tenant_id, account_id, at, kind, class, detail)
    SELECT $1, $2, vault.clock(), $3, $4, $5::jsonb
    WHERE EXISTS (SELECT FROM vault.accounts WHERE tenant_id = $1 AND id = $2)"""
_TRIM = """DELETE FROM vault.account_events WHERE tenant_id = $1 AND account_id = $2 AND id <= (
    SELECT id FROM vault.account_events WHERE tenant_id = $1 AND account_id = $2 ORDER BY id DESC OFFSET $3 LIMIT 1)"""
