"""Many clients at once lose no write and never fail each other."""

import asyncio
from typing import Any

from core.db import Database
from modules.knowledge_graph import MODULE
from tests.modules.knowledge_graph.sending import entity, relation
from tests.support.modules import Person
from tests.support.postgres import ScratchDatabase

WRITERS = 20


async def contents(person: Person) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    cursor: str | None = None
    while True:
        page = await person.call("read_graph", cursor=cursor)
        for one in page["entities"]:
            found.setdefault(one["name"], set()).update(one["observations"])
        cursor = page.get("nextCursor")
        if cursor is None:
            return found


async def test_twenty_writers_of_the_same_entities_lose_nothing(people: list[Person]) -> None:
    names = [f"e{number}" for number in range(10)]

    async def write(number: int) -> dict[str, Any]:
        person = people[number % 2]
        order = names if number % 4 < 2 else names[::-1]  # opposite orders are what deadlocks are made of
        return await person.call("create_entities", entities=[entity(name, f"by {number}") for name in order])

    answers = await asyncio.gather(*map(write, range(WRITERS)))
    for which, person in enumerate(people[:2]):
        expected = {f"by {number}" for number in range(WRITERS) if number % 2 == which}
        assert await contents(person) == dict.fromkeys(names, expected)
    assert sum(answer["created"] for answer in answers) == 2 * len(names)


async def test_adding_deleting_and_relating_at_once(alice: Person, database: ScratchDatabase) -> None:
    names = [f"e{number}" for number in range(6)]
    await alice.call(
        "create_entities", entities=[entity(name, *(f"old {n}" for n in range(WRITERS))) for name in names]
    )

    async def work(number: int) -> None:
        order = names if number % 2 else names[::-1]
        added = [{"entityName": name, "contents": [f"new {number}"]} for name in order]
        await alice.call("add_observations", observations=added)
        await alice.call("create_relations", relations=[relation(order[0], f"r{number}", name) for name in order])
        gone = [{"entityName": name, "observations": [f"old {number}"]} for name in order]
        await alice.call("delete_observations", deletions=gone)
        await alice.call("create_entities", entities=[entity(f"short {number}", "x")])
        await alice.call("create_relations", relations=[relation(f"short {number}", "r", name) for name in order])
        await alice.call("delete_entities", entityNames=[f"short {number}"])

    await asyncio.gather(*map(work, range(WRITERS)))
    new = {f"new {number}" for number in range(WRITERS)}
    assert await contents(alice) == dict.fromkeys(names, new)
    async with database.admin_connection() as admin:
        kept = await admin.fetchrow("SELECT entities, observations, relations FROM modules.kg_graphs")
    assert tuple(kept) == (6, 6 * WRITERS, 6 * WRITERS)


async def test_a_first_write_by_many_processes_at_once(people: list[Person], database: ScratchDatabase) -> None:
    """Pools of their own stand for replicas."""
    pools = [Database(database.as_role("mcpist_gateway"), max_connections=2) for _ in range(4)]
    try:
        for pool in pools:
            await pool.open()
        writers = [Person(pool, MODULE, people[3].tenant_id, people[3].user_id) for pool in pools for _ in range(5)]
        calls = [person.call("create_entities", entities=[entity("e", str(n))]) for n, person in enumerate(writers)]
        answers = await asyncio.gather(*calls)
    finally:
        for pool in pools:
            await pool.close()
    assert await contents(people[3]) == {"e": {str(number) for number in range(WRITERS)}}
    assert sum(answer["created"] for answer in answers) == 1
