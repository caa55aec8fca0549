"""A cancellation that comes while a job ends: in either order the job has one outcome, and it is told."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from jobs.job import JobState
from tests.jobs.harness import Plant, settle
from tests.support.eventually import within
from tests.support.postgres import MadeTenant, ScratchDatabase

MakeTenant = Callable[..., Awaitable[MadeTenant]]


@pytest.mark.parametrize("first", ["cancel", "finish"])
async def test_both_orders(plant: Plant, make_tenant: MakeTenant, database: ScratchDatabase, first: str) -> None:
    """Both wait for the row, which the test holds, in a known order."""
    tenant = await make_tenant()
    who = tenant.id, tenant.users[0]
    plant.ledger.holds = True
    job = await plant.enqueue(tenant)
    worker = plant.create_worker()
    await worker.take_turn()
    await plant.ledger.begun.get()

    async def waits(count: int) -> None:
        async def is_so() -> bool:
            return count == await watching.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted")

        await within(10, is_so)

    async with database.admin_connection() as holding, database.admin_connection() as watching:
        transaction = holding.transaction()
        await transaction.start()
        await holding.fetchval("SELECT id FROM jobs.jobs FOR UPDATE")
        cancelling: asyncio.Task[Any]
        if first == "cancel":
            cancelling = asyncio.create_task(plant.queue.cancel_job(*who, job.id))
            await waits(1)
            plant.ledger.let_go.set()
        else:
            plant.ledger.let_go.set()
            await waits(1)
            cancelling = asyncio.create_task(plant.queue.cancel_job(*who, job.id))
        await waits(2)
        await transaction.rollback()
        asked = await cancelling
    await settle(worker)
    ended = await plant.find(job)
    assert asked is not None
    assert asked.is_cancel_requested == ended.is_cancel_requested == (first == "cancel")
    assert asked.state is (JobState.RUNNING if first == "cancel" else JobState.SUCCEEDED)
    assert (ended.state, plant.ledger.cut) == (JobState.SUCCEEDED, 0)
    assert await plant.queue.load_result(*who, job.id) == b"result of some arguments"
    await worker.drain(0)
