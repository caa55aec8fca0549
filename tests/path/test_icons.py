"""Icons and annotations: where a revision knows them, and never in what every answer and every model carries."""

import base64
from typing import Any
from xml.etree import ElementTree

import pytest

from modules.kit import Icon
from tests.path.conftest import People, build_lab_catalogue, on_shared_product
from tests.support.mcp_client import MODERN, NEWEST, REVISIONS
from tests.support.product import Node
from tests.support.toy_modules import Lab

LISTS = {
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}


def read_icon(icons: Any) -> str:
    (icon,) = icons
    assert (icon["mimeType"], icon["sizes"]) == ("image/svg+xml", ["any"])
    head, _, data = icon["src"].partition(",")
    assert head == "data:image/svg+xml;base64"
    return base64.b64decode(data, validate=True).decode()


@on_shared_product
@pytest.mark.parametrize("revision", REVISIONS)
async def test_lists_in_every_revision(node: Node, people: People, revision: str) -> None:
    listed: list[dict[str, Any]] = []
    for method, member in LISTS.items():
        listed += (await node.post(people.admin.token, method, revision=revision)).result[member]
    if revision < NEWEST:
        assert not [one["name"] for one in listed if "icons" in one]
    else:
        drawn = [read_icon(one["icons"]) for one in listed]
        assert {ElementTree.fromstring(one).tag for one in drawn} == {"{http://www.w3.org/2000/svg}svg"}
        offering = [one for one in build_lab_catalogue(Lab()).modules if one.resources or one.prompts]
        assert len(set(drawn)) == len(offering), "each module that offers something has its own"
        assert max(map(len, drawn)) <= 420
    (status,) = (one for one in listed if one["name"] == "lab_status")
    said = {"audience": ["user"], "priority": 0.5}
    changed = {"lastModified": "2026-02-03T04:05:00Z"} if revision >= "2025-06-18" else {}
    assert status["annotations"] == said | changed


@on_shared_product
@pytest.mark.parametrize("revision", REVISIONS)
async def test_the_server_shows_its_icon_once(node: Node, people: People, revision: str) -> None:
    called = await node.tool(people.admin.token, "get_module_schema", revision=revision)
    tools = await node.post(people.admin.token, "tools/list", revision=revision)
    assert b"data:image" not in called.body + tools.body
    if revision == MODERN:
        info = (await node.post(people.admin.token, "server/discover", revision=revision)).result["_meta"]
        assert "<svg" in read_icon(info["io.modelcontextprotocol/serverInfo"]["icons"])
        return
    handshake = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    info = (await node.post(people.admin.token, "initialize", handshake, revision=revision)).result["serverInfo"]
    assert ("icons" in info) == (revision >= NEWEST)


@on_shared_product
@pytest.mark.parametrize("revision", REVISIONS)
async def test_plain_tools_have_icons_and_the_three_have_none(node: Node, people: People, revision: str) -> None:
    listed = (await node.post(people.admin.token, "tools/list", revision=revision, url="/mcp/both/lab")).result["tools"]
    assert {one["name"] for one in listed if "icons" in one} == (
        {one["name"] for one in listed if one["name"].startswith("lab_")} if revision >= NEWEST else set()
    )


@pytest.mark.parametrize(
    ("colour", "lines"),
    [("red", "M6 6h12"), ("#FF0000", "M6 6h12"), ("#ff0000", ""), ("#ff0000", '"/><script>'), ("#ff0000", "M" * 401)],
)
def test_a_module_gives_nothing_but_lines(colour: str, lines: str) -> None:
    with pytest.raises(ValueError, match="icon"):
        Icon(colour, lines)
