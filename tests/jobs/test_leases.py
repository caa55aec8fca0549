"""Leases of workers: what a lost one means, and who takes its jobs over. Several workers share one database."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from jobs.job import JobError, JobState
from jobs.worker import JobWorker
from tests.jobs.harness import Plant, WorkerLimits, WorkerTiming, settle
from tests.support.postgres import MadeTenant, ScratchDatabase

MakeTenant = Callable[..., Awaitable[MadeTenant]]


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
