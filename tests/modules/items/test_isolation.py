"""Nobody sees or changes items of a workspace that they may not read, also where a statement has lost its filters."""

import dataclasses
from typing import Any

import asyncpg
import pytest

from core.db import Database
from modules.items.workspaces import FIND_ROLE, IS_ADMINISTRATOR
from modules.kit import DocumentedError
from tests.modules.items.conftest import Office
from tests.modules.items.test_sharing import BOARD, NEWS, TABLES
from tests.support.modules import Person, Wrap, as_it_is
from tests.support.mutation import Mutator, find_leaks, together_and_alone
from tests.support.postgres import ScratchDatabase

FINDS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search_items", {"query": "tenant news"}),
    ("search_items", {"query": "0"}),
    ("search_items", {"query": "1"}),
    ("search_suggest", {"query": "0"}),
    ("search_items_by_tag", {"tag": "x"}),
    ("search_items_by_tag", {"tag": "1"}),
    ("get_related_items", {"type": "task", "id": 1, "depth": 3}),
    ("get_related_items", {"type": "only 1", "id": 1}),
    ("find_path", {"from_type": "task", "from_id": 1, "to_type": "note", "to_id": 1}),
    ("find_path", {"from_type": "task", "from_id": 1, "to_type": "only 0", "to_id": 1}),
    ("get_tags", {}),
    ("get_items", {"type": "only 1"}),
    ("browse_items", {"query": "1"}),
    ("browse_items", {"tags": ["1"]}),
    ("browse_items", {"types": ["task"], "statuses": ["Open"]}),
)
CHANGING = frozenset({"id", "created_at", "updated_at", "workspaces"})


async def fill(office: Office, mark: str) -> None:
    """The same workspaces, keys and tags for everyone, other contents; and one item that only its owner has."""
    await office.ada.call("create_workspace", name="board", owner="role", role="Team")
    await office.ada.call("create_workspace", name="news", owner="tenant")
    for person, workspace in (
        (office.ada, None), (office.bob, None), (office.cat, None), (office.ada, BOARD), (office.ada, NEWS),
    ):  # fmt: skip
        name = f"{mark} {workspace or person.user_id}"
        await person.call("create_item", type="note", title=name, tags=["x", mark], workspace=workspace)
        await person.call("create_item", type="task", title=name, related=["note-1"], tags=["x"], workspace=workspace)
        await person.call("change_item_type", from_type="note", from_id=1, to_type="doc", workspace=workspace)
        await person.call("create_item", type=f"only {mark}", title=name, workspace=workspace)
        await person.call("update_current_state", content=name, related=["task-1"], workspace=workspace)


async def tell(person: Person) -> list[Any]:
    """Every statement of the module runs at least once; what the person was told."""
    told: list[Any] = []

    async def call(tool: str, **params: Any) -> Any:
        try:
            answer = await person.call(tool, **params)
        except DocumentedError as error:
            answer = (error.kind.code, error.details)
        told.append(scrub(answer))
        return answer

    await look(call)
    made = await call("create_item", type="task", title="t", related=["doc-1"], tags=["x"], status="Open")
    await call("update_item", type="task", id=2, related=["task-1", "doc-1"], tags=["y"], content="new")
    await call("bulk_update", updates=[{"type": "task", "id": 1, "data": {"title": "b"}}])
    await call("change_item_type", from_type="task", from_id=2, to_type="note")
    await call("get_item_detail", type="task", id=2)
    await call("create_item", type="task", title="t", related=["only 1-1", "task-99"])
    await call(
        "import_items", jsonl='{"statuses": [{"name": "New"}]}\n{"key": "task-9", "title": "i", "related": ["task-1"]}'
    )
    await call("import_items", jsonl='{"key": "task-9", "title": "j", "related": ["note-2"]}', replace=True)
    await call("set_statuses", statuses=[{"name": "Open"}, {"name": "New"}])
    await call("set_statuses", statuses=[{"name": "New"}])
    await call("update_current_state", content="later", related=["task-1"])
    await call("delete_item", type="task", id=9)
    await call("create_workspace", name="more")
    await call("create_workspace", name="board", owner="role", role="Team")
    await call("rename_workspace", workspace="more", name="less")
    await call("delete_workspace", workspace="less")
    await call("get_items", type="task", workspace=BOARD)
    await call("delete_workspace", workspace=BOARD)
    assert made
    await look(call)
    return told


async def look(call: Any) -> None:
    for type in ("task", "doc", "note", "only 0", "only 1"):
        await call("get_items", type=type, includeClosedStatuses=True)
    await call("get_items", type="task", statuses=["Open"])
    for type, id in (("task", 1), ("note", 1), ("only 1", 1)):
        await call("get_item_detail", type=type, id=id)
    for tool in ("get_tags", "get_statuses", "get_current_state", "get_state_history", "list_workspaces"):
        await call(tool)


def scrub(value: Any) -> Any:
    """A value without what differs from run to run."""
    if isinstance(value, dict):
        return {name: scrub(one) for name, one in value.items() if name not in CHANGING}
    return [scrub(one) for one in value] if isinstance(value, list | tuple) else value


