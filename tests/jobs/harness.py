"""A queue and workers on a test's own database. Time is a number that the test moves."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from core.database_url import DatabaseAddress
from core.db import connect
from core.sealed_records import RecordSealer
from core.secret import Secret
from jobs.events import JobEvents
from jobs.handler import JobHandler, JobOutcome, JobReport
from jobs.job import Job, JobState, NewJob
from jobs.queue import JobQueue
from jobs.worker import JobWorker, WorkerLimits, WorkerTiming
from jobs.worker_store import WorkerStore
from tests.support.postgres import MadeTenant, ScratchDatabase

KEY = Secret("a key of gateways and workers, for tests")
SLOW = WorkerTiming(lease=15.0, poll=1.0)


class Clock:
    """A monotonic clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


async def write_run(admin: DatabaseAddress, job: Job, arguments: bytes) -> None:
    """Write a run into the ledger."""
    connection = await connect(admin)
    try:
        await connection.execute(
            "INSERT INTO public.ledger (job, tenant, attempt, text) VALUES ($1, $2, $3, $4)",
            *(job.id, job.tenant_id, job.attempt, arguments.decode()),
        )
    finally:
        await connection.close()


@dataclass(slots=True)
class Ledger:
    """A handler that writes each run into a table of the database, and waits there until it is let go."""

    database: ScratchDatabase
    holds: bool = False
    fails: bool = False
    outcome: JobOutcome | None = None
    begun: "asyncio.Queue[Job]" = field(default_factory=lambda: asyncio.Queue[Job]())
    let_go: asyncio.Event = field(default_factory=asyncio.Event)
    reports: list[JobReport] = field(default_factory=list[JobReport])
    running: int = 0
    most: int = 0
    cut: int = 0

    async def run(self, job: Job, arguments: bytes, report: JobReport) -> JobOutcome:
        self.running += 1
        self.most = max(self.most, self.running)
        self.reports.append(report)
        try:
            await write_run(self.database.admin, job, arguments)
            self.begun.put_nowait(job)
            if self.holds:
                await self.let_go.wait()
            if self.fails:
                raise RuntimeError("a fault of the handler, with s3cret text")
            return self.outcome or JobOutcome(b"result of " + arguments)
        except asyncio.CancelledError:
            self.cut += 1
            raise
        finally:
            self.running -= 1


@dataclass(slots=True)
class Plant:
    """A database, its queue, and a ledger of what ran."""

    database: ScratchDatabase
    queue: JobQueue
    ledger: Ledger
    clock: Clock
    store: WorkerStore
    events: JobEvents
    sealer: RecordSealer
    workers: list[JobWorker] = field(default_factory=list[JobWorker])

    def create_worker(self, *, handlers: Mapping[str, JobHandler] | None = None, **options: Any) -> JobWorker:
        worker = JobWorker(
            self.database.as_role("mcpist_worker"),
            self.store,
            self.sealer,
            {"call": self.ledger} if handlers is None else handlers,
            clock=options.pop("clock", self.clock),
            timing=options.pop("timing", SLOW),
            **options,
        )
        self.workers.append(worker)
        return worker

    @contextlib.asynccontextmanager
    async def run_worker(self, **options: Any) -> AsyncIterator[JobWorker]:
        """A worker that runs by itself for as long as the block."""
        worker = self.create_worker(**options)
        task = asyncio.create_task(worker.run())
        try:
            yield worker
        finally:
            self.ledger.let_go.set()
            await worker.drain(5)
            task.cancel()
            await asyncio.wait([task])

    async def runs(self) -> list[tuple[UUID, int]]:
        """Every run so far: job and attempt, in order."""
        async with self.database.admin_connection() as admin:
            return [tuple(row) for row in await admin.fetch("SELECT job, attempt FROM public.ledger ORDER BY number")]

    async def enqueue(self, tenant: MadeTenant, user: int = 0, **given: Any) -> Job:
        return await self.queue.enqueue(new_job(tenant, user, **given))

    async def wait_for(self, job: Job, *states: JobState, timeout: float = 10) -> Job:
        """The job as soon as it has one of these states."""
        async with asyncio.timeout(timeout):
            current: Job | None = job
            while current is not None and current.state not in states:
                current = await self.queue.wait_for_change(current, timeout)
        assert current is not None
        return current

    async def find(self, job: Job) -> Job:
        found = await self.queue.find_job(job.tenant_id, job.user_id, job.id)
        assert found is not None
        return found


def new_job(tenant: MadeTenant, user: int = 0, **given: Any) -> NewJob:
    values: dict[str, Any] = {
        "id": uuid4(),
        "kind": "call",
        "module": "toys",
        "tool": "wind_up",
        "title": "Wind up a toy",
        "arguments": b"some arguments",
        "lifetime": timedelta(hours=1),
    }
    return NewJob(tenant_id=tenant.id, user_id=tenant.users[user], **(values | given))


async def settle(worker: JobWorker) -> None:
    """Wait until every job that runs here has ended."""
    if worker._tasks:
        await asyncio.wait(worker._tasks, timeout=10)


@contextlib.asynccontextmanager
async def open_plant(database: ScratchDatabase) -> AsyncIterator[Plant]:
    async with database.admin_connection() as admin:
        await admin.execute(
            "CREATE TABLE public.ledger (number serial, job uuid, tenant uuid, attempt integer, text text)"
        )
    events = JobEvents(database.as_role("mcpist_gateway"))
    listening = asyncio.create_task(events.run())
    try:
        async with database.open("mcpist_gateway") as gateway, database.open("mcpist_worker") as worker:
            sealer = RecordSealer(KEY)
            queue = JobQueue(gateway, sealer, events)
            plant = Plant(database, queue, Ledger(database), Clock(), WorkerStore(worker), events, sealer)
            try:
                yield plant
            finally:
                for one in plant.workers:
                    one.close()
    finally:
        listening.cancel()
        await asyncio.wait([listening])


__all__ = ["Clock", "Ledger", "Plant", "WorkerLimits", "WorkerTiming", "new_job", "open_plant", "settle"]
