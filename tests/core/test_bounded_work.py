"""Large steps run one in each turn of the event loop, in their order; small ones do not wait."""

import asyncio

import pytest

from core.concurrency.cooperative_steps import LARGE_STEP_BYTES, wait_for_turn


class Turns:
    """Counts the turns of the loop."""

    def __init__(self) -> None:
        self.number = 0
        self._counting = asyncio.create_task(self._count())

    async def _count(self) -> None:
        while True:
            self.number += 1
            await asyncio.sleep(0)

    def stop(self) -> None:
        self._counting.cancel()


async def test_of_large_steps_one_runs_in_each_turn_and_in_their_order() -> None:
    turns, began = Turns(), list[tuple[int, str]]()

    async def work(name: str) -> None:
        for _ in range(3):
            await wait_for_turn(LARGE_STEP_BYTES + 1)
            began.append((turns.number, name))

    await asyncio.gather(*(work(name) for name in "abcde"))
    turns.stop()
    assert len({turn for turn, _ in began}) == len(began) == 15
    assert "".join(name for _, name in began) == "abcde" * 3


async def test_small_steps_go_on_at_once() -> None:
    turns = Turns()
    waiting = [asyncio.create_task(wait_for_turn(LARGE_STEP_BYTES + 1)) for _ in range(10)]
    await asyncio.sleep(0)
    before = turns.number
    await wait_for_turn(LARGE_STEP_BYTES)
    assert turns.number == before
    await asyncio.gather(*waiting)
    turns.stop()


async def test_whoever_is_cancelled_keeps_nobody_waiting() -> None:
    waiting = [asyncio.create_task(wait_for_turn(LARGE_STEP_BYTES + 1)) for _ in range(10)]
    await asyncio.sleep(0)
    for task in waiting[::2]:
        task.cancel()
    async with asyncio.timeout(5):
        done = await asyncio.gather(*waiting, return_exceptions=True)
        await wait_for_turn(LARGE_STEP_BYTES + 1)
    assert [type(one) for one in done] == [asyncio.CancelledError, type(None)] * 5


@pytest.mark.parametrize("times", range(3))
def test_each_event_loop_has_a_queue_of_its_own(times: int) -> None:
    async def work() -> None:
        await asyncio.gather(*(wait_for_turn(LARGE_STEP_BYTES + 1) for _ in range(5)))

    asyncio.run(work())
