"""Two gateways whose users' limits go through a real Valkey."""

import asyncio
import time

from core.secret import Secret
from server.health import CACHE_SECONDS
from tests.path.conftest import People
from tests.support.eventually import within
from tests.support.product import Node, Product
from tests.support.valkey import running_valkey


async def read_limits(node: Node) -> str:
    (state,) = [part.state for part in await node.gateway.health.check_components() if part.name == "limits"]
    return state


async def test_two_gateways_count_a_user_together(product: Product, people: People) -> None:
    async with running_valkey() as valkey:
        settings = {"redis_url": Secret(valkey.url), "rate_per_second": 0.01, "rate_burst": 40}
        async with product.gateway(**settings) as one, product.gateway(**settings) as two:
            nodes = (one, two)

            async def are_shared() -> bool:
                return all("mcpist_limits_shared 1.0" in node.metrics() for node in nodes)

            await within(10, are_shared)
            statuses: list[int] = []
            for number in range(100):
                statuses.append((await nodes[number % 2].post(people.admin.token, "ping")).status)
                await asyncio.sleep(0.002)  # a request of another process takes a turn of its own
            assert 40 <= statuses.count(200) <= 50, "each may let through some between two reports"
            assert set(statuses) == {200, 429}
            assert (await two.post(people.reader.token, "ping")).status == 200


async def test_a_valkey_that_is_frozen_and_killed_holds_up_no_call(product: Product, people: People) -> None:
    async with running_valkey() as valkey:
        settings = {"redis_url": Secret(valkey.url), "rate_per_second": 100_000.0, "rate_burst": 100_000}
        async with product.gateway(**settings) as node:

            async def is_shared() -> bool:
                return await read_limits(node) == "up"

            async def is_not_shared() -> bool:
                return (await read_limits(node)).startswith("degraded")

            async def call_for(seconds: float) -> float:
                """The longest of many calls, in seconds."""
                longest, end = 0.0, time.monotonic() + seconds
                while time.monotonic() < end:
                    begin = time.perf_counter()
                    assert (await node.post(people.admin.token, "ping")).status == 200
                    longest = max(longest, time.perf_counter() - begin)
                    await asyncio.sleep(0)
                return longest

            await within(10, is_shared)
            with valkey.frozen():
                longest, _ = await asyncio.gather(call_for(3 * CACHE_SECONDS), within(10, is_not_shared))
                assert longest < 0.4, f"{longest:.2f} s"  # a report alone waits for a second
                assert "mcpist_limits_shared 0.0" in node.metrics()
            await within(10, is_shared)
            valkey.kill()
            longest, _ = await asyncio.gather(call_for(3 * CACHE_SECONDS), within(10, is_not_shared))
            assert longest < 0.4, f"{longest:.2f} s"
            assert all(part.serves for part in await node.gateway.health.check_components())
            await valkey.start()
            await within(10, is_shared)
