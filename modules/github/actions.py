"""Runs of GitHub Actions."""

from typing import Annotated, Literal

from pydantic import Field

from modules.github import client
from modules.github.fields import READS, REPO, CursorText, LoginName, Maybe, Owner, PerPage, Ref, Repo, Short
from modules.github.shapes import Line, Page, Shape, Word, at
from modules.kit import Context, tool

Status = Literal["success", "failure", "cancelled", "in_progress", "queued"]


class WorkflowRun(Shape):
    id: int
    name: Word = ""
    display_title: Line
    event: Line
    status: Word = ""
    conclusion: Word = ""
    head_branch: Word = ""
    head_sha: Line
    actor: Annotated[Word, at("actor", "login")] = ""
    created_at: Line
    html_url: Line


class WorkflowRuns(Page):
    total_count: int
    workflow_runs: list[WorkflowRun]


@tool(hints=READS, scopes=[REPO])
async def list_workflow_runs(
    context: Context,
    owner: Owner,
    repo: Repo,
    branch: Annotated[Maybe[Ref], Field(description="Branch")] = None,
    event: Annotated[Maybe[Short], Field(description="Such as push")] = None,
    status: Annotated[Maybe[Status], Field(description="Status or conclusion")] = None,
    actor: Annotated[Maybe[LoginName], Field(description="Login")] = None,
    per_page: PerPage = 30,
    cursor: CursorText = None,
) -> WorkflowRuns:
    """Runs of GitHub Actions, newest first."""
    query = {"branch": branch, "event": event, "status": status, "actor": actor}
    address = client.repository(owner, repo) + "/actions/runs"
    found, rest, whole = await client.page(
        context, WorkflowRun, address, query=query, within="workflow_runs", cursor=cursor, per_page=per_page
    )
    total = whole.answer.part(int, whole.value.get("total_count"))
    return WorkflowRuns(workflow_runs=found, total_count=total, nextCursor=rest)


TOOLS = (list_workflow_runs,)
