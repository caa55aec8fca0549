"""Pull requests: opening, changing, reviewing and merging them."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from modules.github import client
from modules.github.fields import (
    ACTS,
    ADDS,
    CHANGES,
    REPO,
    Body,
    FilePath,
    Long,
    Maybe,
    Number,
    Owner,
    Positive,
    Ref,
    Repo,
    Sha,
    Short,
    Title,
    limited,
)
from modules.github.shapes import Line, Shape, Word
from modules.kit import Context, ToolError, tool


class SavedPullRequest(Shape):
    number: int
    state: Line
    html_url: Line


class Merged(Shape):
    merged: bool
    sha: Line


class SavedReview(Shape):
    id: int
    state: Line
    html_url: Word = ""


class ReviewComment(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    path: FilePath
    line: Positive
    body: Annotated[str, limited(1, 65_536)]


@tool(hints=ADDS, scopes=[REPO])
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
    given = {"title": title, "head": head, "base": base, "body": body, "draft": draft}
    address = client.repository(owner, repo) + "/pulls"
    return await client.one(context, SavedPullRequest, address, method="POST", json=given)


@tool(hints=CHANGES, scopes=[REPO])
async def update_pull_request(
    context: Context,
    owner: Owner,
    repo: Repo,
    pull_number: Number,
    title: Annotated[Maybe[Title], Field(description="Title")] = None,
    body: Body = None,
    state: Annotated[Maybe[Literal["open", "closed"]], Field(description="State")] = None,
    base: Annotated[Maybe[Ref], Field(description="Target branch")] = None,
) -> SavedPullRequest:
    """Change a pull request: only what is given."""
    given = {"title": title, "body": body, "state": state, "base": base}
    client.demand_change(given)
    address = _address(owner, repo, pull_number)
    return await client.one(context, SavedPullRequest, address, method="PATCH", json=given)


@tool(hints=ACTS, scopes=[REPO])
async def merge_pull_request(
    context: Context,
    owner: Owner,
    repo: Repo,
    pull_number: Number,
    merge_method: Annotated[Literal["merge", "squash", "rebase"], Field(description="How")] = "merge",
    commit_title: Annotated[Maybe[Short], Field(description="Title")] = None,
    commit_message: Annotated[Maybe[Long], Field(description="Message")] = None,
    sha: Annotated[Maybe[Sha], Field(description="Only if head is still this")] = None,
) -> Merged:
    """Merge a pull request into its base."""
    given = {"merge_method": merge_method, "commit_title": commit_title, "commit_message": commit_message, "sha": sha}
    address = f"{_address(owner, repo, pull_number)}/merge"
    return await client.one(context, Merged, address, method="PUT", json=given)


@tool(hints=ADDS, scopes=[REPO])
async def create_pull_request_review(
    context: Context,
    owner: Owner,
    repo: Repo,
    pull_number: Number,
    event: Annotated[Literal["APPROVE", "REQUEST_CHANGES", "COMMENT"], Field(description="Verdict")],
    body: Annotated[Maybe[Long], Field(description="Markdown; may lack with APPROVE")] = None,
    comments: Annotated[
        Maybe[Annotated[list[ReviewComment], limited(most=50)]], Field(description="On lines of the new files")
    ] = None,
    commit_id: Annotated[Maybe[Sha], Field(description="Commit read")] = None,
) -> SavedReview:
    """Review a pull request."""
    if event != "APPROVE" and not body and not comments:
        raise ToolError(f"{event} needs a body or comments")
    given = {
        "event": event,
        "body": body,
        "comments": [comment.model_dump() for comment in comments] if comments else None,
        "commit_id": commit_id,
    }
    address = f"{_address(owner, repo, pull_number)}/reviews"
    return await client.one(context, SavedReview, address, method="POST", json=given)


def _address(owner: str, repo: str, number: int) -> str:
    return f"{client.repository(owner, repo)}/pulls/{number}"


TOOLS = (
    create_pull_request,
    update_pull_request,
    merge_pull_request,
    create_pull_request_review,
)
