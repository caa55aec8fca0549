"""Background tasks of this process and their health: one that died or keeps failing shows in `/readyz` and metrics."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Coroutine
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from core.log_events import describe_error

FAILING_AFTER = 3
"""Failed turns in a row after which a task counts as failing: a database that restarts costs one or two."""

log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class _TaskHealth:
    name: str
    failures: int = 0
    died: bool = False


_running: list[_TaskHealth] = []  # of the whole process, as asyncio.all_tasks() is of the loop
_current: ContextVar[_TaskHealth | None] = ContextVar("background_task", default=None)


@contextlib.asynccontextmanager
async def run_in_background(name: str, work: Coroutine[Any, Any, object]) -> AsyncGenerator[None]:
    """Run `work` until the block is left, and watch it: it reports its turns by :func:`report_turn`."""
    health = _TaskHealth(name)
    token = _current.set(health)
    try:
        task = asyncio.create_task(work, name=name)
    finally:
        _current.reset(token)
    task.add_done_callback(lambda ended: _note_end(health, ended))
    _running.append(health)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
        _running.remove(health)


def report_turn(*, failed: bool) -> None:
    """Report a turn of the background task that calls this; do nothing outside of one."""
    health = _current.get()
    if health is not None:
        health.failures = health.failures + 1 if failed else 0


def list_failing_tasks() -> list[str]:
    """List the names of the background tasks that died or whose last three turns have failed."""
    return sorted({one.name for one in _running if one.died or one.failures >= FAILING_AFTER})


def _note_end(health: _TaskHealth, task: asyncio.Task[object]) -> None:
    error = None if task.cancelled() else task.exception()
    if error is not None:
        health.died = True
        log.error(
            "%s ended by an unexpected error; restart MCPist",
            health.name,
            extra={"event": "background_task_died", "task": health.name, **describe_error(error)},
        )
