"""Items as one person sees them: any type, ids in both forms, changes, lists, tags and statuses."""

import dataclasses
from typing import Any

import pytest

from tests.bench.item_population import fill_workspace
from tests.modules.items.conftest import Office, refused
from tests.support.modules import Person
from tests.support.postgres import ScratchDatabase

STATUSES = ["Open", "Specification", "Waiting", "Ready", "In Progress", "Review", "Testing", "Pending"]
CLOSED = ["Completed", "Closed", "Canceled"]


async def create(person: Person, type: str = "task", title: str = "t", **more: Any) -> dict[str, Any]:
    return await person.call("create_item", type=type, title=title, **more)


async def keys(person: Person, type: str = "task", **more: Any) -> list[str]:
    return [one["key"] for one in (await person.call("get_items", type=type, **more))["items"]]


async def test_a_created_item_is_whole(ada: Person) -> None:
    first = await create(ada, "note", "見積もり")
    made = await create(
        ada,
        title=" Release <b>2.0</b> ",
        description="d",
        content="# c\n\n日本語",
        status="In Progress",
        priority="CRITICAL",
        category="ops",
        start_date="2026-01-31",
        end_date="2026-02-01",
        version="2.0",
        related=["note-1"],
        tags=["b", "a", "b"],
    )
    assert made | {"created_at": "", "updated_at": ""} == {
        "key": "task-1",
        "id": 1,
        "type": "task",
        "title": " Release <b>2.0</b> ",
        "description": "d",
        "content": "# c\n\n日本語",
        "status": "In Progress",
        "priority": "CRITICAL",
        "category": "ops",
        "start_date": "2026-01-31",
        "end_date": "2026-02-01",
        "version": "2.0",
        "related": ["note-1"],
        "tags": ["b", "a"],
        "workspace": "default",
        "revision": 1,
        "created_at": "",
        "updated_at": "",
    }
    assert await ada.call("get_item_detail", type="task", id=1) == made
    assert (first["status"], first["priority"], first["content"], first["related"]) == ("Open", "MEDIUM", "", [])
    assert not {"category", "start_date", "end_date", "version", "updated_by"} & first.keys()


@pytest.mark.parametrize("type", ["task", "sub-task", "日報", "Bug 2", "a" * 64, "x-1"])
async def test_every_type_counts_for_itself(ada: Person, type: str) -> None:
    await create(ada)
    await create(ada, type, "first")
    second = await create(ada, type, "second")
    number = 3 if type == "task" else 2
    assert (second["key"], second["id"]) == (f"{type}-{number}", number)
    for id in (number, str(number), f"{type}-{number}"):
        assert (await ada.call("get_item_detail", type=type, id=id))["title"] == "second"


async def test_what_is_not_given_stays(ada: Person) -> None:
    await create(ada, "note")
    made = await create(ada, content="c", category="x", start_date="2026-01-01", tags=["a", "b"], related=["note-1"])
    for changes in ({"title": "new"}, {"tags": ["b", "c"]}, {"status": "Review"}, {"priority": "LOW"}):
        changed = await ada.call("update_item", type="task", id=1, **changes)
        made |= {**changes, "revision": made["revision"] + 1, "updated_at": changed["updated_at"]}
        assert changed == made
    gone = await ada.call("update_item", type="task", id=1, category="", start_date="", related=[], tags=[])
    assert not {"category", "start_date"} & gone.keys()
    assert (gone["related"], gone["tags"], gone["content"]) == ([], [], "c")
    assert await ada.call("get_item_detail", type="task", id=1) == gone
    assert (await ada.call("get_tags"))["tags"] == []


async def test_null_counts_as_left_out(ada: Person) -> None:
    await create(ada, category="x")
    changed = await ada.call("update_item", type="task", id=1, title=None, category=None, related=None)
    assert changed["category"] == "x"


async def test_a_deleted_item_leaves_nothing_and_its_number_is_not_given_again(ada: Person) -> None:
    await create(ada, tags=["a"])
    await create(ada, related=["task-1"])
    await ada.call("update_item", type="task", id=1, related=["task-2"])
    deleted = await ada.call("delete_item", type="task", id="task-1")
    assert (deleted["deleted"], deleted["key"]) == (True, "task-1")
    assert (await ada.call("get_item_detail", type="task", id=2))["related"] == []
    assert (await ada.call("get_tags"))["tags"] == []
    assert (await create(ada))["key"] == "task-3"
    for tool, more in (("get_item_detail", {}), ("update_item", {"title": "x"}), ("delete_item", {})):
        assert await refused(ada, tool, type="task", id="task-1", **more) == (
            1001,
            {"type": "task", "id": 1, "requested_id": "task-1"},
        )


