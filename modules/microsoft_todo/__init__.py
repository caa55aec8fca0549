"""Microsoft To Do, through Microsoft Graph at graph.microsoft.com."""

from modules.kit import AccountRequest, Icon, Module, ParameterSample, VendorApi
from modules.kit.resource_changes import announce_changes
from modules.microsoft_todo import checklist_items, linked_resources, task_lists, tasks
from modules.microsoft_todo.parameters import READ_TASKS, WRITE_TASKS
from modules.microsoft_todo.resource_changes import CHANGES
from modules.microsoft_todo.resources import RESOURCES

TOOLS = (*task_lists.TOOLS, *tasks.TOOLS, *checklist_items.TOOLS, *linked_resources.TOOLS)

MODULE = Module(
    name="microsoft_todo",
    title="Microsoft To Do",
    description="Microsoft To Do: lists, tasks with due dates, reminders and recurrence, their steps and links.",
    scopes=frozenset({READ_TASKS, WRITE_TASKS}),
    tools=announce_changes(TOOLS, CHANGES),
    resources=RESOURCES,
    icon=Icon("#2564cf", "M5 8l1.5 1.5L9 7M5 15l1.5 1.5L9 14M12 8.5h7M12 15.5h7"),
    vendor=VendorApi(
        base_url="https://graph.microsoft.com/v1.0",
        account=AccountRequest("/me/todo/lists", name="/value/0/displayName"),
    ),
    samples={
        "list_id": ParameterSample("AQMkADAwATM0MDAAMS0yNGQ2LT", "list_task_lists", "/lists/0/id"),
        "task_id": ParameterSample(
            "AQMkADAwATM0MDAAMS0yNGQ3LT", "list_tasks", "/tasks/0/id", arguments={"status": "all"}
        ),
        "link_id": ParameterSample("f9cddce2-dce2-f9cd-e2dc-cdf9e2dccdf9"),
        "url": ParameterSample("https://example.com/orders/7"),
        "app": ParameterSample("Shop"),
        "title": ParameterSample("Buy milk"),
        "name": ParameterSample("Shopping"),
        "update_task.due": ParameterSample("2026-02-02"),
        "task_ids": ParameterSample(["AQMkADAwATM0MDAAMS0yNGQ3LT"]),
        "item_id": ParameterSample("51d8a471-2e9d-4f53-9937-c33a8742d28f"),
        "update_checklist_item.done": ParameterSample(True),
        "update_linked_resource.name": ParameterSample("Order 7"),
    },
)
