"""Counts of tags and types beside what the rows say, whatever was written and however many wrote at once."""

import asyncio
import contextlib
import json
import random
from collections import Counter
from typing import Any

from core.migrations import downgrade, migrate
from modules.kit import DocumentedError
from tests.modules.items.conftest import Office
from tests.support.modules import Person
from tests.support.postgres import PASSWORDS, ScratchDatabase

TAGS, TYPES = ("red", "green", "青"), ("task", "note")
WRITERS, WRITES = 10, 12
ROWS = "SELECT type, tags FROM modules.items WHERE tenant_id = $1"


async def count(person: Person, tool: str, **more: Any) -> dict[str, int]:
    (listed,) = (await person.call(tool, **more)).values()
    assert [-one["count"] for one in listed] == sorted(-one["count"] for one in listed)
    return {one["name"]: one["count"] for one in listed}


async def write_something(person: Person, chance: random.Random) -> None:
    tags = chance.sample(TAGS, chance.randint(0, 3))
    named = {"type": chance.choice(TYPES), "id": chance.randint(1, 20)}
    tool, params = chance.choice(
        [
            ("create_item", {"type": chance.choice(TYPES), "title": "t", "tags": tags}),
            ("create_item", {"type": chance.choice(TYPES), "title": "t", "tags": tags}),
            ("update_item", {**named, "tags": tags}),
            ("update_item", {**named, "title": "new"}),
            ("bulk_update", {"updates": [{**named, "data": {"tags": tags}}, {**named, "data": {"tags": tags[:1]}}]}),
            ("delete_item", named),
            ("change_item_type", {"from_type": named["type"], "from_id": named["id"], "to_type": "moved"}),
            (
                "import_items",
                {
                    "jsonl": json.dumps({"key": "task-7", "title": "t", "tags": tags}, ensure_ascii=False),
                    "replace": True,
                },
            ),
        ]
    )
    with contextlib.suppress(DocumentedError):  # there may be no such item
        await person.call(tool, **params)


async def test_counts_are_those_of_the_rows_with_many_writers(ada: Person, database: ScratchDatabase) -> None:
    async def write(writer: int) -> None:
        chance = random.Random(writer)
        for _ in range(WRITES):
            await write_something(ada, chance)

    await asyncio.gather(*(write(writer) for writer in range(WRITERS)))
    async with database.admin_connection() as admin:
        rows = await admin.fetch(ROWS, ada.tenant_id)
    assert len(rows) > WRITERS
    assert await count(ada, "get_tags") == Counter(tag for row in rows for tag in row["tags"])
    assert await count(ada, "get_types") == Counter(row["type"] for row in rows)


async def test_a_tag_that_no_item_has_leaves_nothing(office: Office, database: ScratchDatabase) -> None:
    ada = office.ada
    await ada.call("create_item", type="task", title="t", tags=["once", "twice"])
    await ada.call("create_item", type="task", title="t", tags=["twice"])
    assert await count(ada, "get_tags") == {"twice": 2, "once": 1}
    await ada.call("update_item", type="task", id=1, tags=["twice"])
    await ada.call("delete_item", type="task", id=2)
    await office.bob.call("create_item", type="task", title="t", tags=["bobs"])
    async with database.admin_connection() as admin:
        rows = await admin.fetch("SELECT tag, items FROM modules.item_tag_counts WHERE tenant_id = $1", ada.tenant_id)
    assert sorted((row["tag"], row["items"]) for row in rows) == [("bobs", 1), ("twice", 1)]
    assert await count(ada, "get_tags") == {"twice": 1}
    await ada.call("create_workspace", name="plans")
    await ada.call("create_item", type="task", title="t", tags=["plan"], workspace="plans")
    assert await count(ada, "get_tags", workspace="plans") == {"plan": 1}
    await ada.call("delete_workspace", workspace="plans")
    async with database.admin_connection() as admin:
        assert await admin.fetchval("SELECT count(*) FROM modules.item_tag_counts WHERE tag = 'plan'") == 0


async def test_an_earlier_database_is_counted_when_it_is_migrated(
    offices: tuple[Office, Office], database: ScratchDatabase
) -> None:
    for office in offices:
        await office.ada.call("create_item", type="task", title="t", tags=["a", "b"], start_date="2026-01-31")
        await office.ada.call("create_item", type="note", title="t", tags=["b"])
        await office.bob.call("create_item", type="task", title="t", tags=["c"])
    ada, bob = offices[0].ada, offices[0].bob
    before = await ada.call("get_item_detail", type="task", id=1)
    async with database.admin_connection() as admin:
        await admin.execute("UPDATE modules.items SET indexed_revision = 1 WHERE updated_by = $1", bob.user_id)
    await downgrade(database.admin, "0054")
    await migrate(database.admin, PASSWORDS)
    assert await count(ada, "get_tags") == {"b": 2, "a": 1}
    assert await count(ada, "get_types") == {"note": 1, "task": 1}
    assert await count(bob, "get_tags") == {"c": 1}
    assert await ada.call("get_item_detail", type="task", id=1) == before
    async with database.admin_connection() as admin:
        rows = await admin.fetch("SELECT user_id FROM modules.item_workspaces WHERE is_indexed")
    assert [row["user_id"] for row in rows] == [bob.user_id]
