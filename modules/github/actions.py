"""Runs of GitHub Actions."""

from typing import Annotated, Literal

from pydantic import Field

from modules.github.shared import rest_client
from modules.github.shared.parameters import REPO, LoginName, Owner, Ref, Repo, Sha
from modules.kit import Context, tool
from modules.kit.parameters import READ_HINTS, CursorText, OptionalParameter, PerPage, ShortText
from modules.kit.results import Identifier, Line, ListPage, Missable, ResultModel, Url, Word, read_at

Status = Literal["success", "failure", "cancelled", "in_progress", "queued"]


class WorkflowRun(ResultModel):
    id: Missable[int] = None
    name: Word = ""
    display_title: Line
    event: Line
    status: Word = ""
    conclusion: Word = ""
    head_branch: Word = ""
    head_sha: Identifier
    actor: Annotated[Word, read_at("actor", "login")] = ""
    created_at: Line
    html_url: Url


class WorkflowRuns(ListPage):
    total_count: Missable[int] = None
    workflow_runs: list[WorkflowRun]


@tool(hints=READ_HINTS, scopes=[REPO], keywords="builds, CI, recent")
async def list_workflow_runs(
    context: Context,
    owner: Owner,
    repo: Repo,
    branch: Annotated[OptionalParameter[Ref], Field(description="Branch")] = None,
    event: Annotated[OptionalParameter[ShortText], Field(description="Such as push")] = None,
    status: Annotated[OptionalParameter[Status], Field(description="Status or conclusion")] = None,
    actor: Annotated[OptionalParameter[LoginName], Field(description="Login")] = None,
    head_sha: Annotated[OptionalParameter[Sha], Field(description="Commit")] = None,
    per_page: PerPage = 30,
    cursor: CursorText = None,
) -> WorkflowRuns:
    """Runs of GitHub Actions, newest first."""
    query = {"branch": branch, "event": event, "status": status, "actor": actor, "head_sha": head_sha}
    address = rest_client.build_repository_path(owner, repo) + "/actions/runs"
    page = await rest_client.fetch_page(
        context, WorkflowRun, address, query=query, field="workflow_runs", cursor=cursor, per_page=per_page
    )
    return WorkflowRuns(workflow_runs=page.rows, total_count=page.fields["total"], **page.fields)


TOOLS = (list_workflow_runs,)
