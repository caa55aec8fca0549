"""How the tasks of one client stand, for its open stream ([2025-11-25] Tasks, Task Status Notification)."""

import contextlib
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any
from uuid import UUID

from core.caller import Caller
from core.concurrency.lru_cache import LruCache
from gateway.streams.open_stream import ClientNotification
from gateway.tasks.core_tasks import describe_task
from gateway.tasks.own_jobs import OwnJobs, get_client
from gateway.tasks.task_form import is_news
from jobs.events import PersonalChanges
from jobs.job import JobState

MAX_TOLD = 500
"""Tasks of which a stream remembers what it has told: a state is told once."""


class TaskStatusNews:
    """News of the tasks that one client has started: implements :class:`gateway.streams.open_stream.NewsSource`."""

    is_over = False

    def __init__(self, jobs: OwnJobs, changes: PersonalChanges) -> None:
        self._jobs = jobs
        self._changes = changes
        self._told: LruCache[UUID, Mapping[str, Any]] | None = None
        self._news: Sequence[ClientNotification] = ()

    def is_ready(self, caller: Caller) -> bool:
        """See :class:`gateway.streams.open_stream.NewsSource`."""
        return not self._changes.has_changed

    def take_news(self, caller: Caller) -> Sequence[ClientNotification]:
        """Take the tasks that stand otherwise than when told last."""
        news, self._news = self._news, ()
        return news

    async def look_up(self, caller: Caller) -> None:
        """Look up how the changed tasks stand. That one has begun to wait is no news to the client that has just
        started it."""
        changed = self._changes.take()
        try:
            jobs = await self._jobs.find_all(caller, changed)
        except BaseException:
            for job_id in changed:
                self._changes.note(caller.tenant_id, job_id)
            raise
        client, told = get_client(caller), self._told or LruCache[UUID, Mapping[str, Any]](MAX_TOLD)
        self._told = told
        news = list(self._news)
        for job in jobs:
            if job.client != client:
                continue
            task, before = describe_task(job), told.get(job.id)
            told.put(job.id, task)
            if is_news(task, before) if before is not None else job.state is not JobState.QUEUED:
                news.append(ClientNotification("notifications/tasks/status", task))
        self._news = news


class CoreTaskNews:
    """Makes the sources of news of tasks."""

    def __init__(self, jobs: OwnJobs) -> None:
        self._jobs = jobs

    @contextlib.contextmanager
    def watch(self, caller: Caller, wake: Callable[[], None]) -> Generator[TaskStatusNews]:
        """Watch the tasks that the caller's client has started for them; `wake` is called when one has changed."""
        with self._jobs.watch(caller, wake=wake) as changes:
            yield TaskStatusNews(self._jobs, changes)
