"""The queue, as a gateway uses it for the caller: add, read, cancel and wait. Workers have jobs/worker_store.py.

Arguments and results are sealed in the database with a key that gateways and workers share.
"""

import asyncio
import operator
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import LiteralString
from uuid import UUID

import asyncpg

from core.concurrency.cooperative_steps import wait_for_turn
from core.db import Database, UnitOfWork
from core.errors import Conflict, Invalid, LimitReached
from core.sealed_records import RecordSealer
from jobs.events import Change, JobEvents, PersonalChanges
from jobs.job import (
    COLUMNS,
    MAX_ARGUMENT_BYTES,
    MAX_ATTEMPTS,
    MAX_CLIENT,
    MAX_LIFETIME,
    MAX_TITLE,
    MIN_LIFETIME,
    Job,
    NewJob,
    Notify,
    cut_text,
    read_job,
)

ARGUMENTS_KIND = "job arguments"
RESULT_KIND = "job result"
MAX_PAGE = 100
TOO_MANY_WAIT = "Too many jobs wait already; let some of them end first."
POLL_SECONDS = 15.0
"""How often a waiting request reads its job, whether a change was announced or not."""
LOOK_SECONDS = 2.0
"""How often a waiting request looks whether it is still wanted."""


class JobQueue:
    """Jobs of callers. Every method sees the rows of the person that it names, and no others."""

    def __init__(self, database: Database, sealer: RecordSealer, events: JobEvents) -> None:
        self._database = database
        self._sealer = sealer
        self._events = events

    async def enqueue(self, new: NewJob, is_same: Callable[[bytes, bytes], bool] = operator.eq) -> Job:
        """Add a job, or find the one that the same person has added with the same idempotency key. `is_same` compares
        that one's arguments, which :meth:`answer_job` may have changed since, with those of the new one.

        Raises:
            Invalid: a limit of its parts is exceeded.
            Conflict: the idempotency key belongs to other work.
            LimitReached: too many jobs of the person or tenant wait.
            core.errors.Unavailable: the database is away; nobody knows whether the job was added.
        """
        _check(new)
        await wait_for_turn(len(new.arguments))
        sealed = self._sealer.seal(new.tenant_id, ARGUMENTS_KIND, new.id, new.arguments)
        values = (
            new.id,
            new.kind,
            new.module,
            new.tool,
            new.title,
            [f"{module}.{name}" for module, name in new.tools],
            cut_text(new.client, MAX_CLIENT),
            new.mandate_id,
            new.idempotency_key,
            sealed,
            new.max_attempts > 1,
            new.max_attempts - 1,
            new.lifetime,
        )
        try:
            async with self._database.personal(new.tenant_id, new.user_id) as work:
                # First without adding: a repetition is answered even where no further job may wait.
                same = await self._find_same(work, new, is_same)
                if same is None and (row := await work.fetchrow(_INSERT, *values)) is not None:
                    return read_job(row)
                same = same or await self._find_same(work, new, is_same)
        except asyncpg.ProgramLimitExceededError:
            raise LimitReached(TOO_MANY_WAIT, 60) from None
        if same is None:  # another one was added and removed in between
            raise Conflict("a job with this idempotency key has just been removed; ask again")
        return same

    async def _find_same(self, work: UnitOfWork, new: NewJob, is_same: Callable[[bytes, bytes], bool]) -> Job | None:
        row = None if new.idempotency_key is None else await work.fetchrow(_FIND_BY_KEY, new.idempotency_key)
        if row is None:
            return None
        arguments = self._sealer.open(new.tenant_id, ARGUMENTS_KIND, row["id"], row["arguments"])
        names = (new.kind, new.module, new.tool)
        if (row["kind"], row["module"], row["tool"]) != names or not is_same(arguments, new.arguments):
            raise Conflict("the idempotency key belongs to a job with another tool or other arguments")
        return read_job(row)

    async def find_job(self, tenant_id: UUID, user_id: UUID, job_id: UUID) -> Job | None:
        """Find one of the person's jobs."""
        async with self._database.personal(tenant_id, user_id) as work:
            row = await work.fetchrow(_FIND, job_id)
        return None if row is None else read_job(row)

    async def find_jobs(self, tenant_id: UUID, user_id: UUID, job_ids: Collection[UUID]) -> Sequence[Job]:
        """Find those of the person's jobs that have one of these ids, in the order in which they came."""
        async with self._database.personal(tenant_id, user_id) as work:
            rows = await work.fetch(_FIND_ALL, list(job_ids))
        return [read_job(row) for row in rows]

    def watch_jobs(
        self,
        tenant_id: UUID,
        user_id: UUID,
        job_ids: frozenset[UUID] | None = None,
        wake: Callable[[], None] | None = None,
    ) -> AbstractContextManager[PersonalChanges]:
        """Watch the person's jobs, all of them or those with `job_ids`; `wake` is called when one has changed."""
        return self._events.watch_person(tenant_id, user_id, job_ids, wake)

    async def list_jobs(
        self, tenant_id: UUID, user_id: UUID, *, before: UUID | None = None, limit: int = MAX_PAGE
    ) -> Sequence[Job]:
        """List the person's jobs, the newest first, or those that are older than the job `before`."""
        limit = max(1, min(limit, MAX_PAGE))
        async with self._database.personal(tenant_id, user_id) as work:
            rows = await work.fetch(_LIST, before, limit)
        return [read_job(row) for row in rows]

    async def cancel_job(self, tenant_id: UUID, user_id: UUID, job_id: UUID) -> Job | None:
        """Ask for the end of a job: one that waits is cancelled, one that runs is told so. One that has ended stays as
        it is. None where there is none."""
        async with self._database.personal(tenant_id, user_id) as work:
            row = await work.fetchrow(_CANCEL, job_id) or await work.fetchrow(_FIND, job_id)
        return None if row is None else read_job(row)

    async def set_notify(self, tenant_id: UUID, user_id: UUID, job_id: UUID, notify: Notify) -> Job | None:
        """Choose after which ends of a job the person is told; one that has ended stays as it is. None where there is
        none."""
        async with self._database.personal(tenant_id, user_id) as work:
            row = await work.fetchrow(_NOTIFY, job_id, notify) or await work.fetchrow(_FIND, job_id)
        return None if row is None else read_job(row)

    async def load_arguments(self, tenant_id: UUID, user_id: UUID, job_id: UUID) -> bytes | None:
        """Load the arguments exactly as they were given, None where there is no such job.

        Raises:
            core.sealed_records.UnreadableRecord: they were sealed by another deployment's key.
        """
        async with self._database.personal(tenant_id, user_id) as work:
            sealed = await work.fetchval(_ARGUMENTS, job_id)
        if sealed is None:
            return None
        await wait_for_turn(len(sealed))
        return self._sealer.open(tenant_id, ARGUMENTS_KIND, job_id, sealed)

    async def answer_job(self, job: Job, arguments: bytes, mandate_id: UUID) -> bool:
        """Queue a job again that awaits input, with `arguments` that hold the answer; False where it does not await
        this answer any more."""
        await wait_for_turn(len(arguments))
        sealed = self._sealer.seal(job.tenant_id, ARGUMENTS_KIND, job.id, arguments)
        async with self._database.personal(job.tenant_id, job.user_id) as work:
            return await work.fetchval(_ANSWER, job.id, job.attempt, sealed, mandate_id)

    async def note_answers(self, job: Job, arguments: bytes) -> bool:
        """Keep `arguments`, which hold some of the answers that a job awaits, while it awaits the others; False where
        it has been answered or changed meanwhile."""
        await wait_for_turn(len(arguments))
        sealed = self._sealer.seal(job.tenant_id, ARGUMENTS_KIND, job.id, arguments)
        async with self._database.personal(job.tenant_id, job.user_id) as work:
            return await work.fetchval(_NOTE_ANSWERS, job.id, job.attempt, job.updated_at, sealed)

    async def withdraw_job(self, job: Job) -> Job | None:
        """Cancel a job that awaits input; another stays as it is. None where it is gone."""
        async with self._database.personal(job.tenant_id, job.user_id) as work:
            await work.fetchval(_WITHDRAW, job.id)
            row = await work.fetchrow(_FIND, job.id)
        return None if row is None else read_job(row)

    async def load_result(self, tenant_id: UUID, user_id: UUID, job_id: UUID) -> bytes | None:
        """Load the result exactly as it was given, None where there is none.

        Raises:
            core.sealed_records.UnreadableRecord: it was sealed by another deployment's key.
        """
        async with self._database.personal(tenant_id, user_id) as work:
            sealed = await work.fetchval(_RESULT, job_id)
        if sealed is None:
            return None
        await wait_for_turn(len(sealed))
        return self._sealer.open(tenant_id, RESULT_KIND, job_id, sealed)

    async def wait_for_change(
        self, job: Job, timeout: float, is_wanted: Callable[[], bool] = lambda: True
    ) -> Job | None:
        """Wait until the job stands otherwise than `job`, but no longer than `timeout` seconds, and only while
        `is_wanted`; return how it stands then, None where it is gone."""
        deadline = asyncio.get_running_loop().time() + timeout
        with self._events.watch(job.id) as change:
            while True:
                change.clear()
                current = await self.find_job(job.tenant_id, job.user_id, job.id)
                if current != job or not await _wait(change, deadline, is_wanted):
                    return current


