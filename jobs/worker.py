"""The worker: claims jobs, keeps its lease, runs them, and takes over those of workers that are lost.

A worker lives while its beat in the database changes. Others watch that by their own monotonic clocks, and take its
jobs over when they have seen no change for five sixths of a lease; the worker itself stops everything when two thirds
have gone by since its last beat. So no clock that jumps makes two workers run one job (docs/jobs.pml). Two looks are
shorter than the last sixth: a lost worker is found within a lease's length.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import asyncpg

from core.concurrency.background import report_turn
from core.database_url import DatabaseAddress
from core.db import CONNECTION_ERRORS, connect
from core.errors import MCPistError, Unavailable
from core.log_events import describe_error
from core.sealed_records import RecordSealer
from jobs import worker_store
from jobs.handler import JobHandler
from jobs.job import JobState
from jobs.job_run import MAX_RUN_SECONDS, JobRun, StopReason
from jobs.worker_store import WorkerStore, read_claimed, read_outlook

READY_CHANNEL = "mcpist_job_ready"
CANCEL_CHANNEL = "mcpist_job_cancelled"
SCHEDULE_CHANNEL = "mcpist_schedule"
PRUNE_SECONDS = 300.0
PRUNE_ROWS = 1000
COMMAND_SECONDS = 3.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """How many jobs run at the same time: in this worker; and of a tenant, a person, and a tenant's module in all."""

    jobs: int = 16
    of_tenant: int = 8
    of_user: int = 4
    of_module: int = 4


@dataclass(frozen=True, slots=True)
class WorkerTiming:
    """Seconds. A lease is renewed at a third of its length, given up at two thirds, taken over at five sixths. While
    any job waits or runs, a worker looks around at every `poll`; else it rests, and an announcement wakes it."""

    lease: float = 15.0
    poll: float = 1.0
    rest: float = 10.0
    max_run: float = MAX_RUN_SECONDS


