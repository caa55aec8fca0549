"""Microsoft To Do's tools through `/mcp`: what a client gets of an answer, of each error, and of bad input."""

from typing import Any

import orjson
import pytest

from modules.microsoft_todo import MODULE
from modules.microsoft_todo.task_ids import expand_task_id
from tests.support.microsoft_todo_double import MOMENT, GraphRefused, MicrosoftTodoDouble, microsoft_todo_double
from tests.support.module_app import ModuleApp, make_app_fixtures
from tests.support.tokens import tokens
from tests.support.vendor_double import VendorRefusal, VendorReply

pytestmark = pytest.mark.asyncio(loop_scope="module")
NOWHERE = "AAMkNowhere="


vendor, app = make_app_fixtures(MODULE, microsoft_todo_double, eves="stranger")


@pytest.fixture(autouse=True)
def emptied(vendor: MicrosoftTodoDouble) -> None:
    for known in (vendor.tasks, vendor.items, vendor.links, vendor.refusals):
        known.clear()


async def test_lists_from_the_first_to_the_last(app: ModuleApp, vendor: MicrosoftTodoDouble) -> None:
    made = await app.read("create_task_list", name="買い物 تسوق")
    found = await app.read("list_task_lists")
    assert found["lists"] == [
        {"id": vendor.home, "name": "Tasks", "kind": "defaultList"},
        {"id": made["id"], "name": "買い物 تسوق"},
    ]
    assert (await app.read("update_task_list", list_id=made["id"], name="Shop"))["name"] == "Shop"
    assert (await app.read("delete_task_list", list_id=made["id"]))["deleted"] is True
    refused = await app.call("delete_task_list", list_id=vendor.home)
    assert "cannot be renamed or deleted" in refused.text
    again = await app.call("delete_task_list", list_id=made["id"])
    assert "no such list, task or step" in again.text


async def test_a_task_with_all_of_it(app: ModuleApp, vendor: MicrosoftTodoDouble) -> None:
    made = await app.read(
        "create_task", list_id=vendor.home, title="牛乳", body="two litres", due="2030-03-04",
        reminder="2030-03-04T08:00", time_zone="Europe/Berlin", recurrence="FREQ=WEEKLY;INTERVAL=2;COUNT=5",
        importance="high", categories=["Home"],
    )  # fmt: skip
    assert (made["due"], made["reminder"]) == ("2030-03-04", "2030-03-04T07:00:00+00:00")
    assert made["repeats"] == "every 2 weeks on Monday 5 times"
    item = await app.read("create_checklist_item", list_id=vendor.home, task_id=made["id"], name="Find the shop")
    await app.read("update_checklist_item", list_id=vendor.home, task_id=made["id"], item_id=item["id"], done=True)
    task = await app.read("get_task", list_id=vendor.home, task_id=made["id"])
    assert task["steps"] == [{"id": item["id"], "name": "Find the shop", "done": True}]
    assert (task["body"], task["importance"], task["categories"]) == ("two litres", "high", ["Home"])
    assert task["recurrence"] == "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO;COUNT=5"
    again = await app.read(
        "update_task", list_id=vendor.home, task_id=made["id"], recurrence=task["recurrence"], etag=task["etag"]
    )
    assert again["repeats"] == made["repeats"]
    cleared = await app.read(
        "update_task", list_id=vendor.home, task_id=made["id"], due="", reminder="", recurrence="", body=""
    )
    assert not {"due", "reminder", "repeats"} & cleared.keys()
    listed = await app.read("list_checklist_items", list_id=vendor.home, task_id=made["id"])
    assert [one["name"] for one in listed["items"]] == ["Find the shop"]
    await app.read("delete_checklist_item", list_id=vendor.home, task_id=made["id"], item_id=item["id"])
    assert vendor.items == {}


