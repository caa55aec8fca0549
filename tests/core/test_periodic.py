"""What is done again and again goes on after failures."""

import asyncio
import logging

import pytest

from core.concurrency.periodic import PeriodicTask


class Work:
    """Fails in its first `bad` turns."""

    def __init__(self, bad: int) -> None:
        self.bad = bad
        self.turns = 0
        self.enough = asyncio.Event()

    async def __call__(self) -> None:
        self.turns += 1
        if self.turns > self.bad:
            self.enough.set()
        else:
            raise ValueError("a text that nobody logs")


async def test_a_failure_is_logged_and_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    work = Work(2)
    task = PeriodicTask("tidying", work, 0.01, runs_at_start=True)
    running = asyncio.create_task(task.run())
    await asyncio.wait_for(work.enough.wait(), 5)
    running.cancel()
    await asyncio.wait([running])
    assert [record.__dict__["event"] for record in caplog.records] == ["periodic_task_failed"] * 2
    assert {record.levelno for record in caplog.records} == {logging.WARNING}
    assert "nobody" not in caplog.text
    assert task.failures == 0


async def test_failures_are_counted_until_a_turn_succeeds() -> None:
    task = PeriodicTask("tidying", Work(2), 60.0)
    failures: list[int] = []
    for _ in range(3):
        await task.run_once()
        failures.append(task.failures)
    assert failures == [1, 2, 0]


@pytest.mark.parametrize(("chance", "pause"), [(0.0, 5.0), (0.5, 10.0), (1.0, 15.0)])
async def test_pauses_differ(chance: float, pause: float, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        raise asyncio.CancelledError

    monkeypatch.setattr("core.concurrency.periodic.asyncio.sleep", sleep)
    with pytest.raises(asyncio.CancelledError):
        await PeriodicTask("tidying", Work(0), 10.0, chance=lambda: chance).run()
    assert pauses == [pause]
