"""Changing and removing what was added to an issue: comments and logged work."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from modules.jira import rest_client
from modules.jira.comments import SavedJiraComment
from modules.jira.field_values import format_started
from modules.jira.parameters import WRITE_WORK, IssueKey, Markdown
from modules.jira.worklogs import SavedWorklog, WorkTime, read_time
from modules.kit import Context, ToolError, build_path, tool
from modules.kit.markup.adf_parsing import parse_adf_in_turns
from modules.kit.parameters import CHANGE_HINTS, OptionalParameter, Timestamp, drop_bounds

RecordId = Annotated[str, Field(pattern=r"^[0-9]{1,18}$", json_schema_extra=drop_bounds)]
CommentId = Annotated[RecordId, Field(description="Id of the comment")]
WorklogId = Annotated[RecordId, Field(description="Id of the work")]

_COMMENT = "/rest/api/3/issue/{}/comment/{}"
_WORKLOG = "/rest/api/3/issue/{}/worklog/{}"


@tool(hints=CHANGE_HINTS, scopes=[WRITE_WORK])
async def update_comment(
    context: Context,
    issue: IssueKey,
    comment_id: CommentId,
    text: Annotated[Markdown, Field(description="New text, Markdown")],
    notify: Annotated[bool, Field(description="Tell watchers by mail")] = True,
) -> SavedJiraComment:
    """Replace the text of a comment."""
    body = {"body": await parse_adf_in_turns(text)}
    query = None if notify else {"notifyUsers": False}
    address = build_path(_COMMENT, issue, comment_id)
    return (await rest_client.send_request(context, "PUT", address, json=body, query=query)).read(SavedJiraComment)


@tool(hints=CHANGE_HINTS, scopes=[WRITE_WORK])
async def delete_comment(context: Context, issue: IssueKey, comment_id: CommentId) -> SavedJiraComment:
    """Delete a comment for good."""
    await rest_client.send_request(context, "DELETE", build_path(_COMMENT, issue, comment_id))
    return SavedJiraComment(id=comment_id)


@tool(hints=CHANGE_HINTS, scopes=[WRITE_WORK])
async def update_worklog(
    context: Context,
    issue: IssueKey,
    worklog_id: WorklogId,
    time: Annotated[OptionalParameter[WorkTime], Field(description="Such as 1h 30m, 2d, 1.5h")] = None,
    started: Annotated[Timestamp, Field(description="With zone")] = None,
    text: Annotated[OptionalParameter[Markdown], Field(description="What was done, Markdown")] = None,
) -> SavedWorklog:
    """Change logged work. The remaining estimate follows."""
    body: dict[str, Any] = read_time(time) if time else {}
    if isinstance(started, datetime):
        body["started"] = format_started(started)
    if text:
        body["comment"] = await parse_adf_in_turns(text)
    if not body:
        raise ToolError("there is nothing to change: give at least one of time, started, text")
    address = build_path(_WORKLOG, issue, worklog_id)
    return (await rest_client.send_request(context, "PUT", address, json=body)).read(SavedWorklog)


@tool(hints=CHANGE_HINTS, scopes=[WRITE_WORK])
async def delete_worklog(context: Context, issue: IssueKey, worklog_id: WorklogId) -> SavedWorklog:
    """Delete logged work. The remaining estimate grows by it."""
    await rest_client.send_request(context, "DELETE", build_path(_WORKLOG, issue, worklog_id))
    return SavedWorklog(id=worklog_id)


TOOLS = (update_comment, delete_comment, update_worklog, delete_worklog)
