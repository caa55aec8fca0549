"""Threads of comments on lines with their resolution, and whether a pull request is a draft: GitHub has both in its
GraphQL API alone."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from modules.github.shared import graphql_client, rest_client
from modules.github.shared.parameters import REPO, Number, Owner, Repo
from modules.kit import Context, tool
from modules.kit.paging import BodyCursor, parse_cursor, read_page
from modules.kit.parameters import CHANGE_HINTS, READ_HINTS, CursorText, PerPage, drop_bounds
from modules.kit.results import (
    Count,
    CountedPage,
    Flag,
    Identifier,
    Line,
    Missable,
    Name,
    ResultModel,
    Text,
    Word,
    read_at,
    read_part,
)

MAX_BODY = 20_000
_THREADS = ("repository", "pullRequest", "reviewThreads")
PAGING = BodyCursor(
    size="first",
    parameter="after",
    next=graphql_client.build_place(*_THREADS, "pageInfo", "endCursor"),
    more=graphql_client.build_place(*_THREADS, "pageInfo", "hasNextPage"),
    total=graphql_client.build_place(*_THREADS, "totalCount"),
)
LIST_THREADS = """
query($owner: String!, $name: String!, $number: Int!, $first: Int!, $after: String, $comments: Int!) {
  repository(owner: $owner, name: $name) {
    pullRequest(number: $number) {
      reviewThreads(first: $first, after: $after) {
        totalCount
        pageInfo { endCursor hasNextPage }
        nodes {
          id isResolved isOutdated path line startLine diffSide
          resolvedBy { login }
          comments(first: $comments) {
            totalCount
            nodes { fullDatabaseId author { login } createdAt body }
          }
        }
      }
    }
  }
}
"""
RESOLVE = "mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { id isResolved } } }"
UNRESOLVE = "mutation($id: ID!) { unresolveReviewThread(input: {threadId: $id}) { thread { id isResolved } } }"
TO_DRAFT = (
    "mutation($id: ID!) { convertPullRequestToDraft(input: {pullRequestId: $id}) { pullRequest { number isDraft } } }"
)
TO_READY = (
    "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) "
    "{ pullRequest { number isDraft } } }"
)


def _to_number(value: Any) -> Any:
    """GitHub writes large numbers as text."""
    return int(value) if isinstance(value, str) and value.isdecimal() and value.isascii() else value


def _keep_left(side: Any) -> Any:
    return side if side == "LEFT" else ""


class ThreadComment(ResultModel):
    longest = {"body": MAX_BODY}  # noqa: RUF012
    markdown_fields = frozenset({"body"})

    id: Annotated[Missable[int], BeforeValidator(_to_number), read_at("fullDatabaseId")] = None
    user: Annotated[Word, read_at("author", "login")] = ""
    created_at: Annotated[Line, read_at("createdAt")]
    body: Text = ""
    truncated: Flag = False


class ReviewThread(ResultModel):
    """`side` LEFT: `line` is one of the old file. `comment_count` counts all comments, of which the first are here."""

    id: Identifier
    resolved: Annotated[Flag, read_at("isResolved")] = False
    resolved_by: Annotated[Word, read_at("resolvedBy", "login")] = ""
    outdated: Annotated[Flag, read_at("isOutdated")] = False
    path: Name
    line: Count = 0
    start_line: Annotated[Count, read_at("startLine")] = 0
    side: Annotated[Word, BeforeValidator(_keep_left), read_at("diffSide")] = ""
    comment_count: Annotated[Count, read_at("comments", "totalCount")] = 0
    comments: Annotated[list[ThreadComment], read_at("comments", "nodes")] = []  # noqa: RUF012


class ReviewThreads(CountedPage):
    threads: list[ReviewThread]


class ThreadState(ResultModel):
    id: Identifier
    resolved: Annotated[Missable[bool], read_at("isResolved")] = None


class DraftState(ResultModel):
    number: Missable[int] = None
    draft: Annotated[Missable[bool], read_at("isDraft")] = None


class _PullRequestId(ResultModel):
    node_id: str


@tool(hints=READ_HINTS, scopes=[REPO])
async def list_review_threads(
    context: Context,
    owner: Owner,
    repo: Repo,
    pull_number: Number,
    comments: Annotated[int, Field(ge=1, le=100, description="Of each thread", json_schema_extra=drop_bounds)] = 5,
    per_page: PerPage = 30,
    cursor: CursorText = None,
) -> ReviewThreads:
    """Threads of comments on lines of a pull request, and which are resolved."""
    name = f"{rest_client.build_repository_path(owner, repo, '/pulls/{}', pull_number)}#threads"
    asked = parse_cursor(cursor, PAGING, name, per_page)
    variables = {"owner": owner, "name": repo, "number": pull_number, "comments": comments, **asked.parameters}
    answer = await graphql_client.send_document(context, LIST_THREADS, variables, changes=False)
    page = await read_page(answer, asked, ReviewThread, graphql_client.build_place(*_THREADS, "nodes"))
    return ReviewThreads(threads=page.rows, **page.fields)


@tool(hints=CHANGE_HINTS, scopes=[REPO])
async def resolve_review_thread(
    context: Context,
    thread_id: Annotated[
        str, Field(description="The thread's id", pattern=r"^[A-Za-z0-9_=-]{4,200}$", json_schema_extra=drop_bounds)
    ],
    resolved: Annotated[bool, Field(description="False opens it again")] = True,
) -> ThreadState:
    """Resolve a thread of comments on lines."""
    document, field = (RESOLVE, "resolveReviewThread") if resolved else (UNRESOLVE, "unresolveReviewThread")
    missing = "no such thread, or the connected account may not see it"
    answer = await graphql_client.send_document(context, document, {"id": thread_id}, changes=True, missing=missing)
    return read_part(answer, ThreadState, graphql_client.find_data(answer, field, "thread"))


@tool(hints=CHANGE_HINTS, scopes=[REPO])
async def set_pull_request_draft(
    context: Context,
    owner: Owner,
    repo: Repo,
    pull_number: Number,
    draft: Annotated[bool, Field(description="False: ready for review")],
) -> DraftState:
    """Make a pull request a draft, or ready for review."""
    address = rest_client.build_repository_path(owner, repo, "/pulls/{}", pull_number)
    pull = await rest_client.fetch_one(context, _PullRequestId, address)
    document, field = (TO_DRAFT, "convertPullRequestToDraft") if draft else (TO_READY, "markPullRequestReadyForReview")
    answer = await graphql_client.send_document(context, document, {"id": pull.node_id}, changes=True)
    return read_part(answer, DraftState, graphql_client.find_data(answer, field, "pullRequest"))


TOOLS = (list_review_threads, resolve_review_thread, set_pull_request_draft)
