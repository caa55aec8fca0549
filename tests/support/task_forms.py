"""A tool run as a task, in both forms that the protocol has of them."""

import asyncio
from typing import Any

from modules.kit.untrusted import UNTRUSTED_FIELD
from tests.support.mcp_client import MODERN, NEWEST
from tests.support.product import Node, Person

CORE, EXTENSION = "core", "extension"
FORMS = (CORE, EXTENSION)
_DECLARED = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
_META = {"_meta": {"io.modelcontextprotocol/clientCapabilities": _DECLARED}}


async def run_as_task(
    node: Node, person: Person, form: str, module: str, tool_name: str, params: dict[str, Any]
) -> dict[str, Any]:
    """Run a tool as a task to its end; the structured part of its result, which is no error, without its mark."""
    call = {"name": "call", "arguments": {"module": module, "tool_name": tool_name, "params": params}}
    if form == CORE:
        created = await node.post(person.token, "tools/call", call | {"task": {}}, revision=NEWEST)
        task_id = {"taskId": created.result["task"]["taskId"]}
        result = (await node.post(person.token, "tasks/result", task_id, revision=NEWEST)).result
    else:
        created = await node.post(person.token, "tools/call", call | _META, revision=MODERN)
        assert created.result["resultType"] == "task", created.result
        result = await _poll(node, person, created.result["taskId"])
    assert not result["isError"], result
    return {name: value for name, value in result["structuredContent"].items() if name != UNTRUSTED_FIELD}


async def _poll(node: Node, person: Person, task_id: str) -> dict[str, Any]:
    async with asyncio.timeout(20):
        while True:
            answer = await node.post(person.token, "tasks/get", {"taskId": task_id} | _META, revision=MODERN)
            if answer.result["status"] != "working":
                assert answer.result["status"] == "completed", answer.result
                return answer.result["result"]
            await asyncio.sleep(0.02)
