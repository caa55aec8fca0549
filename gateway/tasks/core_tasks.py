"""Tasks of the core of the protocol ([2025-11-25] Tasks): the client decides which calls become tasks."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

import msgspec

from core.errors import MCPistError
from gateway.mcp.errors import InsufficientScope, Unauthenticated
from gateway.mcp.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from gateway.mcp.request_context import Channel, Deferral, Handler, Params, ProtocolError, RequestContext, Result
from gateway.tasks.own_jobs import OwnJobs, parse_id
from gateway.tasks.task_form import (
    POLL_MILLISECONDS,
    compute_ttl,
    describe_status,
    describe_times,
    get_task_id,
    is_news,
    require_job,
)
from jobs.job import Job, JobState

STATUS_METHOD = "notifications/tasks/status"
RELATED_TASK = "io.modelcontextprotocol/related-task"
PAGE_SIZE = 50
ANSWER_MARGIN_SECONDS = 5.0
"""Seconds before the end of `tasks/result` by which it says that the task still works."""
STILL_WORKING = "the task still works; ask again"
ASKED_ELSEWHERE = "the task waits for the user's answer, which the client that started it asks for"
_MAX_MILLISECONDS = 10**15
_NO_TTL = object()
_NO_TASK_TOOLS = frozenset({"get_module_schema"})
_STATUSES = {
    JobState.QUEUED: "working",
    JobState.RUNNING: "working",
    JobState.SUCCEEDED: "completed",
    JobState.FAILED: "failed",
    JobState.CANCELLED: "cancelled",
    JobState.UNKNOWN: "failed",
}


class CoreTasks:
    """Handlers of the revision 2025-11-25. `call_tool` is the handler of calls that are no tasks."""

    def __init__(self, jobs: OwnJobs, call_tool: Handler) -> None:
        self._jobs = jobs
        self._call_tool = call_tool

    def get_handlers(self) -> Mapping[str, Handler]:
        """Return the handlers by method."""
        return {
            "tools/call": self._handle_call,
            "tasks/get": self._get_task,
            "tasks/result": self._get_result,
            "tasks/list": self._list_tasks,
            "tasks/cancel": self._cancel_task,
        }

    def _handle_call(self, request: RequestContext, params: Params) -> Any:
        if "task" not in params:
            return self._call_tool(request, params)
        return self._create_task(request, params)

    async def _create_task(self, request: RequestContext, params: Params) -> Result:
        """Run a call as a task.

        Raises:
            ProtocolError: the call is not accepted as a task.
        """
        if params["name"] in _NO_TASK_TOOLS:
            raise ProtocolError(METHOD_NOT_FOUND, f"Method not found: {params['name']} does not run as a task")
        deferral = Deferral(lambda job: {"task": describe_task(job)}, always=True, lifetime=_parse_ttl(params["task"]))
        try:
            result = await self._call_tool(msgspec.structs.replace(request, deferral=deferral), params)
        except (Unauthenticated, InsufficientScope):
            raise
        except MCPistError as error:
            raise ProtocolError(INTERNAL_ERROR, str(error)) from None
        if "task" not in result:
            raise ProtocolError(INVALID_PARAMS, f"Not started: {_get_text(result)}")
        return result

    async def _get_task(self, request: RequestContext, params: Params) -> Result:
        return describe_task(require_job(await self._jobs.find(request.caller, get_task_id(params))))

    async def _get_result(self, request: RequestContext, params: Params) -> Result:
        """Wait for the end of a task, and return what its call would have returned.

        Raises:
            ProtocolError: there is no such task, or its end is no result.
        """
        job = require_job(await self._jobs.find(request.caller, get_task_id(params)))
        request.turn.release()
        if not _is_cancelled(job):
            tell = None if request.channel is None else StatusTeller(request.channel, job).tell
            end = request.deadline - ANSWER_MARGIN_SECONDS
            job = require_job(await self._jobs.wait_for_end(request, job, end, tell))
        if request.authority.ended:
            raise ProtocolError(INTERNAL_ERROR, f"the result is withheld: {request.authority.ended}")
        if _is_cancelled(job):
            raise ProtocolError(INTERNAL_ERROR, "the task was cancelled")
        if job.awaits_input:
            raise ProtocolError(INTERNAL_ERROR, ASKED_ELSEWHERE)
        if not job.state.is_final:
            raise ProtocolError(INTERNAL_ERROR, STILL_WORKING)
        answer = await self._jobs.load_answer(request.caller, job)
        if isinstance(answer, str):
            raise ProtocolError(INTERNAL_ERROR, answer)
        return {**answer.build_result(), "_meta": {RELATED_TASK: {"taskId": str(job.id)}}}

    async def _list_tasks(self, request: RequestContext, params: Params) -> Result:
        before = _parse_cursor(params.get("cursor"))
        jobs = await self._jobs.list(request.caller, before=before, limit=PAGE_SIZE + 1)
        page: Result = {"tasks": [describe_task(job) for job in jobs[:PAGE_SIZE]]}
        return {**page, "nextCursor": str(jobs[PAGE_SIZE - 1].id)} if len(jobs) > PAGE_SIZE else page

    async def _cancel_task(self, request: RequestContext, params: Params) -> Result:
        """Cancel a task, which then is cancelled whatever its work still does.

        Raises:
            ProtocolError: there is no such task, or it has ended.
        """
        task_id = get_task_id(params)
        before = require_job(await self._jobs.find(request.caller, task_id))
        if before.has_ended or before.is_cancel_requested:
            status = describe_task(before)["status"]
            raise ProtocolError(INVALID_PARAMS, f"Invalid params: the task has ended already: {status}")
        job = require_job(await self._jobs.cancel(request.caller, task_id))
        if not _is_cancelled(job):  # it has ended in between
            raise ProtocolError(INVALID_PARAMS, "Invalid params: the task has ended already")
        return describe_task(job)


class StatusTeller:
    """Tells the client that waits for a task's result how the task stands."""

    def __init__(self, channel: Channel, job: Job) -> None:
        self._channel = channel
        self._told = describe_task(job)

    async def tell(self, job: Job) -> None:
        """Tell how the task stands now, unless that was told.

        Raises:
            gateway.mcp.errors.ClientDisconnected: the client does not read.
        """
        task = describe_task(job)
        if is_news(task, self._told):
            self._told = task
            await self._channel.send(STATUS_METHOD, task)


