"""Making, changing and deleting comments."""

from typing import Annotated, Any

from pydantic import Field

from modules.confluence import rest_client
from modules.confluence.page_bodies import replace_body, write_body
from modules.confluence.parameters import (
    DELETE_COMMENTS,
    READ_COMMENTS,
    WRITE_COMMENTS,
    CommentId,
    Markdown,
    OptionalPage,
    VersionNumber,
)
from modules.confluence.results import RemovedConfluence, get_mapping, get_storage
from modules.kit import Context, ToolError, build_path, tool
from modules.kit.parameters import ADD_HINTS, CHANGE_HINTS, OptionalParameter
from modules.kit.results import Count, Identifier, ResultModel, read_at

COMMENTS = "/wiki/api/v2/footer-comments"
COMMENT = "/wiki/api/v2/footer-comments/{}"


class SavedConfluenceComment(ResultModel):
    id: Identifier
    version: Annotated[Count, read_at("version", "number")] = 0


@tool(hints=ADD_HINTS, scopes=[WRITE_COMMENTS])
async def add_comment(
    context: Context,
    text: Annotated[Markdown, Field(description="Markdown; [@user](user:ACCOUNTID)")],
    page: OptionalPage = None,
    reply_to: Annotated[OptionalParameter[CommentId], Field(description="Comment to reply to, instead of page")] = None,
) -> SavedConfluenceComment:
    """Comment below a page, or reply to a comment."""
    if (page is None) == (reply_to is None):
        raise ToolError("give either page or reply_to")
    body: dict[str, Any] = {"pageId": page} if page else {"parentCommentId": reply_to}
    body["body"] = await write_body(text)
    return await rest_client.fetch_one(context, SavedConfluenceComment, COMMENTS, method="POST", json=body)


@tool(hints=CHANGE_HINTS, scopes=[WRITE_COMMENTS, READ_COMMENTS])
async def update_comment(
    context: Context,
    comment: CommentId,
    text: Markdown,
    version: Annotated[OptionalParameter[VersionNumber], Field(description="Refuse unless it has this version")] = None,
) -> SavedConfluenceComment:
    """Replace the text of a comment."""
    address = build_path(COMMENT, comment)
    answer = await rest_client.send_request(context, "GET", address, query={"body-format": "storage"})
    current = get_mapping(answer.json())
    number = get_mapping(current.get("version")).get("number")
    if type(number) is not int:
        raise answer.build_unreadable_problem()
    if version not in (None, number):
        raise ToolError(f"the comment has version {number} now, not {version}: read it again. Nothing was changed")
    body = {"version": {"number": number + 1}, "body": await replace_body(get_storage(current) or "", text)}
    return await rest_client.fetch_one(context, SavedConfluenceComment, address, method="PUT", json=body)


@tool(hints=CHANGE_HINTS, scopes=[DELETE_COMMENTS])
async def delete_comment(context: Context, comment: CommentId) -> RemovedConfluence:
    """Delete a comment for good."""
    await rest_client.send_change(context, "DELETE", build_path(COMMENT, comment))
    return RemovedConfluence(id=comment)


TOOLS = (add_comment, update_comment, delete_comment)
