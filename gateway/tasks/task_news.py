"""How the tasks of one client stand, for its open stream ([2025-11-25] Tasks, Task Status Notification)."""

import contextlib
from collections.abc import Generator, Mapping, Sequence
from typing import Any
from uuid import UUID

from core.caller import Caller
from core.concurrency.lru_cache import LruCache
from gateway.tasks.core_tasks import describe_task
from gateway.tasks.own_jobs import OwnJobs, get_client
from gateway.tasks.task_form import is_news
from jobs.events import PersonalChanges
from jobs.job import JobState

MAX_TOLD = 500
"""Tasks of which a stream remembers what it has told: a state is told once."""


class CoreTaskWatch:
    """Implements :class:`gateway.mcp.interfaces.TaskWatch`."""

    def __init__(self, jobs: OwnJobs, changes: PersonalChanges) -> None:
        self._jobs = jobs
        self._changes = changes
        self._told: LruCache[UUID, Mapping[str, Any]] = LruCache(MAX_TOLD)

    async def wait(self, timeout: float) -> bool:
        """Wait until something may be new, but no longer than `timeout` seconds; return whether it may."""
        return await self._changes.wait(timeout)

    async def take_news(self, caller: Caller) -> Sequence[Mapping[str, Any]]:
        """Take the tasks that stand otherwise than when told last. That one has begun to wait is no news to the client
        that has just started it."""
        client = get_client(caller)
        news: list[Mapping[str, Any]] = []
        for job in await self._jobs.find_all(caller, self._changes.take()):
            if job.client != client:
                continue
            task, told = describe_task(job), self._told.get(job.id)
            self._told.put(job.id, task)
            if is_news(task, told) if told is not None else job.state is not JobState.QUEUED:
                news.append(task)
        return news


class CoreTaskNews:
    """Implements :class:`gateway.mcp.interfaces.TaskNews`."""

    def __init__(self, jobs: OwnJobs) -> None:
        self._jobs = jobs

    @contextlib.contextmanager
    def watch(self, caller: Caller) -> Generator[CoreTaskWatch]:
        """Watch the tasks that the caller's client has started for them."""
        with self._jobs.watch(caller) as changes:
            yield CoreTaskWatch(self._jobs, changes)
