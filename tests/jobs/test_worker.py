"""Workers: who is served, what a lost lease means, how a job ends. Several workers share one database."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from core.errors import Unavailable
from jobs.handler import JobHandler, JobOutcome, JobReport
from jobs.job import MAX_RESULT_BYTES, Job, JobError, JobState
from jobs.worker import JobWorker
from jobs.worker_store import load_queue_figures
from tests.jobs.harness import Plant, WorkerLimits, WorkerTiming
from tests.support.eventually import within
from tests.support.postgres import MadeTenant, ScratchDatabase

MakeTenant = Callable[..., Awaitable[MadeTenant]]


async def settle(worker: JobWorker) -> None:
    """Wait until every job that runs here has ended."""
    if worker._tasks:
        await asyncio.wait(worker._tasks, timeout=10)


async def test_a_job_runs_and_its_result_is_exact(plant: Plant, make_tenant: MakeTenant) -> None:
    tenant = await make_tenant()
    async with plant.run_worker():
        job = await plant.wait_for(await plant.enqueue(tenant, arguments=b"\x00 bytes \xff"), JobState.FAILED)
        assert job.error == JobError.INTERNAL  # the ledger stores text
        job = await plant.wait_for(await plant.enqueue(tenant), JobState.SUCCEEDED)
    assert (job.attempt, job.error, job.started_at is None, job.finished_at is None) == (1, "", False, False)
    assert await plant.queue.load_result(tenant.id, tenant.users[0], job.id) == b"result of some arguments"


async def test_it_starts_at_once(plant: Plant, make_tenant: MakeTenant) -> None:
    """By the announcement: this worker's poll would come after a minute."""
    tenant = await make_tenant()
    async with plant.run_worker(timing=WorkerTiming(poll=60)):
        await plant.wait_for(await plant.enqueue(tenant), JobState.SUCCEEDED)
        await plant.wait_for(await plant.enqueue(tenant), JobState.SUCCEEDED)


async def test_tenants_take_turns(plant: Plant, make_tenant: MakeTenant) -> None:
    busy, calm = await make_tenant(), await make_tenant()
    for _ in range(5):
        await plant.enqueue(busy)
    worker = plant.create_worker(limits=WorkerLimits(jobs=1))
    order = []
    for turn in range(7):
        if turn == 2:
            for _ in range(2):
                await plant.enqueue(calm)
        await worker.take_turn()
        job = await plant.ledger.begun.get()
        order.append(job.tenant_id)
        await settle(worker)
    assert order == [busy.id, busy.id, calm.id, busy.id, calm.id, busy.id, busy.id]
    await worker.drain(0)


async def test_people_of_a_tenant_take_turns(plant: Plant, make_tenant: MakeTenant) -> None:
    tenant = await make_tenant(users=2)
    for user in (0, 0, 0, 1):
        await plant.enqueue(tenant, user)
    worker = plant.create_worker(limits=WorkerLimits(jobs=1))
    order = []
    for _ in range(4):
        await worker.take_turn()
        order.append((await plant.ledger.begun.get()).user_id)
        await settle(worker)
    assert Counter(order[:2]) == {tenant.users[0]: 1, tenant.users[1]: 1}
    await worker.drain(0)


@pytest.mark.parametrize(
    ("limits", "most"),
    [({"of_tenant": 2}, 2), ({"of_user": 1}, 2), ({"of_module": 1}, 1), ({"jobs": 3}, 3)],
)
async def test_limits_hold_over_all_workers(
    plant: Plant, make_tenant: MakeTenant, limits: dict[str, int], most: int
) -> None:
    tenant = await make_tenant(users=2)
    for user in (0, 0, 0, 1, 1, 1):
        await plant.enqueue(tenant, user)
    plant.ledger.holds = True
    workers = [plant.create_worker(limits=WorkerLimits(**limits)) for _ in range(1 if "jobs" in limits else 2)]
    await asyncio.gather(*(worker.take_turn() for worker in workers))
    for worker in workers:  # a tenant whose turn another claim holds is passed over
        await worker.take_turn()
    for _ in range(most):
        await plant.ledger.begun.get()
    assert (plant.ledger.running, sum(map(len, workers))) == (most, most)
    other = await make_tenant()
    if "jobs" not in limits:
        await plant.enqueue(other)
        await workers[0].take_turn()
        assert (await plant.ledger.begun.get()).tenant_id == other.id
    plant.ledger.let_go.set()
    for worker in workers:
        await worker.drain(5)


