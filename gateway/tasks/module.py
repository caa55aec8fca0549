"""The built-in module ``jobs``: work that goes on after its call, for clients without tasks."""

import asyncio
from datetime import datetime
from typing import Annotated, Any

import msgspec
from pydantic import BaseModel, Field

from gateway.mcp.request_context import RequestContext
from gateway.tasks.own_jobs import OwnJobs, parse_id
from gateway.tasks.own_schedules import OwnSchedules
from gateway.tasks.schedule_tools import build_schedule_tools
from gateway.tasks.task_form import describe_waiting
from gateway.tool_context import get_request
from jobs.job import Job, Notify
from modules.kit import Context, Hints, Module, ToolError, tool
from modules.kit.results import Missable, Text
from modules.kit.untrusted import UNTRUSTED, UNTRUSTED_FIELD

NAME = "jobs"
SCOPE = "jobs:use"
LOOKS = Hints(read_only=True, destructive=False, idempotent=True, open_world=False)
CANCELS = Hints(read_only=False, destructive=False, idempotent=True, open_world=False)
PAGE_SIZE = 20
MAX_WAIT_SECONDS = 50
ANSWER_MARGIN_SECONDS = 3.0
NO_SUCH_JOB = "there is no such job of yours; jobs are kept for a while only: list_jobs lists them"

JobId = Annotated[str, Field(max_length=100, description="Id of the job")]


class JobSummary(BaseModel):
    """A job as it stands: queued, running, cancelling, succeeded, failed, cancelled, or unknown where nobody knows
    whether it took effect."""

    job_id: str
    title: str
    state: str
    progress: Missable[float] = None
    total: Missable[float] = None
    message: Missable[str] = None
    created_at: str
    finished_at: Missable[str] = None
    expires_at: str


class JobResult(JobSummary):
    """A job, and what its call would have answered: `result`, or `text` where that is no more than a text."""

    untrusted: Text = ""
    is_error: Missable[bool] = None
    result: Missable[dict[str, Any]] = None
    text: Missable[str] = None


class JobList(BaseModel):
    """The caller's jobs, the newest first."""

    jobs: list[JobSummary]
    nextCursor: Missable[str] = None  # noqa: N815 - as in all lists


def build_jobs_module(jobs: OwnJobs, schedules: OwnSchedules, consent_url: str) -> Module:
    """Build the module over the jobs and schedules of a gateway's callers, who agree to a schedule at `consent_url`."""

    async def find(request: RequestContext, job_id: str) -> Job:
        job = await jobs.find(request.caller, job_id)
        if job is None:
            raise ToolError(NO_SUCH_JOB)
        return job

    async def report(request: RequestContext, job: Job) -> JobResult:
        described = _describe(job)
        if not job.state.is_final:
            return JobResult(**described)
        answer = await jobs.load_answer(request.caller, job)
        if isinstance(answer, str):
            return JobResult(**described, is_error=True, text=answer)
        result = msgspec.json.decode(answer.result)
        content = result.get("structuredContent")
        if content is None:
            text = "\n".join(block.get("text", "") for block in result["content"])
            return JobResult(**described, is_error=result["isError"], text=text)
        mark = UNTRUSTED if content.pop(UNTRUSTED_FIELD, None) else ""
        return JobResult(**described, untrusted=mark, is_error=result["isError"], result=content)

    @tool(hints=LOOKS, scopes=[SCOPE])
    async def get_job(context: Context, job_id: JobId) -> JobResult:
        """How a job stands, and its result once it has ended."""
        request = get_request(context)
        return await report(request, await find(request, job_id))

    @tool(hints=LOOKS, scopes=[SCOPE])
    async def wait_for_job(
        context: Context,
        job_id: JobId,
        seconds: Annotated[int, Field(ge=0, le=MAX_WAIT_SECONDS, description="At most")] = 45,
    ) -> JobResult:
        """Wait for a job's end, and get its result; call again while it runs."""
        request = get_request(context)
        job = await find(request, job_id)
        request.turn.release()
        end = min(asyncio.get_running_loop().time() + seconds, request.deadline - ANSWER_MARGIN_SECONDS)
        current = await jobs.wait_for_end(request, job, end)
        request.turn.resume()
        if current is None:
            raise ToolError(NO_SUCH_JOB)
        return await report(request, current)

    @tool(hints=LOOKS, scopes=[SCOPE])
    async def list_jobs(
        context: Context,
        cursor: Annotated[str, Field(max_length=100, description="nextCursor of the page before")] = "",
    ) -> JobList:
        """Your jobs, the newest first."""
        before = parse_id(cursor) if cursor else None
        if cursor and before is None:
            raise ToolError("cursor is none of a page before; leave it out for the first page")
        found = await jobs.list(get_request(context).caller, before=before, limit=PAGE_SIZE + 1)
        page = [JobSummary(**_describe(job)) for job in found[:PAGE_SIZE]]
        return JobList(jobs=page, nextCursor=page[-1].job_id if len(found) > PAGE_SIZE else None)

    @tool(hints=CANCELS, scopes=[SCOPE])
    async def cancel_job(context: Context, job_id: JobId) -> JobSummary:
        """End a job; what it has changed already stays."""
        job = await jobs.cancel(get_request(context).caller, job_id)
        if job is None:
            raise ToolError(NO_SUCH_JOB)
        return JobSummary(**_describe(job))

    @tool(hints=CANCELS, scopes=[SCOPE])
    async def notify_when_done(
        context: Context,
        job_id: JobId,
        when: Annotated[Notify, Field(description="After failures only, always, or never")] = Notify.ALWAYS,
    ) -> JobSummary:
        """Have the user told by mail when a job ends, where this MCPist sends mail."""
        job = await jobs.set_notify(get_request(context).caller, job_id, when)
        if job is None:
            raise ToolError(NO_SUCH_JOB)
        if job.state.is_final:
            raise ToolError(f"this job has ended already: {job.state}")
        return JobSummary(**_describe(job))

    return Module(
        name=NAME,
        title="Jobs",
        description="Your work that goes on after its call or at times: how it stands, and its results.",
        scopes=frozenset({SCOPE}),
        tools=(
            get_job,
            wait_for_job,
            list_jobs,
            cancel_job,
            notify_when_done,
            *build_schedule_tools(schedules, SCOPE, consent_url),
        ),
    )


def _describe(job: Job) -> dict[str, Any]:
    return {
        "job_id": str(job.id),
        "title": job.title,
        "state": "cancelling" if job.is_cancel_requested and not job.state.is_final else job.state.value,
        "progress": job.progress,
        "total": job.total,
        "message": describe_waiting(job) or job.message or None,
        "created_at": _format_time(job.created_at),
        "finished_at": None if job.finished_at is None else _format_time(job.finished_at),
        "expires_at": _format_time(job.expires_at),
    }


def _format_time(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"
