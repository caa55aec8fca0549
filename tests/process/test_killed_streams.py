"""A gateway that holds a client's stream is killed: the client goes on at another one, and its subscriptions hold."""

import signal

import aiohttp
import pytest

from tests.support.running_product import client, command, data_folder, free_port, running, start

GRAPH = "resource://knowledge_graph/graph"


@pytest.mark.long
@pytest.mark.timeout(180)
async def test_subscriptions_hold_at_another_gateway_when_the_one_with_the_stream_is_killed() -> None:
    with data_folder() as home:
        async with running(home) as first:
            second = await start(home, free_port(), "gateway", "--json")
            created = await command(home, first.port, "token", "create", "--user", "admin@localhost")
            head = {"Authorization": f"Bearer {created['token']}", "MCP-Protocol-Version": "2025-11-25"}
            events = {**head, "Accept": "text/event-stream"}
            timeout = aiohttp.ClientTimeout(total=None, sock_read=10)
            async with client(first.url, created["token"]) as one, aiohttp.ClientSession(timeout=timeout) as session:
                message = {"jsonrpc": "2.0", "id": 1, "method": "resources/subscribe", "params": {"uri": GRAPH}}
                both = {**head, "Accept": "application/json, text/event-stream"}
                async with session.post(second.url, json=message, headers=both) as answer:
                    assert (await answer.json())["result"] == {}
                async with session.get(second.url, headers=events) as stream:
                    await stream.content.readuntil(b": listening\n\n")
                    await one.call("create_entities", entities=[{"name": "x", "entityType": "t", "observations": []}])
                    assert GRAPH.encode() in await stream.content.readuntil(
                        b"resources/updated"
                    ) + await stream.content.readuntil(b"\n\n")
                    await second.end(signal.SIGKILL)
                    with pytest.raises(aiohttp.ClientError):
                        await stream.content.read()
                async with session.get(first.url, headers=events) as stream:
                    await stream.content.readuntil(b": listening\n\n")
                    await one.call("create_entities", entities=[{"name": "y", "entityType": "t", "observations": []}])
                    assert GRAPH.encode() in await stream.content.readuntil(
                        b"resources/updated"
                    ) + await stream.content.readuntil(b"\n\n")