async def test_a_lost_worker_s_job_is_taken_over_once(plant: Plant, make_tenant: MakeTenant) -> None:
    """The first worker stops beating, as one that was killed; and its late outcome counts no more."""
    tenant = await make_tenant()
    job = await plant.enqueue(tenant, max_attempts=3)
    plant.ledger.holds = True
    lost, watching = plant.create_worker(), plant.create_worker()
    await lost.take_turn()
    await plant.ledger.begun.get()
    for seconds in (0, 12.4):
        plant.clock.advance(seconds)
        await watching.take_turn()
        assert (await plant.find(job)).attempt == 1
    plant.clock.advance(0.2)
    await watching.take_turn()
    assert (await plant.ledger.begun.get()).attempt == 2
    assert not lost.holds_lease()
    assert watching.holds_lease()
    plant.ledger.let_go.set()
    await settle(lost)
    assert (await plant.find(job)).state in (JobState.RUNNING, JobState.SUCCEEDED)
    await settle(watching)
    ended = await plant.find(job)
    assert (ended.state, ended.attempt) == (JobState.SUCCEEDED, 2)
    assert await plant.runs() == [(job.id, 1), (job.id, 2)]
    await lost.take_turn()
    for worker in (lost, watching):
        await worker.drain(0)


async def test_a_resting_worker_finds_a_lost_one_within_a_lease(plant: Plant, make_tenant: MakeTenant) -> None:
    """It rested when the job came: the announcement of that ends its rest, and it looks around until the job ends."""
    timing = WorkerTiming()
    tenant = await make_tenant()
    plant.ledger.holds = True
    lost, resting = plant.create_worker(timing=timing), plant.create_worker(timing=timing)
    for worker in (lost, resting):
        await worker.take_turn()
        assert worker._is_resting
    await plant.enqueue(tenant, max_attempts=3)
    await asyncio.wait_for(asyncio.gather(lost._wake.wait(), resting._wake.wait()), 10)
    await lost.take_turn()
    assert (await plant.ledger.begun.get()).attempt == 1
    waited = 0.0
    await resting.take_turn()
    while not len(resting):
        pause = timing.rest if resting._is_resting else timing.poll
        plant.clock.advance(pause)
        waited += pause
        assert waited <= timing.lease
        await resting.take_turn()
    assert waited > timing.lease * 2 / 3  # by then the lost one, were it alive, has stopped its jobs
    plant.ledger.let_go.set()
    for worker in (lost, resting):
        await settle(worker)
        await worker.drain(0)


async def test_a_worker_that_beats_keeps_its_job(plant: Plant, make_tenant: MakeTenant) -> None:
    job = await plant.enqueue(await make_tenant(), max_attempts=3)
    plant.ledger.holds = True
    holding, watching = plant.create_worker(), plant.create_worker()
    await holding.take_turn()
    for _ in range(12):
        plant.clock.advance(5)
        await holding.take_turn()
        await watching.take_turn()
    assert holding.holds_lease()
    plant.ledger.let_go.set()
    await settle(holding)
    assert (await plant.find(job)).attempt == 1
    for worker in (holding, watching):
        await worker.drain(0)


async def test_the_clock_of_the_database_ends_no_lease(
    plant: Plant, make_tenant: MakeTenant, database: ScratchDatabase
) -> None:
    job = await plant.enqueue(await make_tenant(), max_attempts=3)
    plant.ledger.holds = True
    holding, watching = plant.create_worker(), plant.create_worker()
    await holding.take_turn()
    for jump in ("+ interval '30 minutes'", "- interval '10 years'", ""):
        async with database.admin_connection() as admin:
            await admin.execute(
                f"""CREATE OR REPLACE FUNCTION jobs.clock() RETURNS timestamptz LANGUAGE sql VOLATILE
                RETURN clock_timestamp() {jump}"""
            )
        for worker in (watching, holding, watching):
            plant.clock.advance(1)
            await worker.take_turn()
        assert (await plant.find(job)).attempt == 1
    plant.ledger.let_go.set()
    await settle(holding)
    assert (await plant.find(job)).state is JobState.SUCCEEDED
    for worker in (holding, watching):
        await worker.drain(0)


