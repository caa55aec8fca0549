"""Tasks of a list."""

from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from modules.kit import Context, ToolError, build_path, run_in_turns, tool
from modules.kit.conflicts import retry_conflicts
from modules.kit.parameters import (
    ADD_HINTS,
    CHANGE_HINTS,
    READ_HINTS,
    CursorText,
    OptionalParameter,
    PerPage,
    drop_bounds,
    limit_items,
    limit_length,
)
from modules.kit.partial_results import PartialResult, change_each
from modules.kit.results import ListPage, read_part
from modules.kit.time_zones import OptionalZone, is_date
from modules.kit.write_headers import build_if_match
from modules.microsoft_todo import rest_client
from modules.microsoft_todo.error_messages import is_changed
from modules.microsoft_todo.parameters import (
    READ_TASKS,
    WRITE_TASKS,
    BodyText,
    Categories,
    Due,
    Etag,
    Importance,
    ListId,
    TaskId,
    TaskStatus,
    TaskTitle,
)
from modules.microsoft_todo.results import RemovedTodo, SavedTask, TaskRow, TodoTask, format_body, get_mapping, has_html
from modules.microsoft_todo.task_ids import build_task_path, shorten_task_id
from modules.microsoft_todo.task_times import format_due, write_due, write_recurrence, write_reminder

TASKS = "/me/todo/lists/{}/tasks"
TASK = "/me/todo/lists/{}/tasks/{}"
SHOWN_BODY = 20_000
_FILTERS = {"open": "status ne 'completed'", "completed": "status eq 'completed'", "all": None}
Rule = OptionalParameter[Annotated[str, limit_length(maximum=300)]]


class Tasks(ListPage):
    tasks: list[TaskRow]


class CompletedTasks(PartialResult):
    tasks: list[SavedTask]


class _DueTask(BaseModel):
    dueDateTime: Any = None  # noqa: N815
    etag: Any = Field(None, alias="@odata.etag")


@tool(hints=READ_HINTS, scopes=[READ_TASKS])
async def list_tasks(
    context: Context,
    list_id: ListId,
    status: Annotated[Literal["open", "completed", "all"], Field(description="Which")] = "open",
    per_page: PerPage = 50,
    cursor: CursorText = None,
) -> Tasks:
    """Tasks of a list."""
    address, query = build_path(TASKS, list_id), {"$filter": _FILTERS[status]}
    page = await rest_client.fetch_page(context, TaskRow, address, cursor=cursor, per_page=per_page, query=query)
    rows = [row.model_copy(update={"id": shorten_task_id(row.id, list_id)}) for row in page.rows]
    return Tasks(tasks=rows, **page.fields)


@tool(hints=READ_HINTS, scopes=[READ_TASKS])
async def get_task(
    context: Context,
    list_id: ListId,
    task_id: TaskId,
    body_from: Annotated[
        int, Field(ge=0, le=10**7, description="Characters to skip", json_schema_extra=drop_bounds)
    ] = 0,
) -> TodoTask:
    """One task with its text, steps and links."""
    query = {"$expand": "checklistItems,linkedResources"}
    answer = await rest_client.send_request(context, "GET", build_task_path(TASK, list_id, task_id), query=query)
    raw = get_mapping(answer.json())
    if has_html(raw):
        raw = await run_in_turns(format_body, raw, size=len(answer.body))
    task = read_part(answer, TodoTask, {**raw, "id": shorten_task_id(str(raw.get("id") or ""), list_id)})
    if not body_from and len(task.body) <= SHOWN_BODY:
        return task
    more = max(0, len(task.body) - body_from - SHOWN_BODY)
    return task.model_copy(update={"body": task.body[body_from : body_from + SHOWN_BODY], "body_more": more})


@tool(hints=ADD_HINTS, scopes=[WRITE_TASKS], keywords="add to my to-do list, remind me")
async def create_task(
    context: Context,
    list_id: ListId,
    title: Annotated[TaskTitle, Field(description="Title")],
    body: Annotated[OptionalParameter[BodyText], Field(description="Text")] = None,
    due: Annotated[Due, Field(description="Date")] = None,
    reminder: Annotated[Due, Field(description="Time")] = None,
    time_zone: OptionalZone = None,
    recurrence: Annotated[Rule, Field(description="RRULE such as FREQ=WEEKLY;BYDAY=MO; needs due")] = None,
    importance: Annotated[OptionalParameter[Importance], Field(description="Importance")] = None,
    categories: Annotated[Categories, Field(description="Categories")] = None,
) -> SavedTask:
    """Create a task."""
    fields = _build_fields(title, body, due, reminder, time_zone, importance, categories)
    if recurrence:
        fields["recurrence"] = write_recurrence(recurrence, date.fromisoformat(due) if due else None)
    return await _save(context, list_id, build_path(TASKS, list_id), fields, method="POST")


