"""Waiting for work that a vendor has accepted: looks with growing pauses, progress, and an end."""

import asyncio
from typing import Any, cast

import pytest

from modules.kit import Context, VendorProblem
from modules.kit.polling import poll


class Watched:
    """A context that notes what is told, on a clock that moves by pauses only."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.told: list[tuple[float, float | None, str]] = []
        self.now = 100.0
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: self.now)
        monkeypatch.setattr(asyncio, "sleep", self._pause)

    async def _pause(self, seconds: float) -> None:
        self.now += seconds

    async def report_progress(self, done: float, total: float | None = None, message: str = "") -> None:
        self.told.append((done, total, message))


async def run(watched: Watched, answers: list[Any], seconds: float) -> Any:
    async def read() -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    context = cast("Context", watched)
    return await poll(context, read, lambda value: value == "done", seconds=seconds, message="until done")


async def test_it_looks_until_the_work_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch)
    answers = ["new", "running", "done", "later"]
    assert await run(watched, answers, 50) == "done"
    assert answers == ["later"]
    assert watched.told == [(0.0, 50, "until done"), (0.5, 50, "until done"), (1.25, 50, "until done")]


async def test_it_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch)
    assert await run(watched, ["running"] * 100, 50) == "running"
    assert 40 < watched.now - 100 <= 50
    assert len(watched.told) < 20


async def test_without_time_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await run(Watched(monkeypatch), [], 0) is None


async def test_a_look_that_fails_keeps_what_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = VendorProblem("unavailable", "x")
    assert await run(Watched(monkeypatch), ["running", problem, "done"], 50) == "running"
    assert await run(Watched(monkeypatch), [problem, "done"], 50) is None
