"""The index of entities follows the graph, also where a process ends in between, an embedding service fails, or much
is written at once; and no failure of it is one of a write."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from core.db import Database
from modules.kit import ToolError
from modules.knowledge_graph import entity_index
from search.embedding.model import EmbeddingRefused, Vector
from search.engine import SearchEngine
from tests.modules.knowledge_graph.sending import entity, relation
from tests.support.modules import Person
from tests.support.postgres import ScratchDatabase
from tests.support.search_engine import TOY_MODEL, ToyEmbedder, ToyEmbedders

REFUSED = "refused"


class ProcessEnded(BaseException):
    """Nothing of the process goes on."""


class HookedEmbedder(ToyEmbedder):
    """Calls `before` ahead of each document, once."""

    before: Callable[[], Awaitable[Any]] | None = None

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        before, self.before = self.before, None
        if before is not None:
            await before()
        if any(REFUSED in text for text in texts):
            raise EmbeddingRefused("the embedding service refused", is_transient=False)
        return await super().embed_documents(texts)


@pytest.fixture(autouse=True)
def wait_for_a_busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entity_index, "SEARCH_SECONDS", 60.0)
    monkeypatch.setattr(entity_index, "CHEAP_SECONDS", 60.0)


@pytest.fixture
def embedder() -> HookedEmbedder:
    return HookedEmbedder()


@pytest.fixture
def engine(gateway: Database, embedder: HookedEmbedder) -> SearchEngine:
    embedders = ToyEmbedders()
    embedders.toys[TOY_MODEL.name] = embedder
    return SearchEngine(gateway, embedders)


@pytest.fixture
async def people(people: list[Person], engine: SearchEngine) -> list[Person]:
    return [replace(person, engine=engine) for person in people]


@pytest.fixture
async def alice(people: list[Person]) -> Person:
    """She has searched before, so her graph is indexed."""
    await people[0].call("search_by_meaning", query="anything")
    return people[0]


async def find(person: Person, query: str) -> list[str]:
    """The names of entities that have something of a query, the nearest first."""
    found = await person.call("search_by_meaning", query=query)
    return [one["name"] for one in found["entities"] if one["similarity"] > 0.25 or one["matched"] != "meaning"]


async def count_pending(person: Person) -> int:
    return (await person.call("search_by_meaning", query="x"))["pending"]


async def read_index(database: ScratchDatabase) -> dict[str, str]:
    """All documents, by title."""
    async with database.admin_connection() as admin:
        return dict(await admin.fetch("SELECT title, text FROM search.documents"))


async def remove_orphans(database: ScratchDatabase) -> int:
    async with database.open("mcpist_console") as console, console.connection() as connection:
        return await connection.fetchval("SELECT search.remove_orphans()")


async def test_a_hit_says_why_and_comes_with_its_entity(alice: Person) -> None:
    entities = [entity("Ada", "likes green tea", "wrote programs"), entity("Acme", "makes anvils", kind="company")]
    await alice.call("create_entities", entities=entities)
    await alice.call("create_relations", relations=[relation("Ada", "works_at", "Acme")])
    found = await alice.call("search_by_meaning", query="green tea", limit=1)
    [hit] = found["entities"]
    assert hit == {
        "name": "Ada",
        "entityType": "person",
        "similarity": hit["similarity"],
        "matched": "both",
        "observations": ["likes green tea", "wrote programs"],
    }
    assert 0.3 < hit["similarity"] < 1
    assert found["relations"] == [relation("Ada", "works_at", "Acme")]
    assert (found["message"], found["pending"]) == ("1 entity, nearest first.", 0)


async def test_nothing_is_indexed_before_the_first_search(
    people: list[Person], embedder: HookedEmbedder, database: ScratchDatabase
) -> None:
    person = people[0]
    await person.call("create_entities", entities=[entity("Ada", "green tea"), entity("Bob", "coffee")])
    await person.call("add_observations", observations=[{"entityName": "Bob", "contents": ["black tea"]}])
    assert (embedder.texts, await read_index(database)) == ([], {})
    assert await find(person, "green tea") == ["Ada", "Bob"]


async def test_the_index_follows_each_change(alice: Person, database: ScratchDatabase) -> None:
    await alice.call("create_entities", entities=[entity("Ada", "green tea"), entity("Bob", "coffee")])
    assert await read_index(database) == {"Ada": "person\ngreen tea", "Bob": "person\ncoffee"}
    await alice.call("create_entities", entities=[entity("Bob", kind="guest")])
    await alice.call("add_observations", observations=[{"entityName": "Ada", "contents": ["chess"]}])
    await alice.call("delete_observations", deletions=[{"entityName": "Ada", "observations": ["green tea"]}])
    assert await read_index(database) == {"Ada": "person\nchess", "Bob": "guest\ncoffee"}
    await alice.call("delete_entities", entityNames=["Ada", "Nobody"])
    await alice.call("import_graph", jsonl=json.dumps({"type": "entity", **entity("Eve", "harp")}))
    assert await read_index(database) == {"Bob": "guest\ncoffee", "Eve": "person\nharp"}
    assert await count_pending(alice) == 0


async def test_what_is_known_is_not_embedded_again(alice: Person, embedder: HookedEmbedder) -> None:
    for _ in range(2):
        await alice.call("create_entities", entities=[entity("Ada", "green tea")])
        await alice.call("create_relations", relations=[relation("Ada", "knows", "Ada")])
    assert embedder.texts.count("Ada\nperson\ngreen tea") == 1


@pytest.mark.parametrize("change", ["create_entities", "add_observations"])
async def test_what_was_written_before_the_process_ended_is_found(
    alice: Person, embedder: HookedEmbedder, change: str
) -> None:
    await alice.call("create_entities", entities=[entity("Ada", "green tea")])

    async def end() -> None:
        raise ProcessEnded

    embedder.before = end
    sent = {
        "create_entities": {"entities": [entity("Bob", "plays chess")]},
        "add_observations": {"observations": [{"entityName": "Ada", "contents": ["plays chess"]}]},
    }[change]
    with pytest.raises(ProcessEnded):
        await alice.call(change, **sent)
    assert await find(alice, "plays chess") == ["Bob" if change == "create_entities" else "Ada"]
    assert await count_pending(alice) == 0


@pytest.mark.parametrize("through", ["search_by_meaning", "create_entities", "maintenance"])
async def test_what_was_deleted_before_the_process_ended_leaves_the_index(
    alice: Person, database: ScratchDatabase, monkeypatch: pytest.MonkeyPatch, through: str
) -> None:
    """And a search never shows it."""
    await alice.call("create_entities", entities=[entity("Ada", "green tea"), entity("Bob", "green tea")])

    async def end(*_: object, **__: object) -> None:
        raise ProcessEnded

    with monkeypatch.context() as patch:
        patch.setattr(SearchEngine, "delete_document", end)
        with pytest.raises(ProcessEnded):
            await alice.call("delete_entities", entityNames=["Ada"])
    assert set(await read_index(database)) == {"Ada", "Bob"}
    if through == "search_by_meaning":
        assert await find(alice, "green tea") == ["Bob"]
    elif through == "create_entities":
        await alice.call("create_entities", entities=[entity("Eve")])
    else:
        assert await remove_orphans(database) == 1
        assert await find(alice, "green tea") == ["Bob"]
    assert "Ada" not in await read_index(database)


async def test_a_name_that_comes_back_is_another_entity(alice: Person) -> None:
    await alice.call("create_entities", entities=[entity("Ada", "green tea")])
    await alice.call("delete_entities", entityNames=["Ada"])
    await alice.call("create_entities", entities=[entity("Ada", "plays chess")])
    assert await find(alice, "green tea") == []
    assert await find(alice, "plays chess") == ["Ada"]


async def test_a_large_import_embeds_nothing_and_searches_catch_up(
    alice: Person, embedder: HookedEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [json.dumps({"type": "entity", **entity(f"n{n:03}", f"fact{n} known")}) for n in range(120)]
    embedder.texts.clear()
    await alice.call("import_graph", jsonl="\n".join(lines))
    assert len(embedder.texts) <= entity_index.CHEAP_ENTITIES
    monkeypatch.setattr(entity_index, "SEARCH_SECONDS", 0.0)
    monkeypatch.setattr(entity_index, "BATCH", 40)
    found = await alice.call("search_by_meaning", query="known")
    assert found["pending"] == 114
    assert found["message"].endswith(" Changed and not indexed yet: 114; each search indexes some.")
    assert await count_pending(alice) == 113
    assert await alice.call("index_graph") == {"message": "Everything is indexed.", "pending": 0}
    assert (await find(alice, "fact119"))[0] == "n119"


async def test_deleted_text_leaves_the_index_also_where_the_rest_is_not_cheap(
    alice: Person, database: ScratchDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    await alice.call("create_entities", entities=[entity(f"n{n}", "secret", "rest") for n in range(5)])
    monkeypatch.setattr(entity_index, "CHEAP_CHARS", 10)
    deletions = [{"entityName": f"n{n}", "observations": ["secret"]} for n in range(5)]
    await alice.call("delete_observations", deletions=deletions)
    assert not any("secret" in text for text in (await read_index(database)).values())
    async with database.admin_connection() as admin:
        marked = {row["name"] for row in await admin.fetch("SELECT name FROM core.dirty_tables")}
        assert await admin.fetchval("SELECT count(*) FROM modules.kg_unindexed WHERE has_lost") == 0
    assert marked >= {"modules.kg_observations", "modules.kg_unindexed"}
    of_search = {name.rpartition("_")[0] for name in marked if name.startswith("search.")}
    assert of_search == {"search.documents", "search.chunks", "search.token_counts"}
    assert len(await find(alice, "rest")) == 5


async def test_a_service_that_fails_fails_no_write_and_holds_up_no_other_entity(alice: Person) -> None:
    made = await alice.call("create_entities", entities=[entity("Ada", REFUSED), entity("Bob", "green tea")])
    assert made["created"] == 2
    found = await alice.call("search_by_meaning", query="green tea")
    assert found["message"].endswith(" Changed and not indexed yet: 2; the embedding service refused.")
    assert await find(alice, "green tea") == ["Bob"]
    assert await count_pending(alice) == 1
    await alice.call("delete_observations", deletions=[{"entityName": "Ada", "observations": [REFUSED]}])
    assert await count_pending(alice) == 0


async def test_a_service_that_does_not_answer_holds_up_no_write(
    alice: Person, embedder: HookedEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entity_index, "CHEAP_SECONDS", 0.01)
    embedder.before = asyncio.Event().wait
    await alice.call("create_entities", entities=[entity("Ada", "green tea")])
    embedder.before = None  # it may not have been asked before the time was over
    assert await find(alice, "green tea") == ["Ada"]


async def test_an_entity_that_is_deleted_while_it_is_indexed_leaves_no_document(
    alice: Person, embedder: HookedEmbedder, database: ScratchDatabase
) -> None:
    """Somebody else has indexed the deletion before the document comes."""

    async def delete() -> None:
        await alice.call("delete_entities", entityNames=["Ada"])
        assert await read_index(database) == {}

    embedder.before = delete
    await alice.call("create_entities", entities=[entity("Ada", "green tea")])
    assert await find(alice, "green tea") == []
    assert await read_index(database) == {}


async def test_what_changes_while_it_is_indexed_is_indexed_again(alice: Person, embedder: HookedEmbedder) -> None:
    async def change() -> None:
        await alice.call("add_observations", observations=[{"entityName": "Ada", "contents": ["plays chess"]}])

    embedder.before = change
    await alice.call("create_entities", entities=[entity("Ada", "green tea")])
    assert await find(alice, "plays chess") == ["Ada"]
    assert await count_pending(alice) == 0


async def test_many_searches_and_writes_at_once_end_with_the_graph_indexed(
    alice: Person, database: ScratchDatabase
) -> None:
    async def write(number: int) -> None:
        await alice.call("create_entities", entities=[entity(f"n{number % 3}", f"fact {number}")])
        await alice.call("search_by_meaning", query=f"fact {number}")
        await alice.call("delete_entities", entityNames=[f"n{(number + 1) % 3}"])

    await asyncio.gather(*(write(number) for number in range(9)))
    while await count_pending(alice):
        pass
    graph = (await alice.call("read_graph"))["entities"]
    indexed = await read_index(database)
    assert {one["name"]: "\n".join([one["entityType"], *one["observations"]]) for one in graph} == indexed


async def test_any_name_is_indexed(alice: Person) -> None:
    for name in ("山田　太郎", "a\tb\nc", "x" * 200, "# heading", "🎉", "％", "\u200b-"):
        await alice.call("create_entities", entities=[entity(name, "green tea"), entity("other", "coffee")])
        assert await find(alice, "green tea") == [name]
        await alice.call("delete_entities", entityNames=[name])


async def test_an_entity_without_observations_is_found_by_its_name_and_type(alice: Person) -> None:
    await alice.call("create_entities", entities=[entity("Zephyr", kind="sailing boat")])
    assert await find(alice, "sailing boat") == await find(alice, "zephyr") == ["Zephyr"]


async def test_of_a_large_entity_the_newest_is_indexed_and_the_passage_is_shown(
    alice: Person, monkeypatch: pytest.MonkeyPatch, database: ScratchDatabase
) -> None:
    monkeypatch.setattr(entity_index, "MAX_INDEXED_CHARS", 60_000)
    observations = [f"note{n}. {'word ' * 380}" for n in range(39)]
    for start in (0, 20):
        await alice.call("create_entities", entities=[entity("Ada", *observations[start : start + 20])])
    await alice.call("add_observations", observations=[{"entityName": "Ada", "contents": ["zebra crossing"]}])
    found = await alice.call("search_by_meaning", query="zebra crossing")
    [hit] = found["entities"]
    assert len(hit["observations"]) + hit["omittedObservations"] == 40
    assert "zebra crossing" in hit["passage"]
    text = (await read_index(database))["Ada"]
    assert (len(text) <= 60_010, "note0." in text, "note38." in text) == (True, False, True)


async def test_everybody_finds_their_own(people: list[Person]) -> None:
    """Two people of one tenant, and two of another: the same name, other contents."""
    words = ("tea", "chess", "harp", "boats")
    for person, word in zip(people, words, strict=True):
        await person.call("create_entities", entities=[entity("Ada", f"likes {word}")])
    for person, word in zip(people, words, strict=True):
        found = await person.call("search_by_meaning", query="likes tea chess harp boats")
        assert [one["observations"] for one in found["entities"]] == [[f"likes {word}"]]
    await people[0].call("delete_entities", entityNames=["Ada"])
    assert [await find(person, "Ada") for person in people] == [[], ["Ada"], ["Ada"], ["Ada"]]


async def test_a_database_without_pgvector_keeps_graphs(people: list[Person], database: ScratchDatabase) -> None:
    person = people[0]
    await person.call("create_entities", entities=[entity("Acme", "makes anvils")])
    await person.call("search_by_meaning", query="anvils")
    async with database.admin_connection() as admin:
        await admin.execute("DROP SCHEMA search CASCADE")
    assert (await person.call("create_entities", entities=[entity("ACME")]))["created"] == 1
    assert (await person.call("delete_observations", deletions=[]))["observations"] == 0
    with pytest.raises(ToolError, match="pgvector"):
        await person.call("search_by_meaning", query="anvils")
    report = await person.call("find_duplicates")
    assert (report["total"], "pgvector" in report["message"]) == (1, True)
    assert len((await person.call("search", query="acme"))["entities"]) == 2
