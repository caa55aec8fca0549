"""What a client tells its model before any tool is loaded: what MCPist is, and the caller's own modules."""

from typing import Any

import pytest

from core.directory import services
from tests.path.conftest import People, list_told_modules, on_shared_product
from tests.support import directory
from tests.support.eventually import within
from tests.support.mcp_client import LEGACY, MODERN, REVISIONS, Answer
from tests.support.product import ACTOR, Node, Person, Product

SECOND = 1.0
META = "io.modelcontextprotocol/"


async def greeting(node: Node, person: Person, revision: str) -> Answer:
    """The first answer that a client gets: of the handshake, or of discovery."""
    if revision == MODERN:
        return await node.post(person.token, "server/discover", revision=revision)
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    return await node.post(person.token, "initialize", params, revision=revision)


async def instructions(node: Node, person: Person, revision: str = MODERN) -> str:
    return (await greeting(node, person, revision)).result["instructions"]


async def named(node: Node, person: Person, revision: str = MODERN) -> list[str]:
    """The modules of the instructions, one line each."""
    lines = (await instructions(node, person, revision)).splitlines()
    return [line.removeprefix("- ").partition(":")[0] for line in lines if line.startswith("- ")]


@on_shared_product
@pytest.mark.parametrize("revision", REVISIONS)
async def test_every_revision_tells_what_it_is_and_what_there_is(node: Node, people: People, revision: str) -> None:
    text = await instructions(node, people.admin, revision)
    assert text.startswith("MCPist ")
    for tool in ("get_module_schema", "call", "batch"):
        assert tool in text
    assert "- knowledge_graph: Your own long-term memory" in text
    assert await named(node, people.admin, revision) == list_told_modules()


@pytest.mark.parametrize("revision", REVISIONS)
async def test_what_is_hidden_is_in_nobody_s_instructions(
    product: Product, node: Node, people: People, revision: str
) -> None:
    """Two roles, two tenants with other services, and a token for reading only."""
    await services.set_service(product.console, ACTOR, people.globex.id, "github", enabled=False)
    await directory.grant(product.console, ACTOR, people.globex.id, people.other_reader.email, "deny", "lab.look")
    reading = await product.with_token(people.admin, read_only=True)
    await directory.grant(product.console, ACTOR, people.acme.id, people.nobody.email, "allow", "lab.write")
    writer = await product.with_token(people.nobody)
    reading_writer = await product.with_token(people.nobody, read_only=True)

    async def settled() -> bool:
        return await named(node, people.other_reader) == ["knowledge_graph"] and await named(node, writer) == ["lab"]

    await within(SECOND, settled)
    assert await named(node, people.admin, revision) == list_told_modules()
    assert await named(node, people.reader, revision) == ["knowledge_graph", "lab"]
    assert await named(node, people.other_admin, revision) == list_told_modules("github")
    assert await named(node, people.other_reader, revision) == ["knowledge_graph"]
    assert await named(node, reading, revision) == list_told_modules()
    assert await named(node, reading_writer, revision) == ["none yet"]
    for person, hidden in ((people.reader, "github"), (people.other_admin, "github"), (people.other_reader, "lab")):
        assert hidden not in (await greeting(node, person, revision)).body.decode().lower()


@on_shared_product
async def test_whoever_may_use_nothing_reads_whom_to_ask(node: Node, people: People) -> None:
    text = await instructions(node, people.nobody)
    assert text.endswith("- none yet: the user's administrator gives them a role")


@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
async def test_a_change_shows_within_a_second_on_every_gateway(product: Product, people: People, revision: str) -> None:
    async with product.gateway() as first, product.gateway() as second:
        for node in (first, second):
            assert "lab" in await named(node, people.reader, revision)
        await directory.grant(product.console, ACTOR, people.acme.id, people.reader.email, "deny", "lab.look")
        for node in (first, second):

            async def gone(node: Node = node) -> bool:
                return await named(node, people.reader, revision) == ["knowledge_graph"]

            await within(SECOND, gone)
            assert "lab" in await named(node, people.other_reader, revision)


@on_shared_product
@pytest.mark.parametrize("revision", REVISIONS)
async def test_the_server_has_a_title_where_there_are_titles(node: Node, people: People, revision: str) -> None:
    result = (await greeting(node, people.admin, revision)).result
    info: dict[str, Any] = result["_meta"][f"{META}serverInfo"] if revision == MODERN else result["serverInfo"]
    assert info.get("title") == (None if revision < "2025-06-18" else "MCPist")


@on_shared_product
@pytest.mark.parametrize("revision", REVISIONS)
async def test_tools_ask_to_be_loaded_at_once_where_a_tool_may_have_meta(
    node: Node, people: People, revision: str
) -> None:
    """Clients that load tools late look at it; revisions before 2025-06-18 know no `_meta` of a tool."""
    tools = (await node.post(people.admin.token, "tools/list", revision=revision)).result["tools"]
    expected = None if revision in LEGACY[:2] else {"anthropic/alwaysLoad": True}
    assert [tool.get("_meta") for tool in tools] == [expected] * 3
