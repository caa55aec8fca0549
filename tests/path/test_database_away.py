"""The database is away: a clear error that says when to come back, and no trust in what was true a while ago."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from tests.path.conftest import People
from tests.support.eventually import within
from tests.support.mcp_client import MODERN, NEWEST
from tests.support.postgres_proxy import PostgresProxy, postgres_proxy
from tests.support.product import ACTOR, Node, Product, over_http

# One interval until the listener asks for a sign of life, one until it gives up waiting for it, and some room.
STALE = 1.3


@pytest.fixture
async def proxy(product: Product) -> AsyncIterator[PostgresProxy]:
    async with postgres_proxy(product.deployment.admin) as proxy:
        yield proxy


@pytest.fixture
async def behind(product: Product, proxy: PostgresProxy) -> AsyncIterator[Node]:
    async with product.gateway(through=proxy.address) as node:
        yield node
        proxy.resume()


async def status(node: Node, token: str) -> int:
    return (await node.post(token, "tools/list")).status


@pytest.mark.parametrize("revision", [NEWEST, MODERN])
async def test_a_dead_database_is_a_503(behind: Node, people: People, proxy: PostgresProxy, revision: str) -> None:
    assert await status(behind, people.admin.token) == 200
    proxy.hang_up()

    async def away() -> bool:
        return await status(behind, people.admin.token) == 503

    await within(STALE, away)
    answer = await behind.post(people.admin.token, "tools/list", revision=revision)
    assert answer.status == 503
    assert int(answer.header("retry-after")) >= 1
    who = b"broker" if over_http() else b"database"  # the first that needs the database
    assert answer.body == b'{"error":"MCPist is not ready: its ' + who + b' is unavailable"}'
    unseen = await behind.post(people.reader.token, "tools/list", revision=revision)
    assert unseen.comparable == answer.comparable

    proxy.resume()

    async def again() -> bool:
        return await status(behind, people.admin.token) == 200

    await within(5, again)


async def test_a_malformed_token_is_refused_as_ever(behind: Node, proxy: PostgresProxy) -> None:
    proxy.hang_up()
    assert await status(behind, "malformed") == 401


async def test_a_call_that_began_before_is_answered(behind: Node, people: People, proxy: PostgresProxy) -> None:
    """A cached credential is good for a moment longer; the tool's own failure is a result with a clear text."""
    assert (await behind.call(people.admin.token, "lab", "look")).value == {"said": ""}
    proxy.hang_up()
    answer = await behind.call(people.admin.token, "knowledge_graph", "read_graph")
    if answer.status == 200:
        assert answer.text == "MCPist is not ready: its database is unavailable; try again in 2 s"
    else:
        assert answer.status == 503


async def test_a_dead_database_brings_no_stale_trust(
    product: Product, behind: Node, people: People, proxy: PostgresProxy
) -> None:
    assert await status(behind, people.admin.token) == 200
    proxy.hang_up()
    await product.tokens.revoke(ACTOR, people.acme.id, people.admin.token_id)
    await never_again_after(STALE, proxy, behind, people.admin.token)
    await refused_at_last(behind, people.admin.token)


async def test_a_silent_database_brings_no_stale_trust(
    product: Product, behind: Node, people: People, proxy: PostgresProxy
) -> None:
    """Nothing is closed and nothing answers: only a sign of life that does not come can tell."""
    assert await status(behind, people.admin.token) == 200
    proxy.silence()
    await product.tokens.revoke(ACTOR, people.acme.id, people.admin.token_id)
    await never_again_after(STALE, proxy, behind, people.admin.token)
    await refused_at_last(behind, people.admin.token)


async def never_again_after(seconds: float, proxy: PostgresProxy, node: Node, token: str) -> None:
    """Ask again and again, also while earlier questions wait for the database, until it is back: 200 comes to what was
    asked in the first seconds only."""
    started = time.monotonic()

    async def ask() -> tuple[float, int]:
        asked = time.monotonic() - started
        return asked, await status(node, token)

    asking: list[asyncio.Task[tuple[float, int]]] = []
    while time.monotonic() - started < 2 * seconds:
        asking.append(asyncio.create_task(ask()))
        await asyncio.sleep(0.05)
    proxy.resume()
    answers = await asyncio.gather(*asking)
    assert [asked for asked, got in answers if got == 200 and asked > seconds] == []
    assert any(asked > seconds for asked, _ in answers)


async def refused_at_last(node: Node, token: str) -> None:
    """The database is back: what was revoked meanwhile is never served again."""

    async def refused() -> bool:
        got = await status(node, token)
        assert got in (401, 503), got
        return got == 401

    await within(20, refused)
