"""Calls that fail, take too long, return too much, or lose their client; and batches of them."""

import asyncio
import logging
from typing import Any

import orjson
import pytest

from core.errors import LimitReached
from tests.gateway.mcp.client import Client, Response, headers_for
from tests.gateway.mcp.toys import SECRET, Toys
from tests.support.mcp_client import MODERN, REVISIONS, envelope
from tests.support.mcp_schema import available, check_message


async def until(condition: Any) -> None:
    """Wait for a condition, for at most five seconds."""
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.005)


def stray_tasks() -> list[Any]:
    return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]


# --- failing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("tool", ["crashes", "cancels_itself", "returns_rubbish", "returns_list"])
async def test_an_unexpected_failure_says_nothing_but_a_request_id(
    client: Client, caplog: pytest.LogCaptureFixture, revision: str, tool: str
) -> None:
    with caplog.at_level(logging.DEBUG):
        response = await client.call(revision, tool)
    request_id = response.headers["x-request-id"]
    assert response.message["error"] == {
        "code": -32603,
        "message": "Internal error",
        "data": {"request_id": request_id},
    }
    assert response.status == 200
    assert SECRET not in response.body.decode() + caplog.text
    [logged] = [vars(record) for record in caplog.records if vars(record).get("event") == "mcp_request_failed"]
    assert logged["request_id"] == request_id
    if tool == "crashes":
        assert logged["error"] == "RuntimeError"
        assert "toys.py:" in logged["location"]


@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_failing_tool_is_a_result(client: Client, revision: str) -> None:
    result = (await client.call(revision, "fails")).message["result"]
    assert (result["isError"], result["content"][0]["text"]) == (True, "no such page")


@pytest.mark.parametrize("revision", REVISIONS)
async def test_an_expected_failure_is_told_to_the_model(client: Client, revision: str) -> None:
    response = await client.call(revision, "database_away")
    assert response.status == 200
    assert response.message["result"]["isError"] is True
    assert (
        response.message["result"]["content"][0]["text"]
        == "MCPist is not ready: its database is unavailable; try again in 2 s"
    )


async def test_an_expected_failure_of_a_list_is_a_protocol_error(toys: Toys) -> None:
    async def away(_context: Any, _params: Any) -> Any:
        return await toys.tool_database_away(_context, {})

    response = await Client(toys.endpoint(handlers={"tools/list": away})).rpc("2025-11-25", "tools/list")
    assert response.message["error"] == {
        "code": -32603,
        "message": "MCPist is not ready: its database is unavailable; try again in 2 s",
    }


@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
async def test_a_missing_scope_is_http_403(client: Client, toys: Toys, revision: str) -> None:
    response = await client.call(revision, "lacks_scope")
    assert (response.status, response.body) == (403, b'{"error":"insufficient_scope"}')
    assert response.headers["www-authenticate"] == 'Bearer error="insufficient_scope", scope="x:write"'
    assert toys.released == toys.admitted


# --- too much, too long -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("revision", REVISIONS)
async def test_a_result_over_the_cap_is_an_error_that_tells_how_to_narrow(toys: Toys, revision: str) -> None:
    client = Client(toys.endpoint(max_result=10_000))
    assert "isError" not in (await client.call(revision, "big", {"size": 8_000})).message["result"]
    response = await client.call(revision, "big", {"size": 11_000})
    text = response.message["result"]["content"][0]["text"]
    assert response.message["result"]["isError"] is True
    assert "smaller page" in text
    assert len(response.body) < 1_000


async def test_a_list_over_the_cap(toys: Toys) -> None:
    response = await Client(toys.endpoint(max_result=100)).rpc("2025-11-25", "tools/list")
    assert response.code == -32603
    assert "data" not in response.message["error"]


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("tool", ["wait", "stubborn"])
async def test_a_deadline_is_told_to_the_model(toys: Toys, revision: str, tool: str) -> None:
    endpoint = toys.endpoint(call_timeout=0.1)
    response = await Client(endpoint).call(revision, tool)
    result = response.message["result"]
    assert response.status == 200
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith("the call took longer than 0.1 s")
    assert SECRET not in response.body.decode()
    assert endpoint.running == 0
    assert toys.released == toys.admitted
    current = asyncio.current_task()
    assert current is not None
    assert current.cancelling() == 0


