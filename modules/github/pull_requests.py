"""Pull requests: reading them."""

import asyncio
from typing import Annotated, Literal

from pydantic import Field

from modules.github.issue_comments import MAX_BODY
from modules.github.shared import rest_client
from modules.github.shared.parameters import REPO, Number, Owner, Ref, Repo
from modules.github.shared.result_models import FilePatch, Names
from modules.kit import Context, tool
from modules.kit.parameters import READ_HINTS, CursorText, OptionalParameter, PerPage, ShortText
from modules.kit.results import (
    Count,
    Flag,
    Identifier,
    Line,
    ListPage,
    Missable,
    ResultModel,
    Text,
    Url,
    Word,
    fit_texts,
    read_at,
)


class ListedPullRequest(ResultModel):
    longest = {"body": 300}  # noqa: RUF012
    markdown_fields = frozenset({"body"})

    number: Missable[int] = None
    title: Line
    state: Line
    user: Annotated[Word, read_at("user", "login")] = ""
    head: Annotated[Line, read_at("head", "label")]
    base: Annotated[Line, read_at("base", "ref")]
    draft: Flag = False
    labels: Names = ()
    updated_at: Line
    body: Text = ""
    truncated: Flag = False


class PullRequest(ListedPullRequest):
    longest = {"body": MAX_BODY}  # noqa: RUF012
    markdown_fields = frozenset({"body"})

    head_sha: Annotated[Identifier, read_at("head", "sha")]
    merged: Flag = False
    mergeable: bool | None = None
    mergeable_state: Word = ""
    requested_reviewers: Names = ()
    commits: Count = 0
    additions: Count = 0
    deletions: Count = 0
    changed_files: Count = 0
    created_at: Line
    html_url: Url


class Review(ResultModel):
    longest = {"body": MAX_BODY}  # noqa: RUF012
    markdown_fields = frozenset({"body"})

    id: Missable[int] = None
    user: Annotated[Word, read_at("user", "login")] = ""
    state: Line
    submitted_at: Word = ""
    body: Text = ""
    truncated: Flag = False


class PullRequests(ListPage):
    pull_requests: list[ListedPullRequest]


class PullRequestDetail(ListPage):
    pull_request: PullRequest
    files: Annotated[list[FilePatch], Field(exclude_if=lambda files: not files)] = []  # noqa: RUF012
    reviews: Annotated[list[Review], Field(exclude_if=lambda reviews: not reviews)] = []  # noqa: RUF012


@tool(hints=READ_HINTS, scopes=[REPO])
async def list_pull_requests(
    context: Context,
    owner: Owner,
    repo: Repo,
    state: Annotated[Literal["open", "closed", "all"], Field(description="State")] = "open",
    head: Annotated[OptionalParameter[ShortText], Field(description="owner:branch")] = None,
    base: Annotated[OptionalParameter[Ref], Field(description="Branch")] = None,
    sort: Annotated[Literal["created", "updated", "popularity"], Field(description="Order")] = "created",
    direction: Annotated[Literal["desc", "asc"], Field(description="Direction")] = "desc",
    per_page: PerPage = 30,
    cursor: CursorText = None,
) -> PullRequests:
    """Pull requests of a repository."""
    query = {"state": state, "head": head, "base": base, "sort": sort, "direction": direction}
    address = rest_client.build_repository_path(owner, repo) + "/pulls"
    page = await rest_client.fetch_page(
        context, ListedPullRequest, address, query=query, cursor=cursor, per_page=per_page
    )
    return PullRequests(pull_requests=page.rows, **page.fields)


@tool(hints=READ_HINTS, scopes=[REPO])
async def get_pull_request(
    context: Context,
    owner: Owner,
    repo: Repo,
    pull_number: Number,
    include: Annotated[OptionalParameter[Literal["files", "reviews"]], Field(description="With a page of")] = None,
    per_page: PerPage = 30,
    cursor: CursorText = None,
) -> PullRequestDetail:
    """One pull request, with its patches or reviews if asked."""
    address = f"{rest_client.build_repository_path(owner, repo)}/pulls/{pull_number}"
    pull_request = rest_client.fetch_one(context, PullRequest, address)
    if include is None:
        return PullRequestDetail(pull_request=await pull_request)
    if include == "reviews":
        review_request = rest_client.fetch_page(context, Review, f"{address}/reviews", cursor=cursor, per_page=per_page)
        pull, page = await asyncio.gather(pull_request, review_request)
        return PullRequestDetail(pull_request=pull, reviews=fit_texts(page.rows, "body", MAX_BODY), **page.fields)
    file_request = rest_client.fetch_page(context, FilePatch, f"{address}/files", cursor=cursor, per_page=per_page)
    pull, page = await asyncio.gather(pull_request, file_request)
    return PullRequestDetail(pull_request=pull, files=fit_texts(page.rows, "patch"), **page.fields)


TOOLS = (list_pull_requests, get_pull_request)
