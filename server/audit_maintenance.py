"""Maintenance of the audit log that needs no other role than the control plane's: sealing, counting, and what it
tells of backups."""

import contextlib
from collections.abc import AsyncGenerator

from core.audit.call_counts import COUNT_SECONDS, FORGET_SECONDS, CallCounter
from core.audit.sealer import AuditSealer
from core.concurrency.background import run_in_background
from core.concurrency.periodic import PeriodicTask
from core.db import Database
from core.errors import Unavailable
from core.observability.metrics import Metrics
from server.backup_age import watch_backups
from server.role_database import get_utc_now


@contextlib.asynccontextmanager
async def run_audit_maintenance(console: Database, metrics: Metrics) -> AsyncGenerator[None]:
    """Seal the audit log and count its calls by the hour; at the end everything is sealed."""
    sealer, counter = AuditSealer(console, get_utc_now), CallCounter(console)
    metrics.register_observable("mcpist_audit_seal_lag_seconds", lambda: sealer.lag_seconds)
    counting = PeriodicTask("counting calls by the hour", counter.count_pending, COUNT_SECONDS)
    forgetting = PeriodicTask("deleting old counts of calls", counter.forget_old, FORGET_SECONDS)
    try:
        async with (
            run_in_background("sealing the audit log", sealer.run()),
            run_in_background(counting.name, counting.run()),
            run_in_background(forgetting.name, forgetting.run()),
            watch_backups(console, metrics, get_utc_now),
        ):
            yield
    finally:
        with contextlib.suppress(Unavailable):
            await sealer.seal_all()
