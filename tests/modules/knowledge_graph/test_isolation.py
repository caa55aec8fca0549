"""Nobody sees or changes another person's graph, also where the application forgets to say whose it is."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import asyncpg
import pytest

from core.db import Database
from modules.kit import ToolError
from modules.knowledge_graph import MODULE, entity_index
from search.embedding.model import EmbeddingRefused, Vector
from search.engine import SearchEngine
from tests.modules.knowledge_graph.sending import entity, relation
from tests.support.modules import Person, Wrap, as_it_is
from tests.support.mutation import REFUSALS, Mutator, find_leaks, together_and_alone
from tests.support.postgres import ScratchDatabase
from tests.support.search_engine import TOY_MODEL, ToyEmbedder, ToyEmbedders

TABLES = ("kg_graphs", "kg_entities", "kg_observations", "kg_relations", "kg_unindexed")
UNEMBEDDABLE = "unembeddable"


class PickyEmbedder(ToyEmbedder):
    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        if any(UNEMBEDDABLE in text for text in texts):
            raise EmbeddingRefused("the service refuses this", is_transient=False)
        return await super().embed_documents(texts)


@pytest.fixture
async def searchers(people: list[Person], gateway: Database) -> list[Person]:
    """The same people, with a search engine."""
    embedders = ToyEmbedders()
    embedders.toys[TOY_MODEL.name] = PickyEmbedder()
    return [dataclasses.replace(person, engine=SearchEngine(gateway, embedders)) for person in people]


async def fill(person: Person, mark: str) -> None:
    """The same names for everyone, other contents; and one entity whose name only its owner has."""
    entities = [entity("Bob", f"is {mark}", "shared"), entity("Eve", mark), entity(f"only {mark}", mark)]
    await person.call("create_entities", entities=entities)
    await person.call("create_relations", relations=[relation("Bob", mark, "Eve"), relation("Eve", "r", "Bob")])


async def everything(person: Person) -> list[dict[str, Any]]:
    """What a person can read by all reading tools."""
    names = ["Bob", "Eve", *(f"only {mark}" for mark in "0123")]
    return [
        await person.call("read_graph"),
        await person.call("search", query="shared"),
        await person.call("search", query="o"),
        await person.call("get_nodes", names=names),
        await person.call("export_graph"),
        await person.call("find_duplicates"),
        *([] if person.engine is None else [await person.call("search_by_meaning", query="shared")]),
    ]


async def the_story(person: Person) -> list[Any]:
    """Every statement of the module runs at least once; what the person was told."""
    told: list[Any] = await everything(person)
    told.append(await person.call("create_entities", entities=[entity("Bob", "new"), entity("Zoe", "z")]))
    told.append(await person.call("add_observations", observations=[{"entityName": "Eve", "contents": ["new"]}]))
    told.append(await person.call("create_relations", relations=[relation("Zoe", "r", "Bob")]))
    told.append(await refused(person, relation("only", "r", "Bob")))
    lines = [{"type": "entity", **entity("Yan", "y", "shared")}, {"type": "relation", **relation("Eve", "i", "Yan")}]
    told.append(await person.call("import_graph", jsonl="\n".join(map(json.dumps, lines))))
    unknown = {"type": "relation", **relation("only 2", "i", "Bob")}
    told.append(await person.call("import_graph", jsonl=json.dumps(unknown)))
    told.append(await person.call("create_entities", entities=[entity("Eve", UNEMBEDDABLE)]))
    if person.engine is not None:
        told.append(await person.call("search_by_meaning", query="new"))
    told.append(await person.call("delete_observations", deletions=[{"entityName": "Bob", "observations": ["shared"]}]))
    told.append(await person.call("delete_relations", relations=[relation("Eve", "r", "Bob")]))
    told.append(await person.call("delete_entities", entityNames=["Eve", "only 1", "only 2"]))
    return [*told, *await everything(person)]


async def refused(person: Person, sent: dict[str, str]) -> str:
    with pytest.raises(ToolError) as caught:
        await person.call("create_relations", relations=[sent])
    return str(caught.value)


async def rows_of_others(database: ScratchDatabase, person: Person) -> list[Any]:
    async with database.admin_connection() as admin:
        found = [
            await admin.fetch(f"SELECT * FROM modules.{table} WHERE user_id <> $1 ORDER BY 1, 2, 3, 4", person.user_id)
            for table in TABLES
        ]
    return [tuple(row) for rows in found for row in rows]


async def empty(database: ScratchDatabase) -> None:
    async with database.admin_connection() as admin:
        await admin.execute("DELETE FROM modules.kg_graphs")
        await admin.execute("DELETE FROM search.collections")


async def let_wait(database: ScratchDatabase, person: Person) -> None:
    """All entities of all people wait to be indexed, each for the same change; but `person` has no index."""
    async with database.admin_connection() as admin:
        await admin.execute("UPDATE modules.kg_graphs SET is_indexed = user_id <> $1", person.user_id)
        await admin.execute(
            "INSERT INTO modules.kg_unindexed (tenant_id, user_id, entity, change) OVERRIDING SYSTEM VALUE "
            "SELECT tenant_id, user_id, name, 1 FROM modules.kg_entities"
        )


async def retold(database: ScratchDatabase, people: list[Person], wrap: Wrap = as_it_is) -> list[Any]:
    """Everyone starts anew, the first person lives the story; fails if anything of the others changed."""
    await empty(database)
    for mark, person in enumerate(people):
        await fill(person, str(mark))
    await let_wait(database, people[1])
    before = await rows_of_others(database, people[0])
    told = await the_story(dataclasses.replace(people[0], wrap=wrap))
    assert await rows_of_others(database, people[0]) == before
    return told


async def test_the_same_names_in_four_graphs_never_meet(searchers: list[Person]) -> None:
    for mark, person in enumerate(searchers):
        await fill(person, str(mark))
    for mark, person in enumerate(searchers):
        graph, shared, _, nodes, _, _, near = await everything(person)
        assert [one["name"] for one in graph["entities"]] == ["Bob", "Eve", f"only {mark}"]
        assert graph["entities"][0]["observations"] == [f"is {mark}", "shared"]
        assert graph["relations"] == [relation("Bob", str(mark), "Eve"), relation("Eve", "r", "Bob")]
        assert [one["name"] for one in shared["entities"]] == ["Bob"]
        assert {one["name"] for one in near["entities"]} == {"Bob", "Eve", f"only {mark}"}
        assert nodes["unknown"] == [f"only {other}" for other in range(4) if other != mark]


async def test_suggestions_name_only_what_is_the_readers_own(people: list[Person]) -> None:
    for mark, person in enumerate(people):
        await fill(person, str(mark))
    text = await refused(people[1], relation("only", "r", "Bob"))
    assert "only 1" in text
    assert not any(f"only {other}" in text for other in (0, 2, 3))


async def test_deleting_leaves_the_others_theirs(people: list[Person], database: ScratchDatabase) -> None:
    for mark, person in enumerate(people):
        await fill(person, str(mark))
    before = await rows_of_others(database, people[2])
    await people[2].call("delete_entities", entityNames=["Bob", "Eve", *(f"only {mark}" for mark in "0123")])
    assert await rows_of_others(database, people[2]) == before


async def list_stories(
    database: ScratchDatabase, people: list[Person], searchers: list[Person]
) -> list[tuple[list[Person], list[Any], Mutator]]:
    """Two stories of the first person, without a search engine and with one: what they were told, and the statements
    of which each takes care."""
    stories: list[tuple[list[Person], list[Any], Mutator]] = []
    for everybody in (people, searchers):
        noted = Mutator()
        stories.append((everybody, await retold(database, everybody, noted.wrap), noted))
    plain, searching = stories[0][2].seen, stories[1][2].seen
    del plain[entity_index.WAITING]  # nothing comes of it without an engine
    for statement in plain:
        del searching[statement]
    assert (len(plain) >= 17, len(searching) >= 6) == (True, True), "a statement is missing from the stories"
    return stories


@together_and_alone
async def test_each_statement_without_its_filters_shows_and_changes_nothing_more(
    people: list[Person], searchers: list[Person], database: ScratchDatabase, alone: bool
) -> None:
    mutated = 0
    for everybody, expected, noted in await list_stories(database, people, searchers):
        mutants = list(noted.mutants())
        mutated += len(mutants)
        assert await find_leaks(mutants, partial(retold_by, database, everybody), expected, alone=alone) == []
    assert mutated >= 60


async def retold_by(database: ScratchDatabase, people: list[Person], mutator: Mutator) -> list[Any]:
    return await retold(database, people, mutator.wrap)


@together_and_alone
async def test_without_row_level_security_the_same_mutants_are_seen(
    people: list[Person], searchers: list[Person], database: ScratchDatabase, alone: bool
) -> None:
    """The control of the test above: the filters alone keep people apart, and the stories notice a missing one if
    nothing stands behind it; together, that any is missing."""
    stories = await list_stories(database, people, searchers)
    bypassing = Database(database.admin)
    await bypassing.open()
    try:
        for everybody, expected, noted in stories:
            unguarded = [dataclasses.replace(person, database=bypassing) for person in everybody]
            assert await retold(database, unguarded) == expected
            replaced = noted.list_unfiltered()
            for mutants in [{one: replaced[one]} for one in replaced] if alone else [replaced]:
                assert await noticed(database, unguarded, mutants, expected), mutants
    finally:
        await bypassing.close()


async def noticed(
    database: ScratchDatabase, people: list[Person], mutants: Mapping[str, str], expected: list[Any]
) -> bool:
    try:
        return await retold(database, people, Mutator(mutants).wrap) != expected
    except REFUSALS:
        return True


async def test_with_another_users_setting_there_is_no_row(people: list[Person], gateway: Database) -> None:
    for mark, person in enumerate(people):
        await fill(person, str(mark))
    first, second, other_tenant, _ = people
    for tenant, user in ((first.tenant_id, second.user_id), (other_tenant.tenant_id, first.user_id)):
        async with gateway.personal(tenant, user) as work:
            for table in TABLES:
                sql = f"SELECT count(*) FROM modules.{table} WHERE user_id = $3 AND ($1::uuid, $2::uuid) IS NOT NULL"
                assert await work.fetchval(sql, first.user_id) == 0  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("table", TABLES)
async def test_without_any_setting_there_is_no_row(people: list[Person], gateway: Database, table: str) -> None:
    await fill(people[0], "0")
    async with gateway.connection() as connection:
        assert await connection.fetchval(f"SELECT count(*) FROM modules.{table}") == 0


async def test_nobody_writes_a_row_for_another(people: list[Person], gateway: Database) -> None:
    await fill(people[1], "1")
    sql = "INSERT INTO modules.kg_entities SELECT $1, $3, 'x', 'y', 'z' WHERE $2::uuid IS NOT NULL"
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with gateway.personal(people[0].tenant_id, people[0].user_id) as work:
            await work.execute(sql, people[1].user_id)


async def test_the_module_is_named_as_its_folder() -> None:
    assert MODULE.name == "knowledge_graph"
    assert [tool.aliases for tool in MODULE.tools] == [(f"kg_{tool.name}",) for tool in MODULE.tools]
