"""Progress over server-sent events, for those who asked for it and can read it."""

import asyncio
import math
from typing import Any

import pytest

from gateway.mcp import sse
from tests.gateway.mcp.client import Client, Response
from tests.gateway.mcp.toys import Toys
from tests.support.mcp_client import MODERN, REVISIONS

KEPT_ALIVE = b": keep-alive\n\n"


async def progress(client: Client, revision: str, arguments: Any, token: Any = "t", **changes: str | None) -> Response:
    params = {"name": "progress", "arguments": arguments, "_meta": {"progressToken": token}}
    return await client.rpc(revision, "tools/call", params, **changes)


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("token", ["t", 0, 17])
async def test_progress_then_the_answer(client: Client, revision: str, token: Any) -> None:
    response = await progress(client, revision, {"steps": [0, 50, 100], "total": 100}, token)
    *notes, answer = response.messages
    assert response.status == 200
    assert response.headers["content-type"] == "text/event-stream"
    assert response.headers["x-accel-buffering"] == "no"
    assert "content-length" not in response.headers
    assert [note["params"]["progress"] for note in notes] == [0, 100], "the last takes the place of one that waits"
    assert all(note["params"]["progressToken"] == token for note in notes)
    assert [note["params"].get("message") for note in notes] == (
        [None] * 2 if revision == "2024-11-05" else ["step 0", "step 100"]
    )
    assert answer["result"]["content"][0]["text"] == "reported"


@pytest.mark.parametrize("revision", REVISIONS)
async def test_no_event_no_stream(client: Client, revision: str) -> None:
    silent = await progress(client, revision, {"steps": []})
    assert silent.headers["content-type"] == "application/json"
    refused = await client.rpc(revision, "no/such", {"_meta": {"progressToken": "t"}})
    assert (refused.headers["content-type"], refused.code) == ("application/json", -32601)


async def test_no_token_or_no_reader_no_progress(client: Client) -> None:
    response = await client.call("2025-11-25", "progress", {"steps": [1]})
    assert response.message["result"]["content"][0]["text"] == "nobody listens"
    for accept in ("application/json", "*/*", None):
        response = await progress(client, "2025-11-25", {"steps": [1]}, accept=accept)
        assert response.message["result"]["content"][0]["text"] == "nobody listens"


async def test_progress_strictly_increases_and_is_finite(client: Client, toys: Toys) -> None:
    async def odd(context: Any, _arguments: Any) -> Any:
        for done in (1, 1, 0.5, math.nan, 2, -math.inf, 2.5, 2.5, math.inf):
            await context.report_progress(done, math.nan, "")
        return {"content": []}

    toys.tool_odd = odd  # type: ignore[attr-defined]
    params = {"name": "odd", "arguments": {}, "_meta": {"progressToken": "t"}}
    response = await client.rpc("2025-11-25", "tools/call", params)
    assert [m["params"]["progress"] for m in response.messages[:-1]] == [1, 2.5]
    assert all("total" not in m["params"] for m in response.messages[:-1])


async def test_a_flood_of_progress_is_bounded(client: Client) -> None:
    clock = asyncio.get_running_loop().time
    began = clock()
    response = await progress(client, "2025-11-25", {"steps": list(range(10_000))})
    told = [message["params"]["progress"] for message in response.messages[:-1]]
    assert len(told) <= (clock() - began) / sse.PROGRESS_SECONDS + 2, "also at its beginning"
    assert (told[0], told[-1], sorted(told)) == (0, 9_999, told)


async def test_what_waits_is_sent_while_the_call_goes_on(client: Client, toys: Toys) -> None:
    task = asyncio.create_task(progress(client, "2025-11-25", {"steps": [1, 2, 3], "then": "wait"}))
    async with asyncio.timeout(5):
        while client.body.count(b"notifications/progress") < 2:
            await asyncio.sleep(0.005)
    toys.resume.set()
    assert [message["params"]["progress"] for message in (await task).messages[:-1]] == [1, 3]


async def test_nothing_follows_the_answer(client: Client, toys: Toys) -> None:
    response = await progress(client, "2025-11-25", {"steps": [1]})
    late = toys.contexts[0].report_progress
    assert late is not None
    await late(2, None, "too late")
    assert len(response.messages) == 2


@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
@pytest.mark.parametrize(
    ("then", "expected"),
    [("crashes", "Internal error"), ("lacks_scope", "insufficient_scope"), ("fails", "no such page")],
)
async def test_a_failure_after_progress_comes_in_the_stream(
    client: Client, revision: str, then: str, expected: str
) -> None:
    response = await progress(client, revision, {"steps": [1], "then": then})
    assert response.status == 200
    assert expected in str(response.message)
    assert len(response.messages) == 2


async def test_a_deadline_after_progress_comes_in_the_stream(toys: Toys) -> None:
    client = Client(toys.endpoint(call_timeout=0.1))
    response = await progress(client, MODERN, {"steps": [1], "then": "wait"})
    assert response.message["result"]["isError"] is True


async def test_a_silent_call_is_kept_alive(toys: Toys) -> None:
    """A comment whenever nothing was sent for that long, and no more often."""
    client, clock = Client(toys.endpoint(keep_alive=0.06)), asyncio.get_running_loop().time
    began = clock()
    task = asyncio.create_task(progress(client, "2025-11-25", {"steps": [], "then": "wait"}))
    async with asyncio.timeout(10):
        while client.body.count(KEPT_ALIVE) < 3:
            await asyncio.sleep(0.005)
    toys.resume.set()
    response = await task
    assert 3 <= response.body.count(KEPT_ALIVE) <= (clock() - began) / 0.06
    assert len(response.messages) == 1
    assert response.headers["content-type"] == "text/event-stream"


async def test_reports_from_many_tasks_do_not_mix(client: Client, toys: Toys) -> None:
    async def crowd(context: Any, _arguments: Any) -> Any:
        await asyncio.gather(*(context.report_progress(n, 10, "") for n in range(10)))
        return {"content": []}

    toys.tool_crowd = crowd  # type: ignore[attr-defined]
    params = {"name": "crowd", "arguments": {}, "_meta": {"progressToken": "t"}}
    response = await client.rpc("2025-11-25", "tools/call", params)
    assert [m["params"]["progress"] for m in response.messages[:-1]] == [0, 9]
