"""Interface of handlers, which run jobs: one for each kind."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from jobs.job import Job, JobState


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """How a run ended. `result` is kept exactly; `error` is one of few fixed words, shown to the person."""

    result: bytes | None
    state: JobState = JobState.SUCCEEDED
    error: str = ""
    retry_after: timedelta | None = None
    """Set where the job may be tried again, after this pause of five minutes at most, if it is repeatable and has an
    attempt left."""
    has_run: bool = True
    """False where nothing of it has run: then it is tried again whatever it is, and loses no attempt."""


class JobReport(Protocol):
    """What a handler has of the worker while its job runs."""

    @property
    def is_cancel_requested(self) -> bool:
        """True when the job shall end: by itself, before it is cut."""
        ...

    def may_act(self) -> bool:
        """Check whether the job is this worker's for certain. Asked before each request that changes something."""
        ...

    def report_progress(self, progress: float | None, total: float | None = None, message: str = "") -> None:
        """Show how far the job has come; of many reports in a short time the last is stored."""
        ...


class JobHandler(Protocol):
    """Runs jobs of one kind. It is cancelled (asyncio.CancelledError) where it does not end in time by itself: it lets
    a request that changes something end first, and returns what that has brought about."""

    async def run(self, job: Job, arguments: bytes, report: JobReport) -> JobOutcome:
        """Run a job; another exception counts as failure of our own (``internal``).

        Raises:
            core.errors.Unavailable: what it needs is away, and nothing has run; it is tried again later.
        """
        ...
