"""Jobs as the control plane shows them: a person's own, and to administrators those of their tenant, without contents.

Its database role can read neither arguments nor results.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import LiteralString
from uuid import UUID

from broker.interface import JobToRetry, MandateReference, RefusalReason
from core.audit.event import AuditEventKind
from core.db import Database, Row, UnitOfWork
from core.directory.audit_trail import Actor, audit_change
from core.errors import Conflict, LimitReached, MCPistError, NotFound
from jobs.job import COLUMNS, MANDATE_LIFETIME, Job, JobState, Notify, read_job
from jobs.queue import TOO_MANY_WAIT

PermitRetry = Callable[[JobToRetry], Awaitable[UUID | RefusalReason]]
"""Asks the broker for a mandate in the presence of the job's person: see :class:`broker.interface.JobRetries`."""


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs are listed; None is any."""

    user_id: UUID | None = None
    state: JobState | None = None
    module: str | None = None


@dataclass(frozen=True, slots=True)
class ListedJob:
    """A job with the address of its person; `number` is its place in the order in which jobs came."""

    job: Job
    user_email: str
    number: int


class JobDirectory:
    """Reads, cancels and retries jobs in the control plane's role. `user_id` limits each to one person's; None means
    the tenant's."""

    def __init__(self, console: Database) -> None:
        self._console = console

    async def list_jobs(
        self, tenant_id: UUID, wanted: JobFilter, *, oldest_first: bool = False, after: int | None, limit: int
    ) -> Sequence[ListedJob]:
        """List jobs, the newest or the oldest first, from the one after that of the number `after` on."""
        page = _OLDEST_PAGE if oldest_first else _NEWEST_PAGE
        async with self._console.tenant(tenant_id) as work:
            rows = await work.fetch(page, wanted.user_id, wanted.state, wanted.module, after, limit)
        return [_read_listed(row) for row in rows]

    async def get_job(self, tenant_id: UUID, user_id: UUID | None, job_id: UUID) -> ListedJob:
        """Return a job.

        Raises:
            NotFound: there is none for this person.
        """
        async with self._console.tenant(tenant_id) as work:
            return await _find(work, user_id, job_id)

    async def cancel_job(self, actor: Actor, tenant_id: UUID, user_id: UUID | None, job_id: UUID) -> ListedJob:
        """Cancel a job that waits, and tell one that runs to end; one that has ended stays as it is.

        Raises:
            NotFound: there is none for this person.
        """
        async with self._console.tenant(tenant_id) as work:
            if await work.fetchval(_CANCEL, user_id, job_id) is not None:
                await audit_change(work, actor, AuditEventKind.JOB_CANCELLED, job=str(job_id))
            return await _find(work, user_id, job_id)

    async def set_notify(self, tenant_id: UUID, user_id: UUID, job_id: UUID, notify: Notify) -> ListedJob:
        """Choose after which ends of a job of theirs the person is told.

        Raises:
            NotFound: the person has none of this id.
            Conflict: it has ended.
        """
        async with self._console.tenant(tenant_id) as work:
            changed = await work.fetchval(_NOTIFY, user_id, job_id, notify)
            found = await _find(work, user_id, job_id)
        if changed is None:
            raise Conflict(f"this job has ended already: {found.job.state}")
        return found

    async def retry_job(
        self, actor: Actor, tenant_id: UUID, user_id: UUID, job_id: UUID, permit: PermitRetry
    ) -> ListedJob:
        """Queue a job of the person's again, with a mandate that `permit` gives. Where that is not possible the job
        stays as it was, and no mandate is left for it.

        Raises:
            NotFound: the person has none of this id.
            Conflict: it has not failed, nor been cancelled, nor is its outcome unknown; or the person may not use a
                tool of it any more; or it is a schedule's that may not act any more.
            LimitReached: too many jobs wait, or the person has too many mandates.
        """
        job = (await self.get_job(tenant_id, user_id, job_id)).job
        if job.state not in _RETRIED_STATES:
            raise _explain_state(job)
        mandate = await permit(_describe_retry(job))
        if isinstance(mandate, RefusalReason):
            raise _explain_refusal(job, mandate)
        async with self._console.tenant(tenant_id) as work:
            await work.fetchval(_BIND_USER, str(user_id))
            outcome = await work.fetchval(_RETRY, job_id, mandate)
            if outcome == "queued":
                await audit_change(work, actor, AuditEventKind.JOB_RETRIED, job=str(job_id))
            found = await _find(work, user_id, job_id)
        if outcome == "full":
            raise LimitReached(TOO_MANY_WAIT, 60)
        if outcome == "ended":
            raise Conflict("the permission for this job was taken away in this moment; try again")
        if outcome != "queued":
            raise _explain_state(found.job)
        return found


