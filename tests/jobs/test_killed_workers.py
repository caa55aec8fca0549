"""kill -9 of real worker processes: no job is lost, none runs twice at the same time, and each person is told."""

import asyncio
import contextlib
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from jobs.job import Job, JobError, JobState
from tests.jobs.harness import Plant
from tests.support.postgres import MadeTenant

MakeTenant = Callable[..., Awaitable[MadeTenant]]
pytestmark = pytest.mark.timeout(60)


@contextlib.asynccontextmanager
async def worker_process(plant: Plant) -> AsyncIterator[asyncio.subprocess.Process]:
    program = (sys.executable, "-m", "tests.jobs.worker_program", plant.database.admin.url.reveal())
    process = await asyncio.create_subprocess_exec(*program)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_another_worker_takes_over(plant: Plant, make_tenant: MakeTenant) -> None:
    tenant = await make_tenant()
    twice = await plant.enqueue(tenant, arguments=b"hold", max_attempts=3)
    once = await plant.enqueue(tenant, arguments=b"hold")
    async with worker_process(plant) as killed:
        for job in (twice, once):
            await wait_for_attempt(plant, job, 1)
        killed.kill()
        await killed.wait()
    async with worker_process(plant) as second:
        told = await plant.wait_for(once, JobState.UNKNOWN, timeout=30)
        assert told.error == JobError.OUTCOME_UNKNOWN
        await wait_for_attempt(plant, twice, 2)
        second.send_signal(signal.SIGTERM)  # a worker that ends in order gives back what may run twice
        assert await second.wait() == 0
    given_back = await plant.find(twice)
    assert (given_back.state, given_back.attempt) == (JobState.QUEUED, 2)
    assert Counter(await plant.runs()) == Counter([(twice.id, 1), (once.id, 1), (twice.id, 2)])


async def wait_for_attempt(plant: Plant, job: Job, attempt: int) -> None:
    """Wait until the handler has written this attempt down."""
    async with asyncio.timeout(30):
        while (current := await plant.find(job)).progress != attempt:
            await plant.queue.wait_for_change(current, 30)


async def test_a_job_that_kills_its_worker_is_set_aside_after_three(plant: Plant, make_tenant: MakeTenant) -> None:
    tenant = await make_tenant(users=2)
    poison = await plant.enqueue(tenant, arguments=b"kill", max_attempts=3)
    for attempt in range(1, 4):
        async with worker_process(plant) as process:
            assert await process.wait() == -signal.SIGKILL
        assert await plant.runs() == [(poison.id, number) for number in range(1, attempt + 1)]
        if attempt == 2:  # the pause before the third attempt is not waited for
            await wake(plant)
    async with worker_process(plant):
        ended = await plant.wait_for(poison, JobState.FAILED, timeout=30)
        other = await plant.wait_for(await plant.enqueue(tenant, 1), JobState.SUCCEEDED, timeout=30)
    assert (ended.error, ended.attempt, other.attempt) == (JobError.WORKER_LOST, 3, 1)


async def wake(plant: Plant) -> None:
    """Have the worker that was lost found so, and its job due at once."""
    watching = plant.create_worker(handlers={})
    for seconds in (0, 12.6):
        plant.clock.advance(seconds)
        await watching._open_connection()
        await watching._look()
    async with plant.database.admin_connection() as admin:
        await admin.execute("UPDATE jobs.jobs SET run_at = NULL")
