"""Workflows of GitHub Actions: their jobs, starting, repeating and stopping them."""

import re
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, Field, model_validator

from modules.github.shared import rest_client
from modules.github.shared.parameters import REPO, Id, Owner, Ref, Repo
from modules.github.shared.result_models import Confirmation
from modules.kit import Context, VendorProblem, tool
from modules.kit.parameters import (
    ACTION_HINTS,
    CHANGE_HINTS,
    READ_HINTS,
    CursorText,
    OptionalParameter,
    PerPage,
    ShortText,
    limit_length,
)
from modules.kit.results import Flag, Line, ListPage, Missable, OptionalUrl, ResultModel, Word, read_at, read_object

MAX_INPUTS = 25
"""Of a workflow: GitHub's own limit."""
MAX_STEPS = 100
NO_CONTENT = 204
_WORKFLOW = re.compile(r"[^./\\\r\n][^/\\\r\n]*")
_PASSED = (None, "success", "skipped", "neutral")

RunId = Annotated[Id, Field(description="The run's id")]


def _check_workflow(text: str) -> str:
    if not _WORKFLOW.fullmatch(text):
        raise ValueError("is no workflow: give its id, or the name of its file without folders")
    return text


WorkflowName = Annotated[ShortText, AfterValidator(_check_workflow)]
Inputs = Annotated[dict[ShortText, str], limit_length(maximum=MAX_INPUTS)]


class Workflow(ResultModel):
    id: Missable[int] = None
    name: Line
    path: Line
    state: Line


class Workflows(ListPage):
    total_count: Missable[int] = None
    workflows: list[Workflow]


class WorkflowJob(ResultModel):
    """`failed_steps` are those that did not succeed, with how they ended."""

    id: Missable[int] = None
    name: Line
    status: Line
    conclusion: Word = ""
    started_at: Word = ""
    completed_at: Word = ""
    failed_steps: Annotated[list[Line], Field(exclude_if=lambda steps: not steps)] = []  # noqa: RUF012

    @model_validator(mode="before")
    @classmethod
    def _read_failed_steps(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        job = cast("dict[str, Any]", raw)
        steps: Any = job.get("steps")
        entries = cast("list[Any]", steps)[:MAX_STEPS] if isinstance(steps, list) else []
        failed = [
            f"{step.get('name')}: {step.get('conclusion')}"
            for step in (cast("dict[str, Any]", entry) for entry in entries if isinstance(entry, dict))
            if step.get("conclusion") not in _PASSED
        ]
        return {**job, "failed_steps": failed}


class WorkflowJobs(ListPage):
    total_count: Missable[int] = None
    jobs: list[WorkflowJob]


class StartedRun(ResultModel):
    """The new run, where the server names it."""

    run_id: Annotated[Missable[int], read_at("workflow_run_id")] = None
    html_url: OptionalUrl = ""
    done: Flag = False


@tool(hints=READ_HINTS, scopes=[REPO])
async def list_workflows(
    context: Context, owner: Owner, repo: Repo, per_page: PerPage = 30, cursor: CursorText = None
) -> Workflows:
    """Workflows of a repository."""
    address = rest_client.build_repository_path(owner, repo, "/actions/workflows")
    page = await rest_client.fetch_page(context, Workflow, address, field="workflows", cursor=cursor, per_page=per_page)
    return Workflows(workflows=page.rows, total_count=page.fields["total"], **page.fields)


@tool(hints=READ_HINTS, scopes=[REPO])
async def list_workflow_jobs(
    context: Context,
    owner: Owner,
    repo: Repo,
    run_id: RunId,
    filter: Annotated[Literal["latest", "all"], Field(description="Attempts")] = "latest",
    per_page: PerPage = 30,
    cursor: CursorText = None,
) -> WorkflowJobs:
    """Jobs of a workflow run, with the steps that failed."""
    address = rest_client.build_repository_path(owner, repo, "/actions/runs/{}/jobs", run_id)
    page = await rest_client.fetch_page(
        context, WorkflowJob, address, query={"filter": filter}, field="jobs", cursor=cursor, per_page=per_page
    )
    return WorkflowJobs(jobs=page.rows, total_count=page.fields["total"], **page.fields)


@tool(hints=ACTION_HINTS, scopes=[REPO])
async def dispatch_workflow(
    context: Context,
    owner: Owner,
    repo: Repo,
    workflow: Annotated[WorkflowName, Field(description="Id or file name, such as ci.yml")],
    ref: Annotated[Ref, Field(description="Branch or tag")],
    inputs: Annotated[OptionalParameter[Inputs], Field(description="As it declares")] = None,
) -> StartedRun:
    """Start a workflow that has a workflow_dispatch trigger."""
    address = rest_client.build_repository_path(owner, repo, "/actions/workflows/{}/dispatches", workflow)
    fields = {"ref": ref, "inputs": inputs, "return_run_details": True}
    missing = "no such repository or workflow: name its file, without folders"
    try:
        answer = await rest_client.send_request(context, "POST", address, json=fields, missing=missing)
    except VendorProblem as problem:
        # An older GitHub Enterprise Server refuses the field, and has started nothing.
        if problem.kind != "invalid" or not problem.answer or b"return_run_details" not in problem.answer.body:
            raise
        fields["return_run_details"] = None
        answer = await rest_client.send_request(context, "POST", address, json=fields, missing=missing)
    if answer.status == NO_CONTENT:
        return StartedRun(done=True)
    return read_object(answer, StartedRun).model_copy(update={"done": True})


@tool(hints=ACTION_HINTS, scopes=[REPO])
async def rerun_workflow_run(
    context: Context,
    owner: Owner,
    repo: Repo,
    run_id: RunId,
    failed_only: Annotated[bool, Field(description="Only failed jobs and those after them")] = False,
) -> Confirmation:
    """Run a finished workflow run again."""
    below = "/actions/runs/{}/rerun-failed-jobs" if failed_only else "/actions/runs/{}/rerun"
    address = rest_client.build_repository_path(owner, repo, below, run_id)
    return await rest_client.fetch_confirmation(context, "POST", address, status=201)


@tool(hints=ACTION_HINTS, scopes=[REPO])
async def cancel_workflow_run(context: Context, owner: Owner, repo: Repo, run_id: RunId) -> Confirmation:
    """Cancel a workflow run."""
    address = rest_client.build_repository_path(owner, repo, "/actions/runs/{}/cancel", run_id)
    return await rest_client.fetch_confirmation(context, "POST", address, status=202)


@tool(hints=CHANGE_HINTS, scopes=[REPO])
async def delete_workflow_run(context: Context, owner: Owner, repo: Repo, run_id: RunId) -> Confirmation:
    """Delete a finished workflow run with its logs and artifacts."""
    address = rest_client.build_repository_path(owner, repo, "/actions/runs/{}", run_id)
    return await rest_client.fetch_confirmation(context, "DELETE", address)


TOOLS = (
    list_workflows,
    list_workflow_jobs,
    dispatch_workflow,
    rerun_workflow_run,
    cancel_workflow_run,
    delete_workflow_run,
)
