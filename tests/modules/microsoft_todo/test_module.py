"""The module as it is declared, and its recurrence in both directions."""

from datetime import date
from typing import Any

import orjson
import pytest
from pydantic import BaseModel

from broker.providers.catalogue import load_builtin_providers
from gateway.catalogue import build_catalogue
from modules.kit import ToolError
from modules.microsoft_todo import MODULE
from modules.microsoft_todo.linked_resources import TaskLink
from modules.microsoft_todo.results import ChecklistItem, SavedTask, TaskList, TaskRow, TodoTask
from modules.microsoft_todo.task_times import format_recurrence, write_recurrence
from tests.support.microsoft_todo_double import ROUTES, MicrosoftTodoDouble, microsoft_todo_double
from tests.support.module_check import check_module, list_troubles
from tests.support.odd_answers import find_losses
from tests.support.tokens import tokens
from tests.support.vendor_contract import contract

# (read-only, destructive, idempotent) of the design's table.
READS, ADDS, CHANGES = (True, False, False), (False, False, False), (False, True, True)
HINTS = {
    **dict.fromkeys(
        ("list_task_lists", "list_tasks", "get_task", "list_checklist_items", "list_linked_resources"), READS),
    **dict.fromkeys(("create_task_list", "create_task", "create_checklist_item", "create_linked_resource"), ADDS),
    **dict.fromkeys(
        ("update_task_list", "delete_task_list", "update_task", "complete_task", "complete_tasks", "delete_task",
         "update_checklist_item", "delete_checklist_item", "update_linked_resource", "delete_linked_resource"),
        CHANGES),
}  # fmt: skip
# o200k tokens of name, description and parameters. Raise one only with a reason.
MOST_TOKENS = 240
MOST_ON_AVERAGE = 90
MONDAY = date(2030, 3, 4)


def test_every_tool_of_the_design_with_its_hints() -> None:
    found = {tool.name: (tool.hints.read_only, tool.hints.destructive, tool.hints.idempotent) for tool in MODULE.tools}
    assert found == HINTS
    assert all(tool.hints.open_world for tool in MODULE.tools)


def test_the_provider_asks_for_the_scopes_of_the_tools() -> None:
    scopes = load_builtin_providers().known["microsoft"].modules["microsoft_todo"]
    for tool in MODULE.tools:
        [scope] = tool.scopes
        assert scope in (scopes.reading if tool.hints.read_only else scopes.writing), tool.name


def test_what_the_schemas_cost() -> None:
    listed = build_catalogue([MODULE]).tools["microsoft_todo"]
    sizes = {
        one.tool.name: tokens(orjson.dumps([one.tool.name, one.tool.description, one.input_schema]).decode())
        for one in listed
    }
    assert max(sizes.values()) <= MOST_TOKENS, sizes
    assert sum(sizes.values()) / len(sizes) <= MOST_ON_AVERAGE, sizes


def test_the_double_serves_what_the_module_asks_for() -> None:
    assert set(ROUTES) <= set(contract("microsoft-todo").operations())