async def test_lists_are_short_and_the_newest_change_is_first(ada: Person) -> None:
    for number in range(5):
        await create(ada, title=f"t{number}", description="long", content="longer", tags=["a"])
    await ada.call("update_item", type="task", id=2, status="Closed")
    await ada.call("update_item", type="task", id=1, title="new")
    assert await keys(ada) == ["task-1", "task-5", "task-4", "task-3"]
    assert await keys(ada, includeClosedStatuses=True) == ["task-1", "task-2", "task-5", "task-4", "task-3"]
    assert await keys(ada, statuses=["Closed"]) == ["task-2"]
    assert await keys(ada, statuses=["Open", "Closed"], limit=2) == ["task-1", "task-2"]
    assert await keys(ada, type="note") == []
    page = await ada.call("get_items", type="task", limit=3)
    assert page["next_offset"] == 3
    assert not {"description", "content", "related"} & page["items"][0].keys()
    rest = await ada.call("get_items", type="task", limit=3, offset=3)
    assert ([one["key"] for one in rest["items"]], "next_offset" in rest) == (["task-3"], False)


async def test_dates_limit_by_the_time_of_the_change(ada: Person, database: ScratchDatabase) -> None:
    for day in ("2026-01-30", "2026-01-31", "2026-02-01"):
        made = await create(ada)
        async with database.admin_connection() as admin:
            await admin.execute(
                "UPDATE modules.items SET updated_at = $1::text::timestamptz WHERE number = $2",
                f"{day}T23:59:59.999999Z",
                made["id"],
            )
    assert await keys(ada, start_date="2026-01-31") == ["task-3", "task-2"]
    assert await keys(ada, end_date="2026-01-31") == ["task-2", "task-1"]
    assert await keys(ada, start_date="2026-01-31", end_date="2026-01-31") == ["task-2"]
    assert await keys(ada, end_date="9999-12-31") == ["task-3", "task-2", "task-1"]


async def test_another_type_is_another_id_and_the_old_one_leads_to_it(ada: Person) -> None:
    await create(ada, "note")
    made = await create(ada, content="c", tags=["a"], related=["note-1"])
    await create(ada, "doc", related=["task-1"])
    changed = await ada.call("change_item_type", from_type="task", from_id=1, to_type="note")
    assert (changed["key"], changed["previous_key"]) == ("note-2", "task-1")
    kept = ("title", "content", "tags", "related", "created_at", "status")
    assert {name: changed[name] for name in kept} == {name: made[name] for name in kept}
    assert (await ada.call("get_item_detail", type="doc", id=1))["related"] == ["note-2"]
    assert (await ada.call("get_item_detail", type="task", id="task-1"))["key"] == "note-2"
    assert (await create(ada, "doc", related=["task-1"]))["related"] == ["note-2"]
    assert await keys(ada) == []
    assert (await create(ada))["key"] == "task-2"
    again = await ada.call("change_item_type", from_type="note", from_id="note-2", to_type="task")
    assert again["key"] == "task-3"
    for type, id in (("task", 1), ("note", 2), ("task", 3)):
        assert (await ada.call("get_item_detail", type=type, id=id))["key"] == "task-3"


async def test_several_change_at_once(ada: Person) -> None:
    for _ in range(3):
        await create(ada)
    updates = [
        {"type": "task", "id": 1, "data": {"status": "Closed"}},
        {"type": "task", "id": "task-2", "data": {"related": ["task-1"], "tags": ["x"]}},
        {"type": "task", "id": 1, "data": {"title": "new"}, "expected_revision": 1},
    ]
    answer = await ada.call("bulk_update", updates=updates)
    assert answer == {
        "updated": [
            {"key": "task-1", "revision": 2},
            {"key": "task-2", "revision": 2},
            {"key": "task-1", "revision": 3},
        ],
        "count": 3,
    }
    first = await ada.call("get_item_detail", type="task", id=1)
    assert (first["status"], first["title"], first["revision"]) == ("Closed", "new", 3)
    assert (await ada.call("get_item_detail", type="task", id=2))["related"] == ["task-1"]


