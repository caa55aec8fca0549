"""Many callers, one run; nobody who leaves takes it away from the others."""

import asyncio

import pytest

from core.concurrency.single_flight import SingleFlight


class Work:
    """A piece of work that a test lets end."""

    def __init__(self) -> None:
        self.runs = 0
        self.go = asyncio.Event()

    async def __call__(self) -> int:
        self.runs += 1
        await self.go.wait()
        return self.runs


@pytest.mark.guarantee("G1")
async def test_five_hundred_callers_share_one_run() -> None:
    flights, work = SingleFlight[str, int](), Work()
    callers = [asyncio.create_task(flights.join("a", work)) for _ in range(500)]
    await asyncio.sleep(0)
    work.go.set()
    assert set(await asyncio.gather(*callers)) == {1}
    assert len(flights) == 0


async def test_a_cancelled_caller_does_not_cancel_the_run() -> None:
    flights, work = SingleFlight[str, int](), Work()
    first, second = (asyncio.create_task(flights.join("a", work)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    work.go.set()
    assert await second == 1


async def test_a_caller_that_cannot_wait_leaves_the_run_to_the_others() -> None:
    flights, work = SingleFlight[str, int](), Work()
    with pytest.raises(TimeoutError):
        await flights.join("a", work, timeout=0.001)
    assert len(flights) == 1
    assert not await flights.finish(timeout=0.001)
    work.go.set()
    assert await flights.finish(timeout=5)
    assert work.runs == 1


async def test_keys_do_not_wait_for_each_other_and_a_failure_is_everybody_s() -> None:
    flights, work = SingleFlight[str, int](), Work()
    slow = asyncio.create_task(flights.join("a", work))

    async def fails() -> int:
        raise ValueError

    for result in await asyncio.gather(*(flights.join("b", fails) for _ in range(3)), return_exceptions=True):
        assert isinstance(result, ValueError)
    work.go.set()
    assert await slow == 1
