"""Parts that both forms of tasks share: times, the words of a state, and refusals."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from gateway.mcp.jsonrpc import INVALID_PARAMS
from gateway.mcp.request_context import Params, ProtocolError
from gateway.tasks.own_jobs import explain_missing_answer
from jobs.job import Job, JobState

POLL_MILLISECONDS = 1_000
NEWS = ("status", "statusMessage", "inputRequests")
"""What of a task its client is told when it changes."""
ENDED = frozenset({"completed", "failed", "cancelled"})
NO_SUCH_TASK = "Invalid params: there is no such task; it was never yours, or its time to live is over"
"""One text for a task of somebody else, one that is gone, and a made-up one."""
_ASKS = "the user has to be asked first; nothing was done yet"
_QUEUED = "waiting for its turn"
NO_WORKER = "it waits until a worker runs: none does now, and the administrator can start one"


def get_task_id(params: Params) -> str:
    """Return the task that a request names.

    Raises:
        ProtocolError: it names none.
    """
    task_id = params.get("taskId")
    if not isinstance(task_id, str):
        raise ProtocolError(INVALID_PARAMS, "Invalid params: taskId must be a string")
    return task_id


def require_job(job: Job | None) -> Job:
    """Return the job of a task.

    Raises:
        ProtocolError: there is none.
    """
    if job is None:
        raise ProtocolError(INVALID_PARAMS, NO_SUCH_TASK)
    return job


def is_news(task: Mapping[str, Any], told: Mapping[str, Any]) -> bool:
    """Check whether the client of a task that was told `told` last has to be told `task`. An end is told once, although
    what a person reads of it may still change."""
    return told["status"] not in ENDED and any(task.get(field) != told.get(field) for field in NEWS)


def describe_times(job: Job) -> dict[str, Any]:
    """Describe when a task began and was last changed (ISO 8601)."""
    return {"createdAt": _format_time(job.created_at), "lastUpdatedAt": _format_time(job.updated_at)}


def compute_ttl(job: Job) -> int:
    """Compute the milliseconds from a task's beginning until it may be gone."""
    return round((job.expires_at - job.created_at).total_seconds() * 1000)


def describe_status(job: Job) -> dict[str, str]:
    """Describe what a person or model may read about the state; nothing where there is nothing to say."""
    if job.state is JobState.SUCCEEDED:
        return {}
    if job.awaits_input:
        return {"statusMessage": _ASKS}
    if job.state.is_final:
        message = explain_missing_answer(job) if job.error or job.state is not JobState.FAILED else ""
    else:
        message = describe_waiting(job) or job.message or (_QUEUED if job.state is JobState.QUEUED else "")
    return {"statusMessage": message} if message else {}


def describe_waiting(job: Job) -> str:
    """Describe what a job waits for that does not come by itself; empty where there is nothing of the kind."""
    return NO_WORKER if job.lacks_worker else ""


def _format_time(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
