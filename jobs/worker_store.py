"""Statements of workers: functions that their role alone may call (migration 0032)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, LiteralString
from uuid import UUID

from core.db import Database
from jobs.job import COLUMNS, Job, JobState, read_job

CLAIM: LiteralString = f"SELECT arguments, {COLUMNS} FROM jobs.claim($1, $2, $3, $4, $5)"  # noqa: S608 our own words
ANNOUNCE = "SELECT jobs.announce_worker()"
REGISTER = "SELECT jobs.register($1)"
RENEW = "SELECT jobs.renew($1)"
LOOK = "SELECT * FROM jobs.look($1)"
WAKE_DELAYED = "SELECT jobs.wake_delayed()"
REAP = "SELECT jobs.reap($1, $2)"
UNCLAIM = "SELECT jobs.unclaim($1, $2)"
_LEAVE = "SELECT jobs.leave($1)"
_REPORT = "SELECT jobs.report_progress($1, $2, $3, $4, $5, $6, $7)"
_FINISH = "SELECT jobs.finish($1, $2, $3, $4, $5, $6, $7)"
_GIVE_BACK = "SELECT jobs.give_back($1, $2, $3, $4, $5, $6)"
_POSTPONE = "SELECT jobs.postpone($1, $2, $3, $4, $5)"
_END_RESTORED = "SELECT jobs.end_restored()"
PRUNE = "SELECT jobs.prune($1)"
_FIGURES = "SELECT * FROM jobs.figures()"


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """A job that this worker holds: the fence of its writes is `worker` with the job's attempt."""

    worker: UUID
    job: Job
    sealed_arguments: bytes


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a worker sees when it looks."""

    is_registered: bool
    has_ready: bool
    has_delayed: bool
    has_due: bool
    held: Sequence[UUID]
    """Jobs that are this worker's."""
    cancelled: Sequence[UUID]
    """Those of them whose end was asked for."""
    beats: Mapping[UUID, int]
    """Beat of every other worker that holds jobs."""

    @property
    def is_quiet(self) -> bool:
        """Check whether there is nothing to do and nobody to look after."""
        return not (self.has_ready or self.has_delayed or self.held or self.beats)


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """Depth and age of the whole deployment's queue; more than 100,000 waiting jobs are not counted."""

    waiting: int = 0
    running: int = 0
    oldest_seconds: float = 0.0


async def load_queue_figures(database: Database) -> QueueFigures:
    """Load depth and age of the queue, in the role of a worker or of the control plane.

    Raises:
        core.errors.Unavailable: the database is away.
    """
    row = (await database.fetch(_FIGURES))[0]
    return QueueFigures(row["waiting"], row["running"], row["oldest_seconds"])


def read_claimed(worker: UUID, row: Any) -> ClaimedJob:
    """Read a row of ``CLAIM``."""
    return ClaimedJob(worker, read_job(row), row["arguments"])


def read_outlook(row: Any) -> Outlook:
    """Read the row of ``LOOK``."""
    beats = dict(zip(row["others"], row["beats"], strict=True))
    return Outlook(
        row["is_registered"],
        row["has_ready"],
        row["has_delayed"],
        row["has_due"],
        row["held"],
        row["cancelled"],
        beats,
    )


class WorkerStore:
    """Writes of a worker's jobs. Each returns False where the job is no longer this worker's, and has changed nothing.

    Every method raises ``core.errors.Unavailable`` where the database is away.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    async def report_progress(
        self, claimed: ClaimedJob, progress: float | None, total: float | None, message: str
    ) -> bool:
        """Store how far the job has come."""
        return await self._database.call(_REPORT, *_get_fence(claimed), progress, total, message)

    async def finish(self, claimed: ClaimedJob, state: JobState, sealed_result: bytes | None, error: str) -> bool:
        """Store how the job ended."""
        return await self._database.call(_FINISH, *_get_fence(claimed), state, sealed_result, error)

    async def give_back(self, claimed: ClaimedJob, pause: timedelta, *, is_failure: bool) -> bool:
        """Queue the job again. False also where it may not be run twice, was cancelled, or has no attempt left."""
        return await self._database.call(_GIVE_BACK, *_get_fence(claimed), pause, is_failure)

    async def postpone(self, claimed: ClaimedJob, pause: timedelta) -> bool:
        """Queue a job again of which nothing has run; it loses no attempt. False also where it was cancelled."""
        return await self._database.call(_POSTPONE, *_get_fence(claimed), pause)

    async def leave(self, worker: UUID) -> None:
        """Take the worker off the list; one that still holds jobs stays there until it is found lost."""
        await self._database.call(_LEAVE, worker)

    async def end_restored(self) -> int:
        """End every job that has not ended: this database was restored, and what is in it may have run since."""
        return await self._database.call(_END_RESTORED)


def _get_fence(claimed: ClaimedJob) -> tuple[UUID, UUID, UUID, int]:
    return claimed.worker, claimed.job.tenant_id, claimed.job.id, claimed.job.attempt
