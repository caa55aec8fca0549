"""Comments on pages and blocks, and the people of the workspace."""

from collections.abc import Mapping
from typing import Annotated, Any, cast

from pydantic import Field, model_validator

from modules.kit import Context, ToolError, build_path, tool
from modules.kit.parameters import ADD_HINTS, CHANGE_HINTS, READ_HINTS, CursorText, OptionalParameter, PerPage
from modules.kit.results import (
    PAGE_CHARACTERS,
    Count,
    Flag,
    Identifier,
    ListPage,
    OptionalIdentifier,
    ResultModel,
    Word,
    fit_texts,
)
from modules.notion import rest_client
from modules.notion.parameters import INSERT_COMMENTS, READ_COMMENTS, READ_USERS, BlockId, Markdown, NotionId
from modules.notion.results import Parent, Person
from modules.notion.rich_text import format_rich_text, parse_rich_text

CommentId = Annotated[NotionId, Field(description="Comment")]


class NotionComment(ResultModel):
    """A comment; those of one discussion are a question and its answers. A list has no `parent` that was asked for."""

    id: Identifier
    discussion_id: OptionalIdentifier = ""
    parent: Parent = ""
    created_by: Person = ""
    created_time: Word = ""
    text: str
    truncated: Flag = False

    @model_validator(mode="before")
    @classmethod
    def _format(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        found = cast("dict[str, Any]", raw)
        text = format_rich_text(found.get("rich_text") or ())
        return {**found, "created_by": _name_author(found), "text": text, "truncated": False}


def _name_author(comment: Mapping[str, Any]) -> Any:
    """The author with the name that Notion shows at the comment: of a person it gives the id alone."""
    author, shown = comment.get("created_by"), comment.get("display_name")
    if not isinstance(author, Mapping) or not isinstance(shown, Mapping):
        return cast("Any", author)
    known = cast("Mapping[str, Any]", author)
    return {**known, "name": known.get("name") or cast("Mapping[str, Any]", shown).get("resolved_name")}


class OneNotionComment(NotionComment):
    """`next_offset` leads to the rest of a long one."""

    next_offset: Count = 0


class Comments(ListPage):
    """What is `truncated` can be read on, one comment at a time."""

    comments: list[NotionComment]


class SavedNotionComment(ResultModel):
    id: Identifier
    discussion_id: OptionalIdentifier = ""


class NotionUser(ResultModel):
    id: Identifier
    name: Word = ""
    type: Word = ""
    email: Word = ""

    @model_validator(mode="before")
    @classmethod
    def _find_email(cls, raw: Any) -> Any:
        person = cast("Any", raw).get("person") if isinstance(raw, dict) else None
        return {**raw, "email": person.get("email")} if isinstance(person, dict) else raw  # pyright: ignore


class Users(ListPage):
    users: list[NotionUser]


def _drop_parent(comment: NotionComment, asked: str) -> NotionComment:
    """A comment without the id of what was asked for, which stood in each."""
    identity = comment.parent.rpartition(" ")[2].replace("-", "")
    return comment.model_copy(update={"parent": ""}) if identity == asked.replace("-", "").lower() else comment


@tool(hints=READ_HINTS, scopes=[READ_COMMENTS])
async def list_comments(
    context: Context, block_id: BlockId, per_page: PerPage = 50, cursor: CursorText = None
) -> Comments:
    """Open comments on a page or block."""
    page = await rest_client.fetch_list(
        context, NotionComment, "/v1/comments", query={"block_id": block_id}, cursor=cursor, per_page=per_page
    )
    fitting = fit_texts([_drop_parent(one, block_id) for one in page.rows], "text")
    return Comments(comments=fitting, **page.fields)


@tool(hints=READ_HINTS, scopes=[READ_COMMENTS])
async def get_comment(
    context: Context,
    comment_id: CommentId,
    offset: Annotated[int, Field(ge=0, le=10**7, description="Last next_offset: goes on in the text")] = 0,
) -> OneNotionComment:
    """One comment."""
    address = build_path("/v1/comments/{}", comment_id)
    found = await rest_client.fetch_one(context, OneNotionComment, address)
    end = offset + PAGE_CHARACTERS
    update = {"text": found.text[offset:end], "next_offset": end if end < len(found.text) else 0}
    return found.model_copy(update=update)


@tool(hints=ADD_HINTS, scopes=[INSERT_COMMENTS])
async def create_comment(
    context: Context,
    text: Annotated[Markdown, Field(description="Markdown of one paragraph")],
    page_id: Annotated[OptionalParameter[NotionId], Field(description="On a page")] = None,
    block_id: Annotated[OptionalParameter[NotionId], Field(description="On a block")] = None,
    discussion_id: Annotated[OptionalParameter[NotionId], Field(description="As an answer")] = None,
) -> SavedNotionComment:
    """Comment on a page or a block, or answer in a discussion."""
    if sum(one is not None for one in (page_id, block_id, discussion_id)) != 1:
        raise ToolError("give exactly one of page_id, block_id and discussion_id")
    body: dict[str, Any] = {"rich_text": parse_rich_text(text)}
    if discussion_id:
        body["discussion_id"] = discussion_id
    else:
        body["parent"] = {"page_id": page_id} if page_id else {"block_id": block_id}
    return await rest_client.fetch_one(context, SavedNotionComment, "/v1/comments", method="POST", json=body)


@tool(hints=CHANGE_HINTS, scopes=[INSERT_COMMENTS])
async def update_comment(
    context: Context, comment_id: CommentId, text: Annotated[Markdown, Field(description="New text")]
) -> SavedNotionComment:
    """Replace the text of a comment of one's own."""
    address = build_path("/v1/comments/{}", comment_id)
    body = {"rich_text": parse_rich_text(text)}
    return await rest_client.fetch_one(context, SavedNotionComment, address, method="PATCH", json=body)


@tool(hints=CHANGE_HINTS, scopes=[INSERT_COMMENTS])
async def delete_comment(context: Context, comment_id: CommentId) -> SavedNotionComment:
    """Delete a comment of one's own."""
    return await rest_client.fetch_one(
        context, SavedNotionComment, build_path("/v1/comments/{}", comment_id), method="DELETE"
    )


@tool(hints=READ_HINTS, scopes=[READ_USERS])
async def list_users(context: Context, per_page: PerPage = 100, cursor: CursorText = None) -> Users:
    """People and connections of the workspace, with their ids."""
    page = await rest_client.fetch_list(context, NotionUser, "/v1/users", cursor=cursor, per_page=per_page)
    return Users(users=page.rows, **page.fields)


@tool(hints=READ_HINTS, scopes=[READ_USERS])
async def get_self(context: Context) -> NotionUser:
    """The connection that these tools use."""
    return await rest_client.fetch_one(context, NotionUser, "/v1/users/me")


TOOLS = (list_comments, get_comment, create_comment, update_comment, delete_comment, list_users, get_self)
