"""Comments on issues and pull requests."""

from typing import Annotated

from pydantic import Field

from modules.github.shared import rest_client
from modules.github.shared.parameters import REPO, CommentBody, CommentId, Number, Owner, Repo
from modules.github.shared.result_models import Confirmation
from modules.kit import Context, tool
from modules.kit.parameters import ADD_HINTS, CHANGE_HINTS, READ_HINTS
from modules.kit.results import Flag, Line, Missable, ResultModel, Text, Url, Word, read_at

MAX_BODY = 65_536
"""Characters of the body of an issue, a pull request or a comment: GitHub's own limit."""
NO_COMMENT = "no such comment; it may be deleted, or be one on a pull request's lines"


class Comment(ResultModel):
    longest = {"body": 20_000}  # noqa: RUF012
    markdown_fields = frozenset({"body"})

    id: Missable[int] = None
    user: Annotated[Word, read_at("user", "login")] = ""
    created_at: Line
    body: Text = ""
    truncated: Flag = False


class WholeComment(Comment):
    longest = {"body": MAX_BODY}  # noqa: RUF012
    markdown_fields = frozenset({"body"})

    updated_at: Line
    html_url: Url


class SavedComment(ResultModel):
    id: Missable[int] = None
    html_url: Url


@tool(hints=ADD_HINTS, scopes=[REPO])
async def add_issue_comment(
    context: Context,
    owner: Owner,
    repo: Repo,
    issue_number: Annotated[Number, Field(description="Issue or pull request")],
    body: CommentBody,
) -> SavedComment:
    """Comment on an issue or a pull request."""
    address = rest_client.build_repository_path(owner, repo, "/issues/{}/comments", issue_number)
    return await rest_client.fetch_one(context, SavedComment, address, method="POST", json={"body": body})


@tool(hints=READ_HINTS, scopes=[REPO])
async def get_issue_comment(context: Context, owner: Owner, repo: Repo, comment_id: CommentId) -> WholeComment:
    """One comment, whole."""
    address = rest_client.build_repository_path(owner, repo, "/issues/comments/{}", comment_id)
    return await rest_client.fetch_one(context, WholeComment, address, missing=NO_COMMENT)


@tool(hints=CHANGE_HINTS, scopes=[REPO])
async def update_issue_comment(
    context: Context, owner: Owner, repo: Repo, comment_id: CommentId, body: CommentBody
) -> SavedComment:
    """Replace the text of a comment."""
    address = rest_client.build_repository_path(owner, repo, "/issues/comments/{}", comment_id)
    return await rest_client.fetch_one(
        context, SavedComment, address, method="PATCH", json={"body": body}, missing=NO_COMMENT
    )


@tool(hints=CHANGE_HINTS, scopes=[REPO])
async def delete_issue_comment(context: Context, owner: Owner, repo: Repo, comment_id: CommentId) -> Confirmation:
    """Delete a comment."""
    address = rest_client.build_repository_path(owner, repo, "/issues/comments/{}", comment_id)
    return await rest_client.fetch_confirmation(context, "DELETE", address, missing=NO_COMMENT)


TOOLS = (add_issue_comment, get_issue_comment, update_issue_comment, delete_issue_comment)
