"""Pull requests: opening, changing and merging them."""

from typing import Annotated, Literal

from pydantic import Field

from modules.github.shared import rest_client
from modules.github.shared.parameters import REPO, Body, LongText, Number, Owner, Ref, Repo, Sha
from modules.kit import Context, ToolError, tool
from modules.kit.parameters import (
    ACTION_HINTS,
    ADD_HINTS,
    CHANGE_HINTS,
    OptionalParameter,
    Positive,
    ShortText,
    Title,
)
from modules.kit.results import Identifier, Line, Missable, ResultModel, Url


class SavedPullRequest(ResultModel):
    number: Missable[int] = None
    state: Line
    html_url: Url


class MergeResult(ResultModel):
    merged: bool
    sha: Identifier


class BranchUpdate(ResultModel):
    """GitHub merges in the background."""

    accepted: bool = True


@tool(hints=ADD_HINTS, scopes=[REPO])
async def create_pull_request(
    context: Context,
    owner: Owner,
    repo: Repo,
    head: Annotated[Title, Field(description="Branch, or owner:branch of a fork")],
    base: Annotated[Ref, Field(description="Target branch")],
    title: Annotated[OptionalParameter[Title], Field(description="Title")] = None,
    body: Body = None,
    issue: Annotated[OptionalParameter[Positive], Field(description="Issue to turn into it, instead of title")] = None,
    draft: Annotated[bool, Field(description="As a draft")] = False,
) -> SavedPullRequest:
    """Open a pull request."""
    if (title is None) == (issue is None) or (issue is not None and body is not None):
        raise ToolError("give either title, with body if any, or issue")
    fields = {"title": title, "head": head, "base": base, "body": body, "issue": issue, "draft": draft}
    address = rest_client.build_repository_path(owner, repo) + "/pulls"
    return await rest_client.fetch_one(context, SavedPullRequest, address, method="POST", json=fields)


@tool(hints=CHANGE_HINTS, scopes=[REPO], keywords="close, reopen")
async def update_pull_request(
    context: Context,
    owner: Owner,
    repo: Repo,
    pull_number: Number,
    title: Annotated[OptionalParameter[Title], Field(description="Title")] = None,
    body: Body = None,
    state: Annotated[OptionalParameter[Literal["open", "closed"]], Field(description="State")] = None,
    base: Annotated[OptionalParameter[Ref], Field(description="Target branch")] = None,
) -> SavedPullRequest:
    """Change a pull request: only what is given."""
    fields = {"title": title, "body": body, "state": state, "base": base}
    rest_client.require_change(fields)
    address = _build_address(owner, repo, pull_number)
    return await rest_client.fetch_one(context, SavedPullRequest, address, method="PATCH", json=fields)


@tool(hints=ACTION_HINTS, scopes=[REPO], keywords="ship, land")
async def merge_pull_request(
    context: Context,
    owner: Owner,
    repo: Repo,
    pull_number: Number,
    merge_method: Annotated[Literal["merge", "squash", "rebase"], Field(description="How")] = "merge",
    commit_title: Annotated[OptionalParameter[ShortText], Field(description="Title")] = None,
    commit_message: Annotated[OptionalParameter[LongText], Field(description="Message")] = None,
    sha: Annotated[OptionalParameter[Sha], Field(description="Only if head is still this")] = None,
) -> MergeResult:
    """Merge a pull request into its base."""
    fields = {"merge_method": merge_method, "commit_title": commit_title, "commit_message": commit_message, "sha": sha}
    address = f"{_build_address(owner, repo, pull_number)}/merge"
    return await rest_client.fetch_one(context, MergeResult, address, method="PUT", json=fields)


@tool(hints=ACTION_HINTS, scopes=[REPO])
async def update_pull_request_branch(
    context: Context,
    owner: Owner,
    repo: Repo,
    pull_number: Number,
    sha: Annotated[OptionalParameter[Sha], Field(description="Only if head is still this")] = None,
) -> BranchUpdate:
    """Merge the base into a pull request's branch."""
    address = f"{_build_address(owner, repo, pull_number)}/update-branch"
    body = {"expected_head_sha": sha}
    await rest_client.fetch_confirmation(context, "PUT", address, status=202, json=body)
    return BranchUpdate()


def _build_address(owner: str, repo: str, number: int) -> str:
    return f"{rest_client.build_repository_path(owner, repo)}/pulls/{number}"


TOOLS = (
    create_pull_request,
    update_pull_request,
    merge_pull_request,
    update_pull_request_branch,
)
