"""Memos saved in every way in which a text comes, and in wrong ones: what test_results_are_not_stored.py looks for."""

from typing import Any

from tests.process.tool_client import ToolClient

MEMO = "canary-6d1f0b9a57 カナリア計画"
"""Its ASCII part is looked for, and its Japanese one."""
MEMO_PARTS = ("canary-6d1f0b9a57", "カナリア計画")
SUMMARY = "summary-2c9e7f41d0"


def memo(**more: Any) -> dict[str, Any]:
    return {"session_id": "s", "text": f"{MEMO}. We talked about the launch. " * 60, **more}


async def save_in_every_way(caller: ToolClient, url: str) -> None:
    """By a call, a batch, a task, a schedule and HTTP; right and wrong."""
    for params in (memo(), memo(summary=SUMMARY), memo(importance=7), memo(colour=MEMO), {"text": MEMO}):
        await caller.tool("call", {"module": "memo", "tool_name": "save_memo", "params": params})
        headers = {"Authorization": f"Bearer {caller.token}"}
        async with caller.http.post(f"{url}/rag/memo/save", json=params, headers=headers) as answer:
            assert MEMO not in await answer.text()
    step = {"id": "a", "module": "memo", "tool_name": "save_memo", "params": memo()}
    await caller.tool("batch", {"commands": [step, step | {"id": "b", "params": {"text": MEMO}}]})
    schedule = {"title": "memo", "module": "memo", "tool_name": "save_memo", "params": memo(), "every_seconds": 3600}
    refused = await caller.tool("call", {"module": "jobs", "tool_name": "create_schedule", "params": schedule})
    assert refused["isError"]
    found = await caller.tool("call", {"module": "memo", "tool_name": "query_memo", "params": {"query": MEMO}})
    assert not found.get("isError"), found
