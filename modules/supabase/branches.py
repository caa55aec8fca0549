"""Database branches: copies of a project's schema with a database of their own."""

from typing import Annotated, Any, cast

from pydantic import BaseModel, Field, model_validator

from modules.kit import Context, Execution, VendorProblem, build_path, tool
from modules.kit.parameters import (
    ACTION_HINTS,
    ADD_HINTS,
    CHANGE_HINTS,
    READ_HINTS,
    CursorText,
    OptionalParameter,
    PerPage,
    ShortText,
    limit_length,
)
from modules.kit.polling import LongWaitSeconds, poll
from modules.kit.results import CountedPage, Flag, Line, ResultModel, Word
from modules.kit.text_cleaning import clean_line
from modules.supabase import rest_client
from modules.supabase.parameters import (
    READ_ENVIRONMENT,
    WRITE_ENVIRONMENT,
    BranchRef,
    MigrationVersion,
    ProjectRef,
)
from modules.supabase.prices import BRANCH_PRICE, PriceQuestion, ask_for_agreement

_ToVersion = Annotated[OptionalParameter[MigrationVersion], Field(description="Up to this migration; all if left out")]
_BRANCH = "/v1/branches/{}"
_LOOK_FOR_DELETION = "it is still there for an hour, unless the project deletes at once: list the branches"
_READY = "ACTIVE_HEALTHY"
_LOOK = "it takes minutes: the branch's status says when it is done"


class BranchRow(ResultModel):
    """The id is left out: Supabase deprecates it in favour of `project_ref`."""

    name: Line
    project_ref: Word = ""
    status: Word = ""
    is_default: Flag = False
    persistent: Flag = False
    with_data: Flag = False
    git_branch: Word = ""
    created_at: Word = ""

    @model_validator(mode="before")
    @classmethod
    def _choose_status(cls, raw: Any) -> Any:
        """`status` is deprecated where there is `preview_project_status`, but only it tells failed migrations."""
        if not isinstance(raw, dict):
            return raw
        found = cast("dict[str, Any]", raw)
        project = found.get("preview_project_status")
        has_failed = str(found.get("status", "")).endswith("_FAILED")
        return {**found, "status": project} if project and not has_failed else found


class BranchList(CountedPage):
    branches: list[BranchRow]


class CreatedBranch(PriceQuestion):
    """The new branch, or the price to confirm."""

    name: Word = ""
    project_ref: Word = ""
    created: bool = False
    status: Word = ""


class StartedBranchWork(ResultModel):
    workflow_run: Word = ""
    next_step: Line = _LOOK


class DeletedBranch(ResultModel):
    """`scheduled`: the branch goes in an hour, where the project keeps branches so long."""

    deleted: Flag = False
    scheduled: Flag = False
    next_step: Word = ""


class _Deletion(ResultModel):
    message: Line


class _WorkAnswer(BaseModel):
    workflow_run_id: str = ""
    message: str = ""


@tool(hints=READ_HINTS, scopes=[READ_ENVIRONMENT])
async def list_branches(
    context: Context, ref: ProjectRef, per_page: PerPage = 100, cursor: CursorText = None
) -> BranchList:
    """Branches of a project with their status."""
    address = build_path("/v1/projects/{}/branches", ref)
    try:
        page = await rest_client.fetch_page(context, BranchRow, address, cursor=cursor, per_page=per_page)
    except VendorProblem as problem:
        # So Supabase answers where branching was never switched on.
        if problem.answer is None or problem.answer.status != 422:
            raise
        return BranchList(branches=[], total=0)
    return BranchList(branches=page.rows, **page.fields)


@tool(hints=ADD_HINTS, scopes=[WRITE_ENVIRONMENT, READ_ENVIRONMENT], execution=Execution.ASYNC, asks=True)
async def create_branch(
    context: Context,
    ref: ProjectRef,
    name: Annotated[str, limit_length(1, 100), Field(description="Name")],
    git_branch: Annotated[ShortText, Field(description="Git branch to follow")] = "",
    persistent: Annotated[bool, Field(description="Stays when its pull request is closed")] = False,
    with_data: Annotated[bool, Field(description="Copy the data too")] = False,
    confirm_cost: Annotated[ShortText, Field(description="The price that the user agreed to")] = "",
    wait_seconds: LongWaitSeconds = 0,
) -> CreatedBranch:
    """Create a branch, which costs money: without confirm_cost the user is asked, or the price told."""
    thing = f"the branch {clean_line(name)[:60]!r} of the project {ref}"
    if question := await ask_for_agreement(context, thing, BRANCH_PRICE, confirm_cost, "_"):
        return CreatedBranch(**question.model_dump())
    body: dict[str, Any] = {"branch_name": name, "persistent": persistent, "with_data": with_data}
    if git_branch:
        body["git_branch"] = git_branch
    address = build_path("/v1/projects/{}/branches", ref)
    made = await rest_client.fetch(context, BranchRow, address, method="POST", json=body)

    async def read_status() -> str:
        rows = (await rest_client.fetch_rows(context, BranchRow, address)).rows
        return next((row.status for row in rows if row.project_ref == made.project_ref), "")

    status = await poll(context, read_status, _is_settled, seconds=wait_seconds, message="until the branch is there")
    return CreatedBranch(
        name=made.name,
        project_ref=made.project_ref,
        created=True,
        status=status or "",
        next_step="" if _is_settled(status or "") else _LOOK,
    )


def _is_settled(status: str) -> bool:
    return status == _READY or status.endswith("_FAILED")


@tool(hints=CHANGE_HINTS, scopes=[WRITE_ENVIRONMENT])
async def delete_branch(
    context: Context,
    branch: BranchRef,
    force: Annotated[bool, Field(description="false: in an hour, where the project allows it")] = True,
) -> DeletedBranch:
    """Delete a branch with its database."""
    address = build_path(_BRANCH, branch)
    await rest_client.fetch(context, _Deletion, address, method="DELETE", query={"force": force})
    return DeletedBranch(deleted=True) if force else DeletedBranch(scheduled=True, next_step=_LOOK_FOR_DELETION)


@tool(hints=ACTION_HINTS, scopes=[WRITE_ENVIRONMENT], execution=Execution.ASYNC)
async def merge_branch(context: Context, branch: BranchRef, migration_version: _ToVersion = None) -> StartedBranchWork:
    """Merge a branch's migrations and edge functions into production."""
    return await _start_work(context, branch, "merge", migration_version)


@tool(hints=ACTION_HINTS, scopes=[WRITE_ENVIRONMENT], execution=Execution.ASYNC)
async def reset_branch(context: Context, branch: BranchRef, migration_version: _ToVersion = None) -> StartedBranchWork:
    """Reset a branch: its data and untracked changes are lost."""
    return await _start_work(context, branch, "reset", migration_version)


@tool(hints=ACTION_HINTS, scopes=[WRITE_ENVIRONMENT], execution=Execution.ASYNC)
async def rebase_branch(context: Context, branch: BranchRef) -> StartedBranchWork:
    """Bring a branch up to date with the migrations of production."""
    return await _start_work(context, branch, "push", None)


async def _start_work(context: Context, branch: str, action: str, version: str | None) -> StartedBranchWork:
    body = {"migration_version": version} if version else {}
    address = build_path(_BRANCH + "/{}", branch, action)
    answer = await rest_client.fetch(context, _WorkAnswer, address, method="POST", json=body)
    return StartedBranchWork(workflow_run=answer.workflow_run_id)


TOOLS = (list_branches, create_branch, delete_branch, merge_branch, reset_branch, rebase_branch)
