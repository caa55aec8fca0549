"""Workspaces of a role and of the tenant: who reads, who changes, and what is left when somebody loses the role."""

from typing import Any

import pytest

from core.db import Database
from core.directory import users
from tests.modules.items.conftest import Office, refused
from tests.support import directory
from tests.support.modules import Person
from tests.support.postgres import ScratchDatabase
from tests.support.product import ACTOR

BOARD = "role:Team/board"
NEWS = "tenant/news"
TABLES = (
    "item_workspaces", "items", "item_tags", "item_tag_counts", "item_relations", "item_aliases", "item_numbers",
    "item_statuses", "item_states",
)  # fmt: skip
READS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("get_item_detail", {"type": "task", "id": 1}),
    ("get_items", {"type": "task"}),
    ("get_tags", {}),
    ("get_statuses", {}),
    ("get_current_state", {}),
    ("get_state_history", {}),
)
WRITES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("create_item", {"type": "task", "title": "theirs"}),
    ("update_item", {"type": "task", "id": 1, "title": "theirs"}),
    ("delete_item", {"type": "task", "id": 1}),
    ("change_item_type", {"from_type": "task", "from_id": 1, "to_type": "note"}),
    ("bulk_update", {"updates": [{"type": "task", "id": 1, "data": {"title": "theirs"}}]}),
    ("set_statuses", {"statuses": [{"name": "Open"}]}),
    ("update_current_state", {"content": "theirs"}),
    ("import_items", {"jsonl": '{"key": "task-9", "title": "theirs"}'}),
)
RENAME = ("rename_workspace", {"name": "theirs"})


async def share(ada: Person, *, member_writes: bool = True) -> None:
    """A board of the role and one of the tenant, with an item of each kind in them."""
    await ada.call("create_workspace", name="board", owner="role", role="Team", member_writes=member_writes)
    await ada.call("create_workspace", name="news", owner="tenant", member_writes=member_writes)
    for workspace in (BOARD, NEWS):
        await ada.call("create_item", type="note", title="n", workspace=workspace)
        await ada.call("create_item", type="task", title="t", tags=["x"], related=["note-1"], workspace=workspace)
        await ada.call("change_item_type", from_type="note", from_id=1, to_type="doc", workspace=workspace)
        await ada.call("update_current_state", content="here", workspace=workspace)


async def test_a_member_reads_and_writes(office: Office) -> None:
    await share(office.ada)
    seen = await office.bob.call("get_item_detail", type="task", id=1, workspace=BOARD)
    assert (seen["updated_by"], seen["workspace"], seen["related"]) == ("ada@mail.test", BOARD, ["doc-1"])
    changed = await office.bob.call("update_item", type="task", id=1, title="mine", workspace="board")
    assert changed["replaced"] == {
        "revision": 1, "updated_by": "ada@mail.test", "updated_at": seen["updated_at"],
    }  # fmt: skip
    again = await office.bob.call("update_item", type="task", id=1, title="mine again", workspace=BOARD)
    assert "replaced" not in again
    known = await office.ada.call("update_item", type="task", id=1, title="x", expected_revision=3, workspace=BOARD)
    assert "replaced" not in known
    state = await office.bob.call("update_current_state", content="there", updated_by="ai-finish", workspace=BOARD)
    assert (state["replaced"]["revision"], state["replaced"]["updated_by"]) == (1, "ada@mail.test")
    deleted = await office.bob.call("delete_item", type="task", id=1, workspace=BOARD)
    assert (deleted["replaced"]["revision"], deleted["replaced"]["updated_by"]) == (4, "ada@mail.test")
    names = [one["name"] for one in (await office.bob.call("list_workspaces"))["workspaces"]]
    assert names == [BOARD, NEWS]


async def test_who_has_not_the_role_finds_no_such_workspace(offices: tuple[Office, Office]) -> None:
    office, other = offices
    await share(office.ada)
    board = (await office.ada.call("create_workspace", name="board", owner="role", role="Team"))["id"]
    before = await look(office.ada)
    for person in (office.cat, other.ada, other.bob):
        for named in (BOARD, "board", board, *([NEWS] if person is not office.cat else [])):
            for tool, params in (*READS, *WRITES, ("delete_workspace", {}), RENAME):
                code, details = await refused(person, tool, **params, workspace=named)
                assert (code, details["field"]) == (1002, "workspace"), tool
                assert details["constraint"] == "is no workspace that you may read"
    assert await look(office.ada) == before


async def test_a_related_item_of_an_unseen_workspace_does_not_exist(office: Office) -> None:
    await share(office.ada)
    code, details = await refused(office.cat, "create_item", type="task", title="t", related=["task-1"])
    assert (code, details) == (1001, {"type": "task", "id": 1, "requested_id": "task-1"})


