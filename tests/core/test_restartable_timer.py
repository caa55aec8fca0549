"""The restartable timer: it fires when the time of its last start is up, whatever the loop's timer was made for."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from core.concurrency.restartable_timer import RestartableTimer


class FakeHandle:
    def __init__(self, when: float, callback: Callable[[], None]) -> None:
        self.when = when
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class FakeLoop:
    """A loop whose time is moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0
        self.made: list[FakeHandle] = []

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Callable[[], None]) -> Any:
        self.made.append(FakeHandle(when, callback))
        return self.made[-1]

    def advance(self, seconds: float) -> None:
        end = self.now + seconds
        while due := [one for one in self.made if not one.cancelled and one.when <= end]:
            first = min(due, key=lambda one: one.when)
            first.cancelled, self.now = True, max(self.now, first.when)
            first.callback()
        self.now = end


@pytest.fixture
def loop() -> FakeLoop:
    return FakeLoop()


@pytest.fixture
def fired(loop: FakeLoop) -> list[float]:
    return []


@pytest.fixture
def timer(loop: FakeLoop, fired: list[float]) -> RestartableTimer:
    given: Any = loop
    return RestartableTimer(given, lambda: fired.append(loop.now))


def test_it_fires_once(loop: FakeLoop, timer: RestartableTimer, fired: list[float]) -> None:
    timer.start(5.0)
    assert timer.is_running
    loop.advance(20.0)
    assert fired == [105.0]
    assert not timer.is_running


def test_a_later_start_needs_no_new_timer_of_the_loop(
    loop: FakeLoop, timer: RestartableTimer, fired: list[float]
) -> None:
    for _ in range(100):
        timer.start(5.0)
        loop.advance(0.01)
    assert len(loop.made) == 1
    loop.advance(20.0)
    assert fired == [pytest.approx(105.99)]


def test_an_earlier_start_counts(loop: FakeLoop, timer: RestartableTimer, fired: list[float]) -> None:
    timer.start(5.0)
    timer.start(1.0)
    loop.advance(20.0)
    assert fired == [101.0]


def test_a_stopped_one_does_not_fire_and_can_start_again(
    loop: FakeLoop, timer: RestartableTimer, fired: list[float]
) -> None:
    timer.start(5.0)
    timer.stop()
    assert not timer.is_running
    loop.advance(20.0)
    assert fired == []
    timer.start(1.0)
    loop.advance(20.0)
    assert fired == [121.0]


def test_the_loop_is_left_alone_afterwards(loop: FakeLoop, timer: RestartableTimer) -> None:
    timer.start(5.0)
    timer.close()
    assert all(one.cancelled for one in loop.made)
    timer.close()


def test_it_may_be_started_by_what_it_calls(loop: FakeLoop) -> None:
    fired: list[float] = []

    def again() -> None:
        fired.append(loop.now)
        if len(fired) < 3:
            timer.start(2.0)

    given: Any = loop
    timer = RestartableTimer(given, again)
    timer.start(1.0)
    loop.advance(20.0)
    assert fired == [101.0, 103.0, 105.0]


async def test_with_a_real_loop() -> None:
    loop, done = asyncio.get_running_loop(), asyncio.Event()
    timer = RestartableTimer(loop, done.set)
    timer.start(60.0)
    timer.start(0.01)
    async with asyncio.timeout(5):
        await done.wait()
