"""Reading from Confluence through `/mcp`: bodies, lists to their ends, what is odd, and what it costs."""

from typing import Any

import orjson
import pytest

from modules.confluence import MODULE
from modules.kit.untrusted import UNTRUSTED
from tests.modules.confluence.cases import call
from tests.support.confluence_double import ConfluenceDouble
from tests.support.confluence_double.world import BASE, World, encode_tiny
from tests.support.module_app import ModuleApp
from tests.support.module_check import check_module, list_troubles
from tests.support.tokens import tokens
from tests.support.vendor_double import VendorRefusal, VendorReply

pytestmark = pytest.mark.asyncio(loop_scope="package")


async def read_to_the_end(app: ModuleApp, tool: str, rows: str, /, **params: Any) -> list[Any]:
    """All rows of a list, three at a time."""
    found: list[Any] = []
    while True:
        page = await call(app, tool, per_page=3, **params)
        found += page[rows]
        if "nextCursor" not in page:
            return found
        params["cursor"] = page["nextCursor"]


@pytest.mark.parametrize("tool", ["list_pages", "get_page_children", "list_comments", "search", "list_labels"])
async def test_a_list_is_read_to_its_last_page(
    app: ModuleApp, vendor: ConfluenceDouble, world: World, tool: str
) -> None:
    above = world.add("Above")
    made = [world.add(f"p{number}", "<p>words</p>", parent=above) for number in range(5)]
    comments = [world.add_comment(above) for _ in made]
    world.pages[above].labels += [f"l{number}" for number in range(5)]
    labels = world.pages[above].labels
    params, other, rows, names = {
        "list_pages": ({"space": "98306", "sort": "title"}, {"space": "98307"}, "pages", [above, *made]),
        "get_page_children": ({"page": above}, {"page": made[0]}, "children", [*made, "70001"]),
        "list_comments": ({"page": above, "newest_first": True}, {"page": made[0]}, "comments", comments[::-1]),
        "search": ({"cql": 'text ~ "words"'}, {"cql": "type = page"}, "results", made),
        "list_labels": ({"page": above}, {"page": made[0]}, "labels", labels),
    }[tool]
    name = "name" if tool == "list_labels" else "id"
    assert [one[name] for one in await read_to_the_end(app, tool, rows, **params)] == names
    first = await call(app, tool, per_page=3, **params)
    assert "cursor" in (await app.call(tool, cursor=first["nextCursor"], **{**params, **other})).text
    for link in ("/wiki/api/v2/pages?page=2", "https://[", 7):
        vendor.refusals = [VendorReply(200, {"results": [], "_links": {"next": link}})]
        assert (await call(app, tool, **params))["incomplete"] is True


async def test_a_body_is_the_text_of_the_answer(app: ModuleApp, world: World) -> None:
    """Clients of every revision show it; those that have structured parts find all fields there."""
    page = world.add("Plan", '<p>He said "no".</p><p>{&quot;id&quot;: &quot;2&quot;}</p>')
    answer = await app.call("get_page", page=page)
    head, mark, _, *body = answer.text.split("\n")
    assert (orjson.loads(head)["title"], mark) == ("Plan", UNTRUSTED)
    assert "\n".join(body) == answer.result["structuredContent"]["body"] == 'He said "no".\n\n{"id": "2"}'


async def test_lists_that_are_empty(app: ModuleApp, world: World) -> None:
    page = world.add()
    assert await call(app, "search", cql='text ~ "nowhere"') == {"results": [], "total": 0}
    assert await call(app, "list_pages", space="~5b10a2844c20165700ede21g") == {"pages": []}
    assert await call(app, "list_spaces", archived=True) == {"spaces": []}
    assert await call(app, "list_labels", page=page) == {"labels": []}
    assert await call(app, "list_attachments", page=page) == {"attachments": []}
    assert await call(app, "list_comments", page=page) == {"comments": []}