async def test_a_deadline_of_a_list_is_a_protocol_error(toys: Toys) -> None:
    async def slow(_context: Any, _params: Any) -> Any:
        await toys.resume.wait()

    client = Client(toys.endpoint(handlers={"tools/list": slow}, call_timeout=0.05))
    response = await client.rpc(MODERN, "tools/list")
    assert response.code == -32603
    assert "longer than 0.05 s" in response.message["error"]["message"]


async def test_a_cancellation_from_outside_is_passed_on(toys: Toys) -> None:
    endpoint = toys.endpoint()
    task = asyncio.create_task(Client(endpoint).call("2025-11-25", "wait"))
    await toys.started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert toys.cancelled.is_set()
    assert (endpoint.running, toys.admitted) == (0, toys.released)


# --- the client leaves ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["wait", "stubborn"])
async def test_a_call_ends_when_its_client_leaves(toys: Toys, tool: str) -> None:
    endpoint = toys.endpoint(disconnect_watch_after=0.02)
    client = Client(endpoint)
    task = asyncio.create_task(client.call(MODERN, tool))
    await toys.started.wait()
    client.gone.set()
    response = await asyncio.wait_for(task, 5)
    assert response.status == 0, "nothing was sent"
    assert toys.cancelled.is_set() == (tool == "wait")
    assert toys.observed.pop().status == 0
    assert (endpoint.running, toys.admitted) == (0, toys.released)
    await until(lambda: not stray_tasks())


async def test_nobody_watches_a_short_call(toys: Toys) -> None:
    """Beside one that began later, is watched from its start, and ends at the first look."""
    client = Client(toys.endpoint(disconnect_watch_after=60.0))
    task = asyncio.create_task(client.call(MODERN, "wait"))
    await toys.started.wait()
    client.gone.set()
    watched = Client(Toys().endpoint(disconnect_watch_after=0.0))
    watched.gone.set()
    assert (await watched.call(MODERN, "wait")).status == 0
    assert not task.done()
    assert stray_tasks() == [task]
    toys.resume.set()
    assert (await task).status == 200


async def test_a_watched_call_that_ends_well_leaves_nothing_behind(toys: Toys) -> None:
    client = Client(toys.endpoint(disconnect_watch_after=0.01))
    task = asyncio.create_task(client.call(MODERN, "wait"))
    await toys.started.wait()
    await until(lambda: len(stray_tasks()) == 2)
    toys.resume.set()
    assert (await task).status == 200
    await until(lambda: not stray_tasks())


# --- batches ----------------------------------------------------------------------------------------------------------

BATCHING = ["2024-11-05", "2025-03-26"]


async def batch(client: Client, revision: str, *messages: Any) -> Response:
    header = None if revision == "2025-03-26" else revision
    return await client.post(orjson.dumps(list(messages)), headers_for(header))


@pytest.mark.parametrize("revision", BATCHING)
async def test_a_batch_is_answered_by_an_array(client: Client, toys: Toys, revision: str) -> None:
    calls = [envelope(revision, "tools/call", {"name": "echo", "arguments": {"n": n}}, id=f"c{n}") for n in range(3)]
    response = await batch(
        client,
        revision,
        *calls,
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "c0"}},
        envelope(revision, "no/such", id=7),
        envelope(revision, "initialize", {"protocolVersion": revision}, id=8),
        17,
        {"jsonrpc": "2.0", "id": 9, "method": 1},
    )
    answers = response.message
    assert response.status == 200
    assert [answer.get("id") for answer in answers] == ["c0", "c1", "c2", 7, 8, None, 9]
    assert [answer.get("error", {}).get("code", 0) for answer in answers] == [0, 0, 0, -32601, -32600, -32600, -32600]
    assert orjson.loads(answers[1]["result"]["content"][0]["text"]) == {"arguments": {"n": 1}}
    assert toys.released == toys.admitted == 4
    if available():
        check_message(revision, "tools/call", answers)


