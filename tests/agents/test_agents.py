"""What the models of real agents are told of MCPist, and which part of a result reaches them.

The agents run as they come from the npm registry, with a model of ours, in a place without a network.
"""

import json
from typing import Any

import pytest

from core.known_clients import TOOL_RESULT_FORMAT_BY_CLIENT_NAME
from gateway.catalogue import load_installed_modules
from tests.agents.conftest import Run
from tests.agents.programs import CLAUDE_CODE, CODEX_CLI, GEMINI_CLI, PROGRAMS, Program, Running
from tests.clients.story import META_TOOLS, Gateway
from tests.support.model_double import DONE, Wish

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

ADA = {"name": "Ada", "entityType": "person", "observations": ["likes tea"]}
REMEMBER = Wish("call", {"module": "knowledge_graph", "tool_name": "create_entities", "params": {"entities": [ADA]}})
# The text of a batch is no JSON, so it tells which part a model is shown.
LOOK = {"id": "seen", "module": "knowledge_graph", "tool_name": "read_graph", "output": True}
BATCH = Wish("batch", {"commands": [LOOK]})
HIDDEN = Wish("call", {"module": "knowledge_graph", "tool_name": "no_such_tool", "params": {}})
each = pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)


def result_of(running: Running) -> str:
    """The one result that the model read; the agent went on to its end, and nowhere else."""
    assert running.ended.code == 0, running.ended
    assert DONE in running.ended.out, running.ended
    assert running.model.strangers == []
    assert running.place.wanted == []
    assert running.model.results, running.ended
    return running.model.results[-1]


def structured(result: str) -> Any:
    """The structured part in what a model was shown, after what its agent has put before it."""
    return json.loads(result[result.index("{") :])


@each
async def test_its_model_is_told_what_mcpist_is_for(gateway: Gateway, run: Run, program: Program) -> None:
    async with run(program, REMEMBER, gateway.token) as running:
        result_of(running)
        prompt = json.dumps(running.model.first, ensure_ascii=False)
        assert "MCPist gives you tools for the user's own services and data." in prompt
        assert "- knowledge_graph: Your own long-term memory" in prompt
        assert f"Modules: {', '.join(sorted(module.name for module in load_installed_modules().modules))}" in prompt
        assert all(name in prompt for name in META_TOOLS)


@each
async def test_a_call_goes_through_and_its_result_reaches_the_model(
    gateway: Gateway, run: Run, program: Program
) -> None:
    async with run(program, REMEMBER, gateway.token) as running:
        assert "Ada" in result_of(running)
    asked = Wish("call", {"module": "knowledge_graph", "tool_name": "get_nodes", "params": {"names": ["Ada"]}})
    arguments = {**asked.arguments, **({"wait_for_previous": True} if program is GEMINI_CLI else {})}
    async with run(program, Wish(asked.tool, arguments), gateway.token) as running:
        assert "likes tea" in result_of(running)


@each
async def test_what_does_not_exist_reaches_the_model_too(gateway: Gateway, run: Run, program: Program) -> None:
    async with run(program, HIDDEN, gateway.token) as running:
        assert "no such module or tool" in result_of(running)


async def test_claude_code_shows_the_structured_part_and_is_known_by_its_name(gateway: Gateway, run: Run) -> None:
    """With the token that every client has: it names itself in each request."""
    assert TOOL_RESULT_FORMAT_BY_CLIENT_NAME["claude-code"] == "short"
    async with run(CLAUDE_CODE, BATCH, gateway.token) as running:
        (step,) = structured(result_of(running))["steps"]
        assert (step["id"], step["status"]) == ("seen", "ok")
        assert "entities" in step["result"]
        offered = [tool["name"] for tool in running.model.first["tools"]]
        assert {f"mcp__mcpist__{name}" for name in META_TOOLS} <= set(offered), "they are loaded at once"


async def test_codex_shows_the_structured_part(run: Run, short_token: str) -> None:
    """Also where the text is short; its OAuth client id is in the table (tests/path/test_result_text.py)."""
    async with run(CODEX_CLI, BATCH, short_token) as running:
        assert "entities" in structured(result_of(running))["steps"][0]["result"]


async def test_gemini_cli_shows_the_text(gateway: Gateway, run: Run) -> None:
    """So it must never be sent the short one."""
    async with run(GEMINI_CLI, BATCH, gateway.token) as running:
        assert "seen ok {" in result_of(running)