async def test_several_are_completed_and_which_failed(app: ModuleApp, vendor: MicrosoftTodoDouble) -> None:
    first, second = vendor.add_task(vendor.home)["id"], vendor.add_task(vendor.home)["id"]
    done = await app.read("complete_tasks", list_id=vendor.home, task_ids=[first, NOWHERE, second, first])
    found = [(expand_task_id(one["id"], vendor.home), one["status"]) for one in done["tasks"]]
    assert found == [(first, "completed"), (second, "completed")]
    assert [one["item"] for one in done["failed"]] == [NOWHERE]
    assert "no such" in done["failed"][0]["error"]
    none = await app.call("complete_tasks", list_id=vendor.home, task_ids=[NOWHERE, f"{NOWHERE}2"])
    assert none.failed
    assert "nothing was changed" in none.text
    third = vendor.add_task(vendor.home)["id"]
    before = len(vendor.seen)
    vendor.refusals.append(VendorReply(200, b"<html>"))
    cut = await app.read("complete_tasks", list_id=vendor.home, task_ids=[first, third])
    assert (cut["failed"][0]["unknown"], cut["not_tried"]) == (True, [third])
    assert "look before you try again" in cut["failed"][0]["error"]
    assert len(vendor.seen) - before == 1


async def test_a_link_is_made_changed_and_removed(app: ModuleApp, vendor: MicrosoftTodoDouble) -> None:
    task = {"list_id": vendor.home, "task_id": vendor.add_task(vendor.home)["id"]}
    made = await app.read(
        "create_linked_resource", **task, url="https://a.test/1?b=c", app="メール", name="رسالة", external_id="7"
    )
    link = {"id": made["id"], "url": "https://a.test/1?b=c", "name": "رسالة", "app": "メール", "external_id": "7"}
    assert made == link
    assert (await app.read("get_task", **task))["links"] == ["رسالة: https://a.test/1?b=c"]
    changed = await app.read("update_linked_resource", **task, link_id=made["id"], name="Order 7")
    assert changed == {**link, "name": "Order 7"}
    assert (await app.read("list_linked_resources", **task))["links"] == [changed]
    await app.read("delete_linked_resource", **task, link_id=made["id"])
    assert await app.read("list_linked_resources", **task) == {"links": []}
    gone = await app.call("update_linked_resource", **task, link_id=made["id"], name="x")
    assert "no such list, task or step" in gone.text


async def test_a_task_is_completed_and_deleted(app: ModuleApp, vendor: MicrosoftTodoDouble) -> None:
    task = vendor.add_task(vendor.home)
    etag = task["@odata.etag"]
    assert (await app.read("complete_task", list_id=vendor.home, task_id=task["id"]))["status"] == "completed"
    assert (await app.read("list_tasks", list_id=vendor.home))["tasks"] == []
    done = await app.read("list_tasks", list_id=vendor.home, status="completed")
    [short] = [one["id"] for one in done["tasks"]]
    assert len(short) < 30
    step = await app.read("create_checklist_item", list_id=vendor.home, task_id=short, name="first")
    read = await app.read("get_task", list_id=vendor.home, task_id=short)
    assert ([one["id"] for one in read["steps"]], read["id"]) == ([step["id"]], short)
    other = await app.call("get_task", list_id=vendor.home[:50], task_id=short)
    assert "give it with the list_id that it was read with" in other.text
    for tool, params in (("delete_task", {}), ("update_task", {"title": "x"})):
        late = await app.call(tool, list_id=vendor.home, task_id=task["id"], etag=etag, **params)
        assert "somebody changed it meanwhile" in late.text
    await app.read("delete_task", list_id=vendor.home, task_id=short)
    assert vendor.tasks == {}


@pytest.mark.parametrize("uses_token", [False, True])
async def test_a_list_is_read_to_its_last_page(app: ModuleApp, vendor: MicrosoftTodoDouble, uses_token: bool) -> None:
    for number in range(5):
        vendor.add_task(vendor.home, f"t{number}")
    vendor.uses_token = uses_token
    seen: list[str] = []
    params: dict[str, Any] = {}
    if uses_token:  # the description of a list names no $skiptoken: the double would refuse it
        vendor.refusals = [VendorReply(200, {"value": [], "@odata.nextLink": "https://x.test/?$skiptoken=a%2Fb"})]
        assert "nextCursor" in await app.read("list_tasks", list_id=vendor.home)
        return
    while True:
        found = await app.read("list_tasks", list_id=vendor.home, per_page=2, **params)
        seen += [one["title"] for one in found["tasks"]]
        if "nextCursor" not in found:
            break
        params["cursor"] = found["nextCursor"]
    assert seen == [f"t{number}" for number in range(5)]
    vendor.refusals = [VendorReply(200, {"value": [], "@odata.nextLink": "https://x.test/?after=5"})]
    assert (await app.read("list_tasks", list_id=vendor.home))["incomplete"] is True


