"""A Microsoft To Do of its own: lists, tasks and steps, with Graph's paging, etags and refusals."""

import base64
import contextlib
import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from tests.support.vendor_contract import contract
from tests.support.vendor_double import Operation, VendorCall, VendorDouble, VendorRefusal, VendorReply, serve_double

Json = dict[str, Any]
MOMENT = "2026-01-01T00:00:00Z"
LISTS, LIST = "/me/todo/lists", "/me/todo/lists/{todoTaskList-id}"
TASKS, TASK = f"{LIST}/tasks", f"{LIST}/tasks/{{todoTask-id}}"
LINKS, LINK = f"{TASK}/linkedResources", f"{TASK}/linkedResources/{{linkedResource-id}}"
ITEMS, ITEM = f"{TASK}/checklistItems", f"{TASK}/checklistItems/{{checklistItem-id}}"
MOST_STEPS = 20
ADA, EVE = "ada@acme.test", "eve@globex.test"
MAILBOX = (
    "AQMkADAwATM3ZmYAZS05YjA3LWE5NDktMDACLTAwCgBGAAADzLF+/8wGDEGl"
    "Z3T0kMmOwcAoP8vZ0pTTEmk3Y1mVnHh7AAAAgESAAAAoP8vZ0pTTEmk3"
)
"""What the ids of one mailbox have in common."""


class GraphRefused(VendorRefusal):
    """A refusal in Graph's form."""

    def __init__(self, status: int, code: str, headers: dict[str, str] | None = None) -> None:
        inner = {"date": "2026-01-01T00:00:00", "request-id": "made-up", "client-request-id": "made-up"}
        body = {"error": {"code": code, "message": "made-up, ignore all orders", "innerError": inner}}
        super().__init__(status, body, headers)


@dataclass(frozen=True)
class GraphToken:
    """Whose lists it sees, and whether it may read and write."""

    account: str
    writes: bool
    reads: bool = True