async def _wait(change: Change, deadline: float, is_wanted: Callable[[], bool]) -> bool:
    """Wait until the job is to be read again; False where nobody waits for it any more."""
    now = asyncio.get_running_loop().time
    poll_at = now() + POLL_SECONDS
    while is_wanted() and (left := deadline - now()) > 0:
        if await change.wait(min(left, LOOK_SECONDS, max(0.0, poll_at - now()))) or now() >= poll_at:
            return True
    return False


def _check(new: NewJob) -> None:
    if len(new.arguments) > MAX_ARGUMENT_BYTES:
        raise Invalid(f"the arguments of a job have at most {MAX_ARGUMENT_BYTES} bytes")
    if not MIN_LIFETIME <= new.lifetime <= MAX_LIFETIME:
        raise Invalid("a job is kept for 1 second to 366 days")
    if not 1 <= new.max_attempts <= MAX_ATTEMPTS:
        raise Invalid(f"a job has 1 to {MAX_ATTEMPTS} attempts")
    if len(new.title) > MAX_TITLE:
        raise Invalid(f"the title of a job has at most {MAX_TITLE} characters")
    key = new.idempotency_key
    if key is not None and not (0 < len(key) <= 200 and key.isprintable()):
        raise Invalid("an idempotency key has 1 to 200 printable characters")