async def read_others(database: ScratchDatabase, person: Person) -> list[Any]:
    """All rows of workspaces that are not the person's own."""
    async with database.admin_connection() as admin:
        own = await admin.fetchval("SELECT id FROM modules.item_workspaces WHERE user_id = $1", person.user_id)
        rows: list[Any] = []
        for table in TABLES:
            column = "id" if table == "item_workspaces" else "workspace_id"
            rows += await admin.fetch(
                f"SELECT t::text FROM modules.{table} t WHERE {column} IS DISTINCT FROM $1 ORDER BY 1", own
            )
    return [row[0] for row in rows]


async def retell(
    database: ScratchDatabase, offices: tuple[Office, Office], person: Person, wrap: Wrap = as_it_is
) -> list[Any]:
    """Everyone starts anew, the person lives the story; fails if anything of the others changed."""
    async with database.admin_connection() as admin:
        await admin.execute("DELETE FROM modules.item_workspaces")
    for mark, office in enumerate(offices):
        await fill(office, str(mark))
    before = await read_others(database, person)
    told = await tell(dataclasses.replace(person, wrap=wrap))
    assert await read_others(database, person) == before
    return told


@together_and_alone
async def test_each_statement_without_its_filters_shows_and_changes_nothing_more(
    offices: tuple[Office, Office], database: ScratchDatabase, alone: bool
) -> None:
    person = offices[0].cat
    noted = Mutator()
    expected = await retell(database, offices, person, noted.wrap)
    assert len(noted.seen) >= 25, "a statement is missing from the story"
    # Two choose among refusals; that only administrators create shared workspaces is a policy, tested below.
    mutants = [one for one in noted.list_unfiltered().items() if one[0] not in (FIND_ROLE, IS_ADMINISTRATOR)]

    async def tell_by(mutator: Mutator) -> list[Any]:
        return await retell(database, offices, person, mutator.wrap)

    assert await find_leaks(mutants, tell_by, expected, alone=alone) == []


async def find_all(person: Person, database: ScratchDatabase) -> list[Any]:
    """What a person is told by all tools that find items, by no answer that was kept."""
    async with database.admin_connection() as admin:
        await admin.execute("UPDATE modules.item_workspaces SET generation = generation + 1")
    told: list[Any] = []
    for tool, params in FINDS:
        try:
            told.append(scrub(await person.call(tool, **params)))
        except DocumentedError as error:
            told.append((error.kind.code, error.details))
    return told


@together_and_alone
async def test_each_search_without_its_filters_shows_nothing_more(
    offices: tuple[Office, Office], database: ScratchDatabase, alone: bool
) -> None:
    for mark, office in enumerate(offices):
        await fill(office, str(mark))
    person = offices[0].cat
    noted = Mutator()
    expected = await find_all(dataclasses.replace(person, wrap=noted.wrap), database)

    async def find_by(mutator: Mutator) -> list[Any]:
        return await find_all(dataclasses.replace(person, wrap=mutator.wrap), database)

    assert await find_leaks(noted.list_unfiltered().items(), find_by, expected, alone=alone) == []


async def test_a_user_without_rights_changes_no_row_of_what_they_may_read(
    offices: tuple[Office, Office], gateway: Database
) -> None:
    office, _ = offices
    await office.ada.call("create_workspace", name="board", owner="role", role="Team", member_writes=False)
    await office.ada.call("create_item", type="task", title="t", tags=["x"], workspace=BOARD)
    statements = (
        "UPDATE modules.items SET title = 'x' WHERE ($1::uuid, $2::uuid) IS NOT NULL",
        "UPDATE modules.item_workspaces SET generation = 9 WHERE ($1::uuid, $2::uuid) IS NOT NULL",
        "UPDATE modules.item_workspaces SET is_indexed = true WHERE ($1::uuid, $2::uuid) IS NOT NULL",
        "UPDATE modules.item_tag_counts SET items = 9 WHERE ($1::uuid, $2::uuid) IS NOT NULL",
        *(f"DELETE FROM modules.{table} WHERE ($1::uuid, $2::uuid) IS NOT NULL" for table in TABLES),
    )
    async with gateway.personal(office.bob.tenant_id, office.bob.user_id) as work:
        for sql in statements:
            assert await work.execute(sql) == 0, sql  # pyright: ignore[reportArgumentType]
    inserts = (
        "INSERT INTO modules.item_tags SELECT $1, workspace_id, 'y', id FROM modules.items WHERE $2::uuid IS NOT NULL",
        """INSERT INTO modules.item_tag_counts SELECT $1, workspace_id, 'y', 1 FROM modules.items
            WHERE $2::uuid IS NOT NULL""",
        """INSERT INTO modules.item_workspaces (tenant_id, name, owner, role_id)
            SELECT $1, 'mine', 'role', role_id FROM modules.item_workspaces WHERE $2::uuid IS NOT NULL""",
        """INSERT INTO modules.item_workspaces (tenant_id, name, owner)
            SELECT $1, 'mine', 'tenant' WHERE $2::uuid IS NOT NULL""",
    )
    for sql in inserts:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with gateway.personal(office.bob.tenant_id, office.bob.user_id) as work:
                await work.execute(sql)
