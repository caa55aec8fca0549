"""Listening for changes of tasks by `subscriptions/listen` ([2026-07-28] Subscriptions; SEP-2663, Task Status
Notifications)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast
from uuid import UUID

import orjson

from gateway.mcp.jsonrpc import INVALID_PARAMS, INVALID_REQUEST
from gateway.mcp.request_context import Params, ProtocolError, RequestContext, Result
from gateway.tasks.own_jobs import OwnJobs, parse_id
from gateway.tasks.task_form import ENDED, NEWS, is_news
from jobs.events import PersonalChanges
from jobs.job import Job

SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"
MAX_TASKS = 100
"""Tasks of one subscription."""
NEWS_SECONDS = 0.25
"""Pause between two looks at changed tasks: what changes in between is told as one."""
LOOK_SECONDS = 2.0
"""Seconds after which a subscription looks whether it may go on."""
END_MARGIN_SECONDS = 5.0

Describe = Callable[[RequestContext, Params, Job], Awaitable[Result]]


class TaskSubscriptions:
    """Handler of `subscriptions/listen`. `describe` describes a task as `tasks/get` does, and `require_extension`
    refuses a client that does not declare tasks.

    A subscription ends with a result when all of its tasks have ended, the caller does not count any more, its time is
    over, or the process stops. Nothing is kept for it but what it has told.
    """

    def __init__(self, jobs: OwnJobs, describe: Describe, require_extension: Callable[[Params], None]) -> None:
        self._jobs = jobs
        self._describe = describe
        self._require_extension = require_extension

    async def listen(self, request: RequestContext, params: Params) -> Result:
        """Acknowledge the tasks that are the caller's, then tell how each stands, now and at every change.

        Raises:
            ProtocolError: the filter is none, the client does not declare tasks, or it reads no stream.
        """
        task_ids = _parse_task_ids(params.get("notifications"))
        if task_ids is not None:
            self._require_extension(params)
        channel = request.channel
        if channel is None:
            raise ProtocolError(INVALID_REQUEST, "Invalid request: accept text/event-stream to listen")
        request.turn.release()
        mark = {"_meta": {SUBSCRIPTION_KEY: orjson.Fragment(channel.request_id)}}
        wanted = frozenset(task_ids or ())
        with self._jobs.watch(request.caller, wanted) as changes:
            found = await self._jobs.find_all(request.caller, wanted)
            granted = {} if task_ids is None else {"taskIds": [str(job.id) for job in found]}
            await channel.send("notifications/subscriptions/acknowledged", {"notifications": granted, **mark})
            await self._tell(request, params, mark, changes, {job.id for job in found})
        return mark

    async def _tell(
        self,
        request: RequestContext,
        params: Params,
        mark: Mapping[str, Any],
        changes: PersonalChanges,
        waiting: set[UUID],
    ) -> None:
        channel, told = request.channel, dict[UUID, Result]()
        assert channel is not None
        due = set(waiting)
        while waiting:
            found = await self._jobs.find_all(request.caller, due & waiting)
            waiting -= due - {job.id for job in found}  # they are gone
            for job in found:
                try:
                    task = await self._describe(request, params, job)
                except ProtocolError:  # a question that this client cannot ask
                    continue
                if job.id not in told or is_news(task, told[job.id]):
                    await channel.send("notifications/tasks", {**task, **mark})
                    told[job.id] = {field: task.get(field) for field in NEWS}
                if task["status"] in ENDED:
                    waiting.discard(job.id)
            if waiting and not await self._wait(request, changes):
                return
            due = set(changes.take())

    async def _wait(self, request: RequestContext, changes: PersonalChanges) -> bool:
        """Wait for a change; False where the subscription ends before."""
        now = asyncio.get_running_loop().time
        await asyncio.sleep(NEWS_SECONDS)
        while self._jobs.may_wait(request) and (left := request.deadline - END_MARGIN_SECONDS - now()) > 0:
            if await changes.wait(min(left, LOOK_SECONDS)):
                return True
        return False


def _parse_task_ids(notifications: Any) -> list[UUID] | None:
    """Parse the filter; None where it asks for no tasks. What cannot be an id names no task.

    Raises:
        ProtocolError: it is no filter, or names too many.
    """
    if type(notifications) is not dict:
        raise ProtocolError(INVALID_PARAMS, "Invalid params: notifications must be an object")
    given = cast("dict[str, Any]", notifications).get("taskIds")
    if given is None:
        return None
    if type(given) is not list or not all(type(one) is str for one in cast("list[Any]", given)):
        raise ProtocolError(INVALID_PARAMS, "Invalid params: notifications.taskIds must be an array of strings")
    texts = cast("list[str]", given)
    if len(texts) > MAX_TASKS:
        raise ProtocolError(INVALID_PARAMS, f"Invalid params: at most {MAX_TASKS} tasks in one subscription")
    return [parsed for text in texts if (parsed := parse_id(text)) is not None]
