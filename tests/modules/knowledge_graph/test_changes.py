"""What the writing tools do and answer."""

import re
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from modules.kit import ToolError
from tests.modules.knowledge_graph.sending import entity, relation
from tests.support.modules import Person
from tests.support.postgres import ScratchDatabase


async def stored(person: Person) -> dict[str, list[str]]:
    graph = await person.call("read_graph")
    assert "nextCursor" not in graph
    return {one["name"]: one["observations"] for one in graph["entities"]}


async def test_creating_answers_each_entity_with_its_type_and_numbers(alice: Person) -> None:
    answer = await alice.call("create_entities", entities=[entity("Bob", "likes tea", "is tall"), entity("Eve")])
    assert answer == {
        "message": "Created 2 entities, updated 0.",
        "created": 2,
        "updated": 0,
        "entities": [
            {"name": "Bob", "entityType": "person", "created": True, "observationsAdded": 2},
            {"name": "Eve", "entityType": "person", "created": True, "observationsAdded": 0},
        ],
    }


async def test_an_existing_name_is_updated(alice: Person) -> None:
    await alice.call("create_entities", entities=[entity("Bob", "b", "a")])
    answer = await alice.call("create_entities", entities=[entity("Bob", "c", "a", kind="dog"), entity("Eve")])
    assert (answer["created"], answer["updated"]) == (1, 1)
    assert answer["entities"][0] == {"name": "Bob", "entityType": "dog", "created": False, "observationsAdded": 1}
    node = (await alice.call("get_nodes", names=["Bob"]))["entities"][0]
    assert node == {"name": "Bob", "entityType": "dog", "observations": ["b", "a", "c"]}


async def test_a_name_sent_twice_is_one_entity(alice: Person) -> None:
    answer = await alice.call("create_entities", entities=[entity("Bob", "a"), entity("Bob", "b", "a", kind="dog")])
    assert (answer["created"], answer["entities"][0]["observationsAdded"]) == (1, 2)
    assert await stored(alice) == {"Bob": ["a", "b"]}


async def test_text_is_stored_as_sent(alice: Person) -> None:
    odd = " <b>Ｔｅｓｔ</b> 'x'; DROP -- %_\\ 🎉\n\tｻｰﾊﾞｰ "
    await alice.call("create_entities", entities=[entity(odd[:200], odd)])
    assert await stored(alice) == {odd: [odd]}


async def test_relations_are_created_once(alice: Person) -> None:
    await alice.call("create_entities", entities=[entity("Bob"), entity("Acme")])
    both = [relation("Bob", "works_at", "Acme"), relation("Acme", "employs", "Bob")]
    first = await alice.call("create_relations", relations=[both[0], both[0]])
    assert first == {"message": "Created 1 relation, 0 existed.", "created": 1, "existing": 0}
    second = await alice.call("create_relations", relations=both)
    assert (second["created"], second["existing"]) == (1, 1)
    graph = await alice.call("read_graph")
    assert sorted(graph["relations"], key=str) == sorted(both, key=str)


async def test_a_relation_of_unknown_entities_names_them_and_writes_nothing(alice: Person) -> None:
    await alice.call("create_entities", entities=[entity("Robert Smith"), entity("東京オフィス")])
    sent = [relation("Robert Smith", "at", "東京オフィス"), relation("robert smith", "at", "東京オフイス")]
    with pytest.raises(ToolError) as caught:
        await alice.call("create_relations", relations=sent)
    text = str(caught.value)
    assert text.startswith("Nothing was written.")
    assert "“robert smith” (near: “Robert Smith”)" in text
    assert "“東京オフイス” (near: “東京オフィス”)" in text
    assert (await alice.call("read_graph"))["relations"] == []


async def test_many_unknown_names_make_a_short_error(alice: Person) -> None:
    with pytest.raises(ToolError, match="and 15 more"):
        await alice.call("create_relations", relations=[relation(f"a{n}", "r", f"b{n}") for n in range(10)])


async def test_adding_skips_what_is_there(alice: Person) -> None:
    await alice.call("create_entities", entities=[entity("Bob", "a"), entity("Eve")])
    sent = [{"entityName": "Bob", "contents": ["a", "b", "b"]}, {"entityName": "Eve", "contents": ["a"]}]
    answer = await alice.call("add_observations", observations=sent)
    assert answer["message"] == "Added 2 observations."
    assert answer["results"] == [{"entityName": "Bob", "added": 1}, {"entityName": "Eve", "added": 1}]
    assert await stored(alice) == {"Bob": ["a", "b"], "Eve": ["a"]}


