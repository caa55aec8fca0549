"""Single flight: at most one run per key in this process; later callers wait for its result."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
R = TypeVar("R")


class SingleFlight(Generic[K, R]):
    """Registry of running tasks by key. A caller that is cancelled does not end the task that others wait for."""

    def __init__(self) -> None:
        self._running: dict[K, asyncio.Task[R]] = {}

    def __len__(self) -> int:
        return len(self._running)

    def __contains__(self, key: K) -> bool:
        """Check whether a run is under way for `key`."""
        return key in self._running

    def start(self, key: K, run: Callable[[], Awaitable[R]]) -> asyncio.Task[R]:
        """Return the running task for `key`, or start one. Await it only through :func:`asyncio.shield`."""
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = asyncio.create_task(self._run(key, run))
            task.add_done_callback(_consume_exception)
        return task

    async def join(self, key: K, run: Callable[[], Awaitable[R]], timeout: float | None = None) -> R:
        """Return the result of the running task for `key`, or of a new one.

        Raises:
            TimeoutError: it took longer than `timeout` seconds; it goes on.
        """
        task = self.start(key, run)
        async with asyncio.timeout(timeout):
            return await asyncio.shield(task)

    async def finish(self, timeout: float) -> bool:
        """Wait until no task runs; False if one still does after `timeout` seconds."""
        if self._running:
            await asyncio.wait(list(self._running.values()), timeout=timeout)
        return not self._running

    async def _run(self, key: K, run: Callable[[], Awaitable[R]]) -> R:
        try:
            return await run()
        finally:
            del self._running[key]


def _consume_exception(task: "asyncio.Task[R]") -> None:
    """Retrieve the exception of a task without waiters, which asyncio would report otherwise."""
    if not task.cancelled():
        task.exception()
