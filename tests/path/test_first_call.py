"""An administrator's client in every revision: list, schema, call, batch."""

import pytest

from tests.path.conftest import People, list_lab_modules, list_told_modules, on_shared_product
from tests.support.mcp_client import LEGACY, MODERN, NEWEST, REVISIONS
from tests.support.product import Node

LISTS = {
    "tools": {"listChanged": False},
    "resources": {"subscribe": True, "listChanged": True},
    "prompts": {"listChanged": True},
}
BOB = {"entities": [{"name": "Bob", "entityType": "person", "observations": ["likes tea", "日本語"]}]}


@on_shared_product
@pytest.mark.parametrize("revision", LEGACY)
async def test_the_handshake_says_who_answers(node: Node, people: People, revision: str) -> None:
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    answer = await node.post(people.admin.token, "initialize", params, revision=revision)
    assert answer.result["protocolVersion"] == revision
    assert answer.result["serverInfo"]["name"] == "mcpist"
    tasks = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
    known = LISTS if revision == "2024-11-05" else LISTS | {"completions": {}}
    assert answer.result["capabilities"] == (known | {"tasks": tasks} if revision == NEWEST else known)
    ping = await node.post(people.admin.token, "ping", revision=revision)
    assert ping.result == {}


@on_shared_product
async def test_the_modern_era_discovers(node: Node, people: People) -> None:
    answer = await node.post(people.admin.token, "server/discover", revision=MODERN)
    assert answer.result["supportedVersions"][0] == MODERN
    extensions = {"io.modelcontextprotocol/tasks": {}}
    assert answer.result["capabilities"] == LISTS | {"completions": {}, "logging": {}, "extensions": extensions}


@pytest.mark.parametrize("revision", REVISIONS)
async def test_list_schema_call_batch(node: Node, people: People, revision: str) -> None:
    token = people.admin.token
    listed = await node.post(token, "tools/list", revision=revision)
    assert [tool["name"] for tool in listed.result["tools"]] == ["get_module_schema", "call", "batch"]
    *names, more = list_told_modules()
    assert listed.result["tools"][0]["description"].endswith(f"\nModules: {', '.join(names)} {more}")

    schema = await node.tool(token, "get_module_schema", {"module": "knowledge_graph"}, revision=revision)
    (module,) = schema.value["modules"]
    create = module["tools"][0]
    assert create["name"] == "create_entities"
    assert create["params"]["required"] == ["entities"]

    made = await node.call(token, "knowledge_graph", "create_entities", BOB, revision=revision)
    assert made.value["entities"] == [{"name": "Bob", "entityType": "person", "created": True, "observationsAdded": 2}]
    steps = [
        {"id": "found", "module": "knowledge_graph", "tool_name": "kg_search", "params": {"query": "本"}},
        {
            "id": "note",
            "module": "knowledge_graph",
            "tool_name": "add_observations",
            "params": {"observations": [{"entityName": "${found.entities[0].name}", "contents": ["new"]}]},
        },
        {
            "id": "all",
            "module": "knowledge_graph",
            "tool_name": "read_graph",
            "after": ["note"],
            "output": True,
        },
    ]
    batch = await node.tool(token, "batch", {"commands": steps}, revision=revision)
    assert not batch.failed, batch.text
    assert batch.text.startswith("found ok\nnote ok\nall ok {")
    assert '"observations":["likes tea","日本語","new"]' in batch.text


@on_shared_product
@pytest.mark.parametrize("revision", REVISIONS)
async def test_structured_content_is_there_where_the_revision_has_it(node: Node, people: People, revision: str) -> None:
    answer = await node.call(people.admin.token, "lab", "look", {"at": "é"}, revision=revision)
    assert answer.value == {"said": "é"}
    assert answer.result.get("structuredContent") == ({"said": "é"} if revision >= "2025-06-18" else None)


@on_shared_product
@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_call_without_arguments_means_an_empty_object(node: Node, people: People, revision: str) -> None:
    """P-015."""
    answer = await node.post(people.admin.token, "tools/call", {"name": "get_module_schema"}, revision=revision)
    assert [one["module"] for one in answer.value["modules"]] == list_lab_modules()
    arguments = {"module": "knowledge_graph", "tool_name": "read_graph"}
    empty = await node.tool(people.admin.token, "call", arguments, revision=revision)
    assert empty.value["entities"] == []


@on_shared_product
@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_tool_that_fails_is_a_result(node: Node, people: People, revision: str) -> None:
    """P-016; and what a tool should not have raised shows none of its text."""
    failed = await node.call(people.admin.token, "lab", "fail", revision=revision)
    assert (failed.status, failed.failed) == (200, True)
    assert failed.text == "it did not work; try something else"
    crashed = await node.call(people.admin.token, "lab", "crash", {"secret": "hunter2"}, revision=revision)
    assert crashed.failed
    assert crashed.text == f"the tool failed inside MCPist; reference {crashed.header('x-request-id')}"


@on_shared_product
@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26"])
async def test_an_array_is_answered_by_an_array(node: Node, people: People, revision: str) -> None:
    """P-009."""
    call = {"name": "call", "arguments": {"module": "lab", "tool_name": "look", "params": {"at": "x"}}}
    listed, called, ping = await node.array(
        people.admin.token, [("tools/list", {}), ("tools/call", call), ("ping", {})], revision
    )
    assert len(listed["result"]["tools"]) == 3
    assert called["result"]["content"][0]["text"] == '{"said":"x"}'
    assert ping["result"] == {}


@on_shared_product
async def test_wrong_arguments_are_explained(node: Node, people: People) -> None:
    token = people.admin.token
    answer = await node.call(token, "lab", "look", {"att": "x"})
    assert answer.text == "att is unknown, did you mean at?"
    answer = await node.call(token, "lab", "write", {})
    assert answer.text == "text is missing (expected string)"
    answer = await node.call(token, "lab", "big", {"size": "7"})
    assert "size" in answer.text
    assert "valid integer" in answer.text
    for arguments in (
        {"module": 1, "tool_name": "x"},
        {"module": "lab"},
        {"module": "lab", "tool_name": "look", "param": {}},
    ):
        wrong = await node.tool(token, "call", arguments)
        assert wrong.failed, arguments


@on_shared_product
async def test_an_unknown_meta_tool_is_a_protocol_error(node: Node, people: People) -> None:
    answer = await node.tool(people.admin.token, "lab.look")
    assert answer.message["error"]["code"] == -32602
