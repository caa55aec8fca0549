"""Issues and their comments."""

import asyncio
from typing import Annotated, Literal

from pydantic import Field

from modules.github.issue_comments import MAX_BODY, Comment
from modules.github.shared import rest_client
from modules.github.shared.parameters import REPO, Body, FullName, LoginName, LongText, Number, Owner, Repo
from modules.github.shared.result_models import Names
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
    drop_bounds,
    format_timestamp,
    limit_length,
)
from modules.kit.results import Count, Flag, Line, ListPage, Missable, ResultModel, Text, Url, Word, fit_texts, read_at

MAX_PAGES = 5
"""That one call asks for, where they hold nothing but pull requests."""

State = Literal["open", "closed"]
Labels = Annotated[
    OptionalParameter[Annotated[list[ShortText], limit_length(maximum=100)]], Field(description="Labels")
]
Assignees = Annotated[
    OptionalParameter[Annotated[list[LoginName], limit_length(maximum=10)]], Field(description="Logins")
]
MilestoneNumber = Annotated[OptionalParameter[Positive], Field(description="Number")]
NewMilestone = Annotated[
    OptionalParameter[Annotated[int, Field(ge=0, le=2**31 - 1, json_schema_extra=drop_bounds)]],
    Field(description="Number; 0 clears"),
]
MilestoneFilter = Annotated[str, Field(pattern=r"^([1-9][0-9]{0,9}|none|\*)$", json_schema_extra=drop_bounds)]


class ListedIssue(ResultModel):
    """`pull_request` marks a pull request, which GitHub counts as an issue too."""

    longest = {"body": 300}  # noqa: RUF012
    markdown_fields = frozenset({"body"})

    number: Missable[int] = None
    title: Line
    state: Line
    user: Annotated[Word, read_at("user", "login")] = ""
    labels: Names = ()
    assignees: Names = ()
    comments: Count = 0
    pull_request: Annotated[Flag, read_at("pull_request", "url")] = False
    updated_at: Line
    body: Text = ""
    truncated: Flag = False


class Issue(ListedIssue):
    longest = {"body": MAX_BODY}  # noqa: RUF012
    markdown_fields = frozenset({"body"})

    state_reason: Word = ""
    milestone: Annotated[Word, read_at("milestone", "title")] = ""
    created_at: Line
    html_url: Url


class Issues(ListPage):
    issues: list[ListedIssue]


class IssueDetail(ListPage):
    issue: Issue
    comments: Annotated[list[Comment], Field(exclude_if=lambda comments: not comments)] = []  # noqa: RUF012


class CreatedIssue(ResultModel):
    """The result that callers of this tool know from elsewhere."""

    issue_url: Annotated[Url, read_at("html_url")]
    issue_number: Annotated[Missable[int], read_at("number")] = None


class SavedIssue(ResultModel):
    number: Missable[int] = None
    state: Line
    html_url: Url


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
    mentioned: Annotated[OptionalParameter[LoginName], Field(description="Login")] = None,
    milestone: Annotated[OptionalParameter[MilestoneFilter], Field(description="Number, none or *")] = None,
    since: Annotated[Timestamp, Field(description="Updated from")] = None,
    sort: Annotated[Literal["created", "updated", "comments"], Field(description="Order")] = "created",
    direction: Annotated[Literal["desc", "asc"], Field(description="Direction")] = "desc",
    per_page: PerPage = 30,
    cursor: CursorText = None,
) -> Issues:
    """Issues of a repository. A page may have fewer than asked for: pull requests are left out."""
    query = {
        "state": state,
        "labels": ",".join(labels) if labels else None,
        "assignee": assignee,
        "creator": creator,
        "mentioned": mentioned,
        "milestone": milestone,
        "since": format_timestamp(since),
        "sort": sort,
        "direction": direction,
    }
    address = rest_client.build_repository_path(owner, repo) + "/issues"
    pages, unreadable = 0, 0
    while True:
        page = await rest_client.fetch_page(
            context, ListedIssue, address, query=query, cursor=cursor, per_page=per_page
        )
        pages, unreadable = pages + 1, unreadable + page.fields["unreadable"]
        issues = [row for row in page.rows if not row.pull_request]
        cursor = page.fields["nextCursor"]
        if issues or not cursor or pages >= MAX_PAGES:
            return Issues(issues=issues, **{**page.fields, "unreadable": unreadable})


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
    milestone: MilestoneNumber = None,
) -> SavedIssue:
    """Open an issue."""
    fields = {"title": title, "body": body, "labels": labels, "assignees": assignees, "milestone": milestone}
    address = rest_client.build_repository_path(owner, repo) + "/issues"
    return await rest_client.fetch_one(context, SavedIssue, address, method="POST", json=fields)


@tool(hints=ADD_HINTS, scopes=[REPO])
async def create_github_issue(
    context: Context,
    repo: Annotated[FullName, Field(description="owner/repo")],
    title: Annotated[Title, Field(description="Title")],
    body: Annotated[LongText, Field(description="Markdown")],
    labels: Labels = None,
) -> CreatedIssue:
    """Open an issue and return its URL."""
    owner, _, name = repo.partition("/")
    address = rest_client.build_repository_path(owner, name, "/issues")
    fields = {"title": title, "body": body, "labels": labels}
    return await rest_client.fetch_one(context, CreatedIssue, address, method="POST", json=fields)


@tool(hints=CHANGE_HINTS, scopes=[REPO], keywords="close, reopen, done")
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
    milestone: NewMilestone = None,
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
    address = _build_address(owner, repo, issue_number)
    nulls = ("milestone",) if milestone == 0 else ()
    return await rest_client.fetch_one(context, SavedIssue, address, method="PATCH", json=fields, nulls=nulls)


def _build_address(owner: str, repo: str, number: int) -> str:
    return f"{rest_client.build_repository_path(owner, repo)}/issues/{number}"


TOOLS = (list_issues, get_issue, create_issue, create_github_issue, update_issue)