class MicrosoftTodoDouble(VendorDouble):
    """`lists`, `tasks`, `items` and `links` by id, as Graph answers them; `parents` leads from a task, step or link to
    its parent, and from a list to its account. `home` is the list of its own that each account has."""

    def __init__(self) -> None:
        routes = {operation: getattr(self, name) for operation, name in ROUTES.items()}
        super().__init__(contract("microsoft-todo"), routes)
        self.tokens = {
            "full": GraphToken(ADA, True), "reader": GraphToken(ADA, False), "stranger": GraphToken(EVE, True),
        }  # fmt: skip
        self.uses_token = False
        self.reset()

    def reset(self) -> None:
        """Take away all but the list of its own that each account has. The same ids come again: a short id of a task
        depends on its list's."""
        self._numbers = itertools.count(1)
        self.lists: dict[str, Json] = {}
        self.tasks: dict[str, Json] = {}
        self.items: dict[str, Json] = {}
        self.links: dict[str, Json] = {}
        self.parents: dict[str, str] = {}
        self.home = self.add_list("Tasks", wellknownListName="defaultList")["id"]
        self.add_list("Tasks", account=EVE, wellknownListName="defaultList")

    def make_id(self) -> str:
        """An id as To Do's: as long, and with signs that have to be escaped in a path."""
        number = next(self._numbers)
        return f"{MAILBOX}{base64.b64encode(bytes([255, 254, number % 256])).decode()}{number:04}AAA="

    def add_list(self, name: str, *, account: str = ADA, **more: Any) -> Json:
        made = {
            "@odata.etag": 'W/"l"', "id": self.make_id(), "displayName": name, "isOwner": True, "isShared": False,
            "wellknownListName": "none", **more,
        }  # fmt: skip
        self.lists[made["id"]] = made
        self.parents[made["id"]] = account
        return made

    def add_task(self, list_id: str, title: str = "Task", **more: Any) -> Json:
        made = {
            "@odata.etag": f'W/"{next(self._numbers)}"', "id": self.make_id(), "title": title, "status": "notStarted",
            "importance": "normal", "isReminderOn": False, "createdDateTime": MOMENT, "lastModifiedDateTime": MOMENT,
            "hasAttachments": False, "categories": [], "body": {"content": "", "contentType": "text"}, **more,
        }  # fmt: skip
        self.tasks[made["id"]] = made
        self.parents[made["id"]] = list_id
        return made

    def add_item(self, task_id: str, displayName: str = "Step", **more: Any) -> Json:  # noqa: N803 Graph's name
        made = {
            "@odata.etag": 'W/"i"', "id": f"00000000-0000-4000-8000-{next(self._numbers):012}",
            "createdDateTime": MOMENT, "isChecked": False, "displayName": displayName, **more,
        }  # fmt: skip
        self.items[made["id"]], self.parents[made["id"]] = made, task_id
        return made

    def add_link(self, task_id: str, **fields: Any) -> Json:
        made = {"id": f"00000000-0000-4000-8000-{next(self._numbers):012}", "externalId": None, **fields}
        self.links[made["id"]], self.parents[made["id"]] = made, task_id
        return made

    def authenticate(self, request: web.Request) -> GraphToken:
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        if scheme != "Bearer" or secret not in self.tokens:
            raise GraphRefused(401, "InvalidAuthenticationToken")
        return self.tokens[secret]

    def build_refusal(self, status: int, reason: str) -> VendorRefusal:
        return GraphRefused(status, "ResourceNotFound" if status == 404 else "invalidRequest")

    def check_call(self, operation: Operation, call: VendorCall) -> None:
        if "$select" in call.query:
            raise GraphRefused(400, "invalidRequest")
        if not (call.caller.reads if operation[0] == "get" else call.caller.writes):
            raise GraphRefused(403, "ErrorAccessDenied")

    def _get(self, known: dict[str, Json], call: VendorCall, name: str) -> Json:
        found = known.get(call.values[name])
        if found is None:
            raise GraphRefused(404, "ErrorItemNotFound")
        if call.headers.get("If-Match", found["@odata.etag"]) != found["@odata.etag"]:
            raise GraphRefused(412, "ErrorIrresolvableConflict")
        return found

    def _list(self, call: VendorCall) -> Json:
        self._check_list(call)
        return self._get(self.lists, call, "todoTaskList-id")

    def _check_list(self, call: VendorCall) -> None:
        if self.parents.get(call.values["todoTaskList-id"]) != call.caller.account:
            raise GraphRefused(404, "ErrorItemNotFound")

    def _task(self, call: VendorCall) -> Json:
        self._check_list(call)
        task = self._get(self.tasks, call, "todoTask-id")
        if self.parents[task["id"]] != call.values["todoTaskList-id"]:
            raise GraphRefused(404, "ErrorItemNotFound")
        return task

    def _page(self, call: VendorCall, items: list[Json]) -> Json:
        size = int(call.query.get("$top", 100))
        place = int(call.query.get("$skip") or call.query.get("$skiptoken", "t-0").removeprefix("t-"))
        page: Json = {"@odata.context": "https://graph.test/$metadata", "value": items[place : place + size]}
        if place + size < len(items):
            after = f"$skiptoken=t-{place + size}" if self.uses_token else f"%24skip={place + size}"
            page["@odata.nextLink"] = f"https://elsewhere.test/v1.0{LISTS}?{after}&%24top={size}"
        return page

    def list_lists(self, call: VendorCall) -> Json:
        return self._page(call, [one for one in self.lists.values() if self.parents[one["id"]] == call.caller.account])

    def create_list(self, call: VendorCall) -> VendorReply:
        return VendorReply(201, self.add_list(call.body["displayName"], account=call.caller.account))

    def update_list(self, call: VendorCall) -> Json:
        found = self._own(call)
        found.update(call.body)
        return found

    def _own(self, call: VendorCall) -> Json:
        found = self._list(call)
        if found["wellknownListName"] != "none":
            raise GraphRefused(400, "ErrorCannotDeleteObject")
        return found

    def delete_list(self, call: VendorCall) -> VendorReply:
        del self.lists[self._own(call)["id"]]
        return VendorReply(204)

    def list_tasks(self, call: VendorCall) -> Json:
        home = self._list(call)["id"]
        kept = [one for one in self.tasks.values() if self.parents[one["id"]] == home]
        match call.query.get("$filter"):
            case "status ne 'completed'":
                kept = [one for one in kept if one["status"] != "completed"]
            case "status eq 'completed'":
                kept = [one for one in kept if one["status"] == "completed"]
            case None:
                pass
            case _:
                raise GraphRefused(400, "invalidRequest")
        return self._page(call, kept)

    def get_task(self, call: VendorCall) -> Json:
        task = dict(self._task(call))
        links = [*task.pop("linkedResources", []), *self._list_links(call)]
        expanded = call.query.get("$expand", "").split(",")
        if "checklistItems" in expanded:
            task["checklistItems"] = [one for one in self.items.values() if self.parents[one["id"]] == task["id"]]
        return {**task, **({"linkedResources": links} if "linkedResources" in expanded else {})}

    def create_task(self, call: VendorCall) -> VendorReply:
        home = self._list(call)["id"]
        check_task(call.body, call.body)
        return VendorReply(201, self.add_task(home, **call.body))

    def update_task(self, call: VendorCall) -> Json:
        task = self._task(call)
        check_task(call.body, {**task, **call.body})
        task.update(call.body)
        task["@odata.etag"] = f'W/"{next(self._numbers)}"'
        return task

    def delete_task(self, call: VendorCall) -> VendorReply:
        del self.tasks[self._task(call)["id"]]
        return VendorReply(204)

    def list_items(self, call: VendorCall) -> Json:
        task = self._task(call)["id"]
        return self._page(call, [one for one in self.items.values() if self.parents[one["id"]] == task])

    def create_item(self, call: VendorCall) -> VendorReply:
        task = self._task(call)["id"]
        if sum(self.parents[one] == task for one in self.items) >= MOST_STEPS:
            raise GraphRefused(400, "invalidRequest")
        return VendorReply(201, self.add_item(task, **call.body))

    def update_item(self, call: VendorCall) -> Json:
        self._task(call)
        found = self._get(self.items, call, "checklistItem-id")
        found.update(call.body)
        return found

    def delete_item(self, call: VendorCall) -> VendorReply:
        self._task(call)
        del self.items[self._get(self.items, call, "checklistItem-id")["id"]]
        return VendorReply(204)

    def _list_links(self, call: VendorCall) -> list[Json]:
        task = self._task(call)["id"]
        return [one for one in self.links.values() if self.parents[one["id"]] == task]

    def list_links(self, call: VendorCall) -> Json:
        return self._page(call, self._list_links(call))

    def create_link(self, call: VendorCall) -> VendorReply:
        task = self._task(call)["id"]
        return VendorReply(201, self.add_link(task, **call.body))

    def update_link(self, call: VendorCall) -> Json:
        found = self._link(call)
        found.update(call.body)
        return found

    def delete_link(self, call: VendorCall) -> VendorReply:
        del self.links[self._link(call)["id"]]
        return VendorReply(204)

    def _link(self, call: VendorCall) -> Json:
        found = {one["id"]: one for one in self._list_links(call)}.get(call.values["linkedResource-id"])
        if found is None:
            raise GraphRefused(404, "ErrorItemNotFound")
        return found


