"""Tasks by the extension `io.modelcontextprotocol/tasks` of 2026-07-28 (SEP-2663): the server decides which calls
become tasks, for clients that declare the extension in the request."""

from collections.abc import Mapping
from typing import Any, cast

import msgspec
import orjson

from gateway.mcp.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS
from gateway.mcp.lifecycle import TASKS_EXTENSION
from gateway.mcp.request_context import Deferral, Handler, Params, ProtocolError, RequestContext, Result
from gateway.mcp.revisions import CAPABILITIES_KEY, MISSING_CAPABILITY
from gateway.tasks.own_jobs import OwnJobs
from gateway.tasks.task_form import (
    POLL_MILLISECONDS,
    compute_ttl,
    describe_status,
    describe_times,
    get_task_id,
    require_job,
)
from gateway.tasks.task_subscriptions import TaskSubscriptions
from jobs.job import Job, JobState

_REQUIRED: dict[str, Any] = {"requiredCapabilities": {"extensions": {TASKS_EXTENSION: {}}}}
_COMPLETE = orjson.Fragment(b'"complete"')


class TaskExtension:
    """Handlers of the revision 2026-07-28. `call_tool` is the handler of calls that are no tasks."""

    def __init__(self, jobs: OwnJobs, call_tool: Handler) -> None:
        self._jobs = jobs
        self._call_tool = call_tool

    def get_handlers(self) -> Mapping[str, Handler]:
        """Return the handlers by method."""
        return {
            "tools/call": self._handle_call,
            "tasks/get": self._get_task,
            "tasks/update": self._update_task,
            "tasks/cancel": self._cancel_task,
            "subscriptions/listen": TaskSubscriptions(self._jobs, self._describe, _require_extension).listen,
        }

    def _handle_call(self, request: RequestContext, params: Params) -> Any:
        if "extensions" in params["_meta"][CAPABILITIES_KEY] and _declares_extension(params):
            request = msgspec.structs.replace(request, deferral=_AS_TASK)
        return self._call_tool(request, params)

    async def _get_task(self, request: RequestContext, params: Params) -> Result:
        _require_extension(params)
        job = require_job(await self._jobs.find(request.caller, get_task_id(params)))
        return await self._describe(request, job)

    async def _describe(self, request: RequestContext, job: Job) -> Result:
        """Describe a task with what it has for its client."""
        if not job.state.is_final:
            return _describe_task(job, "working")
        if job.state is JobState.CANCELLED:
            return _describe_task(job, "cancelled")
        answer = await self._jobs.load_answer(request.caller, job)
        if isinstance(answer, str):
            return {**_describe_task(job, "failed"), "error": {"code": INTERNAL_ERROR, "message": answer}}
        return {**_describe_task(job, "completed"), "result": {"resultType": _COMPLETE, **answer.build_result()}}

    async def _update_task(self, request: RequestContext, params: Params) -> Result:
        """Acknowledge answers to questions of a task; no task of ours asks any, so all of them are of the past."""
        _require_extension(params)
        if type(params.get("inputResponses")) is not dict:
            raise ProtocolError(INVALID_PARAMS, "Invalid params: inputResponses must be an object")
        require_job(await self._jobs.find(request.caller, get_task_id(params)))
        return {}

    async def _cancel_task(self, request: RequestContext, params: Params) -> Result:
        _require_extension(params)
        require_job(await self._jobs.cancel(request.caller, get_task_id(params)))
        return {}


def _describe_task(job: Job, status: str) -> Result:
    return {
        "taskId": str(job.id),
        "status": status,
        **describe_status(job),
        **describe_times(job),
        "ttlMs": compute_ttl(job),
        "pollIntervalMs": POLL_MILLISECONDS,
    }


def _describe_created(job: Job) -> Result:
    return {"resultType": "task", **_describe_task(job, "working")}


_AS_TASK = Deferral(_describe_created)


def _declares_extension(params: Params) -> bool:
    extensions = params["_meta"][CAPABILITIES_KEY].get("extensions")
    return type(extensions) is dict and type(cast("dict[str, Any]", extensions).get(TASKS_EXTENSION)) is dict


def _require_extension(params: Params) -> None:
    if not _declares_extension(params):
        text = f"Missing required client capability: {TASKS_EXTENSION}"
        raise ProtocolError(MISSING_CAPABILITY, text, _REQUIRED)
