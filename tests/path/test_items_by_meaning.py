"""Items found by their meaning over MCP: what is written is found by the next search, and never somebody else's."""

import json
from typing import Any

import pytest

from core.directory.roles import create_role
from core.directory.users import assign_role, change_user
from gateway.module_collections import ModuleCollections
from modules.items import meaning_index
from search.engine import SearchEngine
from tests.path.conftest import People
from tests.support.job_worker import run_jobs
from tests.support.product import ACTOR, Node, Product
from tests.support.task_forms import CORE, run_as_task

BOARD = "role:sales/board"
TEXTS = {
    "How to brew tea": "Green tea is brewed at 80 degrees, black tea with boiling water.",
    "Backups": "The database is copied every night and kept for two weeks.",
    "在宅勤務の規則": "週に三日まで自宅で働くことができます。",
}


async def call(node: Node, token: str, tool: str, **params: Any) -> dict[str, Any]:
    answer = await node.call(token, "items", tool, params)
    assert not answer.failed, answer.text
    return answer.value


async def fill(node: Node, token: str, **params: Any) -> None:
    for title, content in TEXTS.items():
        await call(node, token, "create_item", type="note", title=title, content=content, **params)


async def search_all(node: Node, token: str, query: str, **params: Any) -> dict[str, Any]:
    """The answer once everything is indexed: on a busy machine, some searches later."""
    pending = -1
    while True:
        found = await call(node, token, "semantic_search", query=query, **params)
        if found["pending"] in {0, pending}:
            return found
        pending = found["pending"]


async def search(node: Node, token: str, query: str, **params: Any) -> list[str]:
    found = await search_all(node, token, query, **params)
    return [one["item"]["title"] for one in found["items"]]


async def test_items_are_found_in_other_words_and_another_language(node: Node, people: People) -> None:
    token = people.admin.token
    assert await call(node, token, "semantic_search", query="anything") == {"items": [], "pending": 0}
    await fill(node, token)
    found = await search_all(node, token, "how hot should the water be", limit=2)
    first = found["items"][0]
    assert (first["item"]["title"], first["item"]["key"], found["pending"]) == ("How to brew tea", "note-1", 0)
    assert -1 <= first["similarity"] <= 1
    assert first["matched"] in {"meaning", "words", "both"}
    assert {"content", "description"}.isdisjoint(first["item"])
    assert len(found["items"]) <= 2
    assert (await search(node, token, "may I work from home?"))[0] == "在宅勤務の規則"
    await call(node, token, "change_item_type", from_type="note", from_id=2, to_type="runbook")
    assert await search(node, token, "saving the data", types=["runbook"]) == ["Backups"]
    assert "Backups" not in await search(node, token, "saving the data", types=["note"])
    assert set(await search(node, token, "saving the data", types=["note", "runbook"])) >= {"Backups"}


async def test_what_was_changed_or_deleted_is_found_as_it_is(node: Node, people: People) -> None:
    token = people.admin.token
    await fill(node, token)
    assert (await search(node, token, "temperature of water for tea"))[0] == "How to brew tea"
    await call(
        node, token, "update_item", type="note", id=1, title="Parking", content="Cars are parked behind the building."
    )
    assert (await search(node, token, "where do I leave my car"))[0] == "Parking"
    await call(node, token, "delete_item", type="note", id=1)
    found = await search_all(node, token, "where do I leave my car")
    assert "Parking" not in [one["item"]["title"] for one in found["items"]]
    assert found["pending"] == 0


