"""A job, as it is asked for and as it stands."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import LiteralString
from uuid import UUID

from core.db import Row

MIN_LIFETIME = timedelta(seconds=1)
MAX_LIFETIME = timedelta(days=366)
MAX_ATTEMPTS = 10
MAX_TITLE = 200
MAX_MESSAGE = 500
MAX_CLIENT = 200
MAX_ERROR = 40
MAX_ARGUMENT_BYTES = 4 << 20
MAX_RESULT_BYTES = 8 << 20
MANDATE_LIFETIME = timedelta(hours=24)
"""The latest end of a job, which may wait for its turn; its mandate ends with it."""

ToolNames = tuple[tuple[str, str], ...]
"""(module, tool) of every tool that a job runs, by the tools' own names."""


class JobState(StrEnum):
    """State of a job. The last four are final."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"
    """Nobody knows whether it took effect: its worker was lost, and it may not be run twice."""

    @property
    def is_final(self) -> bool:
        """Check whether the job has ended."""
        return self not in (JobState.QUEUED, JobState.RUNNING)


class Notify(StrEnum):
    """After which ends of a job its person is told: none, one without success that they have not asked for, or all."""

    NEVER = "never"
    FAILURE = "failure"
    ALWAYS = "always"


class JobError(StrEnum):
    """Reason why a job has no result of its own."""

    NONE = ""
    WORKER_LOST = "worker_lost"
    """Its worker was lost in every attempt: it may be what kills them."""
    OUTCOME_UNKNOWN = "outcome_unknown"
    RESULT_TOO_LARGE = "result_too_large"
    NOT_SUPPORTED = "not_supported"
    """Another version of MCPist added it, and this one cannot run it."""
    UNREADABLE = "unreadable"
    """Its arguments cannot be opened with this deployment's key."""
    RESTORED = "restored"
    """It waited or ran when the backup was made that this database was restored from; it may have run since."""
    TIMED_OUT = "timed_out"
    INPUT_REQUIRED = "input_required"
    """Its person has to be asked first; nothing has been changed. Answered, it is run anew."""
    INTERNAL = "internal"


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to add. `id` has to be random: whoever names it may have it as a task's id."""

    tenant_id: UUID
    user_id: UUID
    id: UUID
    kind: str
    """What runs it: a handler of the workers, such as ``call``."""
    module: str
    tool: str
    title: str
    arguments: bytes
    lifetime: timedelta
    """How long it is kept from now on; what ends later is kept for as long, but at most five minutes, from its end."""
    max_attempts: int = 1
    """More than 1 only where it may be run twice: then it is tried again after its worker was lost."""
    mandate_id: UUID | None = None
    idempotency_key: str | None = None
    client: str = ""
    """OAuth client or API token that asked for it."""
    tools: ToolNames = ()
    """Those of its mandate, with which it is run once more."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job without its arguments and its result."""

    tenant_id: UUID
    user_id: UUID
    id: UUID
    kind: str
    module: str
    tool: str
    title: str
    tools: ToolNames
    """Empty where a schedule made it, or an earlier version."""
    client: str
    mandate_id: UUID | None
    schedule_id: UUID | None
    """Schedule that made it, whose mandate it has."""
    state: JobState
    attempt: int
    is_repeatable: bool
    is_cancel_requested: bool
    progress: float | None
    total: float | None
    message: str
    error: str
    """One of :class:`JobError`, or what the handler gave."""
    created_at: datetime
    started_at: datetime | None
    updated_at: datetime
    finished_at: datetime | None
    expires_at: datetime
    notify: Notify = Notify.NEVER
    lacks_worker: bool = field(default=False, compare=False)
    """It waits, and no worker ran when it was read."""

    @property
    def awaits_input(self) -> bool:
        """Check whether its person has to be asked before it goes on."""
        asks = self.state is JobState.FAILED and self.error == JobError.INPUT_REQUIRED
        return asks and not self.is_cancel_requested

    @property
    def has_ended(self) -> bool:
        """Check whether the job has ended for good."""
        return self.state.is_final and not self.awaits_input


COLUMNS: LiteralString = """tenant_id, user_id, id, kind, module, tool, title, tools, client, mandate_id, schedule_id,
    state, attempt, is_repeatable, cancel_requested_at, progress, total, message, error, created_at, started_at,
    updated_at, finished_at, expires_at, notify,
    CASE state WHEN 'queued' THEN NOT (SELECT jobs.has_worker()) ELSE false END AS lacks_worker"""


def cut_text(text: str, length: int) -> str:
    """Cut a text of a module's or client's to what the database can hold: no U+0000, no lone surrogate, `length` at
    most."""
    return text[:length].replace("\x00", "").encode("utf-8", "replace").decode()


def read_job(row: Row) -> Job:
    """Read a row of ``COLUMNS``."""
    return Job(
        tenant_id=row["tenant_id"],
        user_id=row["user_id"],
        id=row["id"],
        kind=row["kind"],
        module=row["module"],
        tool=row["tool"],
        title=row["title"],
        tools=tuple((module, name) for module, _, name in (tool.partition(".") for tool in row["tools"])),
        client=row["client"],
        mandate_id=row["mandate_id"],
        schedule_id=row["schedule_id"],
        state=JobState(row["state"]),
        attempt=row["attempt"],
        is_repeatable=row["is_repeatable"],
        is_cancel_requested=row["cancel_requested_at"] is not None,
        progress=row["progress"],
        total=row["total"],
        message=row["message"],
        error=row["error"],
        created_at=row["created_at"],
        started_at=row["started_at"],
        updated_at=row["updated_at"],
        finished_at=row["finished_at"],
        expires_at=row["expires_at"],
        notify=Notify(row["notify"]),
        lacks_worker=row["lacks_worker"],
    )