async def test_a_worker_without_database_stops_its_jobs_before_another_begins_them(
    plant: Plant, make_tenant: MakeTenant
) -> None:
    await plant.enqueue(await make_tenant(), max_attempts=3)
    plant.ledger.holds = True
    cut_off = plant.create_worker()
    await cut_off.take_turn()
    await plant.ledger.begun.get()
    report = plant.ledger.reports[0]
    assert report.may_act()
    plant.clock.advance(10.1)
    assert not report.may_act()
    cut_off._give_up_lease()
    await settle(cut_off)
    assert plant.ledger.cut == 1
    watching = plant.create_worker()
    for seconds in (0, 12.6):
        plant.clock.advance(seconds)
        await watching.take_turn()
    assert (await plant.ledger.begun.get()).attempt == 2
    plant.ledger.let_go.set()
    for worker in (cut_off, watching):
        await worker.drain(5)


@pytest.mark.parametrize(
    ("attempts", "state", "error"),
    [(1, JobState.UNKNOWN, JobError.OUTCOME_UNKNOWN), (3, JobState.FAILED, JobError.WORKER_LOST)],
)
async def test_a_job_that_kills_its_workers_is_set_aside(
    plant: Plant, make_tenant: MakeTenant, database: ScratchDatabase, attempts: int, state: JobState, error: JobError
) -> None:
    job = await plant.enqueue(await make_tenant(), max_attempts=attempts)
    plant.ledger.holds = True
    watching = plant.create_worker(limits=WorkerLimits(jobs=0))
    lost: list[JobWorker] = []
    for attempt in range(1, attempts + 1):
        lost.append(plant.create_worker())
        await lost[-1].take_turn()
        assert (await plant.ledger.begun.get()).attempt == attempt
        for seconds in (0, 12.6):
            plant.clock.advance(seconds)
            await watching.take_turn()
        async with database.admin_connection() as admin:  # a job's second retry comes after a pause
            await admin.execute("UPDATE jobs.jobs SET run_at = NULL")
    ended = await plant.find(job)
    assert (ended.state, ended.error, ended.attempt) == (state, error, attempts)
    plant.ledger.let_go.set()
    for worker in (*lost, watching):
        await settle(worker)
        await worker.drain(0)
    assert (await plant.find(job)).state is state


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
    let_go = asyncio.Event()

    class Deaf:
        async def run(self, *_given: Any) -> JobOutcome:
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
            await plant.queue.cancel_job(tenant.id, tenant.users[0], job.id)
            ended = await plant.wait_for(job, JobState.UNKNOWN)
            assert ended.error == JobError.OUTCOME_UNKNOWN
            await within(5, lambda: _is_idle(worker))
        finally:
            let_go.set()
    await asyncio.sleep(0)


