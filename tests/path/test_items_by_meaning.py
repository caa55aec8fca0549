"""Items found by their meaning over MCP: what is written is found by the next search, and never somebody else's."""

from typing import Any

import pytest

from core.directory.roles import create_role
from core.directory.users import assign_role, change_user
from modules.items import meaning_index
from search.engine import SearchEngine
from tests.path.conftest import People
from tests.support.product import ACTOR, Node, Product

BOARD = "role:sales/board"
TEXTS = {
    "How to brew tea": "Green tea is brewed at 80 degrees, black tea with boiling water.",
    "Backups": "The database is copied every night and kept for two weeks.",
    "在宅勤務の規則": "週に三日まで自宅で働くことができます。",
}


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine, as much time as it takes."""
    monkeypatch.setattr(meaning_index, "INDEXING_SECONDS", 60.0)


async def call(node: Node, token: str, tool: str, **params: Any) -> dict[str, Any]:
    answer = await node.call(token, "items", tool, params)
    assert not answer.failed, answer.text
    return answer.value


async def fill(node: Node, token: str, **params: Any) -> None:
    for title, content in TEXTS.items():
        await call(node, token, "create_item", type="note", title=title, content=content, **params)


async def search(node: Node, token: str, query: str, **params: Any) -> list[str]:
    found = await call(node, token, "semantic_search", query=query, **params)
    return [one["item"]["title"] for one in found["items"]]


async def test_items_are_found_in_other_words_and_another_language(node: Node, people: People) -> None:
    token = people.admin.token
    assert await call(node, token, "semantic_search", query="anything") == {"items": [], "pending": 0}
    await fill(node, token)
    found = await call(node, token, "semantic_search", query="how hot should the water be", limit=2)
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
    found = await call(node, token, "semantic_search", query="where do I leave my car")
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
    found = await call(node, token, "semantic_search", query="cooking rice")
    assert found["pending"] == 0
    assert "Cooking rice" not in [one["item"]["title"] for one in found["items"]]


async def test_many_are_indexed_little_by_little(node: Node, people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    token = people.admin.token
    await fill(node, token)
    monkeypatch.setattr(meaning_index, "INDEXED_BY_A_SEARCH", 1)
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
    await call(node, boss.token, "semantic_search", query="hot water", workspace="tenant/news")
    found = await call(node, member.token, "semantic_search", query="hot water", workspace="tenant/news")
    assert (found["items"][0]["item"]["title"], found["pending"]) == ("How to brew tea", 0)