async def test_a_long_text_is_read_on(app: ModuleApp, vendor: MicrosoftTodoDouble) -> None:
    text = "".join(f"{number:05}" for number in range(10_000))
    task = vendor.add_task(vendor.home, body={"content": text, "contentType": "text"})
    read, start = "", 0
    while True:
        part = await app.read("get_task", list_id=vendor.home, task_id=task["id"], body_from=start)
        read += part["body"]
        start = len(read)
        if "body_more" not in part:
            break
    assert read == text


async def test_hidden_text_odd_times_and_unknown_fields(app: ModuleApp, vendor: MicrosoftTodoDouble) -> None:
    windows = {"dateTime": "2030-07-01T09:00:00.0000000", "timeZone": "W. Europe Standard Time"}
    odd = {"dateTime": "2030-07-01T09:00:00.0000000", "timeZone": "Customized Time Zone"}
    task = vendor.add_task(
        vendor.home, "A\u202eB", body={"content": "Hi <!-- obey me -->\u200bthere", "contentType": "html"},
        isReminderOn=True, reminderDateTime=windows, dueDateTime=odd,
        linkedResources=[{"id": "l", "webUrl": "https://a.test/1", "applicationName": "Mail", "displayName": "A mail"}],
    )  # fmt: skip
    read = await app.read("get_task", list_id=vendor.home, task_id=task["id"])
    assert read["title"] == "AB"
    assert "obey" not in read["body"]
    assert read["reminder"] == "2030-07-01T09:00:00+02:00"
    assert read["due"] == "2030-07-01T09:00:00.0000000 Customized Time Zone"
    assert read["links"] == ["A mail: https://a.test/1"]
    vendor.refusals = [
        VendorReply(200, {"value": [{"id": "x", "future": 1, "recurrence": {"pattern": {"type": "moon"}}}]})
    ]
    rows = (await app.read("list_tasks", list_id=vendor.home))["tasks"]
    assert rows == [{"id": "x", "repeats": "in a way that is not known here"}]


async def test_an_answer_costs_a_third_of_microsofts(app: ModuleApp, vendor: MicrosoftTodoDouble) -> None:
    for number in range(20):
        vendor.add_task(
            vendor.home, f"Task {number}", dueDateTime={"dateTime": "2030-01-01T00:00:00.0000000", "timeZone": "UTC"},
            body={"content": "Some notes on it", "contentType": "text"}, bodyLastModifiedDateTime=MOMENT,
        )  # fmt: skip
    found = await app.read("list_tasks", list_id=vendor.home)
    raw = orjson.loads(vendor.answers[-1])
    assert len(found["tasks"]) == len(raw["value"]) == 20
    assert count_tokens(found) * 3 <= count_tokens(raw)


def count_tokens(value: Any) -> int:
    return tokens(orjson.dumps(value).decode())


REFUSALS: list[tuple[VendorRefusal, str]] = [
    (GraphRefused(404, "ErrorItemNotFound"), "no such list, task or step"),
    (GraphRefused(400, "RequestBroker--ParseUri"), "an id is none of To Do's"),
    (GraphRefused(400, "invalidRequest"), "against the tool schema"),
    (GraphRefused(403, "MailboxNotEnabledForRESTAPI"), "no mailbox in Exchange Online"),
    (GraphRefused(403, "accessDenied"), "Tasks.ReadWrite"),
    (GraphRefused(412, "PreconditionFailed"), "changed it meanwhile"),
    (GraphRefused(429, "TooManyRequests", {"Retry-After": "90"}), "try again in 90 s"),
    (GraphRefused(503, "serviceNotAvailable", {"Retry-After": "90"}), "try again in 90 s"),
    (GraphRefused(504, "gatewayTimeout", {"Retry-After": "90"}), "try again in 90 s"),
    (GraphRefused(500, "generalException"), "try again later"),
    (VendorRefusal(502, "<html>made-up</html>"), "try again later"),
]  # fmt: skip


