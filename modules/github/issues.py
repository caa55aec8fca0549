"""Issues and their comments."""

import asyncio
from typing import Annotated, Literal

from pydantic import Field

from modules.github import rest_client
from modules.github.parameters import REPO, Body, LoginName, Number, Owner, Repo
from modules.github.result_models import Names
from modules.kit import Context, tool
from modules.kit.parameters import (
    ADD_HINTS,
    CHANGE_HINTS,
    READ_HINTS,
    CursorText,
    OptionalParameter,
    PerPage,
    Positive,
    ShortText,
    Timestamp,
    Title,
    format_timestamp,
    limit_length,
)
from modules.kit.results import Count, Flag, Line, ListPage, Missable, ResultModel, Text, Word, fit_texts, read_at

State = Literal["open", "closed"]
Labels = Annotated[
    OptionalParameter[Annotated[list[ShortText], limit_length(maximum=100)]], Field(description="Labels")
]
Assignees = Annotated[
    OptionalParameter[Annotated[list[LoginName], limit_length(maximum=10)]], Field(description="Logins")
]
Milestone = Annotated[OptionalParameter[Positive], Field(description="Number")]


class ListedIssue(ResultModel):
    """`pull_request` marks a pull request: GitHub counts those as issues too."""

    longest = {"body": 300}  # noqa: RUF012
    markdown_fields = frozenset({"body"})

    number: Missable[int] = None
    title: Line
    state: Line
    user: Annotated[Word, read_at("user", "login")] = ""
    labels: Names = ()
    assignees: Names = ()
    comments: Count = 0
    pull_request: Flag = False
    updated_at: Line
    body: Text = ""
    truncated: Flag = False


class Issue(ListedIssue):
    longest = {"body": 20_000}  # noqa: RUF012
    markdown_fields = frozenset({"body"})

    state_reason: Word = ""
    milestone: Annotated[Word, read_at("milestone", "title")] = ""
    created_at: Line
    html_url: Line


class Comment(ResultModel):
    longest = {"body": 20_000}  # noqa: RUF012
    markdown_fields = frozenset({"body"})

    id: Missable[int] = None
    user: Annotated[Word, read_at("user", "login")] = ""
    created_at: Line
    body: Text = ""
    truncated: Flag = False


class Issues(ListPage):
    issues: list[ListedIssue]


class IssueDetail(ListPage):
    issue: Issue
    comments: Annotated[list[Comment], Field(exclude_if=lambda comments: not comments)] = []  # noqa: RUF012


class SavedIssue(ResultModel):
    number: Missable[int] = None
    state: Line
    html_url: Line


class SavedComment(ResultModel):
    id: Missable[int] = None
    html_url: Line


@tool(hints=READ_HINTS, scopes=[REPO])
async def list_issues(
    context: Context,
    owner: Owner,
    repo: Repo,
    state: Annotated[Literal["open", "closed", "all"], Field(description="State")] = "open",
    labels: Annotated[
        OptionalParameter[Annotated[list[ShortText], limit_length(maximum=20)]], Field(description="All of these")
    ] = None,
    assignee: Annotated[OptionalParameter[ShortText], Field(description="Login, none or *")] = None,
    creator: Annotated[OptionalParameter[LoginName], Field(description="Login")] = None,
    since: Annotated[Timestamp, Field(description="Updated from")] = None,
    sort: Annotated[Literal["created", "updated", "comments"], Field(description="Order")] = "created",
    per_page: PerPage = 30,
    cursor: CursorText = None,
) -> Issues:
    """Issues of a repository, pull requests among them."""
    query = {
        "state": state,
        "labels": ",".join(labels) if labels else None,
        "assignee": assignee,
        "creator": creator,
        "since": format_timestamp(since),
        "sort": sort,
    }
    address = rest_client.build_repository_path(owner, repo) + "/issues"
    page = await rest_client.fetch_page(context, ListedIssue, address, query=query, cursor=cursor, per_page=per_page)
    return Issues(issues=page.rows, **page.fields)


@tool(hints=READ_HINTS, scopes=[REPO])
async def get_issue(
    context: Context,
    owner: Owner,
    repo: Repo,
    issue_number: Number,
    comments: Annotated[bool, Field(description="With a page of comments")] = False,
    per_page: PerPage = 30,
    cursor: CursorText = None,
) -> IssueDetail:
    """One issue."""
    address = _build_address(owner, repo, issue_number)
    issue_request = rest_client.fetch_one(context, Issue, address)
    if not comments:
        return IssueDetail(issue=await issue_request)
    page_request = rest_client.fetch_page(context, Comment, f"{address}/comments", cursor=cursor, per_page=per_page)
    issue, page = await asyncio.gather(issue_request, page_request)
    return IssueDetail(issue=issue, comments=fit_texts(page.rows, "body"), **page.fields)


@tool(hints=ADD_HINTS, scopes=[REPO])
async def create_issue(
    context: Context,
    owner: Owner,
    repo: Repo,
    title: Annotated[Title, Field(description="Title")],
    body: Body = None,
    labels: Labels = None,
    assignees: Assignees = None,
    milestone: Milestone = None,
) -> SavedIssue:
    """Open an issue."""
    fields = {"title": title, "body": body, "labels": labels, "assignees": assignees, "milestone": milestone}
    address = rest_client.build_repository_path(owner, repo) + "/issues"
    return await rest_client.fetch_one(context, SavedIssue, address, method="POST", json=fields)


@tool(hints=CHANGE_HINTS, scopes=[REPO])
async def update_issue(
    context: Context,
    owner: Owner,
    repo: Repo,
    issue_number: Number,
    title: Annotated[OptionalParameter[Title], Field(description="Title")] = None,
    body: Body = None,
    state: Annotated[OptionalParameter[State], Field(description="State")] = None,
    state_reason: Annotated[
        OptionalParameter[Literal["completed", "not_planned", "duplicate", "reopened"]], Field(description="Why")
    ] = None,
    labels: Labels = None,
    assignees: Assignees = None,
    milestone: Milestone = None,
) -> SavedIssue:
    """Change an issue: only what is given. Lists are replaced whole."""
    fields = {
        "title": title,
        "body": body,
        "state": state,
        "state_reason": state_reason,
        "labels": labels,
        "assignees": assignees,
        "milestone": milestone,
    }
    rest_client.require_change(fields)
    return await rest_client.fetch_one(
        context, SavedIssue, _build_address(owner, repo, issue_number), method="PATCH", json=fields
    )


@tool(hints=ADD_HINTS, scopes=[REPO])
async def add_issue_comment(
    context: Context,
    owner: Owner,
    repo: Repo,
    issue_number: Annotated[Number, Field(description="Issue or pull request")],
    body: Annotated[str, limit_length(1, 65_536), Field(description="Markdown")],
) -> SavedComment:
    """Comment on an issue or a pull request."""
    address = f"{_build_address(owner, repo, issue_number)}/comments"
    return await rest_client.fetch_one(context, SavedComment, address, method="POST", json={"body": body})


def _build_address(owner: str, repo: str, number: int) -> str:
    return f"{rest_client.build_repository_path(owner, repo)}/issues/{number}"


TOOLS = (list_issues, get_issue, create_issue, update_issue, add_issue_comment)