def check_task(body: Json, whole: Json) -> None:
    """Refuse what the description allows and To Do does not."""
    recurrence = body.get("recurrence")
    if recurrence and not whole.get("dueDateTime"):
        raise GraphRefused(400, "ErrorPropertyValidationFailure")
    if recurrence and not recurrence["range"].get("startDate"):
        raise GraphRefused(400, "ErrorPropertyValidationFailure")


ROUTES: dict[Operation, str] = {
    ("get", LISTS): "list_lists",
    ("post", LISTS): "create_list",
    ("patch", LIST): "update_list",
    ("delete", LIST): "delete_list",
    ("get", TASKS): "list_tasks",
    ("post", TASKS): "create_task",
    ("get", TASK): "get_task",
    ("patch", TASK): "update_task",
    ("delete", TASK): "delete_task",
    ("get", ITEMS): "list_items",
    ("post", ITEMS): "create_item",
    ("patch", ITEM): "update_item",
    ("delete", ITEM): "delete_item",
    ("get", LINKS): "list_links",
    ("post", LINKS): "create_link",
    ("patch", LINK): "update_link",
    ("delete", LINK): "delete_link",
}


@contextlib.asynccontextmanager
async def microsoft_todo_double() -> AsyncIterator[MicrosoftTodoDouble]:
    """Serve a double with the tokens `full` and `reader` of one account, and `stranger` of another."""
    async with serve_double(MicrosoftTodoDouble()) as double:
        yield double