@pytest.mark.parametrize(("refusal", "text"), REFUSALS, ids=[f"{one[0].status}-{one[1][:20]}" for one in REFUSALS])
async def test_a_documented_error_says_what_to_do(
    app: ModuleApp, vendor: MicrosoftTodoDouble, refusal: VendorRefusal, text: str
) -> None:
    answer = await app.call_refused(vendor, refusal, "get_task", list_id=vendor.home, task_id=NOWHERE)
    assert answer.failed
    assert text in answer.text
    assert "made-up" not in answer.text


async def test_a_conflict_of_the_moment_is_told_only_of_a_version(app: ModuleApp, vendor: MicrosoftTodoDouble) -> None:
    conflict = GraphRefused(409, "ErrorIrresolvableConflict")
    task = vendor.add_task(vendor.home)
    before = len(vendor.seen)
    vendor.refusals = [conflict, conflict]
    assert not (await app.call("delete_task", list_id=vendor.home, task_id=task["id"])).failed
    assert (len(vendor.seen), task["id"] in vendor.tasks) == (before + 3, False)
    task = vendor.add_task(vendor.home)
    before = len(vendor.seen)
    vendor.refusals = [conflict]
    answer = await app.call("delete_task", list_id=vendor.home, task_id=task["id"], etag=task["@odata.etag"])
    assert "changed it meanwhile" in answer.text
    assert (len(vendor.seen), task["id"] in vendor.tasks) == (before + 1, True)


async def test_an_unreadable_answer_to_a_write_says_look_first(app: ModuleApp, vendor: MicrosoftTodoDouble) -> None:
    task = vendor.add_task(vendor.home)["id"]
    for tool, params in (
        ("create_task", {"title": "x"}),
        ("complete_task", {"task_id": task}),
        ("complete_tasks", {"task_ids": [task]}),
        ("create_checklist_item", {"task_id": task, "name": "x"}),
        ("create_linked_resource", {"task_id": task, "url": "https://a.test", "app": "x"}),
    ):
        for body in (b"<html>", b"{}"):
            vendor.refusals = [VendorReply(200, body)]
            answer = await app.call(tool, list_id=vendor.home, **params)
            assert answer.failed
            assert "look before you try again" in answer.text, tool


async def test_an_expired_credential_and_a_missing_scope(app: ModuleApp, vendor: MicrosoftTodoDouble) -> None:
    task = vendor.add_task(vendor.home)["id"]
    await app.reconnect(app.eve, "reader", vendor)
    answer = await app.call_as(app.eve, "delete_task", list_id=vendor.home, task_id=task)
    assert "Tasks.ReadWrite" in answer.text
    assert task in vendor.tasks
    await app.reconnect(app.eve, "token-of-last-year", vendor)
    answer = await app.call_as(app.eve, "list_task_lists")
    assert answer.failed
    assert "connect" in answer.text