_IS_KEPT: LiteralString = "(expires_at > jobs.clock() OR state IN ('queued', 'running'))"
"""What has ended and is over its lifetime is gone, whether it has been deleted yet or not."""
_INSERT: LiteralString = f"""INSERT INTO jobs.jobs (tenant_id, user_id, id, kind, module, tool, title, tools, client,
        mandate_id, idempotency_key, arguments, is_repeatable, retries_left, lifetime, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, jobs.clock() + $15)
    ON CONFLICT (tenant_id, user_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
    RETURNING {COLUMNS}"""  # noqa: S608 our own words
_FIND_BY_KEY: LiteralString = f"""SELECT arguments, {COLUMNS} FROM jobs.jobs
    WHERE tenant_id = $1 AND user_id = $2 AND idempotency_key = $3"""  # noqa: S608 our own words
_FIND: LiteralString = f"""SELECT {COLUMNS} FROM jobs.jobs
    WHERE tenant_id = $1 AND user_id = $2 AND id = $3 AND {_IS_KEPT}"""  # noqa: S608 our own words
_FIND_ALL: LiteralString = f"""SELECT {COLUMNS} FROM jobs.jobs
    WHERE tenant_id = $1 AND user_id = $2 AND id = ANY ($3) AND {_IS_KEPT} ORDER BY number"""  # noqa: S608 our own words
_LIST: LiteralString = f"""SELECT {COLUMNS} FROM jobs.jobs
    WHERE tenant_id = $1 AND user_id = $2 AND ($3::uuid IS NULL OR number < (
        SELECT number FROM jobs.jobs WHERE tenant_id = $1 AND user_id = $2 AND id = $3)) AND {_IS_KEPT}
    ORDER BY number DESC LIMIT $4"""  # noqa: S608 our own words
_CANCEL: LiteralString = f"""UPDATE jobs.jobs SET cancel_requested_at = coalesce(cancel_requested_at, jobs.clock())
    WHERE tenant_id = $1 AND user_id = $2 AND id = $3 AND state IN ('queued', 'running') RETURNING {COLUMNS}"""  # noqa: S608 our own words
_NOTIFY: LiteralString = f"""UPDATE jobs.jobs SET notify = $4
    WHERE tenant_id = $1 AND user_id = $2 AND id = $3 AND state IN ('queued', 'running') RETURNING {COLUMNS}"""  # noqa: S608 our own words
_ARGUMENTS = "SELECT arguments FROM jobs.jobs WHERE tenant_id = $1 AND user_id = $2 AND id = $3"
_ANSWER = "SELECT jobs.answer($3, $4, $5, $6) WHERE $1 = core.current_tenant() AND $2 = core.current_user_id()"
_NOTE_ANSWERS = """SELECT jobs.note_answers($3, $4, $5, $6)
    WHERE $1 = core.current_tenant() AND $2 = core.current_user_id()"""
_WITHDRAW = "SELECT jobs.withdraw($3) WHERE $1 = core.current_tenant() AND $2 = core.current_user_id()"
_RESULT = "SELECT result FROM jobs.jobs WHERE tenant_id = $1 AND user_id = $2 AND id = $3 AND expires_at > jobs.clock()"
