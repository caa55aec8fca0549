"""The primary of two PostgreSQL servers is killed and its standby promoted under load: processes that run go on with
the new primary without a restart, say meanwhile that the database is away, and serve nothing that is no longer true."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from core.database_url import DatabaseAddress
from core.secret import Secret
from tests.support.eventually import within
from tests.support.postgres import DatabaseServer
from tests.support.postgres_pair import PostgresPair, postgres_pair
from tests.support.product import ACTOR
from tests.support.running_product import Product, command, data_folder, running
from tests.support.split import Split, split_on

pytestmark = pytest.mark.timeout(240)

SWITCH_SECONDS = 20
"""So long a promoted standby may stay unused; 1 to 3 s on a quiet machine."""
REVOKED_SECONDS = 3

Heard = tuple[int, bool, str]
"""Status, whether it failed, and what was said."""


@pytest.fixture
def pair() -> Iterator[PostgresPair]:
    with postgres_pair() as made:
        yield made


@pytest.fixture
async def product(pair: PostgresPair) -> AsyncIterator[Product]:
    with data_folder(migrated=False) as home:
        async with running(home, MCPIST_DATABASE_URL=pair.url) as made:
            yield made


class Writers:
    """Some who write all the time, and note what was acknowledged and what was not."""

    def __init__(self, write: Callable[[str], Awaitable[Heard]], count: int = 3) -> None:
        self._write = write
        self._count = count
        self._stop = False
        self.acknowledged: list[str] = []
        self.refused: list[Heard] = []

    @contextlib.asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            for number in range(self._count):
                group.create_task(self._work(number))
            await within(10, self.has_written)
            try:
                yield
            finally:
                self._stop = True

    async def has_written(self, more_than: int = 0) -> bool:
        return len(self.acknowledged) > more_than

    async def was_refused(self) -> bool:
        return len(self.refused) >= self._count

    async def _work(self, number: int) -> None:
        turn = 0
        while not self._stop:
            turn += 1
            name = f"{number}-{turn}"
            status, failed, text = await self._write(name)
            if failed:
                self.refused.append((status, failed, text))
                await asyncio.sleep(0.05)  # as a client that was told to wait, but sooner
            else:
                self.acknowledged.append(name)

    def check_refusals(self) -> None:
        for status, _, text in self.refused:
            assert status in (200, 503), (status, text)
            assert "database" in text, (status, text)


async def ask(product: Product, token: str, tool: str, **params: Any) -> Heard:
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "call", "arguments": {"module": "knowledge_graph", "tool_name": tool, "params": params}},
    }
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    timeout = aiohttp.ClientTimeout(total=60)
    async with (
        aiohttp.ClientSession(timeout=timeout) as http,
        http.post(product.url, json=message, headers=headers) as answer,
    ):
        text = await answer.text()
        if answer.status != 200:
            assert answer.status != 503 or answer.headers["Retry-After"]
            return answer.status, True, text
        result = json.loads(text)["result"]
        return answer.status, bool(result.get("isError")), result["content"][0]["text"]


def entity(name: str) -> dict[str, Any]:
    return {"entities": [{"name": name, "entityType": "t", "observations": []}]}


async def names(read: Callable[[dict[str, Any]], Awaitable[Heard]]) -> set[str]:
    found: set[str] = set()
    cursor: dict[str, Any] = {}
    while True:
        _, failed, text = await read({"limit": 100, **cursor})
        assert not failed, text
        page = json.loads(text)
        found |= {one["name"] for one in page["entities"]}
        if not page.get("nextCursor"):
            return found
        cursor = {"cursor": page["nextCursor"]}


async def operate(product: Product, pair: PostgresPair, *arguments: str) -> Any:
    return await command(product.home, product.port, *arguments, MCPIST_DATABASE_URL=pair.url)


async def new_token(product: Product, pair: PostgresPair) -> tuple[str, str]:
    made = await operate(product, pair, "token", "create", "--user", "admin@localhost")
    return made["id"], made["token"]


async def is_refused(product: Product, token: str) -> bool:
    return (await ask(product, token, "read_graph"))[0] == 401


async def readiness(product: Product) -> tuple[int, dict[str, str]]:
    url = product.url.replace("/mcp", "/readyz")
    async with aiohttp.ClientSession() as http, http.get(url) as answer:
        return answer.status, {one["name"]: one["state"] for one in (await answer.json())["components"]}


async def is_ready(product: Product) -> bool:
    return (await readiness(product))[0] == 200


@pytest.mark.parametrize("machine", ["killed", pytest.param("silent", marks=pytest.mark.long)])
async def test_a_running_product_moves_to_the_new_primary(product: Product, pair: PostgresPair, machine: str) -> None:
    """A machine that is silent closes no connection, as one that has lost its network."""
    await pair.wait_for_standby()
    token = product.ready["api_token"]
    other, second_token = await new_token(product, pair)
    assert not (await ask(product, second_token, "read_graph"))[1]

    async def write(name: str) -> Heard:
        return await ask(product, token, "create_entities", **entity(name))

    writers = Writers(write)
    async with writers.working():
        pair.first.kill() if machine == "killed" else pair.first.freeze()
        await within(40, writers.was_refused)  # a silent server costs a call its whole time

        async def is_told() -> bool:
            status, parts = await readiness(product)
            # The standby alone answers; a silent server is waited for, for longer than readiness waits.
            return status == 503 and parts["database"] == ("read-only" if machine == "killed" else "slow")

        await within(15, is_told)
        pair.second.promote()
        before = len(writers.acknowledged)
        await within(SWITCH_SECONDS, partial(writers.has_written, before))
        await operate(product, pair, "token", "revoke", other)
        await within(REVOKED_SECONDS, lambda: is_refused(product, second_token))
    writers.check_refusals()
    assert set(writers.acknowledged) <= await names(lambda page: ask(product, token, "read_graph", **page))
    await within(10, lambda: is_ready(product))


async def test_a_token_that_is_revoked_where_the_last_changes_are_lost(product: Product, pair: PostgresPair) -> None:
    """The lost change and the revocation raise the tenant's generation to the same number, under which the token was
    cached."""
    tokens = [await new_token(product, pair) for _ in range(3)]
    await pair.cut_replication()
    await operate(product, pair, "token", "revoke", tokens[0][0])  # the new primary will not have it
    await within(REVOKED_SECONDS, lambda: is_refused(product, tokens[0][1]))
    for _, token in tokens[1:]:
        assert not (await ask(product, token, "read_graph"))[1]
    await pair.fail_over()

    async def serves() -> bool:
        return not (await ask(product, tokens[1][1], "read_graph"))[1]

    await within(SWITCH_SECONDS, serves)
    await within(10, lambda: is_ready(product))  # from now on what is cached is believed again
    assert not (await ask(product, tokens[2][1], "read_graph"))[1]
    await operate(product, pair, "token", "revoke", tokens[2][0])
    await within(REVOKED_SECONDS, lambda: is_refused(product, tokens[2][1]))
    assert await serves()


@pytest.fixture
async def deployment(pair: PostgresPair, tmp_path: Path) -> AsyncIterator[Split]:
    server = DatabaseServer(DatabaseAddress(Secret(pair.url)))
    async with server.database() as scratch, split_on(scratch, tmp_path, gateways=1) as made:
        yield made
    server.close()


@pytest.mark.long
async def test_a_broker_and_its_gateway_move(deployment: Split, pair: PostgresPair) -> None:
    tenant = await deployment.product.tenant("acme", services=["knowledge_graph", "shop"])
    ada = await deployment.product.person(tenant, "ada@acme.test", allow=["*"])
    bob = await deployment.product.person(tenant, "bob@acme.test", allow=["*"])
    for one in (ada, bob):
        await deployment.add(one, f"token-at-the-shop-of-{one.id}")
        assert await deployment.said(one, "look") == f"{one.email}: tea"
    await pair.wait_for_standby()

    async def write(name: str) -> Heard:
        heard = await deployment.call(ada, "knowledge_graph", "create_entities", **entity(name))
        return heard.status, heard.failed, heard.text

    async def read(page: dict[str, Any]) -> Heard:
        heard = await deployment.call(ada, "knowledge_graph", "read_graph", **page)
        return heard.status, heard.failed, heard.text

    writers = Writers(write)
    async with writers.working():
        await pair.fail_over()  # within moments, so that some may not even notice
        before = len(writers.acknowledged)
        await within(SWITCH_SECONDS, partial(writers.has_written, before))

        async def leases() -> bool:
            heard = await deployment.call(bob, "shop", "look", what="tea")
            return not heard.failed and json.loads(heard.text)["said"] == f"{bob.email}: tea"

        await within(SWITCH_SECONDS, leases)

        async def revoked() -> bool:
            with contextlib.suppress(Exception):  # the test's own pool moves, too
                await deployment.product.tokens.revoke(ACTOR, tenant.id, bob.token_id)
            return (await deployment.call(bob, "shop", "look", what="tea")).status == 401

        await within(REVOKED_SECONDS + 2, revoked)
    writers.check_refusals()
    assert set(writers.acknowledged) <= await names(read)
