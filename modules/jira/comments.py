"""Comments on issues."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from modules.jira import rest_client
from modules.jira.field_values import Moment, Person, RemovedFromIssue, get_mapping
from modules.jira.parameters import INTERNAL_NOTE, READ_WORK, WRITE_WORK, IssueKey, Markdown, PartId
from modules.kit import Context, ToolError, build_path, run_in_turns, tool
from modules.kit.markup.adf_formatting import format_adf
from modules.kit.markup.adf_parsing import parse_adf
from modules.kit.parameters import (
    ADD_HINTS,
    CHANGE_HINTS,
    READ_HINTS,
    CursorText,
    OptionalParameter,
    PerPage,
    ShortText,
)
from modules.kit.results import CountedPage, Flag, Identifier, ResultModel, Word, fit_texts, read_at


def format_visibility(value: Any) -> str:
    """Format who may see a comment, as ``role Developers``; "" for everybody."""
    found = get_mapping(value)
    return f"{found.get('type')} {found.get('value') or found.get('identifier')}" if found else ""


class JiraComment(ResultModel):
    """`visible_to` is missing where everybody who sees the issue sees the comment, but customers where it is
    `internal`."""

    id: Identifier
    author: Person = ""
    created: Moment = ""
    updated: Moment = ""
    visible_to: Annotated[Word, BeforeValidator(format_visibility), read_at("visibility")] = ""
    internal: Annotated[Flag, BeforeValidator(lambda value: value is False), read_at("jsdPublic")] = False
    text: Annotated[str, BeforeValidator(format_adf), read_at("body")] = ""
    truncated: Flag = False

    @field_validator("updated")
    @classmethod
    def _leave_out_the_same(cls, updated: str, info: ValidationInfo) -> str:
        return "" if updated == info.data.get("created") else updated


class JiraComments(CountedPage):
    """`truncated` comments are whole on a smaller page."""

    comments: list[JiraComment]


CommentId = Annotated[PartId, Field(description="Comment")]


class SavedJiraComment(ResultModel):
    id: Identifier


@tool(hints=READ_HINTS, scopes=[READ_WORK])
async def list_comments(
    context: Context,
    issue: IssueKey,
    newest_first: Annotated[bool, Field(description="Newest first")] = False,
    per_page: PerPage = 30,
    cursor: CursorText = None,
) -> JiraComments:
    """Comments on an issue, as Markdown."""
    order = "-created" if newest_first else "created"
    address = build_path("/rest/api/3/issue/{}/comment", issue)
    page = await rest_client.fetch_page(
        context, JiraComment, address, rows="comments", cursor=cursor, per_page=per_page, query={"orderBy": order}
    )
    return JiraComments(comments=fit_texts(page.rows, "text"), **page.fields)


@tool(hints=ADD_HINTS, scopes=[WRITE_WORK])
async def add_comment(
    context: Context,
    issue: IssueKey,
    text: Annotated[Markdown, Field(description="Markdown; [@](mention:ACCOUNTID)")],
    visible_to_role: Annotated[OptionalParameter[ShortText], Field(description="Only this role")] = None,
    visible_to_group: Annotated[OptionalParameter[ShortText], Field(description="Only this group")] = None,
    internal: Annotated[bool, Field(description="Not for customers")] = False,
) -> SavedJiraComment:
    """Comment on an issue."""
    if visible_to_role and visible_to_group:
        raise ToolError("give either visible_to_role or visible_to_group")
    body: dict[str, Any] = {"body": await run_in_turns(parse_adf, text, size=len(text))}
    if visible_to_role or visible_to_group:
        kind = "role" if visible_to_role else "group"
        body["visibility"] = {"type": kind, "value": visible_to_role or visible_to_group}
    if internal:
        body["properties"] = INTERNAL_NOTE
    address = build_path("/rest/api/3/issue/{}/comment", issue)
    return await rest_client.fetch_one(context, SavedJiraComment, address, method="POST", json=body)


@tool(hints=CHANGE_HINTS, scopes=[READ_WORK, WRITE_WORK])
async def update_comment(
    context: Context,
    issue: IssueKey,
    comment_id: CommentId,
    text: Annotated[Markdown, Field(description="New Markdown")],
    notify: Annotated[bool, Field(description="Tell watchers by mail")] = True,
) -> SavedJiraComment:
    """Change the text of a comment; who may see it stays."""
    body: dict[str, Any] = {"body": await run_in_turns(parse_adf, text, size=len(text))}
    address = build_path("/rest/api/3/issue/{}/comment/{}", issue, comment_id)
    before = await rest_client.fetch_before(context, address)
    if before.get("visibility"):  # left out, it may become visible to everybody
        body["visibility"] = before["visibility"]
    query = None if notify else {"notifyUsers": False}
    return await rest_client.fetch_one(context, SavedJiraComment, address, method="PUT", json=body, query=query)


@tool(hints=CHANGE_HINTS, scopes=[WRITE_WORK])
async def delete_comment(context: Context, issue: IssueKey, comment_id: CommentId) -> RemovedFromIssue:
    """Delete a comment for good."""
    address = build_path("/rest/api/3/issue/{}/comment/{}", issue, comment_id)
    await rest_client.send_change(context, "DELETE", address)
    return RemovedFromIssue(id=comment_id)


TOOLS = (list_comments, add_comment, update_comment, delete_comment)