async def test_members_of_a_batch_run_side_by_side(client: Client, toys: Toys) -> None:
    both = asyncio.Barrier(2)

    async def meet(_context: Any, _arguments: Any) -> Any:
        async with asyncio.timeout(5):
            await both.wait()
        return {"content": []}

    toys.tool_meet = meet  # type: ignore[attr-defined]
    call = envelope("2025-03-26", "tools/call", {"name": "meet"})
    assert all("result" in answer for answer in (await batch(client, "2025-03-26", call, call)).message)


@pytest.mark.parametrize("revision", BATCHING)
async def test_a_batch_without_requests_has_no_answer(client: Client, revision: str) -> None:
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    response = await batch(client, revision, note, {"jsonrpc": "2.0", "id": 1, "result": {}})
    assert (response.status, response.body) == (202, b"")


@pytest.mark.parametrize("revision", REVISIONS)
async def test_batches_exist_in_two_revisions(client: Client, revision: str) -> None:
    response = await client.post(orjson.dumps([envelope(revision, "ping")]), headers_for(revision, "ping"))
    assert (response.status, response.message if isinstance(response.message, list) else response.code) == (
        (200, [{"jsonrpc": "2.0", "id": 1, "result": {}}]) if revision in BATCHING else (400, -32600)
    )


@pytest.mark.parametrize("size", [0, 51])
async def test_a_batch_has_1_to_50_members(client: Client, toys: Toys, size: int) -> None:
    response = await batch(client, "2025-03-26", *([envelope("2025-03-26", "tools/list")] * size))
    assert (response.status, response.code) == (400, -32600)
    assert not toys.contexts


async def test_a_batch_is_no_way_around_the_limits(client: Client, toys: Toys) -> None:
    toys.capacity = 3
    response = await batch(client, "2025-03-26", *[envelope("2025-03-26", "tools/list", id=n) for n in range(5)])
    refused = [answer for answer in response.message if "error" in answer]
    assert len(refused) <= 2, "members that are done make room"
    toys.capacity = 1
    waiting = envelope("2025-03-26", "tools/call", {"name": "wait"})
    task = asyncio.create_task(batch(client, "2025-03-26", waiting, waiting))
    await toys.started.wait()
    toys.resume.set()
    codes = [answer.get("error", {}).get("code", 0) for answer in (await task).message]
    assert codes == [0, -32603]
    assert toys.released == toys.admitted


async def test_depth_counts_the_array_of_a_batch(client: Client) -> None:
    def deep(levels: int) -> Any:
        value: Any = 1
        for _ in range(levels):
            value = [value]
        return envelope("2025-03-26", "tools/call", {"name": "echo", "arguments": {"a": value}})

    answers = (await batch(client, "2025-03-26", deep(60), deep(61))).message
    assert ["result" in answer for answer in answers] == [True, False]


async def test_members_of_a_batch_have_deadlines_of_their_own(toys: Toys) -> None:
    client = Client(toys.endpoint(call_timeout=0.1))
    echo = envelope("2025-03-26", "tools/call", {"name": "echo"}, id=1)
    wait = envelope("2025-03-26", "tools/call", {"name": "wait"}, id=2)
    scope = envelope("2025-03-26", "tools/call", {"name": "lacks_scope"}, id=3)
    answers = (await batch(client, "2025-03-26", echo, wait, scope)).message
    assert [answer["result"].get("isError", False) for answer in answers] == [False, True, True]


async def test_a_full_house_refuses_with_what_the_gate_says(client: Client, toys: Toys) -> None:
    toys.authentication_fails = LimitReached("slow down", 3)
    response = await client.rpc("2025-11-25", "ping")
    assert (response.status, response.body) == (429, b'{"error":"slow down"}')