async def test_without_the_right_to_write_every_change_is_denied(office: Office) -> None:
    await share(office.ada, member_writes=False)
    before = await look(office.ada)
    for person, workspace in ((office.bob, BOARD), (office.bob, NEWS), (office.cat, NEWS)):
        for tool, params in READS:
            await person.call(tool, **params, workspace=workspace)
        for tool, params in (*WRITES, ("delete_workspace", {}), RENAME):
            code, details = await refused(person, tool, **params, workspace=workspace)
            assert (code, details["workspace"]) == (1005, workspace), tool
    assert await look(office.ada) == before
    await office.ada.call("update_item", type="task", id=1, title="of an administrator", workspace=BOARD)


async def test_only_administrators_create_rename_and_delete_what_is_shared(office: Office) -> None:
    for owner in ({"owner": "role", "role": "Team"}, {"owner": "tenant"}):
        assert (await refused(office.bob, "create_workspace", name="board", **owner))[0] == 1005
    await share(office.ada)
    known = await office.bob.call("create_workspace", name="board", owner="role", role="Team")
    assert (known["name"], known["items"]) == (BOARD, 2)
    for workspace in (BOARD, NEWS):
        assert (await refused(office.bob, "rename_workspace", workspace=workspace, name="theirs"))[0] == 1005
        renamed = await office.ada.call("rename_workspace", workspace=workspace, name="other")
        assert renamed["name"] == f"{workspace.rpartition('/')[0]}/other"
        await office.bob.call("get_item_detail", type="task", id=1, workspace=renamed["name"])
        await office.ada.call("rename_workspace", workspace=renamed["id"], name=workspace.rpartition("/")[2])
        assert (await refused(office.bob, "delete_workspace", workspace=workspace))[0] == 1005
        assert (await office.ada.call("delete_workspace", workspace=workspace))["items"] == 2


async def look(person: Person) -> list[Any]:
    return [
        await person.call(tool, **params, workspace=workspace) for workspace in (BOARD, NEWS) for tool, params in READS
    ]


async def test_a_lost_role_ends_reading_at_once(office: Office, database: ScratchDatabase) -> None:
    await share(office.ada)
    await office.bob.call("get_items", type="task", workspace=BOARD)
    async with database.open("mcpist_console") as console:
        await directory.unassign_role(console, ACTOR, office.bob.tenant_id, "bob@mail.test", "Team")
    for tool, params in (*READS, *WRITES):
        assert (await refused(office.bob, tool, **params, workspace=BOARD))[0] == 1002
    await office.bob.call("get_items", type="task", workspace=NEWS)


async def test_a_deleted_role_or_user_leaves_no_row(offices: tuple[Office, Office], database: ScratchDatabase) -> None:
    office, other = offices
    for one in offices:
        await share(one.ada)
        for tool, params in (("create_item", {"type": "task", "title": "own", "tags": ["x"]}), *WRITES[-2:]):
            await one.bob.call(tool, **params)
        await one.bob.call("update_item", type="task", id=1, title="his", workspace=NEWS)
    kept = await count_rows(database, other.ada.tenant_id)
    async with database.open("mcpist_console") as console:
        await directory.delete_role(console, ACTOR, office.ada.tenant_id, "Team")
        await users.remove_user(console, ACTOR, office.bob.tenant_id, office.bob.user_id)
    rows = await count_rows(database, office.ada.tenant_id)
    assert rows["item_workspaces"] == 1
    assert (rows["items"], rows["item_states"], kept["items"]) == (2, 1, 6)
    assert await count_rows(database, other.ada.tenant_id) == kept
    changed = await office.ada.call("update_item", type="task", id=1, title="y", workspace=NEWS)
    assert changed["replaced"]["updated_by"] == "a former user"


async def count_rows(database: ScratchDatabase, tenant_id: Any) -> dict[str, int]:
    async with database.admin_connection() as admin:
        return {
            table: await admin.fetchval(f"SELECT count(*) FROM modules.{table} WHERE tenant_id = $1", tenant_id)
            for table in TABLES
        }


@pytest.mark.parametrize("table", TABLES)
async def test_rows_of_workspaces_that_one_may_not_read_are_not_there(
    offices: tuple[Office, Office], gateway: Database, table: str
) -> None:
    for office in offices:
        await share(office.ada)
    office, other = offices
    sql = f"SELECT count(*) FROM modules.{table} WHERE ($1::uuid, $2::uuid) IS NOT NULL"
    seen: list[int] = []
    for tenant, person in (
        (office.ada.tenant_id, office.ada),
        (office.ada.tenant_id, office.cat),
        (office.ada.tenant_id, other.ada),
        (other.ada.tenant_id, office.ada),
    ):
        async with gateway.personal(tenant, person.user_id) as work:
            seen.append(await work.fetchval(sql))  # pyright: ignore[reportArgumentType]
    assert seen[0] == 2 * seen[1] > 0
    assert seen[2:] == [0, 0]
    async with gateway.connection() as connection:
        assert await connection.fetchval(f"SELECT count(*) FROM modules.{table}") == 0
