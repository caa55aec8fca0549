"""Reading comments below pages."""

from typing import Annotated, Any

from pydantic import Field, model_validator

from modules.confluence import rest_client
from modules.confluence.page_bodies import read_body
from modules.confluence.parameters import READ_COMMENTS, READ_USERS, CommentId, Offset, PageId
from modules.confluence.people import name_people
from modules.confluence.results import Moment, drop_usual, get_mapping, get_storage
from modules.kit import Context, build_path, tool
from modules.kit.parameters import READ_HINTS, CursorText, PerPage
from modules.kit.results import (
    Count,
    Flag,
    Identifier,
    ListPage,
    ResultModel,
    Text,
    Word,
    fit_texts,
    read_at,
    read_object,
)
from modules.kit.text_cleaning import clean_line

_REPLY = "Re: "
"""Begins the title of a comment; the page's follows."""
TEXT_CHARACTERS = 20_000
"""Characters of one comment that are shown at once."""


class ConfluenceComment(ResultModel):
    """`author` and `updated` are those of its last version."""

    id: Identifier
    author: Word = ""
    updated: Moment = ""
    version: Count = 0
    status: Word = ""
    page: Annotated[Word, read_at("pageId")] = ""
    reply_to: Annotated[Word, read_at("parentCommentId")] = ""
    text: Text = ""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        found = get_mapping(drop_usual(raw, status="current"))
        version = get_mapping(found.get("version"))
        return {
            **found,
            "author": version.get("authorId"),
            "updated": version.get("createdAt"),
            "version": version.get("number"),
            "text": get_storage(raw) or "",
        }


class ConfluenceCommentRow(ConfluenceComment):
    """`version` is left out where it is the first."""

    truncated: Flag = False


class OneConfluenceComment(ConfluenceComment):
    """`next_offset` leads to the rest of a long one."""

    next_offset: Count = 0

    @model_validator(mode="before")
    @classmethod
    def _name_page(cls, raw: Any) -> Any:
        """Put the page's title, which stands in the comment's, beside its id."""
        found = get_mapping(raw)
        title, page = clean_line(str(found.get("title") or "")), found.get("pageId")
        named = title.removeprefix(_REPLY)
        return {**found, "pageId": f"{named} ({page})"} if page and named and named != title else raw


class ConfluenceComments(ListPage):
    """What is `truncated` can be read on, one comment at a time."""

    comments: list[ConfluenceCommentRow]


@tool(hints=READ_HINTS, scopes=[READ_COMMENTS, READ_USERS])
async def list_comments(
    context: Context,
    page: PageId,
    newest_first: Annotated[bool, Field(description="Newest first")] = False,
    per_page: PerPage = 25,
    cursor: CursorText = None,
) -> ConfluenceComments:
    """Comments below a page, as Markdown; without replies and those within its text."""
    address = build_path("/wiki/api/v2/pages/{}/footer-comments", page)
    return await _list_comments(context, address, newest_first, per_page, cursor)


@tool(hints=READ_HINTS, scopes=[READ_COMMENTS, READ_USERS])
async def list_replies(
    context: Context, comment: CommentId, per_page: PerPage = 25, cursor: CursorText = None
) -> ConfluenceComments:
    """Replies to a comment, oldest first."""
    address = build_path("/wiki/api/v2/footer-comments/{}/children", comment)
    return await _list_comments(context, address, False, per_page, cursor)


async def _list_comments(
    context: Context, address: str, newest_first: bool, per_page: int, cursor: str | None
) -> ConfluenceComments:
    query = {"body-format": "storage", "sort": "-created-date" if newest_first else "created-date"}
    page = await rest_client.fetch_page(
        context, ConfluenceCommentRow, address, cursor=cursor, per_page=per_page, query=query
    )
    rows: list[ConfluenceCommentRow] = []
    for row in page.rows:
        text, _ = await read_body(row.text)
        is_cut = len(text) > TEXT_CHARACTERS
        # The list is of one page's comments or of replies to one: neither has to be told in each.
        update: dict[str, Any] = {"text": text[:TEXT_CHARACTERS], "truncated": is_cut, "page": "", "reply_to": ""}
        update["version"] = 0 if row.version == 1 else row.version
        rows.append(row.model_copy(update=update))
    comments = await name_people(context, fit_texts(rows, "text"), "author")
    return ConfluenceComments(comments=comments, **page.fields)


@tool(hints=READ_HINTS, scopes=[READ_COMMENTS, READ_USERS])
async def get_comment(context: Context, comment: CommentId, offset: Offset = 0) -> OneConfluenceComment:
    """One comment."""
    address = build_path("/wiki/api/v2/footer-comments/{}", comment)
    answer = await rest_client.send_request(context, "GET", address, query={"body-format": "storage"})
    found = read_object(answer, OneConfluenceComment)
    text, _ = await read_body(found.text)
    end = offset + TEXT_CHARACTERS
    update = {"text": text[offset:end], "next_offset": end if end < len(text) else 0}
    [named] = await name_people(context, [found.model_copy(update=update)], "author")
    return named


TOOLS = (list_comments, list_replies, get_comment)