class JobWorker:
    """Runs jobs until :meth:`drain`. One database connection of its own listens, looks and claims."""

    def __init__(
        self,
        address: DatabaseAddress,
        store: WorkerStore,
        sealer: RecordSealer,
        handlers: Mapping[str, JobHandler],
        *,
        limits: WorkerLimits | None = None,
        timing: WorkerTiming | None = None,
        clock: Callable[[], float] = time.monotonic,
        count_ended: Callable[[JobState], object] = lambda _state: None,
        wake_schedules: Callable[[], object] = lambda: None,
    ) -> None:
        self.id = uuid4()
        self._address = address
        self._store = store
        self._sealer = sealer
        self._handlers = handlers
        self._limits = limits or WorkerLimits()
        self._timing = timing or WorkerTiming()
        self._clock = clock
        self._count_ended = count_ended
        self._wake_schedules = wake_schedules
        self._connection: Any = None
        self._wake = asyncio.Event()
        self._runs: dict[UUID, JobRun] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._others: dict[UUID, tuple[int, float]] = {}
        self._beat_at = float("-inf")
        self._look_at = float("-inf")
        self._prune_at = clock() + PRUNE_SECONDS
        self._guard: asyncio.TimerHandle | None = None
        self._is_registered = False
        self._is_resting = False
        self._is_claim_unanswered = False
        self._is_draining = False
        self._logged_error = ""

    def __len__(self) -> int:
        """Return the number of jobs that run here."""
        return len(self._runs)

    @property
    def is_connected(self) -> bool:
        """True while the database answers this worker."""
        return self._connection is not None

    async def run(self) -> None:
        """Work until cancelled; after :meth:`drain` no more jobs begin."""
        try:
            while True:
                try:
                    await self.take_turn()
                except (*CONNECTION_ERRORS, asyncpg.PostgresError, Unavailable) as error:
                    self._lose_connection(error)
                await self._rest()
        finally:
            self.close()

    def close(self) -> None:
        """End the connection to the database; what runs is for others to take over."""
        if self._guard is not None:
            self._guard.cancel()
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None

    async def _rest(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._timing.rest if self._is_resting else self._timing.poll):
                await self._wake.wait()

    def _lose_connection(self, error: Exception) -> None:
        report_turn(failed=True)
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None
        self._wake.clear()
        self._is_resting = False
        name = type(error).__name__
        if name != self._logged_error:
            self._logged_error = name
            text = str(error) if isinstance(error, MCPistError) else "the database does not answer"
            log.warning("jobs wait: %s", text, extra={"event": "job_worker_waits", **describe_error(error)})

    async def drain(self, seconds: float) -> None:
        """Begin no more jobs, let those that run end for so long, then stop them: what may run twice goes back to the
        queue. `run` has to go on meanwhile, as it keeps the lease."""
        self._is_draining = True
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=seconds)
        for run in list(self._runs.values()):
            run.stop(StopReason.DRAINED)
        if self._tasks:
            await asyncio.wait(self._tasks)
        with contextlib.suppress(Unavailable):
            await self._store.leave(self.id)

    async def take_turn(self) -> None:
        """Renew the lease, look around when it is time, and begin jobs.

        Raises:
            OSError, asyncpg.PostgresError, Unavailable: the database is away.
        """
        await self._open_connection()
        woken, now = self._wake.is_set(), self._clock()
        self._wake.clear()
        self._is_resting = False
        if self._runs and now - self._beat_at >= self._timing.lease / 3:
            await self._renew()
        if not woken or now - self._look_at >= self._timing.poll:
            self._look_at = now
            woken = await self._look()
        if woken and not self._is_draining:
            await self._claim()
        if now >= self._prune_at:
            is_all = await self._connection.fetchval(worker_store.PRUNE, PRUNE_ROWS) < PRUNE_ROWS
            self._prune_at = now + (PRUNE_SECONDS if is_all else self._timing.poll)
        report_turn(failed=False)
        self._logged_error = ""

    async def _open_connection(self) -> None:
        if self._connection is not None and not self._connection.is_closed():
            return
        connection = await connect(self._address, timeout=COMMAND_SECONDS, command_timeout=COMMAND_SECONDS)
        self._connection = connection
        for channel in (READY_CHANNEL, CANCEL_CHANNEL, SCHEDULE_CHANNEL):
            await connection.add_listener(channel, self._on_announcement)
        connection.add_termination_listener(self._on_disconnect)
        await connection.execute(worker_store.ANNOUNCE)
        # What was announced before is found by looking.
        self._look_at = float("-inf")
        self._wake_schedules()

    def _on_disconnect(self, _connection: Any) -> None:
        self._wake.set()

    def _on_announcement(self, _connection: Any, _pid: int, channel: str, payload: Any) -> None:
        if channel == READY_CHANNEL:
            if len(self._runs) < self._limits.jobs:
                self._wake.set()
        elif channel == SCHEDULE_CHANNEL:
            self._wake_schedules()
        else:
            self._stop_cancelled(str(payload))

    def _stop_cancelled(self, text: str) -> None:
        with contextlib.suppress(ValueError):
            if (run := self._runs.get(UUID(text))) is not None:
                run.stop(StopReason.CANCELLED)

    async def _register(self) -> None:
        self.id = uuid4()
        await self._connection.fetchval(worker_store.REGISTER, self.id)
        self._is_registered = True

    async def _renew(self) -> None:
        asked_at = self._clock()
        if await self._connection.fetchval(worker_store.RENEW, self.id):
            self._set_beat(asked_at)
        else:
            self._lose_lease()

    def _set_beat(self, asked_at: float) -> None:
        """Note that the lease holds from `asked_at` on, before which the database cannot have changed the beat."""
        self._beat_at = asked_at
        if self._guard is not None:
            self._guard.cancel()
        left = asked_at + self._timing.lease * 2 / 3 - self._clock()
        self._guard = asyncio.get_running_loop().call_later(max(left, 0), self._give_up_lease)

    def _give_up_lease(self) -> None:
        if self._runs and not self.holds_lease():
            self._lose_lease()

    def holds_lease(self) -> bool:
        """Check whether no other worker can have taken the jobs over yet."""
        return self._is_registered and self._clock() - self._beat_at < self._timing.lease * 2 / 3

    def _lose_lease(self) -> None:
        """Stop everything, and go on as another worker."""
        self._is_registered = False
        for run in self._runs.values():
            run.stop(StopReason.LEASE_LOST)

    async def _look(self) -> bool:
        """Look after cancelled jobs, delayed ones and lost workers; return whether there are jobs to claim."""
        row = await self._connection.fetchrow(worker_store.LOOK, self.id)
        outlook = read_outlook(row)
        self._is_resting = outlook.is_quiet and not self._runs
        if self._is_registered and not outlook.is_registered:
            self._lose_lease()
        for job_id in outlook.cancelled:
            self._stop_cancelled(str(job_id))
        given_back = 0
        if self._is_claim_unanswered:
            forgotten = [job_id for job_id in outlook.held if job_id not in self._runs]
            given_back = await self._connection.fetchval(worker_store.UNCLAIM, self.id, forgotten)
            self._is_claim_unanswered = False
        if outlook.has_due:
            await self._connection.fetchval(worker_store.WAKE_DELAYED)
        reaped = await self._reap_lost(outlook.beats)
        return outlook.has_ready or outlook.has_due or reaped or given_back > 0

    async def _reap_lost(self, beats: Mapping[UUID, int]) -> bool:
        """Take the jobs of workers away whose beat has stood still for too long."""
        now, reaped = self._clock(), False
        self._others = {
            worker: (beat, seen[1] if (seen := self._others.get(worker)) and seen[0] == beat else now)
            for worker, beat in beats.items()
        }
        for worker, (beat, since) in list(self._others.items()):
            if now - since >= self._timing.lease * 5 / 6:
                count = await self._connection.fetchval(worker_store.REAP, worker, beat)
                del self._others[worker]
                reaped = reaped or count > 0
                if count:
                    log.warning("jobs of a lost worker were taken over", extra={"event": "jobs_reaped", "jobs": count})
        return reaped

    async def _claim(self) -> None:
        free = self._limits.jobs - len(self._runs)
        if free <= 0:
            return
        if not self._is_registered:
            if self._runs:  # of the lease that was lost; they end first
                return
            await self._register()
        limits, asked_at = self._limits, self._clock()
        worker = self.id
        self._is_claim_unanswered = True
        rows = await self._connection.fetch(
            worker_store.CLAIM, worker, free, limits.of_tenant, limits.of_user, limits.of_module
        )
        self._is_claim_unanswered = False
        if rows:
            self._set_beat(asked_at)
        for row in rows:
            claimed = read_claimed(worker, row)
            self._begin(
                JobRun(claimed, self._store, self._sealer, self._handlers, self.holds_lease, self._timing.max_run)
            )

    def _begin(self, run: JobRun) -> None:
        self._runs[run.claimed.job.id] = run
        task = asyncio.create_task(self._run(run), name="job run")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, run: JobRun) -> None:
        try:
            state = await run.run()
        finally:
            if self._runs.get(run.claimed.job.id) is run:  # else it was given back, and claimed again meanwhile
                del self._runs[run.claimed.job.id]
            self._wake.set()  # a place is free
        if state is not None:
            self._count_ended(state)
