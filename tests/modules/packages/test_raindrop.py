"""The tools of the example package, through `/mcp`, against a double of its service."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from raindrop_module import MODULE

from tests.modules.packages.raindrop_double import RaindropDouble, raindrop_double
from tests.support.module_app import ModuleApp, open_module_app
from tests.support.postgres import DatabaseServer

TOKEN = "a-test-token-of-raindrop"


@pytest.fixture
async def raindrop() -> AsyncIterator[RaindropDouble]:
    async with raindrop_double(TOKEN) as double:
        yield double


@pytest.fixture
async def app(database_server: DatabaseServer, tmp_path: Path, raindrop: RaindropDouble) -> AsyncIterator[ModuleApp]:
    async with open_module_app(database_server, tmp_path, MODULE, raindrop.url) as opened:
        await opened.connect(opened.ada, TOKEN)
        yield opened


async def test_the_three_tools(app: ModuleApp, raindrop: RaindropDouble) -> None:
    for number in range(30):
        raindrop.add(f"https://example.com/{number}", f"Number {number}")
    first = (await app.call("search_bookmarks")).value
    assert (first["count"], len(first["bookmarks"]), first["next_page"]) == (30, 25, 1)
    rest = (await app.call("search_bookmarks", page=1)).value
    assert (len(rest["bookmarks"]), rest["next_page"]) == (5, None)
    assert (await app.call("search_bookmarks", query="none")).value["bookmarks"] == []

    saved = (await app.call("save_bookmark", link="https://例え.example/", title="日本語", tags=["a"])).value
    assert (saved["id"], saved["title"], saved["tags"]) == (31, "日本語", ["a"])
    raindrop.bookmarks[0]["note"] = "x" * 20_000
    read = (await app.call("get_bookmark", bookmark_id=31)).value
    assert (read["link"], len(read["note"]), read["truncated"]) == ("https://例え.example/", 10_000, True)


async def test_refusals(app: ModuleApp, raindrop: RaindropDouble) -> None:
    raindrop.add("https://example.com")
    assert "save" not in (await app.call("get_bookmark", bookmark_id=2)).text
    assert (await app.call("get_bookmark", bookmark_id=2)).failed
    assert "check the URL" in (await app.call("save_bookmark", link="https://refused.example")).text
    assert (await app.call("save_bookmark", link="no address")).failed
    assert "connect" in (await app.call_as(app.eve, "search_bookmarks")).text
    raindrop.token = "another"
    assert (await app.call("search_bookmarks")).failed
    assert len(raindrop.bookmarks) == 1


async def test_an_answer_of_another_form(app: ModuleApp, raindrop: RaindropDouble) -> None:
    raindrop.add("https://example.com", _id="no number")
    answer = await app.call("search_bookmarks")
    assert answer.failed
    assert "does not have the documented form" in answer.text