async def test_one_wrong_entry_refuses_all_and_every_wrong_one_is_told(ada: Person) -> None:
    await create(ada)
    updates = [
        {"type": "task", "id": 1, "data": {"title": "never"}},
        {"type": "task", "id": 9, "data": {"title": "x"}},
        {"type": "task", "id": 1, "data": {"status": "Odd"}},
        {"type": "task", "id": 1, "data": {"title": "  "}},
        {"type": "task", "id": 1, "data": {"related": ["task-1"]}},
        {"type": "task", "id": 1, "data": {"tags": ["x" * 1000]}},
        {"type": "task", "id": "note-1", "data": {}},
        {"type": "task", "id": 1, "data": {}, "expected_revision": 7},
        {"id": 1, "data": {}},
    ]
    code, details = await refused(ada, "bulk_update", updates=updates)
    assert code == 1002
    assert [(one["index"], one["code"], one.get("field", "")) for one in details["errors"]] == [
        (1, 1001, ""),
        (2, 1004, "status"),
        (3, 1002, "data.title"),
        (4, 1002, "related"),
        (5, 1002, "data.tags[0]"),
        (6, 1002, "id"),
        (7, 1002, "expected_revision"),
        (8, 1002, "type"),
    ]
    assert (await ada.call("get_item_detail", type="task", id=1))["revision"] == 1
    assert (await refused(ada, "bulk_update", updates=updates[:2]))[0] == 1001


async def test_tags_are_counted(ada: Person) -> None:
    assert (await ada.call("get_tags"))["tags"] == []
    for tags in (["b", "a"], ["b"], ["c", "b"]):
        await create(ada, tags=tags)
    counts = [(one["name"], one["count"]) for one in (await ada.call("get_tags"))["tags"]]
    assert counts == [("b", 3), ("a", 1), ("c", 1)]


async def test_statuses_say_which_are_closed(ada: Person) -> None:
    expected = [*((name, False) for name in STATUSES), *((name, True) for name in CLOSED)]
    for _ in range(2):  # before there is a workspace, and after
        found = (await ada.call("get_statuses"))["statuses"]
        assert [(one["name"], one["is_closed"]) for one in found] == expected
        await create(ada)


async def test_a_workspace_may_have_statuses_of_its_own(ada: Person) -> None:
    await create(ada)
    wanted = [{"name": "Todo"}, {"name": "Doing"}, {"name": "Open"}, {"name": "Done", "is_closed": True}]
    assert await ada.call("set_statuses", statuses=wanted) == await ada.call("get_statuses")
    code, details = await refused(ada, "set_statuses", statuses=wanted[:2])
    assert (code, details["constraint"], details["message"]) == (1004, "used_status", "items have the status Open")
    await ada.call("update_item", type="task", id=1, status="Done")
    await ada.call("set_statuses", statuses=[wanted[3], *wanted[:2]])
    assert await keys(ada) == []
    assert (await create(ada))["status"] == "Todo"
    for wrong in ([wanted[3]], [wanted[0], wanted[0]]):
        assert (await refused(ada, "set_statuses", statuses=wrong))[:1] == (1002,)


async def test_the_current_state_has_a_history(ada: Person) -> None:
    empty = await ada.call("get_current_state")
    assert empty["content"] == ""
    assert empty["metadata"] == {"updated_by": "", "updated_at": None, "related": [], "tags": [], "revision": 0}
    await create(ada)
    for number in range(3):
        saved = await ada.call(
            "update_current_state", content=f"# {number}", updated_by="ai-start", related=["task-1"], tags=["x", "x"]
        )
        assert await ada.call("get_current_state") == saved
    assert saved["metadata"] | {"updated_at": ""} == {
        "updated_by": "ai-start",
        "updated_at": "",
        "related": ["task-1"],
        "tags": ["x"],
        "revision": 3,
    }
    code, details = await refused(ada, "update_current_state", content="x", expected_revision=2)
    assert (code, details["field"]) == (1002, "expected_revision")
    assert (await ada.call("update_current_state", content="x", expected_revision=3))["metadata"]["revision"] == 4
    await ada.call("delete_item", type="task", id=1)
    page = await ada.call("get_state_history", limit=2)
    assert [(one["revision"], one["content"], one["related"]) for one in page["states"]] == [
        (4, "x", []),
        (3, "# 2", []),
    ]
    assert page["states"][0]["updated_by"] == "ada@mail.test"
    rest = await ada.call("get_state_history", limit=2, before=page["next_before"])
    assert ([one["revision"] for one in rest["states"]], "next_before" in rest) == ([2, 1], False)


