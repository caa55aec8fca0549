"""The module as it is declared: names, hints, capabilities, and what its schemas cost."""

from typing import Any

import orjson
import pytest

from broker.oauth_client.token_response import resolve_pointer
from gateway.catalogue import build_catalogue
from modules.kit import ToolError, VendorAnswer
from modules.notion import MODULE
from tests.modules.notion.conftest import NotionApp
from tests.support.notion_double.server import ROUTES
from tests.support.tokens import tokens
from tests.support.vendor_contract import contract

# (read-only, destructive, idempotent) of the design's table.
READS, ADDS, CHANGES, ACTS = (True, False, False), (False, False, False), (False, True, True), (False, True, False)
HINTS = {
    **dict.fromkeys(
        ("search_pages", "get_page", "get_page_markdown", "get_page_property", "get_block", "list_block_children",
         "get_database", "get_data_source", "query_data_source", "list_comments", "get_comment", "list_users",
         "get_self"), READS),
    **dict.fromkeys(("create_page", "append_block_children", "create_database", "create_comment"), ADDS),
    **dict.fromkeys(
        ("update_page", "move_page", "update_block", "delete_block", "update_database", "update_data_source",
         "update_comment", "delete_comment"), CHANGES),
    "update_page_markdown": ACTS,
}  # fmt: skip
# o200k tokens of name, description and parameters as a client would list them. Raise one only with a reason.
MOST_TOKENS = 220
MOST_ON_AVERAGE = 94  # a template for a new page, the transcript of a meeting, the columns of a data source


def test_every_tool_of_the_design_with_its_hints() -> None:
    found = {tool.name: (tool.hints.read_only, tool.hints.destructive, tool.hints.idempotent) for tool in MODULE.tools}
    assert found == HINTS
    assert all(tool.hints.open_world for tool in MODULE.tools)


def test_capabilities_stand_where_others_have_scopes() -> None:
    for tool in MODULE.tools:
        [capability] = tool.scopes
        assert tool.hints.read_only == capability.startswith("read_"), tool.name


def test_what_the_schemas_cost() -> None:
    listed = build_catalogue([MODULE]).tools["notion"]
    sizes = {
        one.tool.name: tokens(orjson.dumps([one.tool.name, one.tool.description, one.input_schema]).decode())
        for one in listed
    }
    assert max(sizes.values()) <= MOST_TOKENS, sizes
    assert sum(sizes.values()) / len(sizes) <= MOST_ON_AVERAGE, sizes


async def test_the_name_of_the_account(app: NotionApp) -> None:
    api = MODULE.vendor
    assert api is not None
    answer = await app.caller("full").vendor.request("GET", api.account.path)
    assert resolve_pointer(answer.json(), api.account.name) == "Acme"


@pytest.mark.parametrize("body", [b"<html>", b"[1]", b'{"results": 3}', b"null", b'{"results": [{}]}', b'{"id": 5}'])
async def test_an_answer_that_is_none(app: NotionApp, monkeypatch: pytest.MonkeyPatch, body: bytes) -> None:
    """A proxy in between may answer anything with 200; of a write, nobody says "try again"."""
    caller = app.caller("full")

    async def odd(method: str, *_: Any, repeatable: bool | None = None, **__: Any) -> VendorAnswer:
        return VendorAnswer(200, {}, body, write=method != "GET" and not repeatable)

    monkeypatch.setattr(caller.vendor, "request", odd)
    page = {"page_id": app.home}
    for tool, params, write in (
        ("search_pages", {}, False),
        ("get_page", page, False),
        ("get_page_markdown", page, False),
        ("list_block_children", {"block_id": app.home}, False),
        ("query_data_source", {"data_source_id": app.tasks}, False),
        ("create_page", {"parent_id": app.home, "title": "x"}, True),
        ("append_block_children", {"block_id": app.home, "markdown": "x"}, True),
        ("create_comment", {"page_id": app.home, "text": "x"}, True),
    ):
        with pytest.raises(ToolError, match=r"cannot be read|does not have the documented form") as caught:
            await caller.call(tool, **params)
        assert ("look before you try again" in str(caught.value)) == write, tool


async def test_an_answer_costs_a_third_of_notions(app: NotionApp) -> None:
    for number in range(20):
        values = {"Notes": "Some **notes** on it", "State": "Open", "Points": number}
        await app.call("create_page", parent_id=app.tasks, parent_kind="data_source", title="Task", properties=values)
    answer = await app.caller("full").vendor.request("POST", f"/v1/data_sources/{app.tasks}/query", json={})
    found = await app.call("query_data_source", data_source_id=app.tasks)
    assert tokens(orjson.dumps(found).decode()) * 3 <= tokens(answer.body.decode())


def test_the_double_serves_what_the_module_asks_for() -> None:
    assert set(ROUTES) <= set(contract("notion").operations())
