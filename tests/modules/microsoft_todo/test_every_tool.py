"""What every tool of Microsoft To Do's goes through."""

from collections.abc import Mapping
from typing import Any

import pytest

from modules.microsoft_todo import MODULE
from modules.microsoft_todo.task_ids import shorten_task_id
from tests.support.microsoft_todo_double import ADA, GraphToken, MicrosoftTodoDouble, microsoft_todo_double
from tests.support.module_app import make_app_fixtures
from tests.support.resource_walk import ResourceWalk
from tests.support.tool_calls import Calls
from tests.support.tool_walk import ToolWalk

pytestmark = pytest.mark.asyncio(loop_scope="module")

vendor, app = make_app_fixtures(MODULE, microsoft_todo_double, eves="stranger")


class TestEveryTool(ToolWalk):
    module = MODULE
    eves = "stranger"
    own = frozenset({"create_task_list"})
    secret = "買い物|牛乳"
    lacking = "Tasks.Read"
    ids = frozenset({"list_id", "task_id", "item_id", "link_id"})

    def furnish(self, vendor: MicrosoftTodoDouble) -> Calls:
        vendor.reset()
        home = {"list_id": vendor.add_list("買い物 تسوق")["id"]}
        task = {**home, "task_id": vendor.add_task(home["list_id"], "牛乳 حليب")["id"]}
        vendor.add_task(home["list_id"], "Two")
        item = {**task, "item_id": vendor.add_item(task["task_id"], "Step")["id"]}
        vendor.add_item(task["task_id"], "Two")
        link = {
            **task,
            "link_id": vendor.add_link(task["task_id"], webUrl="https://a.test", applicationName="Mail")["id"],
        }
        vendor.add_link(task["task_id"], webUrl="https://b.test", applicationName="Mail")
        return {
            "list_task_lists": {},
            "create_task_list": {"name": "買い物 تسوق"},
            "update_task_list": {**home, "name": "New"},
            "delete_task_list": home,
            "list_tasks": home,
            "get_task": task,
            "create_task": {**home, "title": "牛乳", "body": "two litres", "due": "2030-03-04"},
            "update_task": {**task, "title": "パン"},
            "complete_task": task,
            "complete_tasks": {**home, "task_ids": [task["task_id"]]},
            "delete_task": task,
            "list_checklist_items": task,
            "create_checklist_item": {**task, "name": "店を探す"},
            "update_checklist_item": {**item, "done": True},
            "delete_checklist_item": item,
            "list_linked_resources": task,
            "create_linked_resource": {**task, "url": "https://a.test/1?b=c", "app": "メール"},
            "update_linked_resource": {**link, "name": "رسالة"},
            "delete_linked_resource": link,
        }

    def compare_by(self, row: Any) -> Any:
        return {name: value for name, value in row.items() if name != "id"}  # what ids share is left out of them

    def make_keys(self, vendor: MicrosoftTodoDouble) -> Mapping[str, str]:
        vendor.tokens["powerless"] = GraphToken(ADA, writes=False, reads=False)
        vendor.tokens["limited"] = vendor.tokens["full"]
        return {name: name for name in ("powerless", "reader", "stranger", "limited")}


class TestEveryResource(ResourceWalk):
    walk = TestEveryTool()
    typed = {"list": "買い物", "task": "牛乳"}  # noqa: RUF012

    def attach(self, calls: Calls) -> Mapping[str, Mapping[str, str]]:
        tasks = {"list": calls["get_task"]["list_id"]}
        task = {**tasks, "task": shorten_task_id(calls["get_task"]["task_id"], tasks["list"])}
        return {"task_lists": {}, "open_tasks": tasks, "task": task}
