"""The text of a memo is stored nowhere: not in the database or its write-ahead log, not in a log, an audit record, a
job or an error. Its summary is, which the same searches find."""

import contextlib
from typing import Any

import pytest
from aiohttp import ClientSession

from tests.process.test_results_are_not_stored import Caller, files_with, tables_with
from tests.support.running_product import command, data_folder, free_port, start

CANARY = "canary-6d1f0b9a57 カナリア計画"
"""Its ASCII part is looked for, and its Japanese one."""
PARTS = ("canary-6d1f0b9a57", "カナリア計画")
CONTROL = "summary-2c9e7f41d0"

pytestmark = pytest.mark.timeout(180)


def memo(**more: Any) -> dict[str, Any]:
    return {"session_id": "s", "text": f"{CANARY}. We talked about the launch. " * 200, **more}


async def save_in_every_way(caller: Caller, url: str) -> None:
    """By a call, a batch, a task, a schedule and HTTP; right and wrong."""
    for params in (memo(), memo(summary=CONTROL), memo(importance=7), memo(colour=CANARY), {"text": CANARY}):
        await caller.tool("call", {"module": "memo", "tool_name": "save_memo", "params": params})
        headers = {"Authorization": f"Bearer {caller.token}"}
        async with caller.http.post(f"{url}/rag/memo/save", json=params, headers=headers) as answer:
            assert CANARY not in await answer.text()
    step = {"id": "a", "module": "memo", "tool_name": "save_memo", "params": memo()}
    await caller.tool("batch", {"commands": [step, step | {"id": "b", "params": {"text": CANARY}}]})
    schedule = {"title": "memo", "module": "memo", "tool_name": "save_memo", "params": memo(), "every_seconds": 3600}
    refused = await caller.tool("call", {"module": "jobs", "tool_name": "create_schedule", "params": schedule})
    assert refused["isError"]
    found = await caller.tool("call", {"module": "memo", "tool_name": "query_memo", "params": {"query": CANARY}})
    assert not found.get("isError"), found


async def test_no_text_of_a_memo_is_stored_anywhere() -> None:
    with data_folder() as home:
        product = await start(home, free_port(), MCPIST_LOG_LEVEL="debug")
        try:

            async def run(*arguments: str) -> Any:
                return await command(home, product.port, *arguments)

            await run("tenant", "create", "acme", "--admin", "ada@acme.test")
            await run("service", "enable", "memo", "--tenant", "acme")
            token = (await run("token", "create", "--user", "ada@acme.test", "--tenant", "acme"))["token"]
            await run("tenant", "record-arguments", "on", "--tenant", "acme")
            async with contextlib.AsyncExitStack() as stack:
                http = await stack.enter_async_context(ClientSession())
                caller = Caller(http, product.url, token)
                await save_in_every_way(caller, product.url.removesuffix("/mcp"))
            assert "search.documents" in {name.partition("_")[0] for name in await tables_with(home, CONTROL)}
            for part in PARTS:
                assert await tables_with(home, part) == set()
        finally:
            assert await product.end() == 0
        folder = home.parent
        for part in PARTS:
            assert files_with(folder, part) == set()
        assert any("pg_wal" in one for one in files_with(folder, CONTROL)), "the write-ahead log was searched"
