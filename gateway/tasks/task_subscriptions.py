"""Changes of tasks on the stream of `subscriptions/listen` (SEP-2663, Task Status Notifications)."""

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any, cast
from uuid import UUID

import msgspec

from core.caller import Caller
from gateway.mcp.jsonrpc import INVALID_PARAMS
from gateway.mcp.request_context import Params, ProtocolError, RequestContext, Result
from gateway.streams.open_stream import ClientNotification
from gateway.tasks.own_jobs import OwnJobs, parse_id
from gateway.tasks.task_form import ENDED, NEWS, is_news
from jobs.events import PersonalChanges
from jobs.job import Job

MAX_TASKS = 100
"""Tasks of one subscription."""

Describe = Callable[[RequestContext, Params, Job], Awaitable[Result]]


class TaskUpdates:
    """News of tasks, first how each stands: implements :class:`gateway.streams.open_stream.NewsSource`."""

    def __init__(
        self,
        jobs: OwnJobs,
        changes: PersonalChanges,
        describe: Callable[[Job], Awaitable[Result]],
        request: RequestContext,
        task_ids: Sequence[UUID],
    ) -> None:
        self._jobs = jobs
        self._changes = changes
        self._describe = describe
        self._request = request
        self._told: dict[UUID, Result] = {}
        self._waiting = set(task_ids)
        self._due = set(task_ids)
        self._news: Sequence[ClientNotification] = ()

    @property
    def is_over(self) -> bool:
        return not self._waiting and not self._news

    def is_ready(self, caller: Caller) -> bool:
        """See :class:`gateway.streams.open_stream.NewsSource`."""
        return not self._due and not self._changes.has_changed

    def take_news(self, caller: Caller) -> Sequence[ClientNotification]:
        """Take the tasks that stand otherwise than when told last."""
        news, self._news = self._news, ()
        return news

    async def look_up(self, caller: Caller) -> None:
        """Look up how the changed tasks stand."""
        self._request.authority.caller = caller
        self._due |= set(self._changes.take())
        due = self._due & self._waiting
        found = await self._jobs.find_all(caller, due)
        self._waiting -= due - {job.id for job in found}  # they are gone
        for job in found:
            task = await self._describe_news(job)
            if task is not None:
                self._news = [*self._news, task]
            self._due.discard(job.id)
        self._due.clear()

    async def _describe_news(self, job: Job) -> ClientNotification | None:
        try:
            task = await self._describe(job)
        except ProtocolError:  # a question that this client cannot ask
            return None
        has_news = job.id not in self._told or is_news(task, self._told[job.id])
        if has_news:
            self._told[job.id] = {field: task.get(field) for field in NEWS}
        if task["status"] in ENDED:
            self._waiting.discard(job.id)
        return ClientNotification("notifications/tasks", task) if has_news else None


class WatchedTaskUpdates(msgspec.Struct, frozen=True, eq=False):
    """Implements :class:`gateway.streams.listening.WatchedTasks`."""

    granted: Sequence[str]
    source: TaskUpdates


class TaskSubscriptions:
    """Implements :class:`gateway.streams.listening.TaskListening`. `describe` describes a task as `tasks/get` does, and
    `require_extension` refuses a client that does not declare tasks."""

    def __init__(self, jobs: OwnJobs, describe: Describe, require_extension: Callable[[Params], None]) -> None:
        self._jobs = jobs
        self._describe = describe
        self._require_extension = require_extension

    def parse(self, params: Params) -> Sequence[UUID] | None:
        """Parse the tasks of a filter; None where it asks for none. What cannot be an id names no task.

        Raises:
            ProtocolError: they are no ids or too many, or the client does not declare tasks.
        """
        given = params["notifications"].get("taskIds")
        if given is None:
            return None
        if type(given) is not list or not all(type(one) is str for one in cast("list[Any]", given)):
            raise ProtocolError(INVALID_PARAMS, "Invalid params: notifications.taskIds must be an array of strings")
        texts = cast("list[str]", given)
        if len(texts) > MAX_TASKS:
            raise ProtocolError(INVALID_PARAMS, f"Invalid params: at most {MAX_TASKS} tasks in one subscription")
        self._require_extension(params)
        return [parsed for text in texts if (parsed := parse_id(text)) is not None]

    @contextlib.asynccontextmanager
    async def watch(
        self, request: RequestContext, params: Params, task_ids: Sequence[UUID], wake: Callable[[], None]
    ) -> AsyncGenerator[WatchedTaskUpdates]:
        """Watch those of the tasks that are the caller's."""
        with self._jobs.watch(request.caller, frozenset(task_ids), wake) as changes:
            found = [job.id for job in await self._jobs.find_all(request.caller, frozenset(task_ids))]

            def describe(job: Job) -> Awaitable[Result]:
                return self._describe(request, params, job)

            updates = TaskUpdates(self._jobs, changes, describe, request, found)
            yield WatchedTaskUpdates([str(job_id) for job_id in found], updates)
