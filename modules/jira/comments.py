"""Comments on issues."""

from collections.abc import Mapping
from typing import Annotated, Any, cast

from pydantic import Field, model_validator

from modules.jira import rest_client
from modules.jira.field_values import Moment, Person
from modules.jira.parameters import READ_WORK, WRITE_WORK, IssueKey, Markdown
from modules.kit import Context, ToolError, build_path, tool
from modules.kit.markup.adf_formatting import format_adf
from modules.kit.markup.adf_parsing import parse_adf_in_turns
from modules.kit.parameters import ADD_HINTS, READ_HINTS, CursorText, OptionalParameter, PerPage, ShortText
from modules.kit.results import Count, Flag, Line, ResultModel, ResultPage, Word, fit_texts


def format_visibility(value: Any) -> Any:
    """Format who may see a comment, as ``role Developers``."""
    if not isinstance(value, Mapping):
        return ""
    found = cast("Mapping[str, Any]", value)
    return f"{found.get('type')} {found.get('value') or found.get('identifier')}"


class JiraComment(ResultModel):
    """`visible_to` is missing where everybody who sees the issue sees the comment, but customers where it is
    `internal`."""

    id: Line
    author: Person = ""
    created: Moment = ""
    updated: Moment = ""
    visible_to: Word = ""
    internal: Flag = False
    text: str
    truncated: Flag = False

    @model_validator(mode="before")
    @classmethod
    def _read(cls, raw: Any) -> Any:
        if not isinstance(raw, dict):
            return raw
        found = cast("dict[str, Any]", raw)
        updated = found.get("updated") if found.get("updated") != found.get("created") else ""
        more = {"visible_to": format_visibility(found.get("visibility")), "text": format_adf(found.get("body"))}
        more["internal"] = found.get("jsdPublic") is False
        return {**found, "updated": updated, **more}


class JiraComments(ResultPage):
    """`truncated` comments are whole on a smaller page."""

    comments: list[JiraComment]
    total: Count = 0


class SavedJiraComment(ResultModel):
    id: Line


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
    listed = await rest_client.fetch_page(
        context, address, rows="comments", cursor=cursor, per_page=per_page, query={"orderBy": order}
    )
    comments = fit_texts(await listed.read(JiraComment), "text")
    return JiraComments(comments=comments, nextCursor=listed.next, total=listed.total)


@tool(hints=ADD_HINTS, scopes=[WRITE_WORK])
async def add_comment(
    context: Context,
    issue: IssueKey,
    text: Annotated[Markdown, Field(description="Markdown; [@](mention:ACCOUNTID)")],
    visible_to_role: Annotated[OptionalParameter[ShortText], Field(description="Only this project role")] = None,
    visible_to_group: Annotated[OptionalParameter[ShortText], Field(description="Only this group")] = None,
    internal: Annotated[bool, Field(description="Service project: hide from customers")] = False,
) -> SavedJiraComment:
    """Comment on an issue."""
    if visible_to_role and visible_to_group:
        raise ToolError("give either visible_to_role or visible_to_group")
    body: dict[str, Any] = {"body": await parse_adf_in_turns(text)}
    if visible_to_role or visible_to_group:
        kind = "role" if visible_to_role else "group"
        body["visibility"] = {"type": kind, "value": visible_to_role or visible_to_group}
    if internal:
        # Jira Service Management's mark of an internal note (the description has no more of it than `properties`): a
        # role hides nothing in its portal (https://github.com/atlassian/atlassian-mcp-server/issues/139).
        body["properties"] = [{"key": "sd.public.comment", "value": {"internal": True}}]
    address = build_path("/rest/api/3/issue/{}/comment", issue)
    return (await rest_client.send_request(context, "POST", address, json=body)).read(SavedJiraComment)


TOOLS = (list_comments, add_comment)