async def test_adding_to_an_unknown_entity_writes_nothing(alice: Person) -> None:
    await alice.call("create_entities", entities=[entity("Bob")])
    sent = [{"entityName": "Bob", "contents": ["a"]}, {"entityName": "Bobb", "contents": ["a"]}]
    with pytest.raises(ToolError, match=re.escape("“Bobb” (near: “Bob”)")):
        await alice.call("add_observations", observations=sent)
    assert await stored(alice) == {"Bob": []}


async def test_deleting_entities_takes_all_that_hangs_on_them(alice: Person) -> None:
    await alice.call("create_entities", entities=[entity("Bob", "a", "b"), entity("Eve", "c"), entity("Acme")])
    sent = [relation("Bob", "knows", "Eve"), relation("Acme", "employs", "Bob"), relation("Acme", "employs", "Eve")]
    await alice.call("create_relations", relations=sent)
    answer = await alice.call("delete_entities", entityNames=["Bob", "Nobody"])
    assert answer == {
        "message": "Deleted 1 entity, 2 observations, 2 relations.",
        "entities": 1,
        "observations": 2,
        "relations": 2,
    }
    graph = await alice.call("read_graph")
    assert [one["name"] for one in graph["entities"]] == ["Acme", "Eve"]
    assert graph["relations"] == [sent[2]]


async def test_deleting_single_observations_and_relations(alice: Person) -> None:
    await alice.call("create_entities", entities=[entity("Bob", "a", "b", "c"), entity("Eve", "a")])
    await alice.call("create_relations", relations=[relation("Bob", "knows", "Eve"), relation("Bob", "likes", "Eve")])
    deletions = [
        {"entityName": "Bob", "observations": ["b", "nothing"]},
        {"entityName": "Nobody", "observations": ["a"]},
    ]
    assert (await alice.call("delete_observations", deletions=deletions))["observations"] == 1
    gone = await alice.call("delete_relations", relations=[relation("Bob", "likes", "Eve"), relation("x", "y", "z")])
    assert gone["relations"] == 1
    assert await stored(alice) == {"Bob": ["a", "c"], "Eve": ["a"]}
    assert (await alice.call("read_graph"))["relations"] == [relation("Bob", "knows", "Eve")]


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("delete_entities", {"entityNames": ["x"]}),
        ("delete_observations", {"deletions": [{"entityName": "x", "observations": ["y"]}]}),
        ("delete_relations", {"relations": [relation("x", "y", "z")]}),
        ("delete_entities", {"entityNames": []}),
    ],
)
async def test_deleting_what_is_not_there_succeeds(alice: Person, tool: str, params: dict[str, Any]) -> None:
    answer = await alice.call(tool, **params)
    assert answer == {"message": "There was nothing to delete.", "entities": 0, "observations": 0, "relations": 0}


async def test_empty_lists_change_nothing(alice: Person) -> None:
    assert (await alice.call("create_entities", entities=[]))["created"] == 0
    assert (await alice.call("create_relations", relations=[]))["created"] == 0
    assert (await alice.call("add_observations", observations=[]))["added"] == 0


