"""Confluence's refusals through `/mcp`, bad input, and callers who may not."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.modules.confluence.cases import BAD_INPUT, REFUSALS, call
from tests.support.confluence_double import ConfluenceDouble
from tests.support.confluence_double.world import MOMENT, World
from tests.support.module_app import ModuleApp
from tests.support.vendor_double import VendorRefusal

pytestmark = pytest.mark.asyncio(loop_scope="package")


@pytest.mark.parametrize(("refusal", "tool", "text"), REFUSALS, ids=[f"{one[0].status}-{one[2]}" for one in REFUSALS])
async def test_a_documented_error_says_what_to_do(
    app: ModuleApp, vendor: ConfluenceDouble, world: World, refusal: VendorRefusal, tool: str, text: str
) -> None:
    vendor.refusals = [refusal] * 5  # a request that only reads is tried again
    answer = await app.call(tool, **({"cql": "x = y"} if tool == "search" else {"page": world.add()}))
    assert answer.failed
    assert text in answer.text
    assert "made-up" not in answer.text


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


@pytest.mark.parametrize("way", ["pause", "moment"])
async def test_a_rate_limit_is_told(app: ModuleApp, vendor: ConfluenceDouble, world: World, way: str) -> None:
    page, secret = world.add(), f"made-up-token-for-{way}"  # a limit is remembered for its credential
    vendor.tokens[secret] = vendor.tokens["reader"]
    await app.reconnect(app.eve, secret, vendor)
    end = (datetime.now(UTC) + timedelta(seconds=85)).strftime("%Y-%m-%dT%H:%M:%SZ")
    headers, least, most = {
        "pause": ({"Retry-After": "90", "RateLimit-Reason": "confluence-quota-global-based"}, 89, 90),
        "moment": ({"X-RateLimit-Limit": "1000", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": end}, 70, 86),
    }[way]
    vendor.refusals = [VendorRefusal(429, {"code": 429, "message": "Rate limit exceeded"}, headers)]
    answer = await app.call_as(app.eve, "get_page", page=page)
    await app.reconnect(app.eve, "reader", vendor)
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
    await app.reconnect(app.eve, "stranger", vendor)
    assert (await app.call_as(app.eve, "list_pages")).value == {"pages": []}
    assert (await app.call_as(app.eve, "search", cql="type = page")).value == {"results": [], "total": 0}
    for tool in ("get_page", "list_comments", "delete_page", "list_versions"):
        assert "no such object" in (await app.call_as(app.eve, tool, page=page)).text
    await app.reconnect(app.eve, "token-of-last-year", vendor)
    answer = await app.call_as(app.eve, "list_spaces")
    await app.reconnect(app.eve, "reader", vendor)
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
