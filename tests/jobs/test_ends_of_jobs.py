"""How jobs end: by themselves, cancelled, tried again, with a reason, or by what befalls their person or database."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from core.errors import Unavailable
from jobs.handler import JobHandler, JobOutcome, JobReport
from jobs.job import MAX_RESULT_BYTES, Job, JobError, JobState
from jobs.worker import JobWorker
from tests.jobs.harness import Plant, WorkerLimits, settle
from tests.support.eventually import within
from tests.support.postgres import MadeTenant, ScratchDatabase

MakeTenant = Callable[..., Awaitable[MadeTenant]]


async def test_what_runs_is_cancelled(plant: Plant, make_tenant: MakeTenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.job_run.GRACE_SECONDS", 0)
    tenant = await make_tenant()
    plant.ledger.holds = True
    async with plant.run_worker():
        job = await plant.enqueue(tenant)
        await plant.ledger.begun.get()
        asked = await plant.queue.cancel_job(tenant.id, tenant.users[0], job.id)
        assert asked is not None
        assert asked.is_cancel_requested
        ended = await plant.wait_for(asked, JobState.CANCELLED)
    assert (ended.state, plant.ledger.cut, plant.ledger.reports[0].is_cancel_requested) == (JobState.CANCELLED, 1, True)


async def test_what_had_ended_when_it_was_cancelled_keeps_its_result(plant: Plant, make_tenant: MakeTenant) -> None:
    """The handler ends by itself within the grace."""
    tenant = await make_tenant()
    plant.ledger.holds = True
    async with plant.run_worker():
        job = await plant.enqueue(tenant)
        await plant.ledger.begun.get()
        asked = await plant.queue.cancel_job(tenant.id, tenant.users[0], job.id)
        plant.ledger.let_go.set()
        assert asked is not None
        ended = await plant.wait_for(asked, JobState.SUCCEEDED)
    assert await plant.queue.load_result(tenant.id, tenant.users[0], ended.id) == b"result of some arguments"


async def test_a_handler_that_does_not_end_is_left_behind(
    plant: Plant, make_tenant: MakeTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.job_run.GRACE_SECONDS", 0)
    monkeypatch.setattr("jobs.job_run.ABANDON_SECONDS", 0.05)
    began, let_go = asyncio.Event(), asyncio.Event()

    class Deaf:
        async def run(self, *_given: Any) -> JobOutcome:
            began.set()
            while not let_go.is_set():
                try:
                    await let_go.wait()
                except asyncio.CancelledError:
                    continue
            raise RuntimeError

    tenant = await make_tenant()
    async with plant.run_worker(handlers={"call": Deaf()}) as worker:
        try:
            job = await plant.wait_for(await plant.enqueue(tenant), JobState.RUNNING)
            await began.wait()
            await plant.queue.cancel_job(tenant.id, tenant.users[0], job.id)
            ended = await plant.wait_for(job, JobState.UNKNOWN)
            assert ended.error == JobError.OUTCOME_UNKNOWN
            await within(5, lambda: _is_idle(worker))
        finally:
            let_go.set()
    await asyncio.sleep(0)


@pytest.mark.parametrize(("attempts", "runs"), [(1, 1), (3, 3)])
async def test_a_failure_that_may_pass_is_tried_again(
    plant: Plant, make_tenant: MakeTenant, attempts: int, runs: int
) -> None:
    tenant = await make_tenant()
    plant.ledger.outcome = JobOutcome(b"busy", JobState.FAILED, "vendor_unavailable", timedelta())
    async with plant.run_worker():
        job = await plant.wait_for(await plant.enqueue(tenant, max_attempts=attempts), JobState.FAILED)
    assert (job.attempt, job.error) == (runs, "vendor_unavailable")
    assert await plant.queue.load_result(tenant.id, tenant.users[0], job.id) == b"busy"


async def test_a_pause_before_the_next_attempt_is_kept(
    plant: Plant, make_tenant: MakeTenant, database: ScratchDatabase
) -> None:
    tenant = await make_tenant()
    plant.ledger.outcome = JobOutcome(None, JobState.FAILED, "vendor_unavailable", timedelta(minutes=1))
    job = await plant.enqueue(tenant, max_attempts=2)
    worker = plant.create_worker()
    for _ in range(3):
        plant.clock.advance(2)
        await worker.take_turn()
        await settle(worker)
    assert ((await plant.find(job)).state, len(await plant.runs())) == (JobState.QUEUED, 1)
    async with database.admin_connection() as admin:
        await admin.execute("UPDATE jobs.jobs SET run_at = now() - interval '1 second'")
    plant.clock.advance(2)
    await worker.take_turn()
    await settle(worker)
    assert ((await plant.find(job)).state, len(await plant.runs())) == (JobState.FAILED, 2)
    await worker.drain(0)


@dataclass(slots=True)
class Away:
    """A handler that cannot begin for lack of its broker, as often as it is told."""

    ledger: JobHandler
    times: int

    async def run(self, job: Job, arguments: bytes, report: JobReport) -> JobOutcome:
        if job.attempt <= self.times:
            raise Unavailable("the broker is away")
        return await self.ledger.run(job, arguments, report)

    async def end(self, job: Job) -> None:
        pass


async def test_what_cannot_begin_waits_and_loses_no_attempt(
    plant: Plant, make_tenant: MakeTenant, database: ScratchDatabase
) -> None:
    """Also what may not run twice: nothing of it has run."""
    job = await plant.enqueue(await make_tenant())
    worker = plant.create_worker(handlers={"call": Away(plant.ledger, 3)})
    for attempt in range(1, 4):
        plant.clock.advance(2)
        await worker.take_turn()
        await settle(worker)
        waiting = await plant.find(job)
        assert (waiting.state, waiting.attempt, waiting.error) == (JobState.QUEUED, attempt, "")
        async with database.admin_connection() as admin:
            pause = await admin.fetchval("SELECT extract(epoch FROM run_at - updated_at)::int FROM jobs.jobs")
            assert pause == 2 * attempt
            await admin.execute("UPDATE jobs.jobs SET run_at = now() - interval '1 second'")
    plant.clock.advance(2)
    await worker.take_turn()
    await settle(worker)
    assert ((await plant.find(job)).state, await plant.runs()) == (JobState.SUCCEEDED, [(job.id, 4)])
    await worker.drain(0)


async def test_what_cannot_begin_is_cancelled(plant: Plant, make_tenant: MakeTenant) -> None:
    tenant = await make_tenant()
    job = await plant.enqueue(tenant)

    class AwayMeanwhile(Away):
        async def run(self, job: Job, arguments: bytes, report: JobReport) -> JobOutcome:
            await plant.queue.cancel_job(tenant.id, tenant.users[0], job.id)
            while not report.is_cancel_requested:
                await asyncio.sleep(0.01)
            return await super().run(job, arguments, report)

    async with plant.run_worker(handlers={"call": AwayMeanwhile(plant.ledger, 9)}):
        assert (await plant.wait_for(job, JobState.CANCELLED)).attempt == 1
    assert await plant.runs() == []


async def test_our_own_fault_fails_the_job_and_tells_nothing(
    plant: Plant, make_tenant: MakeTenant, caplog: pytest.LogCaptureFixture
) -> None:
    plant.ledger.fails = True
    async with plant.run_worker():
        job = await plant.wait_for(await plant.enqueue(await make_tenant()), JobState.FAILED)
    assert job.error == JobError.INTERNAL
    assert "s3cret" not in caplog.text + str(job)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"kind": "of_a_later_version"}, JobError.NOT_SUPPORTED),
        ({"arguments": b"sealed otherwise"}, JobError.UNREADABLE),
    ],
)
async def test_a_job_that_cannot_run_fails_with_a_reason(
    plant: Plant, make_tenant: MakeTenant, database: ScratchDatabase, given: dict[str, Any], error: JobError
) -> None:
    job = await plant.enqueue(await make_tenant(), **given)
    if error is JobError.UNREADABLE:
        async with database.admin_connection() as admin:
            await admin.execute("UPDATE jobs.jobs SET arguments = 'torn'")
    async with plant.run_worker():
        assert (await plant.wait_for(job, JobState.FAILED)).error == error
    assert await plant.runs() == []


async def test_a_result_over_the_limit_is_not_kept_and_says_so(plant: Plant, make_tenant: MakeTenant) -> None:
    tenant = await make_tenant()
    plant.ledger.outcome = JobOutcome(b"x" * (MAX_RESULT_BYTES + 1))
    async with plant.run_worker():
        job = await plant.wait_for(await plant.enqueue(tenant), JobState.SUCCEEDED)
        assert job.error == JobError.RESULT_TOO_LARGE
        assert await plant.queue.load_result(tenant.id, tenant.users[0], job.id) is None
        plant.ledger.outcome = JobOutcome(b"x" * MAX_RESULT_BYTES)
        job = await plant.wait_for(await plant.enqueue(tenant), JobState.SUCCEEDED)
        result = await plant.queue.load_result(tenant.id, tenant.users[0], job.id)
    assert result == b"x" * MAX_RESULT_BYTES


async def test_what_has_expired_is_pruned(plant: Plant, make_tenant: MakeTenant, database: ScratchDatabase) -> None:
    tenant = await make_tenant()
    async with plant.run_worker() as worker:
        ended = await plant.wait_for(await plant.enqueue(tenant), JobState.SUCCEEDED)
        kept = await plant.wait_for(await plant.enqueue(tenant), JobState.SUCCEEDED)
        del worker
    async with database.admin_connection() as admin:
        await admin.execute("UPDATE jobs.jobs SET expires_at = now() - interval '1 second' WHERE id = $1", ended.id)
    assert await plant.queue.load_result(tenant.id, tenant.users[0], ended.id) is None
    worker = plant.create_worker()
    plant.clock.advance(301)
    await worker.take_turn()
    assert await plant.queue.find_job(tenant.id, tenant.users[0], ended.id) is None
    assert await plant.find(kept) == kept
    await worker.drain(0)


async def test_a_running_job_goes_with_its_person(plant: Plant, make_tenant: MakeTenant) -> None:
    tenant = await make_tenant(users=2)
    plant.ledger.holds = True
    async with plant.run_worker() as worker:
        job = await plant.enqueue(tenant)
        await plant.ledger.begun.get()
        async with plant.database.admin_connection() as admin:
            await admin.execute("DELETE FROM core.users WHERE id = $1", tenant.users[0])
        plant.ledger.let_go.set()
        await settle(worker)
        assert await plant.queue.find_job(tenant.id, tenant.users[0], job.id) is None


async def test_what_a_backup_held_unfinished_does_not_run_again(plant: Plant, make_tenant: MakeTenant) -> None:
    tenant = await make_tenant()
    async with plant.run_worker():
        ended = await plant.wait_for(await plant.enqueue(tenant), JobState.SUCCEEDED)
    plant.ledger.let_go.clear()
    plant.ledger.holds = True
    running = await plant.enqueue(tenant, max_attempts=3)
    worker = plant.create_worker(limits=WorkerLimits(jobs=1))
    await worker.take_turn()
    waiting = await plant.enqueue(tenant, max_attempts=3)
    assert await plant.store.end_restored() == 2
    for job in (running, waiting):
        told = await plant.find(job)
        assert (told.state, told.error) == (JobState.UNKNOWN, JobError.RESTORED)
    assert await plant.find(ended) == ended
    plant.ledger.let_go.set()
    await settle(worker)
    assert (await plant.find(running)).state is JobState.UNKNOWN
    other = plant.create_worker()
    await other.take_turn()
    assert len(other) == 0


async def _is_idle(worker: JobWorker) -> bool:
    return len(worker) == 0


@pytest.mark.parametrize("drained", [False, True])
async def test_an_outcome_that_cannot_be_stored_ends_the_job_with_a_reason(
    plant: Plant, make_tenant: MakeTenant, database: ScratchDatabase, monkeypatch: pytest.MonkeyPatch, drained: bool
) -> None:
    """The database refuses every end for a while; a worker that stops meanwhile leaves the job to another."""
    monkeypatch.setattr("jobs.job_run.RETRY_SECONDS", 0.01)
    job = await plant.enqueue(await make_tenant())
    worker = plant.create_worker()
    async with database.admin_connection() as admin:
        await admin.execute(REFUSE_ENDS)
        await worker.take_turn()
        await plant.ledger.begun.get()

        async def was_refused() -> bool:
            return await admin.fetchval("SELECT last_value FROM public.refused") > 3

        await within(5, was_refused)
        assert (await plant.find(job)).state is JobState.RUNNING
        if drained:
            await worker.drain(0)
        await admin.execute("DROP FUNCTION public.refuse_ends CASCADE; DROP SEQUENCE public.refused")
    other = plant.create_worker(limits=WorkerLimits(jobs=0))
    for seconds in (0, 12.6) if drained else ():
        plant.clock.advance(seconds)
        await other.take_turn()
    await settle(worker)
    ended = await plant.find(job)
    reason = JobError.OUTCOME_UNKNOWN if drained else JobError.INTERNAL
    assert (ended.state, ended.error) == (JobState.UNKNOWN, reason)
    for one in (worker, other):
        await one.drain(0)


REFUSE_ENDS = """CREATE SEQUENCE public.refused; GRANT ALL ON public.refused TO PUBLIC;
    CREATE FUNCTION public.refuse_ends() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM nextval('public.refused'); RAISE EXCEPTION 'the disk is full'; END $$;
    CREATE TRIGGER refuse_ends BEFORE UPDATE OF state ON jobs.jobs FOR EACH ROW
    WHEN (NEW.state NOT IN ('queued', 'running')) EXECUTE FUNCTION public.refuse_ends()"""
