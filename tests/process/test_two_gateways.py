"""One more gateway beside the product: any process answers, and what changes reaches both within a second."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import aiohttp
import pytest

from tests.support.running_product import Client, ToolFailed, client, command, data_folder, free_port, running, start


async def within_a_second(happens: Callable[[], Awaitable[bool]], since: float) -> None:
    while not await happens():
        assert time.monotonic() - since < 1.0, "it took longer than a second"
        await asyncio.sleep(0.02)


def refused(caller: Client) -> Callable[[], Awaitable[bool]]:
    async def happens() -> bool:
        try:
            await caller.call("read_graph")
        except aiohttp.ClientResponseError as error:
            return error.status == 401
        return False

    return happens


def gone(caller: Client) -> Callable[[], Awaitable[bool]]:
    async def happens() -> bool:
        try:
            await caller.call("delete_entities", entityNames=["x"])
        except ToolFailed as failed:
            return "no such module or tool" in str(failed)
        return False

    return happens


@pytest.mark.timeout(180)
async def test_writes_permissions_and_revocations_reach_both() -> None:
    with data_folder() as home:
        async with running(home) as first:
            second = await start(home, free_port(), "gateway", "--json")
            try:
                created = await command(home, first.port, "token", "create", "--user", "admin@localhost")
                async with client(first.url, created["token"]) as one, client(second.url, created["token"]) as two:
                    await one.call("create_entities", entities=[{"name": "x", "entityType": "t", "observations": []}])
                    assert (await two.call("read_graph"))["entities"][0]["name"] == "x"

                    denied = ["role", "deny", "administrator", "knowledge_graph.delete_entities"]
                    await command(home, first.port, *denied)
                    since = time.monotonic()
                    await within_a_second(gone(one), since)
                    await within_a_second(gone(two), since)

                    await command(home, first.port, "token", "revoke", created["id"])
                    since = time.monotonic()
                    await within_a_second(refused(one), since)
                    await within_a_second(refused(two), since)
            finally:
                assert await second.end() == 0
