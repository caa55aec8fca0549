"""Items by their words, by a tag, and titles for what is being typed."""

from typing import Any
from uuid import UUID

import pytest

from tests.bench.item_population import fill_workspace
from tests.modules.items.conftest import Office, refused
from tests.support.modules import Person
from tests.support.postgres import ScratchDatabase


async def add(person: Person, title: str, type: str = "note", **params: Any) -> str:
    return (await person.call("create_item", type=type, title=title, **params))["key"]


async def find(person: Person, query: str, **params: Any) -> list[str]:
    return [one["title"] for one in (await person.call("search_items", query=query, **params))["items"]]


async def suggest(person: Person, query: str, **params: Any) -> list[str]:
    return (await person.call("search_suggest", query=query, **params))["suggestions"]


async def test_words_of_title_description_and_content(ada: Person) -> None:
    await add(ada, "Release plan", description="What is shipped in May", content="# Steps\n\nTag, build, **announce**")
    await add(ada, "Announcement", content="the release was announced")
    await add(ada, "Groceries")
    assert await find(ada, "release") == ["Release plan", "Announcement"], "titles come first"
    assert await find(ada, "RELEASE announce") == ["Announcement", "Release plan"]
    assert await find(ada, "shipped") == ["Release plan"]
    assert await find(ada, "release groceries") == []
    found = await ada.call("search_items", query="plan")
    assert found["total"] == 1
    assert {"description", "content", "related"}.isdisjoint(found["items"][0])
    assert await ada.call("search_items", query="?!") == {"items": [], "total": 0}


async def test_japanese(ada: Person) -> None:
    await add(ada, "会議の議事録", content="来年度の予算を検討し、申し込みを取り消した。")
    await add(ada, "検索エンジンの設計", description="全文検索とサーバーの構成")
    await add(ada, "東京の天気", content="京都は雨")
    assert await find(ada, "議事録") == ["会議の議事録"]
    assert await find(ada, "予算") == ["会議の議事録"]
    assert await find(ada, "取消") == ["会議の議事録"]
    assert await find(ada, "全文検索 サーバ") == ["検索エンジンの設計"]
    assert await find(ada, "木") == []
    assert await find(ada, "雨") == ["東京の天気"]
    assert await find(ada, "ＡＰＩ") == []


async def test_pages_types_and_the_newest_first(ada: Person) -> None:
    for number in range(25):
        await add(ada, f"Entry {number}", type="log" if number % 5 else "task")
    await add(ada, "Other", content="an entry")
    first = await ada.call("search_items", query="entry", limit=10)
    assert [one["title"] for one in first["items"]] == [f"Entry {number}" for number in range(24, 14, -1)]
    assert (first["total"], first["next_offset"]) == (26, 10)
    last = await ada.call("search_items", query="entry", limit=10, offset=20)
    assert [one["title"] for one in last["items"]] == [*(f"Entry {number}" for number in range(4, -1, -1)), "Other"]
    assert "next_offset" not in last
    assert await find(ada, "entry", types=["task"]) == [f"Entry {number}" for number in (20, 15, 10, 5, 0)]
    assert len(await find(ada, "entry", types=["task", "note"])) == 6
    assert await find(ada, "entry", types=["none"]) == []


async def test_what_was_changed_or_deleted_is_not_found_by_what_it_was(ada: Person) -> None:
    await add(ada, "Alpha", content="first words")
    await ada.call("update_item", type="note", id=1, content="second")
    assert (await find(ada, "first"), await find(ada, "second alpha")) == ([], ["Alpha"])
    await ada.call("change_item_type", from_type="note", from_id=1, to_type="page")
    assert await find(ada, "second", types=["page"]) == ["Alpha"]
    await ada.call("delete_item", type="page", id=1)
    assert await find(ada, "second") == []


async def test_odd_queries(ada: Person) -> None:
    await add(ada, "it's a \\ test: a&b | !c", content="path/to-the_file.txt 'quoted' <b>")
    for query in ("it's", "'", "\\", "a & b | !c", ":*", "path/to-the_file.txt", "'quoted'", "<b>", "%", "()", "𠮷"):
        assert len(await find(ada, query)) <= 1
    assert await find(ada, "path/to-the_file.txt") == ["it's a \\ test: a&b | !c"]
    assert len(await find(ada, "test " * 200)) == 1
    with pytest.raises(ValueError, match="at most 1000"):
        await ada.call("search_items", query="x" * 1001)


async def test_suggestions(ada: Person) -> None:
    for title in (
        "Install the server",
        "How to install",
        "Installation notes",
        "会議の議事録",
        "API設計",
        "Server room",
    ):
        await add(ada, title)
    await add(ada, "Install a client", type="task")
    await add(ada, "Something else", content="install")
    assert await suggest(ada, "inst") == [
        "Install a client",
        "Installation notes",
        "Install the server",
        "How to install",
    ]
    assert await suggest(ada, "Install the s") == ["Install the server"]
    assert await suggest(ada, "server ins") == ["Install the server"]
    assert await suggest(ada, "議事") == ["会議の議事録"]
    assert await suggest(ada, "議事録") == ["会議の議事録"]
    assert await suggest(ada, "api設") == ["API設計"]
    assert await suggest(ada, "inst", types=["task"]) == ["Install a client"]
    assert await suggest(ada, "i", limit=1) == ["Install a client"]
    assert await suggest(ada, "zzz") == await suggest(ada, "…") == []
    await add(ada, "Install a client")
    assert (await suggest(ada, "install a"))[0:1] == ["Install a client"], "the same title is told once"


