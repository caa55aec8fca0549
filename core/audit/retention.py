"""Drop what is older than the operator wants to keep; by default everything is kept."""

import time
from collections.abc import Callable
from datetime import datetime

from core.audit.event import AuditEvent, AuditEventKind
from core.audit.writer import append_events
from core.db import Database, UnitOfWork
from core.errors import Invalid

MAX_MONTHS = 1_200


async def fetch_oldest_time(work: UnitOfWork) -> datetime | None:
    """Fetch the time of the oldest event of a tenant's log that is kept; None for an empty log."""
    return await work.fetchval("SELECT min(at) FROM audit.events WHERE tenant_id = $1")


async def drop_old_partitions(
    database: Database, months: int, *, actor: str = "operator", clock: Callable[[], int] = time.time_ns
) -> list[str]:
    """Drop the partitions of all tenants that ended `months` whole months ago, and record it; the partitions' names.

    `database` is logged in as the administrator of the database: no application role may shorten the log. The chains
    stay verifiable: each begins anew after its last dropped event, whose hash is kept.

    Raises:
        core.errors.Invalid: `months` is not between 1 and 1200.
        core.errors.Unavailable: the database is away.
    """
    if not 1 <= months <= MAX_MONTHS:
        raise Invalid(f"months must be between 1 and {MAX_MONTHS}")
    partitions: list[str] = await database.call("SELECT audit.drop_before($1)", months)
    if partitions:
        detail: dict[str, str | int] = {"months": months, "partitions": len(partitions), "newest": partitions[-1]}
        await append_events(
            database, [AuditEvent(at=clock(), kind=AuditEventKind.AUDIT_DROPPED, detail=detail, actor=actor)]
        )
    return partitions
