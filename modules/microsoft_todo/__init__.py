"""Microsoft To Do, through Microsoft Graph at graph.microsoft.com."""

from modules.kit import AccountRequest, Module, ParameterSample, VendorApi
from modules.microsoft_todo import checklist_items, task_lists, tasks
from modules.microsoft_todo.parameters import READ_TASKS, WRITE_TASKS

TOOLS = (*task_lists.TOOLS, *tasks.TOOLS, *checklist_items.TOOLS)

MODULE = Module(
    name="microsoft_todo",
    title="Microsoft To Do",
    description="Microsoft To Do: lists, tasks with due dates, reminders and recurrence, and their steps.",
    scopes=frozenset({READ_TASKS, WRITE_TASKS}),
    tools=TOOLS,
    vendor=VendorApi(
        base_url="https://graph.microsoft.com/v1.0",
        account=AccountRequest("/me/todo/lists", name="/value/0/displayName"),
    ),
    samples={
        "list_id": ParameterSample("AQMkADAwATM0MDAAMS0yNGQ2LT", "list_task_lists", "/lists/0/id"),
        "task_id": ParameterSample(
            "AQMkADAwATM0MDAAMS0yNGQ3LT", "list_tasks", "/tasks/0/id", arguments={"status": "all"}
        ),
    },
)
