"""Age of the newest backup, for metrics; read by the process that seals the audit log."""

import contextlib
from collections.abc import AsyncGenerator, Callable
from datetime import datetime

from core.audit.backups import fetch_newest_backup
from core.concurrency.background import run_in_background
from core.concurrency.periodic import PeriodicTask
from core.db import Database
from core.observability.metrics import Metrics

INTERVAL_SECONDS = 60.0
METRIC = "mcpist_backup_age_seconds"


@contextlib.asynccontextmanager
async def watch_backups(console: Database, metrics: Metrics, now: Callable[[], datetime]) -> AsyncGenerator[None]:
    """Keep the age of the newest backup in `metrics` until the block is left. There is none before the first backup:
    whoever backs the database up in another way is not told of a backup that is missing."""
    newest: datetime | None = None

    async def look() -> None:
        nonlocal newest
        # Its month may have gone out of the log meanwhile.
        newest = found = await fetch_newest_backup(console) or newest
        if found is not None:
            metrics.register_observable(METRIC, lambda: (now() - found).total_seconds())

    task = PeriodicTask("reading the age of the backup", look, INTERVAL_SECONDS, runs_at_start=True)
    async with run_in_background(task.name, task.run()):
        yield
