"""One run of a job in this worker: its task, its end, and what is stored of it."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import timedelta
from enum import StrEnum

from core.concurrency.cooperative_steps import wait_for_turn
from core.errors import Unavailable
from core.log_events import describe_error
from core.sealed_records import RecordSealer, UnreadableRecord
from jobs.handler import JobHandler, JobOutcome
from jobs.job import MAX_ERROR, MAX_MESSAGE, MAX_RESULT_BYTES, JobError, JobState, cut_text
from jobs.queue import ARGUMENTS_KIND, RESULT_KIND
from jobs.worker_store import ClaimedJob, WorkerStore

GRACE_SECONDS = 2.0
"""From the request to end until the handler is cancelled."""
ABANDON_SECONDS = 30.0
"""From the request to end until a handler that does not end is left behind."""
MAX_RUN_SECONDS = 3600.0
PROGRESS_SECONDS = 0.5
RETRY_SECONDS = 0.5
"""Seconds between two attempts to store an outcome while the database is away, and the first pause where it refuses."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 2.0, 60.0
"""Pauses of a job whose broker or database is away; each is longer than the one before."""
MAX_PAUSE = timedelta(minutes=5)
"""Of a longer one workers believe that the clock has gone back since (migration 0040)."""


log = logging.getLogger(__name__)


class StopReason(StrEnum):
    """Why a run is stopped before its own end."""

    CANCELLED = "cancelled"
    DRAINED = "drained"
    TIMED_OUT = "timed_out"
    LEASE_LOST = "lease_lost"


