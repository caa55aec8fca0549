"""Looking through a workspace by words, types, statuses and tags together."""

from typing import Any

import pytest

from modules.items import browse_tools
from tests.modules.items.conftest import Office, refused
from tests.support.modules import Person


async def browse(person: Person, **filters: Any) -> list[str]:
    return [one["key"] for one in (await person.call("browse_items", **filters))["items"]]


async def fill(person: Person) -> None:
    for type, title, status, tags in (
        ("task", "Move the warehouse", "Open", ["move", "osaka"]),
        ("task", "Sell the old warehouse", "Closed", ["move"]),
        ("note", "倉庫は大阪に移転する", "Open", ["osaka"]),
        ("bug-report", "Labels of the warehouse are wrong", "In Progress", []),
    ):
        await person.call("create_item", type=type, title=title, status=status, tags=tags)


async def test_filters_count_together(ada: Person) -> None:
    await fill(ada)
    assert await browse(ada) == ["bug-report-1", "note-1", "task-1"]
    assert await browse(ada, includeClosedStatuses=True) == ["bug-report-1", "note-1", "task-2", "task-1"]
    assert await browse(ada, types=["task", "note"]) == ["note-1", "task-1"]
    assert await browse(ada, statuses=["Closed"]) == ["task-2"]
    assert await browse(ada, tags=["osaka"]) == ["note-1", "task-1"]
    assert await browse(ada, tags=["osaka", "move", "move"]) == ["task-1"]
    assert await browse(ada, tags=["move"], includeClosedStatuses=True, types=["task"]) == ["task-2", "task-1"]
    assert await browse(ada, query="warehouse", tags=["move"]) == ["task-1"]
    assert await browse(ada, query="warehouse", statuses=["Closed", "In Progress"]) == ["bug-report-1", "task-2"]
    assert await browse(ada, query="大阪") == ["note-1"]
    assert await browse(ada, query="…") == []
    assert await browse(ada, types=["none"]) == []


async def test_types_are_counted(office: Office) -> None:
    assert await office.ada.call("get_types") == {"types": []}
    await fill(office.ada)
    assert await office.ada.call("get_types") == {
        "types": [{"name": "task", "count": 2}, {"name": "bug-report", "count": 1}, {"name": "note", "count": 1}]
    }
    assert await office.bob.call("get_types") == {"types": []}


@pytest.mark.parametrize("query", ["", "row"])
async def test_pages_have_every_item_once(ada: Person, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    monkeypatch.setattr(browse_tools, "BATCH", 4)
    monkeypatch.setattr(browse_tools, "MAX_LOOKED_AT", 8)
    for number in range(1, 31):
        status = "Closed" if number % 3 == 0 or number > 24 else "Open"
        await ada.call("create_item", type="task", title=f"row {number}", status=status)
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = await ada.call("browse_items", query=query, limit=5, offset=offset)
        seen += [one["key"] for one in page["items"]]
        offset = page.get("next_offset")
    assert seen == [f"task-{number}" for number in range(24, 0, -1) if number % 3]


async def test_nobody_looks_into_anothers_workspace(offices: tuple[Office, Office]) -> None:
    here, elsewhere = offices
    await fill(here.ada)
    for person in (here.bob, here.cat, elsewhere.ada):
        for filters in ({}, {"query": "warehouse"}, {"tags": ["move"]}):
            assert await browse(person, includeClosedStatuses=True, **filters) == []


async def test_an_unknown_status_is_refused(ada: Person) -> None:
    code, details = await refused(ada, "browse_items", statuses=["Nope"])
    assert (code, details["field"]) == (1004, "status")