async def test_maintenance_removes_what_a_write_could_not(
    product: Product, node: Node, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the process ends between a write and its index."""
    token = people.admin.token
    await fill(node, token)
    await search(node, token, "tea")

    async def fail(*_: object, **__: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(SearchEngine, "delete_document", fail)
        patch.setattr(SearchEngine, "put_document", fail)
        await call(node, token, "delete_item", type="note", id=1)
        await call(node, token, "update_item", type="note", id=2, content="Kept on tape.")
    async with product.database.admin_connection() as admin:
        titles = "SELECT array_agg(title ORDER BY title) FROM search.documents"
        assert await admin.fetchval(titles) == sorted(TEXTS)
        await admin.execute("SET ROLE mcpist_console")
        assert await admin.fetchval("SELECT search.remove_orphans()") == 2
        await admin.execute("RESET ROLE")
        assert await admin.fetchval(titles) == ["在宅勤務の規則"]
    assert set(await search(node, token, "tape")) == {"Backups", "在宅勤務の規則"}


async def test_what_is_short_is_indexed_by_its_write(product: Product, node: Node, people: People) -> None:
    token = people.admin.token
    await call(node, token, "create_item", type="note", title="First")
    await call(node, token, "semantic_search", query="tea")
    await fill(node, token)
    updates = [{"type": "note", "id": 1, "data": {"title": "Cooking rice"}}]
    await call(node, token, "bulk_update", updates=updates)
    await call(node, token, "create_item", type="note", title="Long", content="words " * 1_000)
    async with product.database.admin_connection() as admin:
        assert await admin.fetchval("SELECT count(*) FROM modules.items WHERE indexed_revision < revision") == 1
    await call(node, token, "delete_item", type="note", id=1)
    found = await search_all(node, token, "cooking rice")
    assert found["pending"] == 0
    assert "Cooking rice" not in [one["item"]["title"] for one in found["items"]]


async def test_many_are_indexed_little_by_little(node: Node, people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    token = people.admin.token
    await fill(node, token)
    monkeypatch.setattr(meaning_index, "BATCH", 1)
    pending = [(await call(node, token, "semantic_search", query="tea"))["pending"] for _ in range(4)]
    assert pending == [2, 1, 0, 0]


async def test_each_finds_what_they_may_read(product: Product, node: Node, people: People) -> None:
    sales = await create_role(product.console, ACTOR, people.acme.id, "sales")
    boss, member, outsider, colleague = [
        await product.person(people.acme, f"{name}@mail.test", allow=["items.*"])
        for name in ("boss", "member", "outsider", "colleague")
    ]
    await change_user(product.console, ACTOR, people.acme.id, boss.id, system_role="admin")
    for person in (boss, member):
        await assign_role(product.console, ACTOR, people.acme.id, person.id, sales.id)
    await call(node, boss.token, "create_workspace", name="board", owner="role", role="sales")
    await fill(node, member.token, workspace=BOARD)
    for person in (boss, member):
        assert (await search(node, person.token, "hot water", workspace=BOARD))[0] == "How to brew tea"
        assert await search(node, person.token, "hot water") == []
    for person in (outsider, colleague, people.other_admin):
        assert await search(node, person.token, "hot water") == []
        refused = await node.call(person.token, "items", "semantic_search", {"query": "hot water", "workspace": BOARD})
        assert refused.failed


async def test_whoever_may_only_read_searches_what_is_indexed(product: Product, node: Node, people: People) -> None:
    boss = await product.person(people.acme, "boss@mail.test", allow=["items.*"])
    await change_user(product.console, ACTOR, people.acme.id, boss.id, system_role="admin")
    member = await product.person(people.acme, "member@mail.test", allow=["items.*"])
    await call(node, boss.token, "create_workspace", name="news", owner="tenant", member_writes=False)
    await fill(node, boss.token, workspace="tenant/news")
    await call(
        node, boss.token, "create_item", type="note", title="Long", content="tea " * 500, workspace="tenant/news"
    )
    found = await call(node, member.token, "semantic_search", query="hot water", workspace="tenant/news")
    assert (found["items"][0]["item"]["title"], found["pending"]) == ("How to brew tea", 1)
    await search_all(node, boss.token, "hot water", workspace="tenant/news")
    found = await call(node, member.token, "semantic_search", query="hot water", workspace="tenant/news")
    assert (found["items"][0]["item"]["title"], found["pending"]) == ("How to brew tea", 0)


async def test_a_long_item_does_not_take_the_places_of_others(node: Node, people: People) -> None:
    token = people.admin.token
    sentence = "The garden needs water and sunlight for tomatoes to grow well in summer. "
    await call(node, token, "create_item", type="doc", title="Guide", content=sentence * 600)
    others = {
        "Watering": "How often to water tomatoes",
        "Greenhouse": "Growing tomatoes under glass",
        "Soil": "Compost for tomatoes",
    }
    for title, content in others.items():
        await call(node, token, "create_item", type="note", title=title, content=content)
    assert set(await search(node, token, "growing tomatoes", limit=4)) == {"Guide", *others}
    found = await search_all(node, token, "growing tomatoes", limit=2)
    assert len({one["item"]["key"] for one in found["items"]}) == 2


async def test_writes_ask_nothing_of_the_index_before_the_first_search(
    product: Product, node: Node, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    sales = await create_role(product.console, ACTOR, people.acme.id, "sales")
    boss = await product.person(people.acme, "boss@mail.test", allow=["items.*"])
    await change_user(product.console, ACTOR, people.acme.id, boss.id, system_role="admin")
    await assign_role(product.console, ACTOR, people.acme.id, boss.id, sales.id)
    await call(node, boss.token, "create_workspace", name="board", owner="role", role="sales")
    asked: list[str] = []
    find = ModuleCollections.find

    async def find_and_note(self: ModuleCollections, name: str, *place: Any) -> Any:
        asked.append(name)
        return await find(self, name, *place)

    monkeypatch.setattr(ModuleCollections, "find", find_and_note)
    for params in ({}, {"workspace": BOARD}):
        await fill(node, boss.token, **params)
        await call(node, boss.token, "update_item", type="note", id=1, title="Tea", **params)
        await call(node, boss.token, "change_item_type", from_type="note", from_id=2, to_type="memo", **params)
        updates = [{"type": "note", "id": 1, "data": {"status": "Closed"}}]
        await call(node, boss.token, "bulk_update", updates=updates, **params)
        await call(node, boss.token, "delete_item", type="note", id=3, **params)
        assert asked == []
        assert (await search(node, boss.token, "hot water", **params))[0] == "Tea"
        asked.clear()
        await call(node, boss.token, "create_item", type="note", title="Parking", **params)
        assert len(asked) == 1
        assert "Parking" in await search(node, boss.token, "where cars are left", **params)
        asked.clear()


async def test_a_job_indexes_a_large_import(product: Product, node: Node, people: People) -> None:
    token = people.admin.token
    lines = [json.dumps({"type": "note", "title": title, "content": text}) for title, text in TEXTS.items()]
    assert "pending" not in await call(node, token, "import_items", jsonl="\n".join(lines))
    async with run_jobs(product, node):
        report = await run_as_task(node, people.admin, CORE, "items", "index_items", {})
        assert report == {"indexed": len(TEXTS), "pending": 0}
        found = await call(node, token, "semantic_search", query="temperature of water for tea")
        assert (found["items"][0]["item"]["title"], found["pending"]) == ("How to brew tea", 0)
        more = [json.dumps({"type": "note", "title": f"n{number}"}) for number in range(5)]
        assert (await call(node, token, "import_items", jsonl="\n".join(more)))["pending"] == 5
        assert await run_as_task(node, people.admin, CORE, "items", "index_items", {}) == {"indexed": 5, "pending": 0}
        for other in (people.other_admin, people.admin):
            workspace = {} if other is people.other_admin else {"workspace": "none"}
            told = await node.call(other.token, "items", "index_items", workspace)
            assert told.failed or told.value == {"indexed": 0, "pending": 0}


async def test_a_blank_query_is_refused_as_documented(node: Node, people: People) -> None:
    answer = await node.call(people.admin.token, "items", "semantic_search", {"query": " "})
    error = answer.result["structuredContent"]
    assert (error["code"], error["data"]["details"]["field"]) == (1002, "query")


async def test_titles_of_several_lines_are_found(node: Node, people: People) -> None:
    token = people.admin.token
    title = "How to\n\tbrew\x07 tea\u2028at home"
    await call(node, token, "create_item", type="note", title=title, content="water\x01\ud7ff")
    assert await search(node, token, "preparing a hot drink") == [title]
    assert (await call(node, token, "semantic_search", query="tea"))["pending"] == 0
