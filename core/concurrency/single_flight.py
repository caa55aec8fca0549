"""One run at a time for each key within this process; whoever comes meanwhile waits for the same result."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
R = TypeVar("R")


class SingleFlight(Generic[K, R]):
    """Each run has a task of its own: a caller that is cancelled or leaves does not end what others wait for."""

    def __init__(self) -> None:
        self._running: dict[K, asyncio.Task[R]] = {}

    def __len__(self) -> int:
        return len(self._running)

    def __contains__(self, key: K) -> bool:
        """Whether a run is under way for `key`."""
        return key in self._running

    def start(self, key: K, run: Callable[[], Awaitable[R]]) -> asyncio.Task[R]:
        """The run under way for `key`, begun now if there is none. Await it by way of :func:`asyncio.shield` only."""
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = asyncio.create_task(self._run(key, run))
            task.add_done_callback(_consume_exception)
        return task

    async def join(self, key: K, run: Callable[[], Awaitable[R]], within: float | None = None) -> R:
        """The result of the run under way for `key`, or of one that begins now.

        Raises:
            TimeoutError: it took longer than `within` seconds; it goes on.
        """
        task = self.start(key, run)
        async with asyncio.timeout(within):
            return await asyncio.shield(task)

    async def finish(self, within: float) -> bool:
        """Wait until nothing runs any more; False if something still does after `within` seconds."""
        if self._running:
            await asyncio.wait(list(self._running.values()), timeout=within)
        return not self._running

    async def _run(self, key: K, run: Callable[[], Awaitable[R]]) -> R:
        try:
            return await run()
        finally:
            del self._running[key]


def _consume_exception(task: "asyncio.Task[R]") -> None:
    """Take the exception of a run that nobody waits for any more, which asyncio would complain about."""
    if not task.cancelled():
        task.exception()
