"""Tasks by the extension `io.modelcontextprotocol/tasks` of 2026-07-28 (SEP-2663): the server decides which calls
become tasks, for clients that declare the extension in the request."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

import msgspec
import orjson

from gateway.mcp.client_questions import (
    build_input_request,
    build_missing_capabilities,
    has_capability,
    is_response,
)
from gateway.mcp.jsonrpc import INTERNAL_ERROR, INVALID_PARAMS
from gateway.mcp.lifecycle import TASKS_EXTENSION
from gateway.mcp.request_context import Deferral, Handler, Params, ProtocolError, RequestContext, Result
from gateway.mcp.revisions import CAPABILITIES_KEY, MISSING_CAPABILITY
from gateway.tasks.job_starter import list_open_questions
from gateway.tasks.own_jobs import OwnJobs
from gateway.tasks.stored_call import StoredAnswer
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
_CAPABILITIES: Mapping[str, tuple[str, ...]] = {
    "elicitation/create": ("elicitation", "form"),
    "sampling/createMessage": ("sampling",),
    "roots/list": ("roots",),
}
"""What a client declares that can be asked by these methods."""
_COMPLETE = orjson.Fragment(b'"complete"')


AnswerJob = Callable[[RequestContext, Job, Mapping[str, Any]], Awaitable[str]]


class TaskExtension:
    """Handlers of the revision 2026-07-28. `call_tool` is the handler of calls that are no tasks, and"""

    def __init__(self, jobs: OwnJobs, call_tool: Handler, answer_job: AnswerJob) -> None:
        self._jobs = jobs
        self._call_tool = call_tool
        self._answer_job = answer_job

    def get_handlers(self) -> Mapping[str, Handler]:
        """Return the handlers by method."""
        return {
            "tools/call": self._handle_call,
            "tasks/get": self._get_task,
            "tasks/update": self._update_task,
            "tasks/cancel": self._cancel_task,
        }

    def create_subscriptions(self) -> TaskSubscriptions:
        """Create what tells of tasks on the streams of clients that ask for it."""
        return TaskSubscriptions(self._jobs, self._describe, _require_extension)

    def _handle_call(self, request: RequestContext, params: Params) -> Any:
        if "extensions" in params["_meta"][CAPABILITIES_KEY] and _declares_extension(params):
            request = msgspec.structs.replace(request, deferral=_AS_TASK)
        return self._call_tool(request, params)

    async def _get_task(self, request: RequestContext, params: Params) -> Result:
        _require_extension(params)
        job = require_job(await self._jobs.find(request.caller, get_task_id(params)))
        return await self._describe(request, params, job)

    async def _describe(self, request: RequestContext, params: Params, job: Job) -> Result:
        """Describe a task with what it has for its client.

        Raises:
            ProtocolError: it has a question, and the client cannot ask it.
        """
        if not job.state.is_final:
            return _describe_task(job, "working")
        if job.state is JobState.CANCELLED:
            return _describe_task(job, "cancelled")
        answer = await self._jobs.load_answer(request.caller, job)
        if isinstance(answer, str):
            if job.awaits_input and (current := await self._find_again(request, job)) != job:
                return await self._describe(request, params, current)
            return {**_describe_task(job, "failed"), "error": {"code": INTERNAL_ERROR, "message": answer}}
        if job.awaits_input and answer.questions:
            requests = await self._build_requests(params, job, answer)
            if not requests:  # all were answered since the job was read
                working = _describe_task(job, "working")
                del working["statusMessage"]  # it says that the task asks
                return working
            return {**_describe_task(job, "input_required"), "inputRequests": requests}
        return {**_describe_task(job, "completed"), "result": {"resultType": _COMPLETE, **answer.build_result()}}

    async def _find_again(self, request: RequestContext, job: Job) -> Job:
        """Find how a job stands now: another client may have answered its question since it was read.

        Raises:
            ProtocolError: it is gone.
        """
        return require_job(await self._jobs.find(request.caller, str(job.id)))

    async def _build_requests(self, params: Params, job: Job, answer: StoredAnswer) -> Result:
        """Build the requests for what a task has still to be told.

        Raises:
            ProtocolError: the client cannot be asked one of them.
        """
        call = await self._jobs.load_call(job)
        still_open = answer.questions if call is None else list_open_questions(answer, call)
        for question in still_open:
            path = _CAPABILITIES[question.method]
            if not has_capability(params["_meta"][CAPABILITIES_KEY], path):
                text = f"Missing required client capability: {'.'.join(path)}; the task has a question"
                required = {"requiredCapabilities": build_missing_capabilities(path)}
                raise ProtocolError(MISSING_CAPABILITY, text, required)
        return {_get_key(job, question.key): build_input_request(question) for question in still_open}

    async def _update_task(self, request: RequestContext, params: Params) -> Result:
        """Have a task go on with the answers to its questions. Answers to others, which are of the past or were never
        asked, are acknowledged and change nothing (SEP-2663, Task Update Requests).

        Raises:
            ProtocolError: there is no such task, the answer is none, or the task cannot go on.
        """
        _require_extension(params)
        responses = params.get("inputResponses")
        if type(responses) is not dict:
            raise ProtocolError(INVALID_PARAMS, "Invalid params: inputResponses must be an object")
        job = require_job(await self._jobs.find(request.caller, get_task_id(params)))
        given = cast("dict[str, Any]", responses)
        if not job.awaits_input:
            return {}
        answer = await self._jobs.load_answer(request.caller, job)
        if isinstance(answer, str):
            if await self._find_again(request, job) != job:
                return {}
            raise ProtocolError(INTERNAL_ERROR, answer)
        asked = [one for one in answer.questions if _get_key(job, one.key) in given]
        answers = {one.key: given[_get_key(job, one.key)] for one in asked}
        if not all(is_response(one.method, answers[one.key]) for one in asked):
            text = "Invalid params: an answer has an action (accept, decline or cancel), and content where it accepts"
            raise ProtocolError(INVALID_PARAMS, text)
        if answers and (refusal := await self._answer_job(request, job, answers)):
            raise ProtocolError(INTERNAL_ERROR, refusal)
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


def _get_key(job: Job, question: str) -> str:
    """Return the key of a task's question, which no other question of the task has had."""
    return f"{question}-{job.attempt}"


_AS_TASK = Deferral(_describe_created, can_answer=True, batches=True)


def _declares_extension(params: Params) -> bool:
    extensions = params["_meta"][CAPABILITIES_KEY].get("extensions")
    return type(extensions) is dict and type(cast("dict[str, Any]", extensions).get(TASKS_EXTENSION)) is dict


def _require_extension(params: Params) -> None:
    if not _declares_extension(params):
        text = f"Missing required client capability: {TASKS_EXTENSION}"
        raise ProtocolError(MISSING_CAPABILITY, text, _REQUIRED)