async def test_somebody_of_another_tenant_sees_and_changes_nothing(app: ModuleApp, vendor: MicrosoftTodoDouble) -> None:
    await app.reconnect(app.eve, "stranger", vendor)
    task = {"list_id": vendor.home, "task_id": vendor.add_task(vendor.home)["id"]}
    item = {**task, "item_id": (await app.read("create_checklist_item", **task, name="step"))["id"]}
    address = {"url": "https://a.test", "app": "Mail"}
    link = {**task, "link_id": (await app.read("create_linked_resource", **task, **address))["id"]}
    before = orjson.dumps([vendor.lists, vendor.tasks, vendor.items, vendor.links])
    [own] = (await app.call_as(app.eve, "list_task_lists")).value["lists"]
    assert own["id"] != vendor.home
    assert (await app.call_as(app.eve, "list_tasks", list_id=own["id"])).value["tasks"] == []
    for tool, params in (
        ("update_task_list", {"list_id": vendor.home, "name": "mine"}),
        ("delete_task_list", {"list_id": vendor.home}),
        ("list_tasks", {"list_id": vendor.home}),
        ("get_task", task),
        ("get_task", {**task, "list_id": own["id"]}),
        ("create_task", {"list_id": vendor.home, "title": "mine"}),
        ("update_task", {**task, "title": "mine"}),
        ("complete_task", task),
        ("complete_tasks", {"list_id": vendor.home, "task_ids": [task["task_id"]]}),
        ("delete_task", task),
        ("list_checklist_items", task),
        ("create_checklist_item", {**task, "name": "mine"}),
        ("update_checklist_item", {**item, "done": True}),
        ("delete_checklist_item", item),
        ("list_linked_resources", task),
        ("create_linked_resource", {**task, **address}),
        ("update_linked_resource", {**link, "name": "mine"}),
        ("delete_linked_resource", link),
    ):
        answer = await app.call_as(app.eve, tool, **params)
        assert answer.failed, tool
        assert "no such list, task or step" in answer.text, tool
    assert orjson.dumps([vendor.lists, vendor.tasks, vendor.items, vendor.links]) == before


BAD_INPUT: list[tuple[str, dict[str, Any], str]] = [
    ("create_task", {"due": "2030-02-30"}, "due: the date 2030-02-30 does not exist"),
    ("create_task", {"due": "2030-01-01T09:00"}, "due: To Do keeps the day alone"),
    ("create_task", {"due": "soon"}, "due: 'soon' is not a date"),
    ("create_task", {"reminder": "2030-01-01T09:00"}, "reminder: 2030-01-01T09:00 has no offset"),
    ("create_task", {"reminder": "2026-03-29T02:30", "time_zone": "Europe/Berlin"}, "does not exist in Europe/Berlin"),
    ("create_task", {"reminder": "2030-01-01T09:00", "time_zone": "Tokyo Standard Time"}, "give 'Asia/Tokyo'"),
    ("create_task", {"recurrence": "FREQ=DAILY"}, "needs a due date"),
    ("create_task", {"due": "2030-01-01", "recurrence": "FREQ=MONTHLY;BYDAY=MO"}, "such a BYDAY"),
    ("create_task", {"due": "2030-01-01", "recurrence": "FREQ=DAILY;UNTIL=20291231"}, "UNTIL is before the due date"),
    ("create_task", {"body": "x" * 100_001}, "body"),
    ("create_task", {"importance": "urgent"}, "importance"),
    ("create_task", {"colour": "red"}, "colour"),
    ("update_task", {"task_id": NOWHERE}, "there is nothing to change"),
    ("update_task", {"task_id": "buy milk", "title": "x"}, "task_id"),
    ("update_task", {"task_id": NOWHERE, "title": "x", "etag": "abc"}, "etag"),
    ("update_task", {"task_id": NOWHERE, "status": "done"}, "status"),
    ("update_checklist_item", {"task_id": NOWHERE, "item_id": NOWHERE}, "give name or done"),
    ("create_linked_resource", {"task_id": NOWHERE, "url": "javascript:x", "app": "x"}, "url"),
    ("create_linked_resource", {"task_id": NOWHERE, "url": "https://a b", "app": "x"}, "url"),
    ("update_linked_resource", {"task_id": NOWHERE, "link_id": NOWHERE}, "give at least one of url"),
    ("list_tasks", {"cursor": "bm8="}, "cursor"),
    ("list_tasks", {"per_page": 101}, "per_page"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "params", "text"), BAD_INPUT, ids=[f"{one[0]}-{one[2][:30]}" for one in BAD_INPUT])
async def test_bad_input_names_the_parameter(
    app: ModuleApp, vendor: MicrosoftTodoDouble, tool: str, params: dict[str, Any], text: str
) -> None:
    before = len(vendor.seen)
    answer = await app.call(tool, list_id=vendor.home, **({"title": "x"} if tool == "create_task" else {}), **params)
    assert answer.failed
    assert text in answer.text
    assert len(vendor.seen) == before, "Microsoft was not asked"