@tool(hints=CHANGE_HINTS, scopes=[WRITE_TASKS])
async def update_task(
    context: Context,
    list_id: ListId,
    task_id: TaskId,
    title: Annotated[OptionalParameter[TaskTitle], Field(description="Title")] = None,
    body: Annotated[OptionalParameter[BodyText], Field(description="Replaces; empty clears")] = None,
    due: Annotated[Due, Field(description="Date; empty clears")] = None,
    reminder: Annotated[Due, Field(description="Time; empty: none")] = None,
    time_zone: OptionalZone = None,
    recurrence: Annotated[Rule, Field(description="RRULE; empty ends it")] = None,
    importance: Annotated[OptionalParameter[Importance], Field(description="Importance")] = None,
    status: Annotated[OptionalParameter[TaskStatus], Field(description="Status")] = None,
    categories: Annotated[Categories, Field(description="Replace all")] = None,
    etag: Etag = None,
) -> SavedTask:
    """Change what is given of a task; the rest stays."""
    fields = _build_fields(title, body, due, reminder, time_zone, importance, categories)
    if status is not None:
        fields["status"] = status
    address = build_task_path(TASK, list_id, task_id)
    if recurrence and due is None:
        return await _save_recurrence(context, list_id, address, fields, recurrence, etag)
    if recurrence is not None:
        start = date.fromisoformat(due) if recurrence and due else None
        fields["recurrence"] = write_recurrence(recurrence, start)
    if not fields:
        raise ToolError("there is nothing to change: give at least one of title, body, due, reminder, status")
    return await _save(context, list_id, address, fields, etag)


@tool(hints=CHANGE_HINTS, scopes=[WRITE_TASKS])
async def complete_task(context: Context, list_id: ListId, task_id: TaskId) -> SavedTask:
    """Mark a task as completed. Of one that recurs, the next comes up."""
    return await _save(context, list_id, build_task_path(TASK, list_id, task_id), {"status": "completed"})


@tool(hints=CHANGE_HINTS, scopes=[WRITE_TASKS])
async def complete_tasks(
    context: Context,
    list_id: ListId,
    task_ids: Annotated[list[TaskId], limit_items(1, 50), Field(description="At most 50")],
) -> CompletedTasks:
    """Mark several tasks as completed; tells which of them failed."""

    async def complete(task_id: str) -> SavedTask:
        return await _save(context, list_id, build_task_path(TASK, list_id, task_id), {"status": "completed"})

    done = await change_each(context, task_ids, complete)
    return CompletedTasks(tasks=done.results, **done.fields)


@tool(hints=CHANGE_HINTS, scopes=[WRITE_TASKS])
async def delete_task(context: Context, list_id: ListId, task_id: TaskId, etag: Etag = None) -> RemovedTodo:
    """Delete a task with its steps."""
    address = build_task_path(TASK, list_id, task_id)
    await rest_client.send_change(context, "DELETE", address, headers=build_if_match(etag))
    return RemovedTodo(id=task_id)


async def _save_recurrence(
    context: Context, list_id: str, address: str, fields: dict[str, Any], recurrence: str, etag: str | None
) -> SavedTask:
    """Change a task with a recurrence that begins with the due date that it has: one that is changed meanwhile is read
    again, unless the change is for one version."""

    async def save() -> SavedTask:
        task = await rest_client.fetch_one(context, _DueTask, address)
        known = format_due(task.dueDateTime)[:10]
        rule = write_recurrence(recurrence, date.fromisoformat(known) if is_date(known) else None)
        version = task.etag if isinstance(task.etag, str) else None
        return await _save(context, list_id, address, {**fields, "recurrence": rule}, etag or version)

    return await save() if etag else await retry_conflicts(save, is_changed)


async def _save(
    context: Context,
    list_id: str,
    address: str,
    fields: dict[str, Any],
    etag: str | None = None,
    method: str = "PATCH",
) -> SavedTask:
    headers = build_if_match(etag)
    task = await rest_client.fetch_one(context, SavedTask, address, method=method, json=fields, headers=headers)
    return task.model_copy(update={"id": shorten_task_id(task.id, list_id)})


def _build_fields(
    title: str | None,
    body: str | None,
    due: str | None,
    reminder: str | None,
    zone: str | None,
    importance: str | None,
    categories: list[str] | None,
) -> dict[str, Any]:
    """Build what a body says of a task; what is None is left as it is.

    Raises:
        ToolError: due or reminder is wrong; the text names it.
    """
    fields: dict[str, Any] = {"title": title, "importance": importance, "categories": categories}
    fields = {name: value for name, value in fields.items() if value is not None}
    if body is not None:
        fields["body"] = {"content": body, "contentType": "text"}
    if due is not None:
        fields["dueDateTime"] = write_due(due)
    if reminder is not None:
        fields |= write_reminder(reminder, zone)
    return fields


TOOLS = (list_tasks, get_task, create_task, update_task, complete_task, complete_tasks, delete_task)
