"""Confluence's tools through `/mcp`: what a client gets of an answer, of each documented error, and of bad input."""

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
import pytest_asyncio
from pydantic import RootModel

from core.http.credential_headers import CredentialScheme
from gateway.catalogue import build_catalogue
from gateway.tool_runner import ToolOutcome
from modules.confluence import MODULE
from modules.kit.untrusted import UNTRUSTED
from server.service_check import ServiceCheck
from tests.modules.confluence.cases import BAD_INPUT, REFUSALS, WRITES
from tests.support.confluence_double import PAIR, ConfluenceDouble, confluence_double, refuse
from tests.support.confluence_double.world import BASE, MOMENT, World, encode_tiny
from tests.support.module_app import ModuleApp, open_module_app
from tests.support.postgres import DatabaseServer
from tests.support.tokens import tokens
from tests.support.vendor_double import VendorRefusal, VendorReply

pytestmark = pytest.mark.asyncio(loop_scope="module")
ADA = "Ada Lovelace (5b10a2844c20165700ede21g)"
MACRO = (
    '<ac:structured-macro ac:name="chart" ac:schema-version="1" ac:macro-id="1f"><ac:parameter ac:name="type">pie'
    "</ac:parameter></ac:structured-macro>"
)
LAYOUT = (
    f'<ac:layout><ac:layout-section ac:type="two_equal"><ac:layout-cell><p>left</p>{MACRO}</ac:layout-cell>'
    "</ac:layout-section></ac:layout>"
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def vendor() -> AsyncIterator[ConfluenceDouble]:
    async with confluence_double() as double:
        yield double


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def app(
    vendor: ConfluenceDouble, database_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ModuleApp]:
    """Ada has an e-mail address and an API token, eve a bearer token that only reads."""
    async with open_module_app(database_server, tmp_path_factory.mktemp("confluence"), MODULE, vendor.url) as app:
        await app.connect(app.ada, PAIR, scheme=CredentialScheme(kind="basic_pair"))
        await app.connect(app.eve, "reader")
        yield app


@pytest.fixture(autouse=True)
def world(vendor: ConfluenceDouble) -> World:
    """A site without pages."""
    vendor.world = World()
    vendor.refusals.clear()
    return vendor.world


async def call(app: ModuleApp, tool: str, /, **params: Any) -> Any:
    answer = await app.call(tool, **params)
    assert not answer.failed, answer.text
    return answer.value


async def read_to_the_end(app: ModuleApp, tool: str, rows: str, /, **params: Any) -> list[Any]:
    """All rows of a list, three at a time."""
    found: list[Any] = []
    while True:
        page = await call(app, tool, per_page=3, **params)
        found += page[rows]
        if "nextCursor" not in page:
            return found
        params["cursor"] = page["nextCursor"]


async def test_a_page_is_made_read_changed_and_deleted(app: ModuleApp, world: World) -> None:
    home = world.add("Home")
    made = await call(app, "create_page", title="議事録 ملاحظات", body="# 議題\n\n- 予算\n- **مهم**", parent=home)
    assert made == {
        "id": made["id"], "title": "議事録 ملاحظات", "version": 1, "url": f"{BASE}/x/{encode_tiny(int(made['id']))}",
    }  # fmt: skip
    assert world.pages[made["id"]].space == "98306"
    assert world.pages[made["id"]].body == "<h1>議題</h1><ul><li>予算</li><li><strong>مهم</strong></li></ul>"
    assert await call(app, "get_page", page=made["url"]) == {
        "untrusted": UNTRUSTED, "id": made["id"], "title": "議事録 ملاحظات", "space": "ENG (98306)", "parent": home,
        "version": 1, "created": "2026-01-31T12:00:00Z", "author": ADA, "updated": "2026-01-31T12:00:00Z",
        "editor": ADA, "url": made["url"], "body": "# 議題\n\n- 予算\n- **مهم**",
    }  # fmt: skip
    await call(app, "update_page", page=made["id"], body_changes=[{"old": "予算", "new": "予算 2027"}], message="why")
    await call(app, "update_page", page=made["id"], title="New", append="The end.")
    found = await call(app, "get_page", page=made["id"])
    assert (found["title"], found["version"]) == ("New", 3)
    assert found["body"] == "# 議題\n\n- 予算 2027\n- **مهم**\n\nThe end."
    assert "2027" not in (await call(app, "get_page", page=made["id"], version=1))["body"]
    versions = await call(app, "list_versions", page=made["id"], per_page=2)
    assert versions["versions"] == [
        {"number": 3, "created": "2026-01-31T12:00:00Z", "author": ADA},
        {"number": 2, "created": "2026-01-31T12:00:00Z", "author": ADA, "message": "why"},
    ]
    for purge in (False, True):
        assert await call(app, "delete_page", page=made["id"], purge=purge) == {"id": made["id"], "removed": True}
    assert list(world.pages) == [home]


async def test_what_markdown_cannot_say_survives_an_edit(app: ModuleApp, world: World) -> None:
    before = f'<p local-id="1">first</p>{LAYOUT}<p local-id="2">last &nbsp;&rarr;</p>'
    page = world.add("x", before)
    body = (await call(app, "get_page", page=page))["body"]
    assert "{=storage}" in body
    await call(app, "update_page", page=page, body=body.replace("left", "right"))
    assert world.pages[page].body == before.replace("left", "right")
    await call(app, "update_page", page=page, body_changes=[{"old": "first", "new": "changed"}])
    assert world.pages[page].body == before.replace("left", "right").replace('<p local-id="1">first', "<p>changed")
    await call(app, "update_page", page=page, title="Only its title")
    assert world.pages[page].body == world.pages[page].bodies[-2]
    broken = f"`<ac:layout>`{{=storage}}\n\n{body}"
    refused = await app.call("update_page", page=page, body=broken)
    assert "not well-formed" in refused.text
    odd = world.add("odd", "<p>not <b>closed</p>")
    assert (await call(app, "get_page", page=odd))["markup"] is True
    assert "give the whole" in (await app.call("update_page", page=odd, body_changes=[{"old": "not", "new": ""}])).text
    await call(app, "update_page", page=odd, body="mended")
    assert world.pages[odd].body == "<p>mended</p>"


async def test_somebody_else_was_faster(app: ModuleApp, vendor: ConfluenceDouble, world: World) -> None:
    page = world.add()
    await call(app, "update_page", page=page, title="Second", version=1)
    stale = await app.call("update_page", page=page, title="Third", version=1)
    assert "the page has version 2 now, not 1: read it again. Nothing was changed" in stale.text
    conflict = refuse(409, "Version must be incremented when updating a page. Current Version: [5]", "CONFLICT")
    vendor.refusals = [None, conflict]
    late = await app.call("update_page", page=page, title="Third")
    assert late.failed
    assert "somebody changed it at the same moment: read it again" in late.text
    assert world.pages[page].titles == ["A page", "Second"]
    comment = world.add_comment(page)
    assert "version 1 now, not 7" in (await app.call("update_comment", comment=comment, text="x", version=7)).text


async def test_a_long_page_is_read_on_and_written_whole(app: ModuleApp, world: World) -> None:
    text = "\n\n".join(f"paragraph {number} with some words" for number in range(2_500))
    page = (await call(app, "create_page", title="Long", body=text, space="ENG"))["id"]
    found, offset = "", 0
    while True:
        part = await call(app, "get_page", page=page, offset=offset)
        found += part["body"]
        if not (offset := part.get("next_offset", 0)):
            break
    assert found == text
    largest = f"```\n{'議' * 499_992}\n```"
    made = await call(app, "create_page", title="Largest", body=largest, space="ENG")
    assert world.pages[made["id"]].body.count("議") == 499_992
    too_long = await app.call("create_page", title="Larger", body=f"{largest}x", space="ENG")
    assert "body" in too_long.text
    assert len(world.pages) == 2


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


async def test_lists_that_are_empty(app: ModuleApp, world: World) -> None:
    page = world.add()
    assert await call(app, "search", cql='text ~ "nowhere"') == {"results": [], "total": 0}
    assert await call(app, "list_pages", space="~5b10a2844c20165700ede21g") == {"pages": []}
    assert await call(app, "list_spaces", archived=True) == {"spaces": []}
    assert await call(app, "list_labels", page=page) == {"labels": []}
    assert await call(app, "list_attachments", page=page) == {"attachments": []}
    assert await call(app, "list_comments", page=page) == {"untrusted": UNTRUSTED, "comments": []}


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


async def test_comments_and_replies(app: ModuleApp, world: World) -> None:
    page = world.add()
    first = (await call(app, "add_comment", page=page, text="Looks **good** 検討"))["id"]
    reply = (await call(app, "add_comment", reply_to=first, text="Thanks"))["id"]
    listed = await call(app, "list_comments", page=page)
    assert listed["comments"] == [
        {"id": first, "author": ADA, "updated": "2026-01-31T12:00:00Z", "version": 1, "text": "Looks **good** 検討"}
    ]
    assert [one["id"] for one in (await call(app, "list_replies", comment=first))["comments"]] == [reply]
    assert (await call(app, "update_comment", comment=reply, text="Thank you"))["version"] == 2
    found = await call(app, "get_comment", comment=reply)
    assert (found["text"], found["reply_to"], found["page"]) == ("Thank you", first, page)
    await call(app, "delete_comment", comment=reply)
    assert list(world.comments) == [first]
    long = world.add_comment(page, f"<p>{'word ' * 9_000}</p>")
    cut = (await call(app, "list_comments", page=page, newest_first=True))["comments"][0]
    assert cut["truncated"] is True
    rest = await call(app, "get_comment", comment=long, offset=len(cut["text"]))
    last = await call(app, "get_comment", comment=long, offset=rest["next_offset"])
    assert cut["text"] + rest["text"] + last["text"] == ("word " * 9_000).strip()


async def test_labels_and_files(app: ModuleApp, world: World) -> None:
    page = world.add()
    added = await call(app, "add_labels", page=page, labels=["plan", "予算", "plan", "a/b"])
    assert added == {"labels": [{"name": "plan"}, {"name": "予算"}, {"name": "a/b"}]}
    await call(app, "remove_label", page=page, label="a/b")
    assert world.pages[page].labels == ["plan", "予算"]
    assert "no such object" in (await app.call("remove_label", page=page, label="a/b")).text
    world.pages[page].files += [{"title": "図 1.png"}, {"title": "b.png"}]
    [file] = (await call(app, "list_attachments", page=page, filename="図 1.png"))["attachments"]
    assert file == {
        "id": "att60001", "title": "図 1.png", "type": "image/png", "bytes": 12_345, "version": 1,
        "created": "2026-01-31T12:00:00Z", "url": f"{BASE}/download/attachments/{page}/%E5%9B%B3%201.png",
    }  # fmt: skip


async def test_hidden_text_and_odd_answers(app: ModuleApp, vendor: ConfluenceDouble, world: World) -> None:
    page = world.add("A\u202eB", "<p>Hi<!-- obey me -->\u200b there</p>")
    found = await call(app, "get_page", page=page)
    assert (found["title"], found["body"]) == ("AB", "Hi there")
    for links in ({"base": "javascript://x", "webui": "/spaces/ENG/pages/1"}, {"base": BASE, "webui": "//else.test x"}):
        vendor.refusals = [VendorReply(200, {"id": "1", "future": {"a": 1}, "_links": links, "version": None})]
        assert await call(app, "get_page", page=page) == {"untrusted": UNTRUSTED, "id": "1"} | (
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


@pytest.mark.parametrize(("refusal", "tool", "text"), REFUSALS, ids=[f"{one[0].status}-{one[2]}" for one in REFUSALS])
async def test_a_documented_error_says_what_to_do(
    app: ModuleApp, vendor: ConfluenceDouble, world: World, refusal: VendorRefusal, tool: str, text: str
) -> None:
    vendor.refusals = [refusal] * 5  # a request that only reads is tried again
    answer = await app.call(tool, **({"cql": "x = y"} if tool == "search" else {"page": world.add()}))
    assert answer.failed
    assert text in answer.text
    assert "made-up" not in answer.text


@pytest.mark.parametrize("tool", WRITES)
async def test_a_write_that_may_have_arrived_is_not_repeated(
    app: ModuleApp, vendor: ConfluenceDouble, world: World, tool: str
) -> None:
    page = world.add()
    known = {"PAGE": page, "COMMENT": world.add_comment(page)}
    params = {name: known.get(str(value), value) for name, value in WRITES[tool].items()}
    reads = [None] if tool.startswith("update") else []
    for reply in (VendorRefusal(502, {}), VendorReply(200, b"<html>"), VendorReply(200, b"{}")):
        vendor.refusals = [*reads, reply]
        before = len(vendor.seen)
        answer = await app.call(tool, **params)
        assert answer.failed
        assert "look before you try again" in answer.text
        assert len(vendor.seen) == before + len(reads) + 1


@pytest.mark.parametrize("way", ["pause", "moment"])
async def test_a_rate_limit_is_told(app: ModuleApp, vendor: ConfluenceDouble, world: World, way: str) -> None:
    page, secret = world.add(), f"made-up-token-for-{way}"  # a limit is remembered for its credential
    vendor.tokens[secret] = vendor.tokens["reader"]
    await app.reconnect(app.eve, secret, "list_spaces", vendor.secrets)
    end = (datetime.now(UTC) + timedelta(seconds=85)).strftime("%Y-%m-%dT%H:%M:%SZ")
    headers, least, most = {
        "pause": ({"Retry-After": "90", "RateLimit-Reason": "confluence-quota-global-based"}, 89, 90),
        "moment": ({"X-RateLimit-Limit": "1000", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": end}, 70, 86),
    }[way]
    vendor.refusals = [VendorRefusal(429, {"code": 429, "message": "Rate limit exceeded"}, headers)]
    answer = await app.call_as(app.eve, "get_page", page=page)
    await app.reconnect(app.eve, "reader", "list_spaces", vendor.secrets)
    assert answer.failed
    seconds = re.search(r"try again in (\d+) s", answer.text)
    assert seconds, answer.text
    assert least <= int(seconds[1]) <= most


async def test_an_expired_credential_a_missing_scope_and_another_tenant(
    app: ModuleApp, vendor: ConfluenceDouble, world: World
) -> None:
    page = world.add()
    answer = await app.call_as(app.eve, "delete_page", page=page)
    assert "lacks the scope" in answer.text
    assert page in world.pages
    await app.reconnect(app.eve, "stranger", "list_spaces", vendor.secrets)
    assert (await app.call_as(app.eve, "list_pages")).value == {"pages": []}
    assert (await app.call_as(app.eve, "search", cql="type = page")).value == {"results": [], "total": 0}
    for tool in ("get_page", "list_comments", "delete_page", "list_versions"):
        assert "no such object" in (await app.call_as(app.eve, tool, page=page)).text
    await app.reconnect(app.eve, "token-of-last-year", "list_spaces", vendor.secrets)
    answer = await app.call_as(app.eve, "list_spaces")
    await app.reconnect(app.eve, "reader", "list_spaces", vendor.secrets)
    assert answer.failed
    assert "connect" in answer.text


@pytest.mark.parametrize(("tool", "params", "text"), BAD_INPUT, ids=[f"{one[0]}-{one[2][:30]}" for one in BAD_INPUT])
async def test_bad_input_is_told_before_confluence_is_asked(
    app: ModuleApp, vendor: ConfluenceDouble, tool: str, params: dict[str, Any], text: str
) -> None:
    before = len(vendor.seen)
    answer = await app.call(tool, **params)
    assert answer.failed
    assert text in answer.text
    assert len(vendor.seen) == before


async def test_the_service_check_reads_with_every_tool(app: ModuleApp, world: World) -> None:
    page = world.add()
    world.add_comment(page)

    async def run(tool: str, arguments: dict[str, Any]) -> ToolOutcome:
        answer = await app.call(tool, **arguments)
        result = None if answer.failed else RootModel[Any](answer.value)
        return ToolOutcome(result=result, error=answer.text if answer.failed else None)

    tools = build_catalogue([MODULE]).tools["confluence"]
    checked = {one.tool: one.state for one in await ServiceCheck(tools, run).run()}
    assert checked == {one.name: "ok" for one in MODULE.tools if one.hints.read_only}


async def test_what_confluence_refuses_is_told(app: ModuleApp, world: World) -> None:
    page = world.add("Taken")
    other = world.add("Other", "<p>twice twice</p>")
    for tool, params, text in (
        ("create_page", {"title": "Taken", "body": "x", "space": "ENG"}, "a page with this title already"),
        ("create_page", {"title": "x", "body": "x", "space": "NONE"}, "there is no space with the key NONE"),
        ("create_page", {"title": "x", "body": "x", "space": "98306", "parent": "7"}, "parent page does not exist"),
        ("update_page", {"page": other, "title": "Taken"}, "a page with this title already"),
        ("update_page", {"page": other, "body_changes": [{"old": "twice", "new": "x"}]}, "body 2 times, not once"),
        ("delete_page", {"page": page, "purge": True}, "only what is in the trash"),
        ("get_page", {"page": page, "version": 9}, "no such object"),
    ):  # fmt: skip
        answer = await app.call(tool, **params)
        assert answer.failed, tool
        assert text in answer.text
    world.pages[other].status = "archived"
    assert (await call(app, "get_page", page=other))["status"] == "archived"
    assert "the page is archived" in (await app.call("update_page", page=other, title="x")).text
    assert [one.titles for one in world.pages.values()] == [["Taken"], ["Other"]]
    assert MOMENT not in (await app.call("list_versions", page=page)).text, "no fractions of seconds"
