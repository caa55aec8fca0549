"""Background tasks whose trouble shows."""

import asyncio

from core.concurrency.background import FAILING_AFTER, list_failing_tasks, run_in_background
from core.concurrency.periodic import PeriodicTask


class Work:
    def __init__(self) -> None:
        self.broken = True
        self.turns = 0

    async def __call__(self) -> None:
        self.turns += 1
        if self.broken:
            raise RuntimeError("broken")

    async def wait(self, turns: int) -> None:
        until = self.turns + turns
        async with asyncio.timeout(5):
            while self.turns < until:
                await asyncio.sleep(0.001)
        await asyncio.sleep(0)


async def test_a_task_that_keeps_failing_shows_until_it_succeeds() -> None:
    work = Work()
    async with run_in_background("tidying", PeriodicTask("tidying", work, 0.002, jitter=False).run()):
        await work.wait(1)
        assert list_failing_tasks() == []
        await work.wait(FAILING_AFTER)
        assert list_failing_tasks() == ["tidying"]
        work.broken = False
        await work.wait(2)
        assert list_failing_tasks() == []


async def test_a_task_that_died_shows_and_one_that_is_done_does_not() -> None:
    work, done = Work(), Work()
    done.broken = False
    async with run_in_background("dying", work()), run_in_background("doing", done()):
        await work.wait(0)
        await asyncio.sleep(0.01)
        assert list_failing_tasks() == ["dying"]
    assert list_failing_tasks() == []