async def test_a_drained_worker_gives_back_what_may_run_twice(
    plant: Plant, make_tenant: MakeTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.job_run.GRACE_SECONDS", 0)
    tenant = await make_tenant()
    plant.ledger.holds = True
    twice, once = await plant.enqueue(tenant, max_attempts=3), await plant.enqueue(tenant)
    worker = plant.create_worker()
    await worker.take_turn()
    for _ in range(2):
        await plant.ledger.begun.get()
    await worker.drain(0)
    assert ((await plant.find(twice)).state, (await plant.find(once)).state) == (JobState.QUEUED, JobState.UNKNOWN)
    plant.ledger.let_go.set()
    async with plant.run_worker():
        ended = await plant.wait_for(twice, JobState.SUCCEEDED)
    assert ended.attempt == 2


async def test_draining_lets_jobs_end_and_begins_none(plant: Plant, make_tenant: MakeTenant) -> None:
    tenant = await make_tenant()
    plant.ledger.holds = True
    worker = plant.create_worker(limits=WorkerLimits(jobs=1))
    first, second = await plant.enqueue(tenant), await plant.enqueue(tenant)
    await worker.take_turn()
    await plant.ledger.begun.get()
    draining = asyncio.create_task(worker.drain(30))
    await asyncio.sleep(0)
    plant.ledger.let_go.set()
    await draining
    await worker.take_turn()
    assert ((await plant.find(first)).state, (await plant.find(second)).state) == (JobState.SUCCEEDED, JobState.QUEUED)


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


async def test_a_claim_whose_answer_was_lost_is_undone(
    plant: Plant, make_tenant: MakeTenant, database: ScratchDatabase
) -> None:
    worker = plant.create_worker()
    await plant.enqueue(await make_tenant())
    await worker.take_turn()
    await settle(worker)
    job = await plant.enqueue(await make_tenant())
    async with database.open("mcpist_worker") as other:
        assert len(await other.fetch("SELECT id FROM jobs.claim($1, 1, 1, 1, 1)", worker.id)) == 1
    worker._is_claim_unanswered = True
    plant.clock.advance(2)
    await worker.take_turn()
    await settle(worker)
    assert await plant.runs() == [((await plant.runs())[0][0], 1), (job.id, 2)]
    await worker.drain(0)


async def test_a_worker_that_was_taken_for_lost_goes_on_as_another(
    plant: Plant, make_tenant: MakeTenant, database: ScratchDatabase
) -> None:
    worker = plant.create_worker()
    await plant.enqueue(await make_tenant())
    await worker.take_turn()
    await settle(worker)
    before = worker.id
    async with database.admin_connection() as admin:
        await admin.execute("DELETE FROM jobs.workers")
    job = await plant.enqueue(await make_tenant())
    for _ in range(2):
        plant.clock.advance(2)
        await worker.take_turn()
    await settle(worker)
    assert worker.id != before
    assert (await plant.find(job)).state is JobState.SUCCEEDED
    await worker.drain(0)


async def test_progress_is_shown(plant: Plant, make_tenant: MakeTenant) -> None:
    tenant = await make_tenant()
    plant.ledger.holds = True
    async with plant.run_worker():
        job = await plant.enqueue(tenant)
        await plant.ledger.begun.get()
        running = await plant.find(job)
        plant.ledger.reports[0].report_progress(3, 10, "third of ten")
        changed = await plant.queue.wait_for_change(running, 10)
        assert changed is not None
        assert (changed.progress, changed.total, changed.message) == (3, 10, "third of ten")
        plant.ledger.reports[0].report_progress(4, None, "\x00\ud800 odd" + "x" * 10_000)
        odd = await plant.queue.wait_for_change(changed, 10)
        assert odd is not None
        assert (odd.message[:5], len(odd.message)) == ("? odd", 499)


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


async def test_figures_count_what_waits(plant: Plant, make_tenant: MakeTenant, database: ScratchDatabase) -> None:
    """A job that was queued again has waited since then; the control plane knows it where no worker runs."""
    tenant = await make_tenant()
    async with database.open("mcpist_console") as console, database.admin_connection() as admin:
        assert (await load_queue_figures(console)).waiting == 0
        again = await plant.enqueue(tenant)
        await admin.execute("UPDATE jobs.jobs SET created_at = now() - interval '1 day'")
        waiting = await plant.enqueue(tenant)
        await admin.execute("UPDATE jobs.jobs SET updated_at = now() - interval '1 hour' WHERE id = $1", waiting.id)
        figures = await load_queue_figures(console)
        assert (figures.waiting, figures.running) == (2, 0)
        assert 3600 <= figures.oldest_seconds < 3700
        await admin.execute("UPDATE jobs.jobs SET updated_at = now() - interval '2 hours' WHERE id = $1", again.id)
        assert 7200 <= (await load_queue_figures(console)).oldest_seconds < 7300


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
