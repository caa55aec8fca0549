"""What people attach to a chat from Microsoft To Do: their lists, the open tasks of a list, a task."""

from collections.abc import Mapping

from modules.kit import FOR_MODELS, Context, ResourceContents, read_json_resource, resource
from modules.kit.completions import MAX_VALUES, Option, ask_tool, choose_values
from modules.microsoft_todo.parameters import READ_TASKS, ListId, TaskId
from modules.microsoft_todo.task_lists import TaskLists, list_task_lists
from modules.microsoft_todo.tasks import Tasks, get_task, list_tasks


async def complete_list(context: Context, typed: str, known: Mapping[str, str]) -> list[str]:
    """Complete the id of a list, by its id or its name."""
    found = await ask_tool(context, list_task_lists, TaskLists, per_page=MAX_VALUES)
    return choose_values((Option(row.id, row.name) for row in found.lists), typed)


async def complete_task(context: Context, typed: str, known: Mapping[str, str]) -> list[str]:
    """Complete the id of an open task of a list, by its id or its title."""
    found = await ask_tool(context, list_tasks, Tasks, list_id=known.get("list"), per_page=MAX_VALUES)
    return choose_values((Option(row.id, row.title) for row in found.tasks), typed)


@resource(
    "resource://microsoft_todo/lists",
    mime_type="application/json",
    annotations=FOR_MODELS,
    scopes=[READ_TASKS],
    title="My lists",
)
async def task_lists(context: Context) -> ResourceContents:
    """One's lists of tasks, with their ids."""
    return read_json_resource(await list_task_lists.run(context, per_page=100))


@resource(
    "resource://microsoft_todo/lists/{list}/tasks",
    mime_type="application/json",
    annotations=FOR_MODELS,
    scopes=[READ_TASKS],
    title="Open tasks of a list",
    complete={"list": complete_list},
)
async def open_tasks(context: Context, list: ListId) -> ResourceContents:
    """The first hundred open tasks of a list."""
    return read_json_resource(await list_tasks.run(context, list_id=list, per_page=100))


@resource(
    "resource://microsoft_todo/lists/{list}/tasks/{task}",
    mime_type="application/json",
    annotations=FOR_MODELS,
    scopes=[READ_TASKS],
    title="Task",
    complete={"list": complete_list, "task": complete_task},
)
async def task(context: Context, list: ListId, task: TaskId) -> ResourceContents:
    """A task with its text, steps and links."""
    return read_json_resource(await get_task.run(context, list_id=list, task_id=task))


RESOURCES = (task_lists, open_tasks, task)
