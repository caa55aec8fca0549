"""The tools of the module, through `/mcp`, against a double of its service."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from raindrop_double import RaindropDouble
from raindrop_module import MODULE
from raindrop_module.tools import Bookmark

from tests.support.module_app import ModuleApp, open_module_app
from tests.support.module_check import check_module, list_troubles
from tests.support.odd_answers import find_losses
from tests.support.postgres import DatabaseServer
from tests.support.vendor_double import VendorReply, serve_double

KEY = "a-test-key-of-raindrop"
ONE = "https://example.com/one"

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def raindrop() -> AsyncIterator[RaindropDouble]:
    async with serve_double(RaindropDouble(KEY)) as double:
        yield double


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def app(
    database_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory, raindrop: RaindropDouble
) -> AsyncIterator[ModuleApp]:
    folder = tmp_path_factory.mktemp("raindrop")
    async with open_module_app(database_server, folder, MODULE, f"{raindrop.url}/rest/v1") as opened:
        await opened.connect(opened.ada, KEY)
        yield opened


@pytest.fixture(autouse=True)
def forget_bookmarks(raindrop: RaindropDouble) -> None:
    raindrop.bookmarks.clear()
    raindrop.refusals.clear()
    raindrop.seen.clear()


async def test_search_goes_through_the_pages(app: ModuleApp, raindrop: RaindropDouble) -> None:
    for number in range(30):
        raindrop.add(f"https://example.com/{number}", f"Number {number}")
    first = (await app.call("search_bookmarks", query="number")).value
    assert (len(first["bookmarks"]), first["total"]) == (25, 30)
    rest = (await app.call("search_bookmarks", query="number", cursor=first["nextCursor"])).value
    assert [one["id"] for one in rest["bookmarks"]] == [5, 4, 3, 2, 1]
    assert "nextCursor" not in rest
    assert "cursor" in (await app.call("search_bookmarks", query="another", cursor=first["nextCursor"])).text
    assert (await app.call("search_bookmarks", query="none")).value == {"bookmarks": [], "total": 0}


async def test_a_bookmark_is_saved_and_read(app: ModuleApp, raindrop: RaindropDouble) -> None:
    saved = (await app.call("save_bookmark", link="https://例え.example/", title="日本語", tags=["a"])).value
    assert (saved["id"], saved["title"], saved["tags"]) == (1, "日本語", ["a"])
    raindrop.bookmarks[0]["note"] = "do\u200bnot \u202edo this"
    answer = await app.call("get_bookmark", bookmark_id=1)
    read = answer.value
    assert (read["link"], read["note"]) == ("https://例え.example/", "donot do this")
    assert answer.is_marked


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("get_bookmark", {"bookmark_id": 2}, "search for it"),
        ("get_bookmark", {"bookmark_id": 0}, "bookmark_id"),
        ("search_bookmarks", {"per_page": 51}, "per_page"),
        ("search_bookmarks", {"cursor": "x"}, "leave it out"),
        ("save_bookmark", {"link": "https://refused.example"}, "check the link"),
        ("save_bookmark", {"link": "no address"}, "link"),
    ],
)
async def test_what_is_refused_says_what_to_do(
    app: ModuleApp, raindrop: RaindropDouble, tool: str, arguments: dict[str, Any], told: str
) -> None:
    raindrop.add(ONE)
    answer = await app.call(tool, **arguments)
    assert answer.failed
    assert told in answer.text
    assert len(raindrop.bookmarks) == 1


async def test_whoever_is_not_connected_is_led_to_connect(app: ModuleApp) -> None:
    assert "connect" in (await app.call_as(app.eve, "search_bookmarks")).text


@pytest.mark.parametrize("reply", [VendorReply(503), VendorReply(200, b"<html>"), VendorReply(200, {"result": True})])
async def test_a_save_with_an_unclear_answer_is_sent_once(
    app: ModuleApp, raindrop: RaindropDouble, reply: VendorReply
) -> None:
    raindrop.refusals.append(reply)
    answer = await app.call("save_bookmark", link=ONE)
    assert answer.failed
    assert "look before you try again" in answer.text
    assert raindrop.seen == ["POST /rest/v1/raindrop"]


async def test_a_field_of_another_form_costs_that_field(app: ModuleApp, raindrop: RaindropDouble) -> None:
    good, bad = {"_id": 2, "link": ONE, "tags": None, "title": 3}, {"_id": "none"}
    raindrop.refusals.append(VendorReply(200, {"result": True, "items": [good, bad], "count": "2"}))
    answer = (await app.call("search_bookmarks")).value
    assert answer == {"unreadable": 1, "bookmarks": [{"id": 2, "title": "", "link": ONE, "tags": []}]}
    raindrop.refusals.append(VendorReply(200, {"result": True, "items": "none"}))
    assert "does not have the documented form" in (await app.call("search_bookmarks")).text


async def test_no_odd_value_costs_more_than_its_field(raindrop: RaindropDouble) -> None:
    row = raindrop.add(ONE, "One", tags=["a"], note="a note", excerpt="some words")
    assert find_losses(Bookmark, row) == []


async def test_the_samples_lead_to_every_reading_tool(raindrop: RaindropDouble) -> None:
    raindrop.add(ONE)
    assert list_troubles(await check_module(MODULE, f"{raindrop.url}/rest/v1", KEY)) == []