class JobRun:
    """A job that this worker runs. `holds_lease` tells whether the worker is certain that it is its own."""

    def __init__(
        self,
        claimed: ClaimedJob,
        store: WorkerStore,
        sealer: RecordSealer,
        handlers: Mapping[str, JobHandler],
        holds_lease: Callable[[], bool],
        max_seconds: float = MAX_RUN_SECONDS,
    ) -> None:
        self.claimed = claimed
        self._store = store
        self._sealer = sealer
        self._handlers = handlers
        self._holds_lease = holds_lease
        self._max_seconds = max_seconds
        self._reason: StopReason | None = None
        self._is_drained = False
        self._work: asyncio.Task[JobOutcome] | None = None
        self._abandoned = asyncio.Event()
        self._progress: tuple[float | None, float | None, str] | None = None
        self._progress_wanted = asyncio.Event()
        self._timers: list[asyncio.TimerHandle] = []

    @property
    def is_cancel_requested(self) -> bool:
        return self._reason is not None

    def may_act(self) -> bool:
        return self._reason is not StopReason.LEASE_LOST and self._holds_lease()

    def report_progress(self, progress: float | None, total: float | None = None, message: str = "") -> None:
        self._progress = (progress, total, cut_text(message, MAX_MESSAGE))
        self._progress_wanted.set()

    def stop(self, reason: StopReason) -> None:
        """Ask the handler to end; cancel it when it does not, and leave it behind when it does not end then either.
        Where the lease is lost it is cancelled at once."""
        self._is_drained = self._is_drained or reason is StopReason.DRAINED
        if self._reason is not None and reason is not StopReason.LEASE_LOST:
            return
        self._reason = reason
        loop = asyncio.get_running_loop()
        grace = 0.0 if reason is StopReason.LEASE_LOST else GRACE_SECONDS
        self._timers += (
            loop.call_later(grace, self._cancel_work),
            loop.call_later(grace + ABANDON_SECONDS, self._abandoned.set),
        )

    def _cancel_work(self) -> None:
        if self._work is not None:
            self._work.cancel()

    async def run(self) -> JobState | None:
        """Run the job, store its outcome, and return its state; None where it is no longer this worker's."""
        loop = asyncio.get_running_loop()
        self._timers.append(loop.call_later(self._max_seconds, self.stop, StopReason.TIMED_OUT))
        reporting = asyncio.create_task(self._store_progress())
        try:
            outcome = await self._run_handler()
        finally:
            reporting.cancel()
            for timer in self._timers:
                timer.cancel()
        if outcome is None:
            return None
        return await self._end(outcome)

    async def _end(self, outcome: JobOutcome) -> JobState | None:
        """Store the outcome; where that is not possible, that nobody knows it, again and again. A worker that ends, or
        whose lease is lost, leaves the job to whoever takes it over, and that ends it with a reason."""
        pause = RETRY_SECONDS
        while True:
            try:
                return await self._settle(outcome)
            except Exception as error:  # noqa: BLE001 a fault of ours, or a database that refuses to write
                log.error(
                    "the outcome of a job cannot be stored",
                    extra={"event": "job_failed", **self._describe(), **describe_error(error)},
                )
            if outcome.error == JobError.INTERNAL and outcome.result is None:
                if self._is_left_to_others():
                    return None
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            outcome = JobOutcome(None, JobState.UNKNOWN, JobError.INTERNAL)

    def _is_left_to_others(self) -> bool:
        return self._is_drained or not self.may_act()

    async def _run_handler(self) -> JobOutcome | None:
        """Run the handler to its end, or until it is abandoned; None where it was cut because the lease is lost."""
        work = self._work = asyncio.create_task(self._call_handler(), name="job")
        abandoned = asyncio.create_task(self._abandoned.wait())
        try:
            await asyncio.wait({work, abandoned}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            abandoned.cancel()
        if self._reason is StopReason.LEASE_LOST and (not work.done() or work.cancelled()):
            log.warning("a job was stopped: its lease is lost", extra={"event": "job_lease_lost", **self._describe()})
            work.add_done_callback(_forget_outcome)
            return None
        if not work.done():
            log.error("a job does not end; it is left behind", extra={"event": "job_abandoned", **self._describe()})
            work.add_done_callback(_forget_outcome)
            return JobOutcome(None, JobState.UNKNOWN, JobError.OUTCOME_UNKNOWN)
        if work.cancelled():
            return self._get_outcome_of_cut()
        error = work.exception()
        if isinstance(error, Unavailable):
            pause = timedelta(seconds=min(FIRST_PAUSE_SECONDS * self.claimed.job.attempt, LONGEST_PAUSE_SECONDS))
            fields = {"pause_seconds": pause.total_seconds(), **self._describe()}
            log.warning("a job waits: %s", error, extra={"event": "job_postponed", **fields})
            state = JobState.CANCELLED if self._reason is StopReason.CANCELLED else JobState.FAILED
            return JobOutcome(None, state, JobError.NONE, pause, has_run=False)
        if error is not None:
            log.error("a job failed", extra={"event": "job_failed", **self._describe(), **describe_error(error)})
            return JobOutcome(None, JobState.FAILED, JobError.INTERNAL)
        return work.result()

    async def _call_handler(self) -> JobOutcome:
        job = self.claimed.job
        handler = self._handlers.get(job.kind)
        if handler is None:
            return JobOutcome(None, JobState.FAILED, JobError.NOT_SUPPORTED)
        await wait_for_turn(len(self.claimed.sealed_arguments))
        try:
            arguments = self._sealer.open(job.tenant_id, ARGUMENTS_KIND, job.id, self.claimed.sealed_arguments)
        except UnreadableRecord:
            return JobOutcome(None, JobState.FAILED, JobError.UNREADABLE)
        return await handler.run(job, arguments, self)

    def _get_outcome_of_cut(self) -> JobOutcome:
        """Return how a job ended that its handler left unfinished when it was cancelled."""
        repeatable = self.claimed.job.is_repeatable
        if self._reason is StopReason.CANCELLED:
            return JobOutcome(None, JobState.CANCELLED)
        if self._reason is StopReason.TIMED_OUT:
            return JobOutcome(None, JobState.FAILED if repeatable else JobState.UNKNOWN, JobError.TIMED_OUT)
        retry = timedelta() if repeatable else None
        return JobOutcome(None, JobState.UNKNOWN, JobError.OUTCOME_UNKNOWN, retry)

    async def _settle(self, outcome: JobOutcome) -> JobState | None:
        """Store the outcome, however long the database is away: the fence tells whether it still counts."""
        job, result, error = self.claimed.job, outcome.result, cut_text(outcome.error, MAX_ERROR)
        sealed = None
        if result is not None and len(result) > MAX_RESULT_BYTES:
            result, error = None, JobError.RESULT_TOO_LARGE
        if result is not None:
            await wait_for_turn(len(result))
            sealed = self._sealer.seal(job.tenant_id, RESULT_KIND, job.id, result)
        while True:
            try:
                if outcome.retry_after is not None and await self._queue_again(outcome):
                    return JobState.QUEUED
                if await self._store.finish(self.claimed, outcome.state, sealed, error):
                    return outcome.state
            except Unavailable:
                await asyncio.sleep(RETRY_SECONDS)
                continue
            log.warning("the outcome of a job counts no more", extra={"event": "job_outcome_late", **self._describe()})
            return None

    async def _queue_again(self, outcome: JobOutcome) -> bool:
        pause = min(outcome.retry_after or timedelta(), MAX_PAUSE)
        if not outcome.has_run:
            return await self._store.postpone(self.claimed, pause)
        return await self._store.give_back(self.claimed, pause, is_failure=self._reason is not StopReason.DRAINED)

    async def _store_progress(self) -> None:
        """Store reports as they come, at most two a second."""
        while True:
            await self._progress_wanted.wait()
            self._progress_wanted.clear()
            progress = self._progress
            if progress is not None:
                try:
                    if not await self._store.report_progress(self.claimed, *progress):
                        self.stop(StopReason.LEASE_LOST)
                        return
                except Unavailable:
                    self._progress_wanted.set()  # told with the next attempt
            await asyncio.sleep(PROGRESS_SECONDS)

    def _describe(self) -> dict[str, object]:
        job = self.claimed.job
        return {"job": str(job.id), "service": job.module, "tool": job.tool, "attempt": job.attempt}


def _forget_outcome(task: asyncio.Task[JobOutcome]) -> None:
    """Take the outcome of a handler that was left behind: asyncio would complain of an exception that nobody takes."""
    if not task.cancelled():
        task.exception()
