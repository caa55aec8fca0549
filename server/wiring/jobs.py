"""A worker of jobs in this process: started with it, drained at its end, shown in its metrics."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Mapping

from core.concurrency.background import run_in_background
from core.config.settings import Settings
from core.database_login import LoginRefused
from core.db import Database
from core.errors import Unavailable
from core.observability.metrics import Metrics
from core.sealed_records import RecordSealer
from jobs.handler import JobHandler
from jobs.schedule_runner import ScheduleRunner, VerifyMandate
from jobs.worker import JobWorker, WorkerLimits
from jobs.worker_store import QueueFigures, WorkerStore, load_queue_figures
from server.deployment import Deployment
from server.role_database import WORKER_ROLE, open_role_database

WORKER_CONNECTIONS = 4
"""Connections for outcomes and progress; one more listens and claims."""
DRAIN_SECONDS = 20.0
"""Seconds from the signal to stop in which jobs may end by themselves."""

log = logging.getLogger(__name__)


@contextlib.asynccontextmanager
async def run_job_worker(
    settings: Settings,
    deployment: Deployment,
    handlers: Mapping[str, JobHandler],
    verify_mandate: VerifyMandate,
    metrics: Metrics,
    *,
    shows_queue: bool = False,
) -> AsyncGenerator[None]:
    """Run a worker, which makes jobs of schedules, too, until the block is left; then it begins no more jobs, and gives
    those that run some seconds. With `shows_queue` its metrics show the whole queue: no other part of its process
    does."""
    if not settings.jobs_at_once:
        yield
        return
    async with open_role_database(deployment, WORKER_ROLE, max_connections=WORKER_CONNECTIONS) as database:
        await _check_login(database)
        store, sealer = WorkerStore(database), RecordSealer(deployment.digest_key)
        schedules = ScheduleRunner(database, sealer, verify_mandate)
        worker = JobWorker(
            deployment.get_role_address(WORKER_ROLE),
            store,
            sealer,
            handlers,
            limits=build_worker_limits(settings),
            count_ended=metrics.count_job,
            wake_schedules=schedules.wake,
        )
        metrics.register_observable("mcpist_jobs_here", lambda: len(worker))
        if shows_queue:
            show_queue(metrics, database)
        async with (
            run_in_background("running jobs", worker.run()),
            run_in_background("running schedules", schedules.run()),
        ):
            try:
                yield
            finally:
                if len(worker):
                    log.info("stopping: waiting for jobs", extra={"event": "jobs_draining", "jobs": len(worker)})
                await asyncio.shield(worker.drain(DRAIN_SECONDS))


async def _check_login(database: Database) -> None:
    """Check that the database knows the worker's password; one that is away may come later.

    Raises:
        LoginRefused: it does not.
    """
    try:
        await database.ping()
    except LoginRefused:
        raise
    except Unavailable:
        return


def build_worker_limits(settings: Settings) -> WorkerLimits:
    """Build the limits that the settings say; what is not set there is half of a tenant's."""
    half = (settings.jobs_of_tenant + 1) // 2
    return WorkerLimits(
        settings.jobs_at_once, settings.jobs_of_tenant, settings.jobs_of_user or half, settings.jobs_of_module or half
    )


def show_queue(metrics: Metrics, database: Database) -> None:
    """Show depth and age of the deployment's queue, which `database` reads as a worker or as the control plane."""
    figures = QueueFigures()

    async def look() -> None:
        nonlocal figures
        with contextlib.suppress(Unavailable):
            figures = await load_queue_figures(database)

    metrics.register_look(look)
    metrics.register_labelled("mcpist_jobs", lambda: {"waiting": figures.waiting, "running": figures.running})
    metrics.register_observable("mcpist_job_oldest_seconds", lambda: figures.oldest_seconds)