@pytest.mark.parametrize(
    ("tool", "params", "field"),
    [
        ("create_entities", {"entities": [entity("x" * 201)]}, "entities.0.name"),
        ("create_entities", {"entities": [entity("x", kind="t" * 201)]}, "entities.0.entityType"),
        ("create_entities", {"entities": [entity("x", "o" * 2001)]}, "entities.0.observations.0"),
        ("create_entities", {"entities": [entity(str(n)) for n in range(101)]}, "entities"),
        ("create_entities", {"entities": [entity("x", *map(str, range(101)))]}, "entities.0.observations"),
        ("create_entities", {"entities": [entity("nul \x00")]}, "entities.0.name"),
        ("create_entities", {"entities": [entity("x", "bell \x07")]}, "entities.0.observations.0"),
        ("create_entities", {"entities": [entity("x", "half \ud800")]}, "entities.0.observations.0"),
        ("create_entities", {"entities": [entity("  ")]}, "entities.0.name"),
        ("create_entities", {"entities": [{**entity("x"), "extra": 1}]}, "entities.0.extra"),
        ("create_relations", {"relations": [relation("", "y", "z")]}, "relations.0.from"),
        ("create_relations", {"relations": [{"source": "x", "to": "y", "relationType": "z"}]}, "relations.0.from"),
        ("delete_entities", {"entityNames": ["x\x00"]}, "entityNames.0"),
        ("search", {"query": "x" * 201}, "query"),
        ("search", {"query": "\u3000"}, "query"),
        ("read_graph", {"limit": 0}, "limit"),
        ("read_graph", {"limit": 501}, "limit"),
        ("get_nodes", {"names": ["x"] * 101}, "names"),
    ],
)
async def test_what_is_too_long_or_cannot_be_stored_is_refused_by_name(
    alice: Person, tool: str, params: dict[str, Any], field: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        await alice.call(tool, **params)
    assert field in [".".join(map(str, error["loc"])) for error in caught.value.errors()]
    assert await stored(alice) == {}


async def test_the_longest_texts_are_stored(alice: Person) -> None:
    """Four bytes a character: the keys must fit PostgreSQL's index pages."""
    names = ["🎉" * 199 + digit for digit in "ab"]
    await alice.call("create_entities", entities=[entity(name, "𠮷" * 2000, "\ufdfa" * 2000) for name in names])
    await alice.call("create_relations", relations=[relation(names[0], "🎊" * 200, names[1])])
    assert {one: len(texts) for one, texts in (await stored(alice)).items()} == dict.fromkeys(names, 2)
    assert (await alice.call("search", query="𠮷" * 200))["entities"]


@pytest.mark.parametrize("kind", ["entities", "observations", "relations"])
async def test_a_graph_has_a_limit(alice: Person, kind: str) -> None:
    await alice.call("create_entities", entities=[entity("a", "1"), entity("b", "1")])
    await alice.call("create_relations", relations=[relation("a", "r", "b"), relation("b", "r", "a")])
    alice = replace(alice, settings={f"max_{kind}": 2})
    sent = {
        "entities": ("create_entities", {"entities": [entity("c"), entity("a", "2")]}),
        "observations": ("add_observations", {"observations": [{"entityName": "a", "contents": ["2"]}]}),
        "relations": ("create_relations", {"relations": [relation("a", "s", "b")]}),
    }
    tool, params = sent[kind]
    with pytest.raises(ToolError, match=f"3 {kind}, and the limit is 2"):
        await alice.call(tool, **params)
    assert await stored(alice) == {"a": ["1"], "b": ["1"]}
    await alice.call("delete_entities", entityNames=["b"])
    await alice.call("create_entities", entities=[entity("c")])


async def test_the_totals_stay_right(alice: Person, database: ScratchDatabase) -> None:
    await alice.call("create_entities", entities=[entity("a", "1", "2"), entity("b", "1"), entity("c")])
    await alice.call("create_entities", entities=[entity("a", "1", "3"), entity("d", "1")])
    await alice.call("add_observations", observations=[{"entityName": "c", "contents": ["1", "2", "3"]}])
    sent = [relation("a", "r", "b"), relation("b", "r", "c"), relation("c", "r", "c")]
    await alice.call("create_relations", relations=sent)
    await alice.call("delete_relations", relations=[sent[0], sent[0]])
    await alice.call("delete_observations", deletions=[{"entityName": "a", "observations": ["2", "2"]}])
    await alice.call("delete_entities", entityNames=["b", "b"])
    async with database.admin_connection() as admin:
        kept = await admin.fetchrow("SELECT entities, observations, relations FROM modules.kg_graphs")
        real = await admin.fetchrow(
            "SELECT (SELECT count(*) FROM modules.kg_entities), (SELECT count(*) FROM modules.kg_observations), "
            "(SELECT count(*) FROM modules.kg_relations)"
        )
    assert tuple(kept) == tuple(real) == (3, 6, 1)


async def test_a_deleted_user_leaves_nothing(people: list[Person], database: ScratchDatabase) -> None:
    for person in people[:2]:
        await person.call("create_entities", entities=[entity("a", "1"), entity("b")])
        await person.call("create_relations", relations=[relation("a", "r", "b")])
    async with database.admin_connection() as admin:
        await admin.execute("DELETE FROM core.users WHERE id = $1", people[0].user_id)
        for table in ("kg_graphs", "kg_entities", "kg_observations", "kg_relations"):
            owners = await admin.fetch(f"SELECT DISTINCT user_id FROM modules.{table}")
            assert [row["user_id"] for row in owners] == [people[1].user_id]