async def test_workspaces_are_apart(ada: Person) -> None:
    assert (await ada.call("list_workspaces"))["workspaces"] == []
    await create(ada)
    plans = await ada.call("create_workspace", name="plans")
    assert await ada.call("create_workspace", name="plans") == plans
    for _ in range(2):
        made = await create(ada, workspace="plans")
    assert (made["key"], made["workspace"]) == ("task-2", "plans")
    assert await keys(ada, workspace=plans["id"]) == ["task-2", "task-1"]
    assert await keys(ada) == ["task-1"]
    assert (await refused(ada, "create_item", type="x", title="y", related=["task-2"]))[0] == 1001
    listed = (await ada.call("list_workspaces"))["workspaces"]
    assert [(one["name"], one["items"], one["can_write"]) for one in listed] == [
        ("default", 1, True),
        ("plans", 2, True),
    ]
    assert await ada.call("delete_workspace", workspace="plans") == {"name": "plans", "items": 2}
    code, details = await refused(ada, "get_items", type="task", workspace="plans")
    assert (code, details["field"]) == (1002, "workspace")


async def test_a_renamed_workspace_keeps_what_is_in_it(ada: Person) -> None:
    plans = await ada.call("create_workspace", name="plans")
    await create(ada, workspace="plans")
    renamed = await ada.call("rename_workspace", workspace="plans", name="計画")
    assert renamed == {**plans, "name": "計画", "items": 1}
    assert await keys(ada, workspace="計画") == ["task-1"]
    assert (await refused(ada, "get_items", type="task", workspace="plans"))[0] == 1002
    await ada.call("create_workspace", name="plans")
    for wrong in ("plans", "a/b", "role:x", "default"):
        code, details = await refused(ada, "rename_workspace", workspace="計画", name=wrong)
        assert (code, details["field"]) == (1002, "name"), wrong
    await create(ada)
    assert (await refused(ada, "rename_workspace", workspace="default", name="mine"))[1]["field"] == "name"
    assert (await ada.call("rename_workspace", workspace="計画", name="計画")) == renamed


async def test_a_workspace_is_no_larger_than_set(office: Office) -> None:
    small = dataclasses.replace(office.ada, settings={"max_items": 2})
    for _ in range(2):
        await create(small)
    code, details = await refused(small, "create_item", type="task", title="t")
    assert (code, details["constraint"]) == (1004, "max_items")
    await small.call("delete_item", type="task", id=1)
    assert (await create(small))["key"] == "task-3"


async def test_names_are_found_however_their_letters_are_composed(ada: Person) -> None:
    decomposed, composed = "\u304b\u3099く", "\u304cく"
    made = await ada.call("create_workspace", name=decomposed)
    assert made["name"] == composed
    for name in (decomposed, composed, f" {composed} "):
        await create(ada, workspace=name)
    assert (await ada.call("list_workspaces"))["workspaces"][0]["items"] == 3


async def test_every_page_can_be_reached(ada: Person, database: ScratchDatabase) -> None:
    await create(ada)
    async with database.admin_connection() as admin:
        found = await admin.fetchrow("SELECT id, number FROM modules.item_workspaces")
        await admin.execute("DELETE FROM modules.items")
        await fill_workspace(admin, ada.tenant_id, found["id"], found["number"], ada.user_id, 10_150)
    page = await ada.call("browse_items", includeClosedStatuses=True, limit=100, offset=10_000)
    rest = await ada.call("browse_items", includeClosedStatuses=True, limit=100, offset=page["next_offset"])
    assert (len(page["items"]), len(rest["items"]), rest.get("next_offset")) == (100, 50, None)
    for tool, params in (("get_items", {"type": "task"}), ("search_items", {"query": "w1"})):
        assert (await ada.call(tool, **params, offset=199_000))["items"] == []
