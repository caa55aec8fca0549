"""Row-level security hides no index from the statements that read: none looks through a whole table."""

import re

from modules.items import graph_walk, item_rows, listed_rows, meaning_index, search_tools
from tests.bench.item_population import fill_workspace
from tests.support.modules import Person
from tests.support.postgres import ScratchDatabase

IDS = "'{1,2,3}'"
STATEMENTS = {
    "one item": (item_rows.FIND_ITEM, "'task', 1"),
    "a renamed item": (item_rows.FIND_RENAMED_ITEM, "'task', 1"),
    "several items": (item_rows.FIND_ITEMS, "'{task,note}', '{1,2}'"),
    "keys": (item_rows.RESOLVE_KEYS, "'{task,note}', '{1,2}'"),
    "a list": (item_rows.LIST_ITEMS, "'task', '{}', false, now(), now(), 21, 0"),
    "listed items": (listed_rows.FIND_LISTED, IDS),
    "a tag": (search_tools.FIND_TAGGED, "'red', '{task}', 0, 21"),
    "suggestions": (search_tools.SUGGEST, f"{IDS}, 'x', 10"),
    "a walk": (graph_walk.WALK_AROUND, "1, 3, 50, 102, 5000"),
    "a path that meets": (graph_walk.FIND_MEETINGS, f"{IDS}, {IDS}, 100"),
    "a path that goes on": (graph_walk.FIND_NEXT, f"{IDS}, {IDS}, 100"),
    "pending items": (meaning_index.FIND_PENDING, "100, 1000"),
    "indexed items": (meaning_index.MARK_INDEXED, f"{IDS}, {IDS}"),
}


INDEX = re.compile(r"(?:using|Bitmap Index Scan on) (?:items_\d|item_relations|item_tags)_(?!pending)\w+")
COLUMN = re.compile(r"\b(id|source|target|type|status|tag|item_id) =")
"""One that narrows down more than the tenant and the workspace."""


async def test_statements_use_indexes(ada: Person, database: ScratchDatabase) -> None:
    await ada.call("create_item", type="task", title="First")
    async with database.admin_connection() as admin:
        found = await admin.fetchrow("SELECT id, number FROM modules.item_workspaces")
        await admin.execute("DELETE FROM modules.items")
        await fill_workspace(admin, ada.tenant_id, found["id"], found["number"], ada.user_id, 12_000)
    async with database.open("mcpist_gateway") as gateway, gateway.connection() as connection:
        await connection.execute("SET plan_cache_mode = force_generic_plan")
        await connection.execute(f"SELECT set_config('app.tenant_id', '{ada.tenant_id}', false)")
        await connection.execute(f"SELECT set_config('app.user_id', '{ada.user_id}', false)")
        plans = {}
        for name, (statement, arguments) in STATEMENTS.items():
            await connection.execute(f"PREPARE asked AS {statement}")
            asked = f"asked('{ada.tenant_id}', '{ada.user_id}', '{found['id']}', {arguments})"
            plans[name] = "\n".join(row[0] for row in await connection.fetch(f"EXPLAIN (VERBOSE) EXECUTE {asked}"))
            await connection.execute("DEALLOCATE asked")
    wrong = {name: plan for name, plan in plans.items() if not uses_indexes(plan)}
    assert not wrong, "\n".join(f"{name}:\n{plan}" for name, plan in wrong.items())


def uses_indexes(plan: str) -> bool:
    """Whether a plan looks for single rows of the large tables."""
    if re.search(r"Seq Scan on modules\.(items_\d|item_relations|item_tags)\b", plan):
        return False
    lines = plan.splitlines()
    for number, line in enumerate(lines):
        if INDEX.search(line):
            condition = next((one for one in lines[number:] if "Index Cond:" in one), "")
            if not COLUMN.search(condition):
                return False
    return True
