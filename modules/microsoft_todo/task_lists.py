"""Lists of tasks."""

from typing import Annotated

from pydantic import Field

from modules.kit import Context, build_path, tool
from modules.kit.parameters import ADD_HINTS, CHANGE_HINTS, READ_HINTS, CursorText, PerPage
from modules.kit.results import ListPage
from modules.microsoft_todo import rest_client
from modules.microsoft_todo.parameters import READ_TASKS, WRITE_TASKS, ListId, TaskTitle
from modules.microsoft_todo.results import RemovedTodo, TaskList

LISTS = "/me/todo/lists"
LIST = "/me/todo/lists/{}"
Name = Annotated[TaskTitle, Field(description="Name")]


class TaskLists(ListPage):
    lists: list[TaskList]


@tool(hints=READ_HINTS, scopes=[READ_TASKS])
async def list_task_lists(context: Context, per_page: PerPage = 50, cursor: CursorText = None) -> TaskLists:
    """Lists of tasks with their ids."""
    page = await rest_client.fetch_page(context, TaskList, LISTS, cursor=cursor, per_page=per_page)
    return TaskLists(lists=page.rows, **page.fields)


@tool(hints=ADD_HINTS, scopes=[WRITE_TASKS])
async def create_task_list(context: Context, name: Name) -> TaskList:
    """Create a list of tasks."""
    return await rest_client.fetch_one(context, TaskList, LISTS, method="POST", json={"displayName": name})


@tool(hints=CHANGE_HINTS, scopes=[WRITE_TASKS])
async def update_task_list(context: Context, list_id: ListId, name: Name) -> TaskList:
    """Rename a list."""
    address = build_path(LIST, list_id)
    return await rest_client.fetch_one(context, TaskList, address, method="PATCH", json={"displayName": name})


@tool(hints=CHANGE_HINTS, scopes=[WRITE_TASKS])
async def delete_task_list(context: Context, list_id: ListId) -> RemovedTodo:
    """Delete a list with all of its tasks."""
    await rest_client.send_change(context, "DELETE", build_path(LIST, list_id))
    return RemovedTodo(id=list_id)


TOOLS = (list_task_lists, create_task_list, update_task_list, delete_task_list)
