"""Steps of a task, which Graph calls checklist items."""

from typing import Annotated, Any

from pydantic import Field

from modules.kit import Context, ToolError, tool
from modules.kit.parameters import ADD_HINTS, CHANGE_HINTS, READ_HINTS, CursorText, OptionalParameter
from modules.kit.results import ListPage
from modules.microsoft_todo import rest_client
from modules.microsoft_todo.parameters import READ_TASKS, WRITE_TASKS, ItemId, ListId, TaskId, TaskTitle
from modules.microsoft_todo.results import ChecklistItem, RemovedTodo
from modules.microsoft_todo.task_ids import build_task_path

ITEMS = "/me/todo/lists/{}/tasks/{}/checklistItems"
ITEM = f"{ITEMS}/{{}}"


class ChecklistItems(ListPage):
    items: list[ChecklistItem]


@tool(hints=READ_HINTS, scopes=[READ_TASKS])
async def list_checklist_items(
    context: Context, list_id: ListId, task_id: TaskId, cursor: CursorText = None
) -> ChecklistItems:
    """Steps of a task."""
    address = build_task_path(ITEMS, list_id, task_id)
    page = await rest_client.fetch_page(context, ChecklistItem, address, cursor=cursor)
    return ChecklistItems(items=page.rows, **page.fields)


@tool(hints=ADD_HINTS, scopes=[WRITE_TASKS])
async def create_checklist_item(
    context: Context, list_id: ListId, task_id: TaskId, name: Annotated[TaskTitle, Field(description="What to do")]
) -> ChecklistItem:
    """Add a step to a task."""
    address = build_task_path(ITEMS, list_id, task_id)
    return await rest_client.fetch_one(context, ChecklistItem, address, method="POST", json={"displayName": name})


@tool(hints=CHANGE_HINTS, scopes=[WRITE_TASKS])
async def update_checklist_item(
    context: Context,
    list_id: ListId,
    task_id: TaskId,
    item_id: ItemId,
    name: Annotated[OptionalParameter[TaskTitle], Field(description="New text")] = None,
    done: Annotated[OptionalParameter[bool], Field(description="Check or uncheck")] = None,
) -> ChecklistItem:
    """Check, uncheck or rename a step."""
    values: dict[str, Any] = {"displayName": name, "isChecked": done}
    body = {field: value for field, value in values.items() if value is not None}
    if not body:
        raise ToolError("there is nothing to change: give name or done")
    address = build_task_path(ITEM, list_id, task_id, item_id)
    return await rest_client.fetch_one(context, ChecklistItem, address, method="PATCH", json=body)


@tool(hints=CHANGE_HINTS, scopes=[WRITE_TASKS])
async def delete_checklist_item(context: Context, list_id: ListId, task_id: TaskId, item_id: ItemId) -> RemovedTodo:
    """Remove a step."""
    await rest_client.send_change(context, "DELETE", build_task_path(ITEM, list_id, task_id, item_id))
    return RemovedTodo(id=item_id)


TOOLS = (list_checklist_items, create_checklist_item, update_checklist_item, delete_checklist_item)