async def test_items_of_a_tag(ada: Person) -> None:
    await add(ada, "One", tags=["red", "blue"])
    await add(ada, "Two", type="task", tags=["red"])
    await add(ada, "Three", tags=["Red"])

    async def tagged(tag: str, **params: Any) -> list[str]:
        return [one["title"] for one in (await ada.call("search_items_by_tag", tag=tag, **params))["items"]]

    assert await tagged("red") == ["Two", "One"]
    assert await tagged(" red ", types=["note"]) == ["One"]
    assert await tagged("re") == []
    page = await ada.call("search_items_by_tag", tag="red", limit=1)
    assert page["next_offset"] == 1
    assert await tagged("red", limit=1, offset=1) == ["One"]
    await ada.call("update_item", type="note", id=1, tags=["blue"])
    assert await tagged("red") == ["Two"]


async def test_searches_see_what_their_caller_may_read(offices: tuple[Office, Office]) -> None:
    (ada, bob, cat), eve = (offices[0].ada, offices[0].bob, offices[0].cat), offices[1].ada
    await ada.call("create_workspace", name="board", owner="role", role="Team")
    await add(ada, "Shared secret", workspace="role:Team/board", tags=["secret"])
    await add(ada, "Private secret", tags=["secret"])
    await add(eve, "Another tenant's secret", tags=["secret"])
    for person, titles in ((ada, ["Private secret"]), (bob, []), (cat, []), (eve, ["Another tenant's secret"])):
        assert await find(person, "secret") == await suggest(person, "sec") == titles
        assert [one["title"] for one in (await person.call("search_items_by_tag", tag="secret"))["items"]] == titles
    assert await find(bob, "secret", workspace="role:Team/board") == ["Shared secret"]
    for tool, params in (("search_items", {"query": "secret"}), ("search_items_by_tag", {"tag": "secret"})):
        code, details = await refused(cat, tool, workspace="role:Team/board", **params)
        assert (code, details["field"]) == (1002, "workspace")


async def find_ids(person: Person, workspace: UUID, query: str, offset: int = 0, limit: int = 20) -> tuple[Any, Any]:
    statement = """SELECT ids, total FROM modules.find_items($3, $4, NULL, '{}', $5, $6)
        WHERE $1::uuid IS NOT NULL AND $2::uuid IS NOT NULL"""
    async with person.store() as store:
        row = await store.fetchrow(statement, workspace, query, offset, limit)
    return (None, None) if row is None else (row["ids"], row["total"])


async def test_the_function_finds_nothing_in_a_workspace_of_others(offices: tuple[Office, Office]) -> None:
    ada, bob, eve = offices[0].ada, offices[0].bob, offices[1].ada
    await add(ada, "Secret")
    async with ada.store() as store:
        found = await store.fetchrow(
            "SELECT id, number FROM modules.item_workspaces WHERE tenant_id = $1 AND user_id = $2"
        )
    assert found is not None
    words = f"'{found['number']}:secret'"
    assert (await find_ids(ada, found["id"], words))[1] == 1
    assert await find_ids(bob, found["id"], words) == await find_ids(eve, found["id"], words) == (None, None)


async def test_words_that_very_many_have(ada: Person, database: ScratchDatabase) -> None:
    """Pages of such a word are in one order, the newest first, whether they are found among the newest or sorted."""
    await add(ada, "First")
    async with database.admin_connection() as admin:
        found = await admin.fetchrow("SELECT id, number FROM modules.item_workspaces")
        await admin.execute("DELETE FROM modules.items")
        await fill_workspace(admin, ada.tenant_id, found["id"], found["number"], ada.user_id, 5_000)
        newest = [
            row["id"]
            for row in await admin.fetch(
                "SELECT id FROM modules.items WHERE tokens @@ $1::tsquery ORDER BY updated_at DESC, id DESC",
                f"'{found['number']}:w2'",
            )
        ]
    assert len(newest) > 4_500
    query = f"'{found['number']}:w2'"
    pages = [await find_ids(ada, found["id"], query, offset, 100) for offset in range(0, 5_000, 100)]
    assert [one for ids, _ in pages for one in ids] == newest
    assert pages[0][1] is None, "they are not counted"
    assert pages[-1][1] == len(newest)
    assert len((await ada.call("search_items", query="w2"))["items"]) == 20
    rare = await ada.call("search_items", query="w19000")
    assert rare["total"] == len(rare["items"]) + max(0, rare["total"] - 20)


async def test_the_longest_text_of_random_characters_is_stored(ada: Person) -> None:
    text = "".join(chr(0x4E00 + (number * 7919 + number // 20_000 * 31) % 20_000) for number in range(102_400))
    await add(ada, "Random", content=text)
    assert await find(ada, text[:3]) == ["Random"]