@pytest.mark.parametrize(
    ("rule", "again", "kind"),
    [
        ("FREQ=DAILY;INTERVAL=3", "FREQ=DAILY;INTERVAL=3", "daily"),
        ("FREQ=WEEKLY", "FREQ=WEEKLY;BYDAY=MO", "weekly"),
        ("FREQ=WEEKLY;BYDAY=TU,FR;COUNT=4", "FREQ=WEEKLY;BYDAY=TU,FR;COUNT=4", "weekly"),
        ("FREQ=MONTHLY", "FREQ=MONTHLY;BYMONTHDAY=4", "absoluteMonthly"),
        ("FREQ=MONTHLY;BYMONTHDAY=31;UNTIL=20301231", "FREQ=MONTHLY;BYMONTHDAY=31;UNTIL=20301231", "absoluteMonthly"),
        ("FREQ=MONTHLY;BYDAY=-1FR", "FREQ=MONTHLY;BYDAY=-1FR", "relativeMonthly"),
        ("FREQ=MONTHLY;BYDAY=SA,SU;BYSETPOS=1", "FREQ=MONTHLY;BYDAY=SA,SU;BYSETPOS=1", "relativeMonthly"),
        ("FREQ=YEARLY", "FREQ=YEARLY;BYMONTH=3;BYMONTHDAY=4", "absoluteYearly"),
        ("FREQ=YEARLY;BYMONTH=5;BYDAY=2SU", "FREQ=YEARLY;BYMONTH=5;BYDAY=2SU", "relativeYearly"),
    ],
)
def test_a_rule_becomes_a_pattern_and_a_rule_again(rule: str, again: str, kind: str) -> None:
    made = write_recurrence(rule, MONDAY)
    assert made is not None
    assert made["pattern"]["type"] == kind
    assert made["range"]["startDate"] == "2030-03-04"
    assert format_recurrence(made) == again
    assert write_recurrence(again, MONDAY) == made


@pytest.mark.parametrize(
    "rule",
    [
        "FREQ=DAILY;BYDAY=MO", "FREQ=WEEKLY;BYMONTHDAY=3", "FREQ=WEEKLY;BYDAY=1MO", "FREQ=MONTHLY;BYDAY=MO",
        "FREQ=MONTHLY;BYDAY=1MO,2TU", "FREQ=MONTHLY;BYDAY=5MO", "FREQ=MONTHLY;BYMONTHDAY=1,15",
        "FREQ=MONTHLY;BYMONTHDAY=-1", "FREQ=MONTHLY;BYMONTH=3", "FREQ=YEARLY;BYMONTH=1,2", "FREQ=YEARLY;BYWEEKNO=9",
        "FREQ=WEEKLY;WKST=SU", "FREQ=DAILY;UNTIL=20300101", "FREQ=MONTHLY;BYMONTHDAY=3;BYDAY=1MO",
        "FREQ=MONTHLY;BYSETPOS=1", "FREQ=DAILY;BYSETPOS=2",
    ],
)  # fmt: skip
def test_what_to_do_cannot_say_is_refused(rule: str) -> None:
    with pytest.raises(ToolError, match=r"^recurrence: "):
        write_recurrence(rule, MONDAY)


def make_rows() -> dict[type[BaseModel], dict[str, Any]]:
    """A row of each kind as Graph sends it."""
    double = MicrosoftTodoDouble()
    moment = {"dateTime": "2030-07-01T09:00:00.0000000", "timeZone": "Asia/Tokyo"}
    item = {"id": "i", "displayName": "x", "isChecked": True}
    task = double.add_task(
        double.home, body={"content": "<b>x</b>", "contentType": "html"}, importance="high", categories=["Home"],
        isReminderOn=True, reminderDateTime=moment, dueDateTime=moment, startDateTime=moment, checklistItems=[item],
        completedDateTime=moment, recurrence=write_recurrence("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO;COUNT=3", MONDAY),
        linkedResources=[{"id": "l", "webUrl": "https://a.test/1", "displayName": "A mail"}], hasAttachments=True,
    )  # fmt: skip
    home = double.add_list("Home", isShared=True)
    link = {"id": "l", "webUrl": "https://a.test", "displayName": "x", "applicationName": "Mail", "externalId": "7"}
    return {TaskList: home, ChecklistItem: item, TaskRow: task, TodoTask: task, SavedTask: task, TaskLink: link}


@pytest.mark.parametrize("shape", make_rows())
def test_an_odd_field_costs_itself_only(shape: type[BaseModel]) -> None:
    assert find_losses(shape, make_rows()[shape]) == []


async def test_the_check_runs_every_reading_tool() -> None:
    async with microsoft_todo_double() as todo:
        todo.add_task(todo.home)
        assert list_troubles(await check_module(MODULE, todo.url, "full")) == []