def describe_task(job: Job) -> Result:
    """Describe a task as its client sees it."""
    status = "input_required" if job.awaits_input else "cancelled" if _is_cancelled(job) else _STATUSES[job.state]
    return {
        "taskId": str(job.id),
        "status": status,
        **describe_status(job),
        **describe_times(job),
        "ttl": compute_ttl(job),
        "pollInterval": POLL_MILLISECONDS,
    }


def _is_cancelled(job: Job) -> bool:
    """Check whether the task is cancelled for its client: from the request on, and for good."""
    return job.is_cancel_requested or job.state is JobState.CANCELLED


def _parse_ttl(task: Any) -> timedelta | None:
    if type(task) is not dict:
        raise ProtocolError(INVALID_PARAMS, "Invalid params: task must be an object")
    ttl = cast("dict[str, Any]", task).get("ttl", _NO_TTL)
    if ttl is _NO_TTL:
        return None
    if ttl is None:  # as in a task's own ttl: without an end
        return timedelta(milliseconds=_MAX_MILLISECONDS)
    if type(ttl) is not int or not 0 <= ttl <= _MAX_MILLISECONDS:
        text = "Invalid params: task.ttl must be a whole number of milliseconds from 0 on, or null"
        raise ProtocolError(INVALID_PARAMS, text)
    return timedelta(milliseconds=ttl)


def _parse_cursor(cursor: str | None) -> UUID | None:
    """Parse a cursor, whose type the transport has checked (gateway.mcp.version_negotiation.check_params)."""
    if cursor is None:
        return None
    parsed = parse_id(cursor)
    if parsed is None:
        raise ProtocolError(INVALID_PARAMS, "Invalid params: unknown cursor")
    return parsed


def _get_text(result: Result) -> str:
    return "\n".join(block["text"] for block in result["content"])
