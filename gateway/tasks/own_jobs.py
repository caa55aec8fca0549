"""The caller's own jobs: found by their ids, waited for, and their answers. A job of somebody else is as one that was
made up."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from uuid import UUID

import msgspec

from core.caller import Caller
from core.sealed_records import UnreadableRecord
from gateway.auth.tool_scopes import has_scope
from gateway.mcp.request_context import ReportProgress, RequestContext
from gateway.sieve.sieve import SieveView
from gateway.tasks.stored_call import StoredAnswer, StoredCall, decode_answer, decode_call
from jobs.events import PersonalChanges
from jobs.job import MAX_CLIENT, Job, JobError, JobState, Notify, ToolNames, cut_text
from jobs.queue import JobQueue
from modules.kit import OUTCOME_UNKNOWN

ID_LENGTH = 36
WITHHELD = "the result is withheld: you may not use a tool of this job any more"
UNREADABLE = "the result cannot be read any more: another key or version of MCPist has kept it"
_TEXTS: Mapping[str, str] = {
    JobError.WORKER_LOST: "the job failed: whatever ran it was lost each time",
    JobError.OUTCOME_UNKNOWN: f"the job was cut off; {OUTCOME_UNKNOWN}",
    JobError.RESULT_TOO_LARGE: "the job ran, but its result is too large to be kept; ask for less at a time",
    JobError.TIMED_OUT: "the job took too long and was stopped",
    JobError.NOT_SUPPORTED: "the job cannot be run: another version of MCPist added it; ask for it again",
    JobError.UNREADABLE: "the job cannot be run: another key sealed its arguments; ask for it again",
}


class OwnJobs:
    """Jobs of whoever asks."""

    def __init__(self, queue: JobQueue, get_view: Callable[[Caller], SieveView]) -> None:
        self._queue = queue
        self.get_view = get_view
        self._is_stopping = False

    def stop_waiting(self) -> None:
        """Let nobody wait any longer: the process stops."""
        self._is_stopping = True

    def may_wait(self, request: RequestContext) -> bool:
        """Check whether a request may wait on."""
        return not (request.authority.ended or self._is_stopping)

    def watch(
        self, caller: Caller, job_ids: frozenset[UUID] | None = None, wake: Callable[[], None] | None = None
    ) -> contextlib.AbstractContextManager[PersonalChanges]:
        """Watch the caller's jobs, all of them or those with `job_ids`; `wake` is called when one has changed."""
        return self._queue.watch_jobs(caller.tenant_id, caller.user_id, job_ids, wake)

    async def find_all(self, caller: Caller, job_ids: Collection[UUID]) -> Sequence[Job]:
        """Find those of the caller's jobs that have one of these ids."""
        return await self._queue.find_jobs(caller.tenant_id, caller.user_id, job_ids) if job_ids else ()

    async def find(self, caller: Caller, job_id: str) -> Job | None:
        """Find a job by its id as a client sends it; None where the caller has none of that id."""
        parsed = parse_id(job_id)
        return None if parsed is None else await self._queue.find_job(caller.tenant_id, caller.user_id, parsed)

    async def cancel(self, caller: Caller, job_id: str) -> Job | None:
        """Ask for the end of a job; None where the caller has none of that id."""
        parsed = parse_id(job_id)
        job = None if parsed is None else await self._queue.cancel_job(caller.tenant_id, caller.user_id, parsed)
        return await self.withdraw(job) if job is not None and job.awaits_input else job

    async def withdraw(self, job: Job) -> Job | None:
        """Cancel a job that awaits input; None where it is gone."""
        return await self._queue.withdraw_job(job)

    async def set_notify(self, caller: Caller, job_id: str, notify: Notify) -> Job | None:
        """Choose after which ends of a job the caller is told; None where they have none of that id."""
        parsed = parse_id(job_id)
        if parsed is None:
            return None
        return await self._queue.set_notify(caller.tenant_id, caller.user_id, parsed, notify)

    async def list(self, caller: Caller, *, before: UUID | None, limit: int) -> Sequence[Job]:
        """List jobs, the newest first, or those older than the job `before`."""
        return await self._queue.list_jobs(caller.tenant_id, caller.user_id, before=before, limit=limit)

    async def wait_for_end(
        self, request: RequestContext, job: Job, end: float, tell: Callable[[Job], Awaitable[None]] | None = None
    ) -> Job | None:
        """Wait until the job ends, with its progress, but not beyond `end` (the event loop's time), nor longer than the
        caller counts. Return how it stands then; None where it is gone. `tell` is told of every change."""
        loop = asyncio.get_running_loop()
        current: Job | None = job
        while current is not None and not current.state.is_final and self.may_wait(request):
            await _report(request.report_progress, current)
            if (left := end - loop.time()) <= 0:
                return current
            current = await self._queue.wait_for_change(current, left, lambda: self.may_wait(request))
            if current is not None and tell is not None:
                await tell(current)
        return current

    async def load_answer(self, caller: Caller, job: Job) -> StoredAnswer | str:
        """Load the answer of a job that has ended; a text says why there is none, or none for this caller."""
        try:
            stored = await self._queue.load_result(job.tenant_id, job.user_id, job.id)
            answer = None if stored is None else decode_answer(stored)
        except (UnreadableRecord, msgspec.DecodeError):
            return UNREADABLE
        if answer is None:
            return explain_missing_answer(job)
        return answer if self._may_see(caller, answer.tools) else WITHHELD

    async def load_call(self, job: Job) -> StoredCall | None:
        """Load the call of a job; None where it cannot be read any more."""
        try:
            stored = await self._queue.load_arguments(job.tenant_id, job.user_id, job.id)
            return None if stored is None else decode_call(stored)
        except (UnreadableRecord, msgspec.DecodeError):
            return None

    def _may_see(self, caller: Caller, tools: ToolNames) -> bool:
        """Check whether the caller may use all tools of which an answer shows something, with their credential."""
        view = self.get_view(caller)
        found = [view.find(*names) for names in tools]
        return all(tool is not None and has_scope(caller, tool) for tool in found)


def get_client(caller: Caller) -> str:
    """Return what a job remembers as the client that has started it."""
    return cut_text(caller.credential.client or caller.credential.id, MAX_CLIENT)


def parse_id(text: str) -> UUID | None:
    """Parse the id of a job or schedule, which has one form only."""
    if len(text) != ID_LENGTH:
        return None
    try:
        parsed = UUID(text)
    except ValueError:
        return None
    return parsed if str(parsed) == text else None


def explain_missing_answer(job: Job) -> str:
    """Explain why a job that has ended has no answer."""
    if job.state is JobState.CANCELLED:
        return "the job was cancelled"
    if job.state is JobState.UNKNOWN:
        return _TEXTS[JobError.OUTCOME_UNKNOWN]
    return _TEXTS.get(job.error, "the job failed inside MCPist")


async def _report(report: ReportProgress | None, job: Job) -> None:
    if report is not None and job.progress is not None:
        await report(job.progress, job.total, job.message)