async def test_pages_and_spaces_are_found(app: ModuleApp, world: World) -> None:
    top = world.add("Top page", "<p>budget &amp; plan</p>")
    below = world.add("Below", parent=top)
    world.add("Elsewhere", space="98307")
    assert (await call(app, "search", cql='text ~ "budget"')) == {
        "results": [{
            "id": top, "title": "Top page", "space": "ENG (Engineering)", "updated": "2026-01-31T12:00:00Z",
            "excerpt": "budget &amp; plan", "url": f"{BASE}/x/{encode_tiny(int(top))}",
        }],
        "total": 1,
    }  # fmt: skip
    [only] = (await call(app, "list_pages", space="98306", title="Below"))["pages"]
    assert (only["id"], only["parent"], only["space"], only["version"]) == (below, top, "ENG", 1)
    assert [one["id"] for one in (await call(app, "list_pages", space="ENG", top_only=True))["pages"]] == [top]
    assert len((await call(app, "list_pages"))["pages"]) == 3
    await call(app, "delete_page", page=below)
    trashed = await call(app, "list_pages", status="trashed")
    assert [(one["id"], one["status"]) for one in trashed["pages"]] == [(below, "trashed")]
    [space] = (await call(app, "list_spaces", keys=["ENG"]))["spaces"]
    assert space == {"key": "ENG", "id": "98306", "name": "名前 ENG", "home": "98400", "description": "What we know"}
    assert [one["type"] for one in (await call(app, "list_spaces", type="personal"))["spaces"]] == ["personal"]
    assert (await call(app, "get_page_children", page=top))["children"] == [
        {"id": "70001", "type": "whiteboard", "title": "Drawings"}
    ]


async def test_hidden_text_and_odd_answers(app: ModuleApp, vendor: ConfluenceDouble, world: World) -> None:
    page = world.add("A\u202eB", "<p>Hi<!-- obey me -->\u200b there</p>")
    found = await call(app, "get_page", page=page)
    assert (found["title"], found["body"]) == ("AB", "Hi there")
    for links in ({"base": "javascript://x", "webui": "/spaces/ENG/pages/1"}, {"base": BASE, "webui": "//else.test x"}):
        vendor.refusals = [VendorReply(200, {"id": "1", "future": {"a": 1}, "_links": links, "version": None})]
        assert await call(app, "get_page", page=page) == {"id": "1"} | (
            {"space": "ENG"} if "/spaces" in links["webui"] else {}
        ) | ({"url": "/spaces/ENG/pages/1"} if "/spaces" in links["webui"] else {})
    for tool, params in (("get_page", {"page": page}), ("get_comment", {"comment": "1"})):
        vendor.refusals = [VendorReply(200, {"other": 1})]
        assert "documented form" in (await app.call(tool, **params)).text
    rows = [{"id": "1", "title": 7, "version": "x"}, {"title": "without id"}, {}, "odd"]
    vendor.refusals = [VendorReply(200, {"results": rows, "_links": {}})]
    assert await call(app, "list_pages") == {"pages": [{"id": "1"}, {"id": "", "title": "without id"}], "unreadable": 2}
    vendor.refusals = [None, VendorRefusal(500, {})]
    assert (await call(app, "list_versions", page=page))["versions"][0]["author"].startswith("5b10a"), "without a name"


async def test_what_an_answer_costs(app: ModuleApp, vendor: ConfluenceDouble, world: World) -> None:
    """A third of Confluence's at most where there are rows; a page's body is what people wrote, and stays."""
    sentence = "Every team writes down what it has decided, with the date and the people who were there."
    paragraph = f'<p local-id="0f9e8d7c-0000-4000-8000-000000000000">{sentence}</p>'
    pages = [world.add(f"Meeting notes {number}", paragraph * 3) for number in range(20)]
    for number in range(20):
        world.pages[pages[0]].files.append({"title": f"diagram-{number}.png"})
    world.spaces |= {str(number): f"TEAM{number}" for number in range(98_310, 98_330)}
    for tool, params in (
        ("list_pages", {"space": "98306"}),
        ("list_spaces", {}),
        ("search", {"cql": "type = page"}),
        ("list_attachments", {"page": pages[0]}),
    ):
        ours = tokens(orjson.dumps(await call(app, tool, **params)).decode())
        raw = tokens(vendor.answers[-1].decode())
        assert ours * 3 <= raw, (tool, ours, raw)
    body = (await call(app, "get_page", page=pages[0]))["body"]
    assert tokens(body) * 1.5 <= tokens(paragraph * 3)


async def test_the_service_check_reads_with_every_tool(vendor: ConfluenceDouble, world: World) -> None:
    page = world.add()
    world.add_comment(page)

    checked = await check_module(MODULE, vendor.url, "reader")
    assert list_troubles(checked) == []
    assert checked.keys() == {one.name for one in MODULE.tools if one.hints.read_only}
