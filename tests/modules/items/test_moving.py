"""Items that are moved in: keys, relations, tags and statuses, and each wrong line."""

import json
from typing import Any

from tests.support.modules import Person


def lines(*objects: Any) -> str:
    return "\n".join(one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in objects)


async def bring(person: Person, *objects: Any, **more: Any) -> dict[str, Any]:
    return await person.call("import_items", jsonl=lines(*objects), **more)


def told(answer: dict[str, Any]) -> list[tuple[int, str, str]]:
    return [(one["line"], one["field"], one["reason"]) for one in answer["refused"]]


async def test_keys_relations_tags_statuses_and_times_come_along(ada: Person) -> None:
    answer = await bring(
        ada,
        {
            "statuses": [
                {"name": "Stuck"},
                {"name": "Shipped", "is_closed": True},
                {"name": "Open", "is_closed": True},
            ]
        },
        {"key": "task-7", "title": "出荷", "status": "Shipped", "related": ["doc-3"], "tags": ["b", "a"]},
        "",
        {"type": "doc", "id": 3, "title": "d", "content": "# c", "related": ["task-7"], "priority": "LOW"},
        {"type": "task", "title": "no key", "created_at": "2020-01-02T03:04:05Z", "updated_at": "2021-01-02T03:04:05Z"},
    )
    assert answer == {
        "created": 3, "updated": 0, "relations": 2, "refused_count": 0, "refused": [], "keys": {"5": "task-8"},
    }  # fmt: skip
    shipped = await ada.call("get_item_detail", type="task", id=7)
    assert (shipped["title"], shipped["status"], shipped["related"], shipped["tags"]) == (
        "出荷", "Shipped", ["doc-3"], ["b", "a"],
    )  # fmt: skip
    old = await ada.call("get_item_detail", type="task", id=8)
    assert (old["created_at"][:4], old["updated_at"][:4], old["status"]) == ("2020", "2021", "Open")
    statuses = {one["name"]: one["is_closed"] for one in (await ada.call("get_statuses"))["statuses"]}
    assert (statuses["Stuck"], statuses["Shipped"], statuses["Open"], len(statuses)) == (False, True, False, 13)
    assert (await ada.call("create_item", type="doc", title="next"))["key"] == "doc-4"


async def test_what_the_tools_show_can_be_moved_in(ada: Person) -> None:
    await ada.call("create_item", type="task", title="t", content="c", tags=["x"], start_date="2026-01-01")
    whole = await ada.call("get_item_detail", type="task", id=1)
    await ada.call("create_workspace", name="copy")
    assert (await bring(ada, whole, workspace="copy"))["created"] == 1
    copied = await ada.call("get_item_detail", type="task", id=1, workspace="copy")
    assert {**copied, "workspace": "default"} == whole


async def test_each_wrong_line_is_told_and_the_others_are_written(ada: Person) -> None:
    await ada.call("create_item", type="task", title="there")
    answer = await bring(
        ada,
        "no json",
        {"key": "task-1", "title": "taken"},
        {"key": "note-1", "title": " "},
        {"key": "note-2"},
        {"title": "no type"},
        {"key": "odd", "title": "x"},
        {"key": "note-3", "title": "x", "status": "Odd"},
        {"key": "note-4", "title": "x", "titel": "y"},
        {"key": "note-5", "title": "x", "related": ["note-99", "note-5", "task-1"]},
        {"key": "note-5", "title": "again"},
        {"key": "note-2000000000", "title": "x"},
        {"key": "note-6", "title": "x", "start_date": "2026-02-01", "end_date": "2026-01-01"},
        [1],
    )
    assert (answer["created"], answer["relations"], answer["refused_count"]) == (1, 1, 14)
    assert [(line, field) for line, field, _ in told(answer)] == [
        (1, ""), (2, "key"), (3, "title"), (4, "title"), (5, "type"), (6, "key"), (7, "status"), (8, "titel"),
        (9, "related"), (9, "related"), (10, "key"), (11, "key"), (12, "end_date"), (13, ""),
    ]  # fmt: skip
    assert (await ada.call("get_item_detail", type="task", id=1))["title"] == "there"
    assert (await ada.call("get_item_detail", type="note", id=5))["related"] == ["task-1"]


async def test_with_replace_a_second_run_changes_what_is_there(ada: Person) -> None:
    first = [{"key": "task-1", "title": "a", "content": "c", "related": ["task-2"]}, {"key": "task-2", "title": "b"}]
    await bring(ada, *first)
    again = await bring(ada, *first)
    assert (again["created"], again["updated"], again["refused_count"]) == (0, 0, 2)
    changed = await bring(
        ada, {"key": "task-1", "title": "new"}, {"key": "task-2", "related": ["task-1"]}, replace=True
    )
    assert (changed["created"], changed["updated"], changed["relations"]) == (0, 2, 1)
    one, two = [await ada.call("get_item_detail", type="task", id=id) for id in (1, 2)]
    assert (one["title"], one["content"], one["related"], one["revision"]) == ("new", "c", ["task-2"], 2)
    assert (two["title"], two["related"], two["revision"]) == ("b", ["task-1"], 1)
    gone = await bring(ada, {"key": "task-1", "related": []}, replace=True)
    assert gone["refused_count"] == 0
    assert (await ada.call("get_item_detail", type="task", id=1))["related"] == []
