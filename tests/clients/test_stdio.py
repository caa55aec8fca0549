"""Clients that can only start a process: `mcpist stdio`."""

from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from tests.clients.story import META_TOOLS, StdioCommand, assert_story
from tests.clients.test_inspector import OK, result_of, run_inspector
from tests.clients.test_python_sdk import tell


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
async def test_python_sdk(stdio_command: StdioCommand, mode: str, version: str) -> None:
    entity = f"Ada over stdio, {mode}"
    parameters = StdioServerParameters(
        command=stdio_command.command, args=stdio_command.arguments, env=stdio_command.environment
    )
    async with Client(parameters, mode=mode, read_timeout_seconds=20) as client:
        assert_story(await tell(client, entity), entity, version)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_plain_tools_of_a_module(stdio_command: StdioCommand, mode: str) -> None:
    parameters = StdioServerParameters(
        command=stdio_command.command,
        args=[*stdio_command.arguments, "--module", "knowledge_graph"],
        env=stdio_command.environment,
    )
    async with Client(parameters, mode=mode, read_timeout_seconds=20) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert {"kg_search", "kg_create_entities"} <= set(names)
        assert not set(META_TOOLS) & set(names)
        assert not (await client.call_tool("kg_search", {"query": "nobody at all"})).is_error


@pytest.mark.usefixtures("node_packages")
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_inspector(stdio_command: StdioCommand, tmp_path: Path, era: str) -> None:
    options = ["--transport", "stdio", "--protocol-era", era, "--method", "tools/list"]
    environment = [part for name, value in stdio_command.environment.items() for part in ("-e", f"{name}={value}")]
    command = [stdio_command.command, *stdio_command.arguments]
    run = await run_inspector(tmp_path, "--cli", *command, *environment, *options)
    assert [tool["name"] for tool in result_of(run, OK)["tools"]] == META_TOOLS