def hide_contents(job: Job) -> Job:
    """Return the job as others than its person may see it: what its module says of its progress may quote contents, and
    a schedule is named by its person."""
    return replace(job, message="", client="", title="" if job.schedule_id else job.title)


def _describe_retry(job: Job) -> JobToRetry:
    if job.schedule_id is not None and job.mandate_id is not None:
        schedule = MandateReference(job.mandate_id, job.schedule_id)
        return JobToRetry(job.id, job.title, job.tools, MANDATE_LIFETIME, schedule)
    tools = job.tools or (((job.module, job.tool),) if job.module else ())
    if not tools:
        raise Conflict("an earlier version of MCPist made this job; it cannot be tried again: make the call anew")
    return JobToRetry(job.id, job.title, tools, MANDATE_LIFETIME)


def _explain_state(job: Job) -> MCPistError:
    return Conflict(f"this job is {job.state}: only one that ended without success can be tried again")


def _explain_refusal(job: Job, reason: RefusalReason) -> MCPistError:
    if reason is RefusalReason.TOO_MANY:
        return LimitReached("you have as much work under way as anybody may have; let some of it end first", 60)
    if reason is RefusalReason.NO_CONSENT:
        return Conflict("the schedule of this job waits for your consent at /account; give it first")
    if job.schedule_id is not None and reason is not RefusalReason.FORBIDDEN:
        return Conflict("the schedule of this job may not act for you any more; make the call anew, or a new schedule")
    return Conflict("you may not use a tool of this job any more; ask an administrator for it")


async def _find(work: UnitOfWork, user_id: UUID | None, job_id: UUID) -> ListedJob:
    row = await work.fetchrow(_FIND, user_id, job_id)
    if row is None:
        raise NotFound("there is no job of this id")
    return _read_listed(row)


def _read_listed(row: Row) -> ListedJob:
    return ListedJob(read_job(row), row["user_email"], row["number"])


_SELECT: LiteralString = f"""SELECT {COLUMNS}, number,
        (SELECT u.email FROM core.users u WHERE u.tenant_id = j.tenant_id AND u.id = j.user_id) AS user_email
    FROM jobs.jobs j WHERE tenant_id = $1 AND ($2::uuid IS NULL OR user_id = $2)"""  # noqa: S608 our own words
_MATCHING: LiteralString = _SELECT + " AND ($3::text IS NULL OR state = $3) AND ($4::text IS NULL OR module = $4)"
_NEWEST_PAGE = _MATCHING + " AND ($5::bigint IS NULL OR number < $5) ORDER BY number DESC LIMIT $6"
_OLDEST_PAGE = _MATCHING + " AND ($5::bigint IS NULL OR number > $5) ORDER BY number LIMIT $6"
_FIND = _SELECT + " AND id = $3"
_CANCEL = """UPDATE jobs.jobs SET cancel_requested_at = jobs.clock()
    WHERE tenant_id = $1 AND ($2::uuid IS NULL OR user_id = $2) AND id = $3 AND cancel_requested_at IS NULL
        AND state IN ('queued', 'running') RETURNING true"""
_NOTIFY = """UPDATE jobs.jobs SET notify = $4
    WHERE tenant_id = $1 AND user_id = $2 AND id = $3 AND state IN ('queued', 'running') RETURNING true"""
_BIND_USER = "SELECT set_config('app.user_id', $2, true) WHERE $1 = core.current_tenant()"
_RETRY = "SELECT jobs.retry($2, $3) WHERE $1 = core.current_tenant()"
_RETRIED_STATES = frozenset({JobState.FAILED, JobState.CANCELLED, JobState.UNKNOWN})
