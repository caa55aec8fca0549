"""Making, changing, assigning, linking and deleting issues."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from modules.jira import rest_client
from modules.jira.field_values import get_mapping
from modules.jira.fields import make_fields
from modules.jira.parameters import (
    MAX_TEXT,
    NO_ISSUE,
    READ_WORK,
    WRITE_WORK,
    AccountId,
    Day,
    FieldValues,
    IssueKey,
    IssueKeyOrNone,
    Markdown,
    ProjectKey,
)
from modules.kit import Context, ToolError, build_path, run_in_turns, tool
from modules.kit.markup.adf_formatting import format_adf
from modules.kit.markup.adf_parsing import parse_adf
from modules.kit.parameters import (
    ADD_HINTS,
    CHANGE_HINTS,
    OptionalParameter,
    ShortText,
    drop_bounds,
    limit_items,
    limit_length,
)
from modules.kit.results import Identifier, OptionalIdentifier, ResultModel

Summary = Annotated[str, limit_length(1, 255)]
Labels = Annotated[
    list[Annotated[str, Field(pattern=r"^\S{1,255}$", json_schema_extra=drop_bounds)]], limit_items(0, 100)
]
OptionalDay = Annotated[OptionalParameter[Day], Field(description="Due day, 2026-01-31")]
Parent = Annotated[OptionalParameter[IssueKey], Field(description="Epic or parent issue")]
ChangedParent = Annotated[OptionalParameter[IssueKeyOrNone], Field(description="Epic or parent issue; none removes it")]
Priority = Annotated[OptionalParameter[ShortText], Field(description="Name")]


class TextChange(BaseModel):
    """A part of the description and its new text."""

    model_config = ConfigDict(extra="forbid")
    old: Annotated[str, limit_length(1, MAX_TEXT)]
    new: Annotated[str, limit_length(0, MAX_TEXT)]


class SavedJiraIssue(ResultModel):
    key: Identifier
    id: OptionalIdentifier = ""


@tool(hints=ADD_HINTS, scopes=[WRITE_WORK, READ_WORK])
async def create_issue(
    context: Context,
    project: ProjectKey,
    type: Annotated[str, limit_length(1, 100), Field(description="Issue type: name or id")],
    summary: Annotated[Summary, Field(description="Title")],
    description: Annotated[OptionalParameter[Markdown], Field(description="Markdown")] = None,
    parent: Parent = None,
    assignee: Annotated[OptionalParameter[AccountId], Field(description="accountId")] = None,
    priority: Priority = None,
    labels: Annotated[OptionalParameter[Labels], Field(description="Without spaces")] = None,
    due: OptionalDay = None,
    fields: FieldValues = None,
) -> SavedJiraIssue:
    """Create an issue. The create fields of a project tell its types and what they require."""
    made = await make_fields(context, fields)
    made["project"] = {"id": project} if project.isdigit() else {"key": project}
    made["issuetype"] = {"id": type} if type.isdigit() else {"name": type}
    made |= await _make_common(summary, description, parent, priority, labels, due)
    if assignee:
        made["assignee"] = {"accountId": assignee}
    address = "/rest/api/3/issue"
    return await rest_client.fetch_one(context, SavedJiraIssue, address, method="POST", json={"fields": made})


async def _make_common(
    summary: str | None,
    description: str | None,
    parent: str | None,
    priority: str | None,
    labels: Sequence[str] | None,
    due: str | None,
) -> dict[str, Any]:
    made: dict[str, Any] = {}
    if summary is not None:
        made["summary"] = " ".join(summary.split())
    if description is not None:
        made["description"] = await run_in_turns(parse_adf, description, size=len(description))
    if parent is not None:
        made["parent"] = {"id": parent} if parent.isdigit() else {"key": parent}
    if priority is not None:
        made["priority"] = {"name": priority}
    if labels is not None:
        made["labels"] = list(labels)
    if due is not None:
        made["duedate"] = due
    return made


@tool(hints=CHANGE_HINTS, scopes=[WRITE_WORK, READ_WORK])
async def update_issue(
    context: Context,
    issue: IssueKey,
    summary: Annotated[OptionalParameter[Summary], Field(description="Title")] = None,
    description: Annotated[OptionalParameter[Markdown], Field(description="Replaces the whole")] = None,
    description_changes: Annotated[
        OptionalParameter[Annotated[list[TextChange], limit_items(1, 50)]],
        Field(description="Replace parts, each as read, there once"),
    ] = None,
    parent: ChangedParent = None,
    priority: Priority = None,
    labels: Annotated[OptionalParameter[Labels], Field(description="Replaces all")] = None,
    due: OptionalDay = None,
    fields: FieldValues = None,
    notify: Annotated[bool, Field(description="Tell watchers by mail")] = True,
) -> SavedJiraIssue:
    """Change fields of an issue; its status and assignee have tools of their own."""
    if description is not None and description_changes:
        raise ToolError("give either description or description_changes")
    made = await make_fields(context, fields)
    if description_changes:
        description = await _change_description(context, issue, description_changes)
        made["description"] = await run_in_turns(parse_adf, description, size=len(description))
        description = None
    # The parent is removed by an operation; null as its value is not documented.
    update = {"update": {"parent": [{"set": {"none": True}}]}} if parent == NO_ISSUE else {}
    made |= await _make_common(summary, description, None if update else parent, priority, labels, due)
    if not made and not update:
        raise ToolError("there is nothing to change: give at least one of summary, description, labels, fields, ...")
    address = build_path("/rest/api/3/issue/{}", issue)
    query = None if notify else {"notifyUsers": False}
    await rest_client.send_change(context, "PUT", address, json={"fields": made, **update}, query=query)
    return SavedJiraIssue(key=issue)


async def _change_description(context: Context, issue: str, changes: Sequence[TextChange]) -> str:
    address = build_path("/rest/api/3/issue/{}", issue)
    raw, answer = await rest_client.fetch_object(context, address, query={"fields": "description"})
    described = get_mapping(raw.get("fields")).get("description")
    text = await run_in_turns(format_adf, described, size=len(answer.body))
    for number, change in enumerate(changes):
        count = text.count(change.old)
        if count != 1:
            raise ToolError(
                f"description_changes[{number}].old is in the description {count} times, not once: read the "
                "issue again. Nothing was changed"
            )
        text = text.replace(change.old, change.new)
    return text


@tool(hints=CHANGE_HINTS, scopes=[WRITE_WORK])
async def assign_issue(
    context: Context,
    issue: IssueKey,
    assignee: Annotated[AccountId | Literal["nobody", "default"], Field(description="accountId, nobody or default")],
) -> SavedJiraIssue:
    """Assign an issue to somebody, to nobody, or to the project's default."""
    identity = {"nobody": None, "default": "-1"}.get(assignee, assignee)
    address = build_path("/rest/api/3/issue/{}/assignee", issue)
    await rest_client.send_change(context, "PUT", address, json={"accountId": identity})
    return SavedJiraIssue(key=issue)


@tool(hints=CHANGE_HINTS, scopes=[WRITE_WORK])
async def delete_issue(
    context: Context,
    issue: IssueKey,
    delete_subtasks: Annotated[bool, Field(description="Delete its subtasks, too")] = False,
) -> SavedJiraIssue:
    """Delete an issue for good, with its comments and work."""
    address = build_path("/rest/api/3/issue/{}", issue)
    await rest_client.send_change(context, "DELETE", address, query={"deleteSubtasks": delete_subtasks})
    return SavedJiraIssue(key=issue)


TOOLS = (create_issue, update_issue, assign_issue, delete_issue)
