"""Pull requests: opening, changing, reviewing and merging them."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from modules.github import rest_client
from modules.github.parameters import REPO, Body, FilePath, LongText, Number, Owner, Ref, Repo, Sha
from modules.kit import Context, ToolError, tool
from modules.kit.parameters import (
    ACTION_HINTS,
    ADD_HINTS,
    CHANGE_HINTS,
    OptionalParameter,
    Positive,
    ShortText,
    Title,
    limit_length,
)
from modules.kit.results import Line, Missable, ResultModel, Word


class SavedPullRequest(ResultModel):
    number: Missable[int] = None
    state: Line
    html_url: Line


class MergeResult(ResultModel):
    merged: bool
    sha: Line


class SavedReview(ResultModel):
    id: Missable[int] = None
    state: Line
    html_url: Word = ""


class ReviewComment(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    path: FilePath
    line: Positive
    body: Annotated[str, limit_length(1, 65_536)]


@tool(hints=ADD_HINTS, scopes=[REPO])
async def create_pull_request(
    context: Context,
    owner: Owner,
    repo: Repo,
    title: Annotated[Title, Field(description="Title")],
    head: Annotated[Title, Field(description="Branch, or owner:branch of a fork")],
    base: Annotated[Ref, Field(description="Target branch")],
    body: Body = None,
    draft: Annotated[bool, Field(description="As a draft")] = False,
) -> SavedPullRequest:
    """Open a pull request."""
    fields = {"title": title, "head": head, "base": base, "body": body, "draft": draft}
    address = rest_client.build_repository_path(owner, repo) + "/pulls"
    return await rest_client.fetch_one(context, SavedPullRequest, address, method="POST", json=fields)


@tool(hints=CHANGE_HINTS, scopes=[REPO])
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


@tool(hints=ACTION_HINTS, scopes=[REPO])
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


@tool(hints=ADD_HINTS, scopes=[REPO])
async def create_pull_request_review(
    context: Context,
    owner: Owner,
    repo: Repo,
    pull_number: Number,
    event: Annotated[Literal["APPROVE", "REQUEST_CHANGES", "COMMENT"], Field(description="Verdict")],
    body: Annotated[OptionalParameter[LongText], Field(description="Markdown; may lack with APPROVE")] = None,
    comments: Annotated[
        OptionalParameter[Annotated[list[ReviewComment], limit_length(maximum=50)]],
        Field(description="On lines of the new files"),
    ] = None,
    commit_id: Annotated[OptionalParameter[Sha], Field(description="Commit read")] = None,
) -> SavedReview:
    """Review a pull request."""
    if event != "APPROVE" and not body and not comments:
        raise ToolError(f"{event} needs a body or comments")
    fields = {
        "event": event,
        "body": body,
        "comments": [comment.model_dump() for comment in comments] if comments else None,
        "commit_id": commit_id,
    }
    address = f"{_build_address(owner, repo, pull_number)}/reviews"
    return await rest_client.fetch_one(context, SavedReview, address, method="POST", json=fields)


def _build_address(owner: str, repo: str, number: int) -> str:
    return f"{rest_client.build_repository_path(owner, repo)}/pulls/{number}"


TOOLS = (
    create_pull_request,
    update_pull_request,
    merge_pull_request,
    create_pull_request_review,
)
