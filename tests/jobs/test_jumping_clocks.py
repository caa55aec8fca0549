"""The database's clock jumps, as one that is set right: each job runs once, soon, and its result is there."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from jobs.handler import JobOutcome
from jobs.job import JobState
from jobs.job_run import MAX_PAUSE
from tests.jobs.harness import Plant, settle
from tests.support.postgres import MadeTenant, ScratchDatabase

MakeTenant = Callable[..., Awaitable[MadeTenant]]
JUMPS = ["+ interval '1 hour'", "- interval '1 hour'", "+ interval '400 days'", "- interval '400 days'"]


async def set_clock(database: ScratchDatabase, shift: str) -> None:
    async with database.admin_connection() as admin:
        await admin.execute(
            f"""CREATE OR REPLACE FUNCTION jobs.clock() RETURNS timestamptz LANGUAGE sql VOLATILE
            RETURN clock_timestamp() {shift}"""
        )


@pytest.mark.parametrize("jump", JUMPS)
async def test_what_waits_and_what_runs_ends_once(
    plant: Plant, make_tenant: MakeTenant, database: ScratchDatabase, jump: str
) -> None:
    tenant = await make_tenant(users=2)
    plant.ledger.holds = True
    worker, watching = plant.create_worker(), plant.create_worker()
    running = await plant.enqueue(tenant)
    await worker.take_turn()
    await plant.ledger.begun.get()
    waiting = await plant.enqueue(tenant, 1)
    await set_clock(database, jump)
    for _ in range(20):
        plant.clock.advance(1)
        await worker.take_turn()
        await watching.take_turn()
    plant.ledger.let_go.set()
    for one in (worker, watching):
        await settle(one)
    for job in (running, waiting):
        ended = await plant.find(job)
        assert (ended.state, ended.attempt) == (JobState.SUCCEEDED, 1)
        assert await plant.queue.load_result(job.tenant_id, job.user_id, job.id) == b"result of some arguments"
    assert len(await plant.runs()) == 2
    for one in (worker, watching):
        await one.drain(0)


@pytest.mark.parametrize("jump", JUMPS)
async def test_a_pause_is_no_longer_than_five_minutes_more(
    plant: Plant, make_tenant: MakeTenant, database: ScratchDatabase, jump: str
) -> None:
    job = await plant.enqueue(await make_tenant(), max_attempts=2)
    plant.ledger.outcome = JobOutcome(None, JobState.FAILED, "vendor_unavailable", timedelta(hours=3))
    worker = plant.create_worker()
    await worker.take_turn()
    await settle(worker)
    async with database.admin_connection() as admin:
        assert await admin.fetchval("SELECT run_at - updated_at <= $1 FROM jobs.jobs", MAX_PAUSE)
    plant.ledger.outcome = None
    await set_clock(database, jump)
    plant.clock.advance(2)
    await worker.take_turn()
    await settle(worker)
    assert ((await plant.find(job)).state, len(await plant.runs())) == (JobState.SUCCEEDED, 2)
    await worker.drain(0)


@pytest.mark.parametrize("jump", JUMPS)
async def test_what_has_ended_is_kept_from_its_end_on(
    plant: Plant, make_tenant: MakeTenant, database: ScratchDatabase, jump: str
) -> None:
    """A result that comes after the jump is there for its caller, and goes when its time is over."""
    tenant = await make_tenant()
    job = await plant.enqueue(tenant, lifetime=timedelta(minutes=1))
    await set_clock(database, jump)
    worker = plant.create_worker()
    await worker.take_turn()
    await settle(worker)
    plant.clock.advance(301)
    await worker.take_turn()  # prunes
    assert await plant.queue.load_result(tenant.id, tenant.users[0], job.id) == b"result of some arguments"
    await set_clock(database, "+ interval '500 days'")
    plant.clock.advance(301)
    await worker.take_turn()
    assert await plant.queue.find_job(tenant.id, tenant.users[0], job.id) is None
    await worker.drain(0)
