"""Sub-issues: issues that are parts of another one."""

from typing import Annotated

from pydantic import Field

from modules.github.search import FoundIssue
from modules.github.shared import rest_client
from modules.github.shared.parameters import ENSURE_HINTS, REPO, Number, Owner, Repo
from modules.github.shared.result_models import Confirmation
from modules.kit import Context, tool
from modules.kit.parameters import CHANGE_HINTS, READ_HINTS, CursorText, OptionalParameter, PerPage
from modules.kit.results import ListPage, ResultModel

Parent = Annotated[Number, Field(description="The parent")]
Part = Annotated[Number, Field(description="The part's number")]
PartRepo = Annotated[OptionalParameter[Repo], Field(description="Its repository, if another")]


class SubIssues(ListPage):
    sub_issues: list[FoundIssue]


class _IssueId(ResultModel):
    id: int


@tool(hints=READ_HINTS, scopes=[REPO])
async def list_sub_issues(
    context: Context,
    owner: Owner,
    repo: Repo,
    issue_number: Parent,
    per_page: PerPage = 30,
    cursor: CursorText = None,
) -> SubIssues:
    """The issues that an issue consists of."""
    address = rest_client.build_repository_path(owner, repo, "/issues/{}/sub_issues", issue_number)
    page = await rest_client.fetch_page(context, FoundIssue, address, cursor=cursor, per_page=per_page)
    return SubIssues(sub_issues=page.rows, **page.fields)


@tool(hints=ENSURE_HINTS, scopes=[REPO])
async def add_sub_issue(
    context: Context,
    owner: Owner,
    repo: Repo,
    issue_number: Parent,
    sub_issue_number: Part,
    sub_repo: PartRepo = None,
) -> Confirmation:
    """Make an issue a part of another one."""
    address = rest_client.build_repository_path(owner, repo, "/issues/{}/sub_issues", issue_number)
    body = {"sub_issue_id": await _fetch_id(context, owner, sub_repo or repo, sub_issue_number)}
    # The answer is an issue; which one of the two is not documented.
    await rest_client.fetch_one(context, _IssueId, address, method="POST", json=body)
    return Confirmation()


@tool(hints=CHANGE_HINTS, scopes=[REPO])
async def remove_sub_issue(
    context: Context,
    owner: Owner,
    repo: Repo,
    issue_number: Parent,
    sub_issue_number: Part,
    sub_repo: PartRepo = None,
) -> Confirmation:
    """Make a part an issue of its own again; it is not closed."""
    address = rest_client.build_repository_path(owner, repo, "/issues/{}/sub_issue", issue_number)
    body = {"sub_issue_id": await _fetch_id(context, owner, sub_repo or repo, sub_issue_number)}
    missing = "no such issue, or it is no part of that one"
    await rest_client.fetch_one(context, _IssueId, address, method="DELETE", json=body, missing=missing)
    return Confirmation()


async def _fetch_id(context: Context, owner: str, repo: str, number: int) -> int:
    """Fetch the id that GitHub asks for; people know the number only."""
    address = rest_client.build_repository_path(owner, repo, "/issues/{}", number)
    missing = f"sub_issue_number: there is no issue {number}, or the connected account may not see it"
    return (await rest_client.fetch_one(context, _IssueId, address, missing=missing)).id


TOOLS = (list_sub_issues, add_sub_issue, remove_sub_issue)
