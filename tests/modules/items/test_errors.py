"""What is wrong is refused with the document's code and field, and nothing is written."""

from typing import Any

import pytest

from tests.modules.items.conftest import Office, refused
from tests.support.modules import Person


async def begin(person: Person) -> None:
    for _ in range(2):
        await person.call("create_item", type="task", title="t", start_date="2026-02-01")


@pytest.mark.parametrize(
    ("changes", "code", "field"),
    [
        ({"status": "Odd"}, 1004, "status"),
        ({"status": "open"}, 1004, "status"),
        ({"start_date": "2026-02-02", "end_date": "2026-02-01"}, 1002, "end_date"),
        ({"related": ["task"]}, 1002, "related[0]"),
        ({"related": ["task-2", "task-x"]}, 1002, "related[1]"),
        ({"related": ["task-9"]}, 1001, None),
        ({"related": [f"task-{2**40}"]}, 1001, None),
        ({"workspace": "none"}, 1002, "workspace"),
        ({"workspace": "role:Team/none"}, 1002, "workspace"),
    ],
)
async def test_the_same_for_new_and_changed_items(
    ada: Person, changes: dict[str, Any], code: int, field: str | None
) -> None:
    await begin(ada)
    for tool, more in (("create_item", {"type": "task", "title": "t"}), ("update_item", {"type": "task", "id": 1})):
        got, details = await refused(ada, tool, **more, **changes)
        assert (got, details.get("field")) == (code, field)
    listed = (await ada.call("get_items", type="task"))["items"]
    assert [(one["key"], one["revision"]) for one in listed] == [("task-2", 1), ("task-1", 1)]


async def test_an_end_is_compared_with_the_start_that_is_there(ada: Person) -> None:
    await begin(ada)
    code, details = await refused(ada, "update_item", type="task", id=1, end_date="2026-01-31")
    assert (code, details) == (
        1002,
        {
            "field": "end_date",
            "value": "2026-01-31",
            "constraint": "must not be before start_date, which is 2026-02-01",
        },
    )


async def test_an_item_is_not_related_to_itself(ada: Person) -> None:
    await begin(ada)
    code, details = await refused(ada, "update_item", type="task", id=1, related=["task-2", "task-1"])
    assert (code, details["field"], details["value"]) == (1002, "related", "task-1")
    await ada.call("change_item_type", from_type="task", from_id=1, to_type="note")
    code, details = await refused(ada, "update_item", type="note", id=1, related=["task-1"])
    assert (code, details["field"]) == (1002, "related")


async def test_circles_are_relations_like_others(ada: Person) -> None:
    await begin(ada)
    await ada.call("update_item", type="task", id=1, related=["task-2"])
    await ada.call("update_item", type="task", id=2, related=["task-1"])
    assert (await ada.call("get_item_detail", type="task", id=2))["related"] == ["task-1"]


@pytest.mark.parametrize(
    ("id", "code", "details"),
    [
        (9, 1001, {"type": "task", "id": 9, "requested_id": "task-9"}),
        ("task-9", 1001, {"type": "task", "id": 9, "requested_id": "task-9"}),
        (2**40, 1001, {"type": "task", "id": 2**40, "requested_id": f"task-{2**40}"}),
        ("note-1", 1002, {"field": "id", "value": "note-1", "constraint": "must be an id of the given type"}),
        ("x", 1002, {"field": "id", "value": "x", "constraint": "must be a number or type-number, such as task-7"}),
        ("-1", 1002, {"field": "id", "value": "-1", "constraint": "must be a number or type-number, such as task-7"}),
    ],
)
async def test_ids(ada: Person, id: int | str, code: int, details: dict[str, Any]) -> None:
    await begin(ada)
    for tool in ("get_item_detail", "update_item", "delete_item"):
        assert await refused(ada, tool, type="task", id=id) == (code, details)


async def test_a_revision_that_was_not_read_refuses_the_change(ada: Person) -> None:
    await begin(ada)
    await ada.call("update_item", type="task", id=1, title="new", expected_revision=1)
    for tool, more in (
        ("update_item", {"type": "task", "id": 1, "title": "newer"}),
        ("delete_item", {"type": "task", "id": 1}),
        ("change_item_type", {"from_type": "task", "from_id": 1, "to_type": "note"}),
    ):
        code, details = await refused(ada, tool, **more, expected_revision=1)
        assert (code, details["field"]) == (1002, "expected_revision")
        assert details["constraint"] == "the item task-1 has revision 2"
    assert (await ada.call("get_item_detail", type="task", id=1))["title"] == "new"


async def test_what_lists_and_workspaces_refuse(ada: Person, office: Office) -> None:
    await begin(ada)
    for person, tool, params, code, field in (
        (ada, "get_items", {"type": "task", "statuses": ["Open", "Odd"]}, 1004, "status"),
        (ada, "get_items", {"type": "task", "start_date": "2026-02-02", "end_date": "2026-02-01"}, 1002, "end_date"),
        (ada, "create_workspace", {"name": "a/b"}, 1002, "name"),
        (ada, "create_workspace", {"name": "role:x"}, 1002, "name"),
        (ada, "create_workspace", {"name": "x", "owner": "role"}, 1002, "role"),
        (ada, "create_workspace", {"name": "x", "role": "Team"}, 1002, "role"),
        (ada, "create_workspace", {"name": "x", "owner": "role", "role": "None"}, 1002, "role"),
        (ada, "delete_workspace", {"workspace": "none"}, 1002, "workspace"),
        (office.bob, "create_workspace", {"name": "x", "owner": "role", "role": "Team"}, 1005, None),
        (office.bob, "create_workspace", {"name": "x", "owner": "tenant"}, 1005, None),
        (office.cat, "create_workspace", {"name": "x", "owner": "role", "role": "Team"}, 1002, "role"),
        (office.cat, "get_items", {"type": "task", "statuses": ["Odd"]}, 1004, "status"),
    ):
        got, details = await refused(person, tool, **params)
        assert (got, details.get("field")) == (code, field), (tool, params)


async def test_nothing_is_denied_of_an_item_that_is_not_there(office: Office) -> None:
    await office.ada.call("create_workspace", name="news", owner="tenant", member_writes=False)
    await office.ada.call("create_item", type="note", title="n", workspace="tenant/news")
    await office.ada.call("change_item_type", from_type="note", from_id=1, to_type="memo", workspace="tenant/news")
    for type, id, expected in (("memo", 1, 1005), ("note", "note-1", 1005), ("memo", 2, 1001), ("note", 2, 1001)):
        for tool, params in (
            ("update_item", {"type": type, "id": id, "title": "x"}),
            ("delete_item", {"type": type, "id": id}),
            ("change_item_type", {"from_type": type, "from_id": id, "to_type": "x"}),
        ):
            assert (await refused(office.cat, tool, **params, workspace="tenant/news"))[0] == expected, (tool, type, id)
    assert (await refused(office.cat, "create_item", type="note", title="x", workspace="tenant/news"))[0] == 1005


async def test_what_cannot_be_searched_is_told_by_a_code(ada: Person) -> None:
    """This database has no index of meanings."""
    await ada.call("create_item", type="task", title="t")
    for tool, params in (("semantic_search", {"query": "x"}), ("index_items", {})):
        code, details = await refused(ada, tool, **params)
        assert (code, details) == (1003, {"message": "nothing is searched by meaning here"})
