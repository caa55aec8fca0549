"""Which tools change what of Microsoft To Do's can be attached to a chat."""

from collections.abc import Iterable, Mapping
from typing import Any

from modules.kit.resource_changes import Arguments, ChangedResource, changed
from modules.microsoft_todo.resources import open_tasks, task, task_lists
from modules.microsoft_todo.task_ids import expand_task_id, shorten_task_id


def _find_tasks(arguments: Arguments) -> Iterable[Mapping[str, Any]]:
    """A task has a long and a short id; people know it by either."""
    list_id = arguments["list_id"]
    for task_id in arguments.get("task_ids") or [arguments["task_id"]]:
        whole = expand_task_id(task_id, list_id)
        yield from ({"list": list_id, "task": one} for one in (shorten_task_id(whole, list_id), whole))


_LISTS = changed(task_lists)
_TASKS = changed(open_tasks, list="list_id")
_TASK = ChangedResource(task, _find_tasks)
_CHANGING_TASKS = ("update_task", "complete_task", "complete_tasks", "delete_task")
_PARTS = ("checklist_item", "linked_resource")
CHANGES = {
    "create_task_list": (_LISTS,),
    "update_task_list": (_LISTS,),
    "delete_task_list": (_LISTS, _TASKS),
    "create_task": (_TASKS,),
    **dict.fromkeys(_CHANGING_TASKS, (_TASKS, _TASK)),
    **dict.fromkeys((f"{verb}_{part}" for verb in ("create", "update", "delete") for part in _PARTS), (_TASK,)),
}
