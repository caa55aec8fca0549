"""Drop what is older than the operator wants to keep; by default everything is kept."""

from datetime import UTC, date, datetime

from core.audit.event import AuditEvent, AuditEventKind
from core.audit.writer import append_events
from core.db import Database, UnitOfWork
from core.errors import Invalid

MAX_MONTHS = 1_200


async def fetch_oldest_time(work: UnitOfWork) -> datetime | None:
    """Fetch the time of the oldest event of a tenant's log that is kept; None for an empty log."""
    return await work.fetchval("SELECT min(at) FROM audit.events WHERE tenant_id = $1")


async def fetch_oldest_month(database: Database) -> date | None:
    """Fetch the first day of the oldest month that the log has, of all tenants; None before its first event."""
    name: str | None = await database.call(_OLDEST_PARTITION)
    if name is None:
        return None
    year, month = name.removeprefix("events_").split("_")
    return date(int(year), int(month), 1)


def compute_first_kept_day(now: datetime, months: int) -> date:
    """Compute the first day that is kept with so many whole months before that of `now`, by UTC."""
    today = now.astimezone(UTC)
    count = today.year * 12 + today.month - 1 - months
    return date(count // 12, count % 12 + 1, 1)


async def drop_old_partitions(database: Database, months: int, now: datetime, *, actor: str = "operator") -> list[str]:
    """Drop the partitions of all tenants that ended `months` whole months ago, and record it; the partitions' names.

    `database` is logged in as the administrator of the database: no application role may shorten the log. The chains
    stay verifiable: each begins anew after its last dropped event, whose hash is kept. Where `now` is ahead of the
    database's clock, the database's counts.

    Raises:
        core.errors.Invalid: `months` is not between 1 and 1200.
        core.errors.Unavailable: the database is away.
    """
    if not 1 <= months <= MAX_MONTHS:
        raise Invalid(f"months must be between 1 and {MAX_MONTHS}")
    partitions: list[str] = await database.call("SELECT audit.drop_before($1, $2)", months, now)
    if partitions:
        detail: dict[str, str | int] = {"months": months, "partitions": len(partitions), "newest": partitions[-1]}
        at = int(now.timestamp() * 1_000_000) * 1_000
        await append_events(
            database, [AuditEvent(at=at, kind=AuditEventKind.AUDIT_DROPPED, detail=detail, actor=actor)]
        )
    return partitions


_OLDEST_PARTITION = """SELECT min(c.relname::text COLLATE "C") FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'audit.events'::regclass"""
