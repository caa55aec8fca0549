"""Workers: who is served and when, how they are drained, what they show. Several share one database."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from jobs.job import JobError, JobState
from jobs.worker_store import load_queue_figures
from tests.jobs.harness import Plant, WorkerLimits, WorkerTiming, settle
from tests.support.postgres import MadeTenant, ScratchDatabase

MakeTenant = Callable[..., Awaitable[MadeTenant]]


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
