"""What a well-behaved client of each revision gets."""

import asyncio

import mcp_types.version
import orjson
import pytest

from gateway.mcp.revisions import ASSUMED_REVISION, NEWEST_HANDSHAKE, REVISIONS, SUPPORTED_VERSIONS
from tests.gateway.mcp.client import Client, headers_for
from tests.gateway.mcp.toys import CALLER, TOOLS, VERSION, Toys
from tests.support.mcp_client import LEGACY, MODERN
from tests.support.mcp_client import REVISIONS as ALL

SERVER = "io.modelcontextprotocol/serverInfo"


def test_the_table_knows_every_revision_of_the_types_package() -> None:
    assert {r for r in SUPPORTED_VERSIONS if not REVISIONS[r].modern} == set(
        mcp_types.version.HANDSHAKE_PROTOCOL_VERSIONS
    )
    assert {r for r in SUPPORTED_VERSIONS if REVISIONS[r].modern} == set(mcp_types.version.MODERN_PROTOCOL_VERSIONS)
    assert list(SUPPORTED_VERSIONS) == sorted(SUPPORTED_VERSIONS, reverse=True)
    assert NEWEST_HANDSHAKE.version == max(mcp_types.version.HANDSHAKE_PROTOCOL_VERSIONS)


@pytest.mark.parametrize(
    ("wanted", "given"), [*((v, v) for v in LEGACY), ("1999-01-01", "2025-11-25"), (MODERN, "2025-11-25")]
)
async def test_initialize(client: Client, wanted: str, given: str) -> None:
    params = {"protocolVersion": wanted, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    response = await client.rpc(given, "initialize", params, mcp_protocol_version=None)
    result = response.message["result"]
    assert response.status == 200
    assert result["protocolVersion"] == given
    assert result["capabilities"] == {"tools": {"listChanged": False}}
    assert (result["serverInfo"]["name"], result["serverInfo"]["version"]) == ("mcpist", VERSION)
    assert "mcp-session-id" not in response.headers
    assert "instructions" not in result


async def test_only_what_has_a_handler_is_advertised(toys: Toys) -> None:
    client = Client(toys.endpoint(handlers={}))
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    response = await client.rpc("2025-11-25", "initialize", params)
    assert response.message["result"]["capabilities"] == {}
    assert (await client.rpc("2025-11-25", "tools/list")).code == -32601


@pytest.mark.parametrize("revision", LEGACY)
async def test_ping(client: Client, revision: str) -> None:
    response = await client.rpc(revision, "ping", id="a")
    assert (response.status, response.message) == (200, {"jsonrpc": "2.0", "id": "a", "result": {}})


async def test_discover(client: Client) -> None:
    result = (await client.rpc(MODERN, "server/discover")).message["result"]
    assert result["supportedVersions"] == list(SUPPORTED_VERSIONS)
    assert result["capabilities"] == {"tools": {"listChanged": False}, "logging": {}}
    assert result["resultType"] == "complete"
    assert (result["cacheScope"], result["ttlMs"]) == ("private", 5000)
    icons = result["_meta"][SERVER].pop("icons")
    assert icons[0]["mimeType"] == "image/svg+xml"
    assert result["_meta"] == {SERVER: {"name": "mcpist", "title": "MCPist", "version": VERSION}}
    assert "instructions" not in result


@pytest.mark.parametrize("revision", ALL)
async def test_instructions_are_the_caller_s(toys: Toys, revision: str) -> None:
    toys.instructions = lambda caller, _exposure: f'for "{caller.email}"'
    client = Client(toys.endpoint())
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    asked = ("server/discover", {}) if revision == MODERN else ("initialize", params)
    result = (await client.rpc(revision, *asked)).message["result"]
    assert result["instructions"] == f'for "{CALLER.email}"'


@pytest.mark.parametrize(
    ("revision", "fields"),
    [
        ("2024-11-05", {"name", "description", "inputSchema"}),
        ("2025-03-26", {"name", "description", "inputSchema", "annotations"}),
        ("2025-06-18", TOOLS[0].keys()),
        ("2025-11-25", TOOLS[0].keys()),
        (MODERN, TOOLS[0].keys()),
    ],
)
async def test_tools_have_the_fields_of_the_revision(client: Client, revision: str, fields: set[str]) -> None:
    result = (await client.rpc(revision, "tools/list")).message["result"]
    assert result["tools"][0].keys() == fields
    assert [tool["name"] for tool in result["tools"]] == ["echo", "wait"]
    hints = {"ttlMs", "cacheScope", "resultType", "_meta"}
    assert result.keys() == ({"tools"} | hints if revision == MODERN else {"tools"})


async def test_listing_leaves_the_handlers_value_alone(client: Client) -> None:
    before = orjson.dumps(TOOLS)
    for revision in ALL:
        await client.rpc(revision, "tools/list")
    assert orjson.dumps(TOOLS) == before


@pytest.mark.parametrize("revision", ALL)
async def test_structured_content_is_for_those_who_know_it(client: Client, revision: str) -> None:
    for tool in ("echo", "rendered"):
        result = (await client.call(revision, tool, {"text": "こんにちは"})).message["result"]
        assert ("structuredContent" in result) == (revision >= "2025-06-18")
        assert result["content"][0]["type"] == "text"
    result = (await client.call(revision, "list_as_structure")).message["result"]
    assert ("structuredContent" in result) == (revision == MODERN)


@pytest.mark.parametrize("revision", ALL)
async def test_content_that_a_revision_does_not_know_becomes_text(client: Client, revision: str) -> None:
    result = (await client.call(revision, "rich")).message["result"]
    audio = "audio" if revision >= "2025-03-26" else "text"
    link = "resource_link" if revision >= "2025-06-18" else "text"
    assert [block["type"] for block in result["content"]] == ["text", "image", audio, link, "resource"]
    assert result["_meta"]["example.com/kept"] == 1
    assert (SERVER in result["_meta"]) == (revision == MODERN)


@pytest.mark.parametrize("revision", ALL)
async def test_a_call_without_arguments_has_empty_ones(client: Client, toys: Toys, revision: str) -> None:
    for params in ({"name": "echo"}, {"name": "echo", "arguments": None}):
        await client.rpc(revision, "tools/call", params)
        assert toys.params.pop()["arguments"] == {}


@pytest.mark.parametrize("id", [0, -7, 2**53 + 1, 10**40, "x", "", 'quo"te', "日本"])
async def test_ids_come_back_as_they_were(client: Client, id: int | str) -> None:
    body = f'{{"jsonrpc":"2.0","id":{id if isinstance(id, int) else orjson.dumps(id).decode()},"method":"ping"}}'
    response = await client.post(body.encode(), headers_for("2025-11-25"))
    assert f'"id":{id}' in response.body.decode() if isinstance(id, int) else response.message["id"] == id


async def test_without_the_header_the_rules_are_those_of_2025_03_26(client: Client) -> None:
    response = await client.call(ASSUMED_REVISION.version, "echo", mcp_protocol_version=None)
    assert "structuredContent" not in response.message["result"]


@pytest.mark.parametrize("revision", ALL)
@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "method": "notifications/nobody-knows"},
        {"jsonrpc": "2.0", "id": 3, "result": {}},
        {"jsonrpc": "2.0", "id": 3, "error": {"code": 1, "message": "x"}},
    ],
)
async def test_notifications_and_answers_are_accepted(client: Client, revision: str, message: object) -> None:
    response = await client.post(orjson.dumps(message), headers_for(revision, "x"))
    assert (response.status, response.body, response.headers["content-length"]) == (202, b"", "0")


