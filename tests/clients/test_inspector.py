"""The MCP Inspector's command line: both eras, and the exit codes that scripts rely on."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.clients.story import META_TOOLS, WRONG_TOKEN, Gateway, planned_calls
from tests.support.node import NodeRun, package_file, run_node

ERAS = {"legacy": "2025-11-25", "modern": "2026-07-28"}
OK, AUTH_REQUIRED, TOOL_ERROR = 0, 3, 5

pytestmark = [pytest.mark.usefixtures("node_packages"), pytest.mark.parametrize("era", ERAS)]


async def inspect(gateway: Gateway, home: Path, era: str, method: str, *arguments: str) -> NodeRun:
    """One command as a person would type it; `home` keeps its settings away from theirs."""
    authorization = f"Authorization: Bearer {gateway.token}"
    target = ["--cli", gateway.mcp_url, "--transport", "http", "--header", authorization, "--stored-auth-only"]
    return await run_inspector(home, *target, "--protocol-era", era, "--method", method, *arguments)


async def run_inspector(home: Path, *arguments: str) -> NodeRun:
    script = package_file("@modelcontextprotocol/inspector", "clients/launcher/build/index.js")
    return await run_node(script, *arguments, "-q", "--format", "json", home=home)


def call_arguments(label: str, entity: str) -> list[str]:
    """The options that make the planned call of this label."""
    planned = {call.label: call for call in planned_calls(entity)}[label]
    return ["--tool-name", planned.tool, "--tool-args-json", json.dumps(planned.arguments)]


def result_of(run: NodeRun, exit_code: int) -> dict[str, Any]:
    assert run.exit_code == exit_code, run
    return run.json()["result"]


async def test_server_and_tools(gateway: Gateway, tmp_path: Path, era: str) -> None:
    server = result_of(await inspect(gateway, tmp_path, era, "initialize"), OK)
    assert server["protocolVersion"] == ERAS[era]
    assert (server["serverInfo"]["name"], server["serverInfo"]["title"]) == ("mcpist", "MCPist")
    assert "- knowledge_graph: " in server["instructions"]
    run = await inspect(gateway, tmp_path, era, "tools/list", "--strict")
    assert [tool["name"] for tool in result_of(run, OK)["tools"]] == META_TOOLS
    assert "schemaFindings" not in run.json(), "no model provider would stumble over a schema"


async def test_calls(gateway: Gateway, tmp_path: Path, era: str) -> None:
    entity = f"Ada of the Inspector, {era}"
    created = await inspect(gateway, tmp_path, era, "tools/call", *call_arguments("created", entity))
    assert not result_of(created, OK).get("isError")
    batch = await inspect(gateway, tmp_path, era, "tools/call", *call_arguments("batch", entity))
    assert "is a person who likes tea" in json.dumps(result_of(batch, OK)["structuredContent"])


async def test_refused_call(gateway: Gateway, tmp_path: Path, era: str) -> None:
    refused = await inspect(gateway, tmp_path, era, "tools/call", *call_arguments("refused", "nobody"))
    assert result_of(refused, TOOL_ERROR)["isError"]


async def test_wrong_token(gateway: Gateway, tmp_path: Path, era: str) -> None:
    stranger = Gateway(gateway.mcp_url, WRONG_TOKEN)
    run = await inspect(stranger, tmp_path, era, "tools/list")
    assert run.exit_code == AUTH_REQUIRED, run
    assert json.loads(run.stderr)["error"]["code"] == "auth_required"
