"""Links of a task to where it comes from: links to mails, issues or pages, which Graph calls linked resources."""

import re
from typing import Annotated, Any

from pydantic import AfterValidator, Field

from modules.kit import Context, ToolError, tool
from modules.kit.parameters import ADD_HINTS, CHANGE_HINTS, READ_HINTS, CursorText, OptionalParameter, limit_length
from modules.kit.results import LEFT_OUT_IF_EMPTY, Identifier, ListPage, Name, ResultModel, Word, read_at
from modules.microsoft_todo import rest_client
from modules.microsoft_todo.parameters import READ_TASKS, WRITE_TASKS, ListId, TaskId, TaskTitle, TodoId
from modules.microsoft_todo.results import RemovedTodo
from modules.microsoft_todo.task_ids import build_task_path

LINKS = "/me/todo/lists/{}/tasks/{}/linkedResources"
LINK = f"{LINKS}/{{}}"
_URL = re.compile(r"https?://[!-~]{1,2000}", re.ASCII)


def _check_url(text: str) -> str:
    if not _URL.fullmatch(text):
        raise ValueError("is no address: give one that begins with https://, without spaces")
    return text


LinkId = Annotated[TodoId, Field(description="Link")]
LinkUrl = Annotated[str, limit_length(maximum=2010), AfterValidator(_check_url)]
ExternalId = Annotated[str, limit_length(1, 500)]
ShownText = Annotated[OptionalParameter[TaskTitle], Field(description="Shown text")]


class TaskLink(ResultModel):
    """A link of a task. `external_id` is that of the thing in its app."""

    id: Identifier
    url: Annotated[Name, LEFT_OUT_IF_EMPTY, read_at("webUrl")] = ""
    name: Annotated[Word, read_at("displayName")] = ""
    app: Annotated[Word, read_at("applicationName")] = ""
    external_id: Annotated[Name, LEFT_OUT_IF_EMPTY, read_at("externalId")] = ""


class TaskLinks(ListPage):
    links: list[TaskLink]


@tool(hints=READ_HINTS, scopes=[READ_TASKS])
async def list_linked_resources(
    context: Context, list_id: ListId, task_id: TaskId, cursor: CursorText = None
) -> TaskLinks:
    """Links of a task, with their ids."""
    page = await rest_client.fetch_page(context, TaskLink, build_task_path(LINKS, list_id, task_id), cursor=cursor)
    return TaskLinks(links=page.rows, **page.fields)


@tool(hints=ADD_HINTS, scopes=[WRITE_TASKS])
async def create_linked_resource(
    context: Context,
    list_id: ListId,
    task_id: TaskId,
    url: Annotated[LinkUrl, Field(description="Address")],
    app: Annotated[TaskTitle, Field(description="Its app")],
    name: ShownText = None,
    external_id: Annotated[OptionalParameter[ExternalId], Field(description="Id there")] = None,
) -> TaskLink:
    """Link a task to a mail, issue or page."""
    body = _build_body(url, app, name, external_id)
    address = build_task_path(LINKS, list_id, task_id)
    return await rest_client.fetch_one(context, TaskLink, address, method="POST", json=body)


@tool(hints=CHANGE_HINTS, scopes=[WRITE_TASKS])
async def update_linked_resource(
    context: Context,
    list_id: ListId,
    task_id: TaskId,
    link_id: LinkId,
    url: Annotated[OptionalParameter[LinkUrl], Field(description="Address")] = None,
    app: Annotated[OptionalParameter[TaskTitle], Field(description="Its app")] = None,
    name: ShownText = None,
    external_id: Annotated[OptionalParameter[ExternalId], Field(description="Id there")] = None,
) -> TaskLink:
    """Change what is given of a link; the rest stays."""
    body = _build_body(url, app, name, external_id)
    if not body:
        raise ToolError("there is nothing to change: give at least one of url, app, name, external_id")
    address = build_task_path(LINK, list_id, task_id, link_id)
    return await rest_client.fetch_one(context, TaskLink, address, method="PATCH", json=body)


@tool(hints=CHANGE_HINTS, scopes=[WRITE_TASKS])
async def delete_linked_resource(context: Context, list_id: ListId, task_id: TaskId, link_id: LinkId) -> RemovedTodo:
    """Remove a link; what it leads to stays."""
    await rest_client.send_change(context, "DELETE", build_task_path(LINK, list_id, task_id, link_id))
    return RemovedTodo(id=link_id)


def _build_body(url: str | None, app: str | None, name: str | None, external_id: str | None) -> dict[str, Any]:
    values = {"webUrl": url, "applicationName": app, "displayName": name, "externalId": external_id}
    return {field: value for field, value in values.items() if value is not None}


TOOLS = (list_linked_resources, create_linked_resource, update_linked_resource, delete_linked_resource)