async def test_what_a_handler_is_told(client: Client, toys: Toys) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    before = asyncio.get_running_loop().time()
    response = await client.call(MODERN, "echo", {"a": 1}, traceparent=trace)
    context = toys.contexts.pop()
    assert context.caller is CALLER
    assert context.request_id == response.headers["x-request-id"]
    assert 59 < context.deadline - before < 61
    assert context.trace == trace
    assert context.client_name == "test client"
    assert context.report_progress is None
    assert toys.params.pop()["arguments"] == {"a": 1}


async def test_every_request_has_an_id_of_its_own(client: Client) -> None:
    ids = {(await client.rpc("2025-11-25", "ping")).headers["x-request-id"] for _ in range(5)}
    assert len(ids) == 5


async def test_the_trace_of_the_body_goes_before_the_header_and_rubbish_is_dropped(client: Client, toys: Toys) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    for inner, outer, seen in [
        (trace, "00-" + "1" * 32 + "-" + "2" * 16 + "-01", trace),
        ("rubbish\r\n", trace, trace),
        (None, "00-" + "0" * 32 + "-b7ad6b7169203331-01", ""),
        (7, trace + "-x", ""),
    ]:
        params = {"name": "echo", "_meta": {"traceparent": inner}}
        await client.rpc("2025-11-25", "tools/call", params, traceparent=outer)
        assert toys.contexts.pop().trace == seen


async def test_a_client_name_is_cut_and_cleaned(client: Client, toys: Toys) -> None:
    info = {"name": "a\n\x1b[31mb" + "x" * 500, "version": "1"}
    params = {"name": "echo", "_meta": {"io.modelcontextprotocol/clientInfo": info}}
    await client.rpc(MODERN, "tools/call", params)
    name = toys.contexts.pop().client_name
    assert name.startswith("a[31mbxxx")
    assert len(name) <= 100


async def test_each_request_is_observed_once(client: Client, toys: Toys) -> None:
    await client.call(MODERN, "echo")
    await client.rpc("2025-11-25", "no/such")
    seen = [(o.method, o.revision, o.status, o.code, o.client_name) for o in toys.observed]
    assert seen == [("tools/call", MODERN, 200, 0, "test client"), ("no/such", "2025-11-25", 200, -32601, "")]
    assert all(o.caller is CALLER and 0 <= o.seconds < 10 for o in toys.observed)
