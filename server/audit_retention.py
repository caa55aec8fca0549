"""Delete the months of the audit log that are not kept any more, as the administrator of the database."""

import contextlib
from collections.abc import AsyncGenerator, Callable
from datetime import datetime, timedelta
from typing import Protocol

from core.audit.retention import drop_old_partitions
from core.concurrency.background import run_in_background
from core.concurrency.periodic import PeriodicTask
from core.database_url import DatabaseAddress
from core.db import Database
from core.directory.audit_retention import AuditRetentionStore
from server.health import DEGRADED, Check

RETENTION_SECONDS = 300.0
"""Within so long a change of the retention has its effect; most turns are two short questions."""
LATE = timedelta(days=1)
"""How long after it should be gone a month may be there before somebody is told."""


class AdministeredDatabase(Protocol):
    """A deployment's database as its administrator."""

    @property
    def admin(self) -> DatabaseAddress: ...


async def apply_retention(deployment: AdministeredDatabase, retention: AuditRetentionStore, now: datetime) -> list[str]:
    """Drop the months that are not kept at `now`; the names of their partitions.

    Raises:
        core.errors.Unavailable: the database is away.
    """
    kept = (await retention.fetch()).keep_months
    if kept is None or (await retention.preview(kept, now)).days == 0:
        return []
    database = Database(deployment.admin, max_connections=1)  # no application role may shorten the log
    await database.open()
    try:
        return await drop_old_partitions(database, kept, now, actor="retention")
    finally:
        await database.close()


def create_retention_check(retention: AuditRetentionStore, clock: Callable[[], datetime]) -> Check:
    """Create the check of a process that must not drop months itself: ``degraded`` where nobody does."""

    async def is_applied() -> bool | str:
        kept, before = await retention.fetch(), clock() - LATE
        changed_at = kept.version.changed_at
        if kept.keep_months is None or (changed_at is not None and changed_at > before):
            return True
        if (await retention.preview(kept.keep_months, before)).days == 0:
            return True
        return f"{DEGRADED}: months that are not kept are still there; let a timer run mcpist audit retention apply"

    return is_applied


@contextlib.asynccontextmanager
async def run_retention(
    deployment: AdministeredDatabase, retention: AuditRetentionStore, clock: Callable[[], datetime]
) -> AsyncGenerator[None]:
    """Drop old months of the audit log at the start and every few minutes, as the retention then is."""

    async def drop() -> None:
        await apply_retention(deployment, retention, clock())

    task = PeriodicTask("deleting old audit events", drop, RETENTION_SECONDS, runs_at_start=True)
    async with run_in_background(task.name, task.run()):
        yield
