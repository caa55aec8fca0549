"""Reviews of pull requests: verdicts, comments on lines and their replies, and who is asked."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from modules.github.issue_comments import MAX_BODY, SavedComment
from modules.github.shared import rest_client
from modules.github.shared.parameters import (
    REPO,
    CommentBody,
    CommentId,
    FilePath,
    LoginName,
    LongText,
    Number,
    Owner,
    Repo,
    Sha,
)
from modules.github.shared.result_models import Confirmation, Names
from modules.kit import Context, ToolError, text_cleaning, tool
from modules.kit.parameters import (
    ADD_HINTS,
    CHANGE_HINTS,
    READ_HINTS,
    CursorText,
    OptionalParameter,
    PerPage,
    Positive,
    ShortText,
    limit_items,
    limit_length,
)
from modules.kit.results import (
    Count,
    Flag,
    Line,
    ListPage,
    Missable,
    Name,
    OptionalUrl,
    ResultModel,
    Text,
    Word,
    fit_texts,
    read_at,
)

Side = Literal["LEFT", "RIGHT"]
MAX_HUNK = 1_000
"""Characters of the lines before the one that a comment is on."""
NO_COMMENT = "no such comment on a pull request's lines; it may be deleted"


class ReviewComment(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    path: FilePath
    line: Positive
    body: Annotated[str, limit_length(1, 65_536)]
    start_line: OptionalParameter[Positive] = None
    side: OptionalParameter[Side] = None


class SavedReview(ResultModel):
    id: Missable[int] = None
    state: Line
    html_url: OptionalUrl = ""


def _cut_hunk(hunk: Any) -> Any:
    """Cut a hunk to its end, where the line is that a comment is on."""
    return text_cleaning.clean_text(hunk[-MAX_HUNK:]) if isinstance(hunk, str) else hunk


def _keep_only(word: str) -> BeforeValidator:
    return BeforeValidator(lambda value: word if value == word else "")


class LineComment(ResultModel):
    """`in_reply_to` is the id of the thread's first comment; `side` LEFT: `line` is one of the old file. A comment with
    neither `line` nor `subject_type` file is outdated: its line has changed."""

    longest = {"body": MAX_BODY}  # noqa: RUF012
    markdown_fields = frozenset({"body"})

    id: Missable[int] = None
    in_reply_to: Annotated[Count, read_at("in_reply_to_id")] = 0
    path: Name
    line: Count = 0
    start_line: Count = 0
    side: Annotated[Word, _keep_only("LEFT")] = ""
    subject_type: Annotated[Word, _keep_only("file")] = ""
    user: Annotated[Word, read_at("user", "login")] = ""
    created_at: Line
    diff_hunk: Annotated[Text, BeforeValidator(_cut_hunk)] = ""
    body: Text = ""
    truncated: Flag = False


class LineComments(ListPage):
    comments: list[LineComment]


class RequestedReviewers(ResultModel):
    """The pull request, and all who are asked now."""

    number: Missable[int] = None
    reviewers: Annotated[Names, read_at("requested_reviewers")] = ()
    team_reviewers: Annotated[Names, read_at("requested_teams")] = ()


@tool(hints=ADD_HINTS, scopes=[REPO])
async def create_pull_request_review(
    context: Context,
    owner: Owner,
    repo: Repo,
    pull_number: Number,
    event: Annotated[Literal["APPROVE", "REQUEST_CHANGES", "COMMENT"], Field(description="Verdict")],
    body: Annotated[OptionalParameter[LongText], Field(description="Markdown; optional with APPROVE")] = None,
    comments: Annotated[
        OptionalParameter[Annotated[list[ReviewComment], limit_items(maximum=50)]],
        Field(description="On lines; side LEFT is the old file"),
    ] = None,
    commit_id: Annotated[OptionalParameter[Sha], Field(description="Commit read")] = None,
) -> SavedReview:
    """Review a pull request."""
    if event != "APPROVE" and not body and not comments:
        raise ToolError(f"{event} needs a body or comments")
    fields = {
        "event": event,
        "body": body,
        "comments": [_build_comment(comment) for comment in comments] if comments else None,
        "commit_id": commit_id,
    }
    address = rest_client.build_repository_path(owner, repo, "/pulls/{}/reviews", pull_number)
    return await rest_client.fetch_one(context, SavedReview, address, method="POST", json=fields)


def _build_comment(comment: ReviewComment) -> dict[str, object]:
    if comment.start_line and comment.start_line >= comment.line:
        raise ToolError("comments: start_line has to be above line")
    given = comment.model_dump(exclude_none=True)
    # GitHub wants to know both ends' side where there are two.
    return (
        {**given, "side": comment.side or "RIGHT", "start_side": comment.side or "RIGHT"}
        if comment.start_line
        else given
    )


@tool(hints=READ_HINTS, scopes=[REPO])
async def list_review_comments(
    context: Context,
    owner: Owner,
    repo: Repo,
    pull_number: Number,
    hunks: Annotated[bool, Field(description="With the lines that they are about")] = False,
    per_page: PerPage = 30,
    cursor: CursorText = None,
) -> LineComments:
    """Comments on lines of a pull request, oldest first."""
    address = rest_client.build_repository_path(owner, repo, "/pulls/{}/comments", pull_number)
    page = await rest_client.fetch_page(context, LineComment, address, cursor=cursor, per_page=per_page)
    shown = [comment if hunks else comment.model_copy(update={"diff_hunk": ""}) for comment in page.rows]
    return LineComments(comments=fit_texts(shown, "body", MAX_BODY), **page.fields)


@tool(hints=ADD_HINTS, scopes=[REPO])
async def reply_to_review_comment(
    context: Context,
    owner: Owner,
    repo: Repo,
    pull_number: Number,
    comment_id: Annotated[CommentId, Field(description="The thread's first comment")],
    body: CommentBody,
) -> SavedComment:
    """Reply in a thread of comments on a line."""
    address = rest_client.build_repository_path(owner, repo, "/pulls/{}/comments/{}/replies", pull_number, comment_id)
    return await rest_client.fetch_one(
        context, SavedComment, address, method="POST", json={"body": body}, missing=NO_COMMENT
    )


@tool(hints=CHANGE_HINTS, scopes=[REPO])
async def update_review_comment(
    context: Context, owner: Owner, repo: Repo, comment_id: CommentId, body: CommentBody
) -> SavedComment:
    """Replace the text of a comment on a line."""
    address = rest_client.build_repository_path(owner, repo, "/pulls/comments/{}", comment_id)
    return await rest_client.fetch_one(
        context, SavedComment, address, method="PATCH", json={"body": body}, missing=NO_COMMENT
    )


@tool(hints=CHANGE_HINTS, scopes=[REPO])
async def delete_review_comment(context: Context, owner: Owner, repo: Repo, comment_id: CommentId) -> Confirmation:
    """Delete a comment on a line."""
    address = rest_client.build_repository_path(owner, repo, "/pulls/comments/{}", comment_id)
    return await rest_client.fetch_confirmation(context, "DELETE", address, missing=NO_COMMENT)


Reviewers = OptionalParameter[Annotated[list[LoginName], limit_length(1, 15)]]
TeamReviewers = OptionalParameter[Annotated[list[ShortText], limit_length(1, 15)]]


@tool(hints=CHANGE_HINTS, scopes=[REPO])
async def request_reviewers(
    context: Context,
    owner: Owner,
    repo: Repo,
    pull_number: Number,
    reviewers: Annotated[Reviewers, Field(description="Logins")] = None,
    team_reviewers: Annotated[TeamReviewers, Field(description="Slugs of teams")] = None,
    remove: Annotated[bool, Field(description="Take the request back")] = False,
) -> RequestedReviewers:
    """Ask people or teams to review a pull request."""
    fields = {"reviewers": reviewers, "team_reviewers": team_reviewers}
    rest_client.require_change(fields)
    if remove:
        fields["reviewers"] = reviewers or []  # GitHub demands this one here
    address = rest_client.build_repository_path(owner, repo, "/pulls/{}/requested_reviewers", pull_number)
    method = "DELETE" if remove else "POST"
    return await rest_client.fetch_one(context, RequestedReviewers, address, method=method, json=fields)


TOOLS = (
    create_pull_request_review,
    list_review_comments,
    reply_to_review_comment,
    update_review_comment,
    delete_review_comment,
    request_reviewers,
)
