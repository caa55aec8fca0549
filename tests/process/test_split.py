"""Broker and two gateways as processes of their own, round robin in front: what changes, what dies, what comes back."""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import aiohttp
import pytest

from broker.rpc.codec import EXCHANGE
from broker.rpc.gateway_keys import make_key_pair
from tests.process.split_load import Load, names
from tests.support.directory import grant, revoke
from tests.support.eventually import within
from tests.support.postgres import ScratchDatabase
from tests.support.product import ACTOR, SPLIT, Person
from tests.support.running_product import client, command, data_folder, free_port, running, start
from tests.support.split import CALL_TIMEOUT, Heard, Process, Split, split_on

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
async def deployment(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[Split]:
    async with split_on(database, tmp_path) as made:
        yield made


async def person(deployment: Split, slug: str = "acme", name: str = "ada") -> Person:
    """Who may use everything and has an account at the shop."""
    tenant = await deployment.product.tenant(slug, services=["knowledge_graph", "shop"])
    made = await deployment.product.person(tenant, f"{name}@{slug}.test", allow=["*"])
    await deployment.add(made, f"{name}-s-token-at-the-shop-{slug}")
    return made


async def test_both_serve_and_changes_reach_both(deployment: Split) -> None:
    ada = await person(deployment)
    for number in range(2):
        assert await deployment.said(ada, "look", at=number) == "ada@acme.test: tea"
    entities = [{"name": "x", "entityType": "t", "observations": []}]
    assert (await deployment.call(ada, "knowledge_graph", "create_entities", at=0, entities=entities)).status == 200
    assert (
        json.loads((await deployment.call(ada, "knowledge_graph", "read_graph", at=1)).text)["entities"][0]["name"]
        == "x"
    )
    for _ in range(4):
        assert await deployment.said(ada, "look") == "ada@acme.test: tea"

    await grant(deployment.product.console, ACTOR, ada.tenant.id, ada.email, "deny", "shop.look")
    await at_both(deployment, ada, lambda heard: "no such module or tool" in heard.text)
    await revoke(deployment.product.console, ACTOR, ada.tenant.id, ada.email, "shop.look")
    await at_both(deployment, ada, lambda heard: not heard.failed)

    await deployment.add(ada, "a-newer-token-at-the-shop")
    deployment.shop.tokens["a-newer-token-at-the-shop"] = "newer"
    await at_both(deployment, ada, lambda heard: "newer: tea" in heard.text)

    await deployment.product.tokens.revoke(ACTOR, ada.tenant.id, ada.token_id)
    await at_both(deployment, ada, lambda heard: heard.status == 401)


async def at_both(deployment: Split, who: Person, expected: Callable[[Heard], bool]) -> None:
    """Within one second of now, at every gateway."""

    async def everywhere() -> bool:
        heard = [await deployment.call(who, "shop", "look", at=number, what="tea") for number in range(2)]
        return all(expected(one) for one in heard)

    await within(1.0, everywhere)


@pytest.mark.guarantee("G10")
async def test_a_gateway_has_nothing_of_the_broker_s(database: ScratchDatabase, tmp_path: Path) -> None:
    """Its folder, its environment and its database role: not even a takeover of the whole process opens the vault."""
    async with split_on(database, tmp_path, executed=True) as deployment:
        await _look_through_the_gateways(deployment)


async def _look_through_the_gateways(deployment: Split) -> None:
    ada = await person(deployment)
    for gateway in deployment.gateways:
        await deployment.said(ada, "look", at=deployment.gateways.index(gateway))
        kept = {path.name for path in gateway.home.rglob("*") if path.is_file()}
        assert kept == {"audit-digest.json", "own.pem", "public.pem", "log"}
        assert gateway.running is not None
        environment = Path(f"/proc/{gateway.running.pid}/environ").read_bytes()
        assert b"mcpist_gateway" in environment
        for other in (b"mcpist_broker", b"mcpist_console", b"postgres:"):
            assert other not in environment
        opened = {os.readlink(link) for link in Path(f"/proc/{gateway.running.pid}/fd").iterdir() if link.is_symlink()}
        assert not any(str(deployment.broker.home) in one for one in opened)
    said = "".join(one.log() for one in (deployment.broker, *deployment.gateways))
    assert said


@pytest.fixture(params=["tcp", "unix"])
async def single_gateway(
    database: ScratchDatabase, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[Split]:
    async with split_on(database, tmp_path, gateways=1, unix=request.param == "unix") as made:
        yield made


async def test_without_a_broker(single_gateway: Split) -> None:
    """What is known goes on; what is new gets a clear error at once; it comes back without help."""
    deployment = single_gateway
    ada, bob = await person(deployment), await person(deployment, "globex", "bob")
    assert await deployment.said(ada, "look", at=0) == "ada@acme.test: tea"
    await deployment.broker.kill()

    assert await deployment.said(ada, "look", at=0) == "ada@acme.test: tea"
    assert not (await deployment.call(ada, "knowledge_graph", "read_graph", at=0)).failed
    began = time.monotonic()
    unknown = await deployment.call(bob, "shop", "look", at=0, what="tea")
    assert (unknown.status, unknown.retry_after) == (503, 2)
    assert "broker is unavailable" in unknown.text
    unleased = await deployment.call(ada, "shop", "buy", at=0, what="tea")
    assert unleased.failed
    assert "its broker is unavailable; try again in 2 s" in unleased.text
    assert time.monotonic() - began < CALL_TIMEOUT
    assert [one for one in deployment.shop.asked if one[1] == "POST /buy"] == []

    await deployment.broker.start()
    assert await deployment.said(ada, "buy", at=0) == "ada@acme.test: bought"
    assert await deployment.said(bob, "look", at=0) == "bob@globex.test: tea"


@pytest.mark.long
async def test_a_broker_that_hangs(deployment: Split) -> None:
    """Stopped, not dead: nothing waits longer than a call may take, and nobody waits for somebody else's lease."""
    ada, bob = await person(deployment), await person(deployment, "globex", "bob")
    await deployment.said(ada, "look", at=0)
    await deployment.said(bob, "look", at=0)
    deployment.broker.send(signal.SIGSTOP)
    began = time.monotonic()
    waiting = asyncio.create_task(deployment.call(ada, "shop", "buy", at=0, what="tea"))
    assert await deployment.said(bob, "look", at=0) == "bob@globex.test: tea"
    assert time.monotonic() - began < 2
    heard = await waiting
    assert heard.failed
    assert time.monotonic() - began < CALL_TIMEOUT + 2
    deployment.broker.send(signal.SIGCONT)
    assert await deployment.said(ada, "buy", at=0) == "ada@acme.test: bought"


async def test_a_gateway_that_the_broker_refuses_is_not_ready(deployment: Split, tmp_path: Path) -> None:
    """It says why, and is ready again as soon as the broker knows its key; an outage alone leaves it ready."""
    refused, other = deployment.gateways
    make_key_pair(tmp_path / "new.pem", tmp_path / "new-public.pem")
    refused.variables["MCPIST_GATEWAY_KEY"] = str(tmp_path / "new.pem")
    await refused.end()
    await refused.start()
    status, state = await broker_state(refused)
    assert (status, state.startswith("refused: 401")) == (503, True)
    assert await broker_state(other) == (200, "up")
    ada = await person(deployment)
    heard = await deployment.call(ada, "shop", "look", at=0, what="tea")
    assert (heard.status, "broker refuses this process" in heard.text) == (503, True)

    known = Path(deployment.broker.variables["MCPIST_BROKER_GATEWAYS"])
    known.write_bytes(known.read_bytes() + (tmp_path / "new-public.pem").read_bytes())

    async def is_up() -> bool:
        return await broker_state(refused) == (200, "up")

    await within(10, is_up)
    await deployment.broker.kill()

    async def is_degraded() -> bool:
        status, state = await broker_state(refused)
        return (status, state.startswith("degraded: ")) == (200, True)

    await within(10, is_degraded)


async def broker_state(gateway: Process) -> tuple[int, str]:
    """The status of /readyz, and what it says of the broker."""
    async with aiohttp.ClientSession() as http, http.get(f"http://127.0.0.1:{gateway.port}/readyz") as answer:
        parts = {one["name"]: one["state"] for one in (await answer.json())["components"]}
        return answer.status, parts["broker"]


async def test_one_request_id_in_both_logs(deployment: Split) -> None:
    """The id that a gateway logs for a call, and tells in its answer, is in the broker's lines for it."""
    deployment.broker.variables["MCPIST_LOG_LEVEL"] = "debug"
    await deployment.broker.end()
    await deployment.broker.start()
    ada = await person(deployment)
    await deployment.said(ada, "look", at=0)

    async def has_both() -> bool:
        calls = [json.loads(line) for line in deployment.gateways[0].log().splitlines() if '"tool_run"' in line]
        asked = [json.loads(line) for line in deployment.broker.log().splitlines() if '"rpc_request"' in line]
        leases = {line.get("request_id") for line in asked if line["path"] == EXCHANGE}
        return bool(calls) and calls[-1]["request_id"] in leases

    await within(10, has_both)


async def test_on_one_data_folder() -> None:
    """Without any setting but where the broker listens: the embedded database and the keys are found in the folder."""
    with data_folder() as home:
        where = {"MCPIST_BROKER_URL": f"unix:{home}/broker.sock"}
        async with running(home) as product:
            broker = await start(home, free_port(), "broker", "--json", **where)
            node = await start(home, free_port(), "gateway", "--json", **where)
            try:
                assert broker.ready == {"ready": True, "broker_url": where["MCPIST_BROKER_URL"]}
                async with client(node.url, product.ready["api_token"]) as caller:
                    await caller.call("read_graph")
                    await broker.end(signal.SIGKILL)
                    broker = await start(home, free_port(), "broker", "--json", **where)
                    created = await command(home, product.port, "token", "create", "--user", "admin@localhost")
                async with client(node.url, created["token"]) as caller:
                    await caller.call("read_graph")
            finally:
                assert await node.end() == 0
                assert await broker.end() == 0
            assert not (home / "broker.sock").exists()
            modes = {path.name: path.stat().st_mode & 0o777 for path in (home / "keys").iterdir()}
            assert set(modes.values()) == {0o600}
            assert {"gateway.pem", "gateways.pem"} <= set(modes)


Kill = Callable[[Split], Awaitable[Callable[[], Awaitable[None]]]]


async def kill_broker(deployment: Split) -> Callable[[], Awaitable[None]]:
    await deployment.broker.kill()
    return deployment.broker.start


async def kill_gateway(deployment: Split) -> Callable[[], Awaitable[None]]:
    await deployment.gateways[0].kill()
    return deployment.gateways[0].start


async def kill_both(deployment: Split) -> Callable[[], Awaitable[None]]:
    await asyncio.gather(deployment.broker.kill(), deployment.gateways[1].kill())

    async def start() -> None:
        await asyncio.gather(deployment.broker.start(), deployment.gateways[1].start())

    return start


@pytest.mark.parametrize("kill", [kill_broker, pytest.param(kill_gateway, marks=pytest.mark.long)])
async def test_killed_under_load(deployment: Split, kill: Kill) -> None:
    await rounds(deployment, kill, 1)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kill", [kill_broker, kill_gateway, kill_both])
async def test_killed_under_load_again_and_again(deployment: Split, kill: Kill) -> None:
    await rounds(deployment, kill, 15)


@pytest.mark.long
@pytest.mark.timeout(1200)
async def test_the_path_suite_holds_over_http() -> None:
    """Every story of a request, with the broker behind HTTP."""
    path = Path(__file__).parents[1] / "path"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path),
        env={**os.environ, SPLIT: "1"}, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    out, _ = await process.communicate()
    assert process.returncode == 0, out.decode()[-5000:]


async def rounds(deployment: Split, kill: Kill, count: int) -> None:
    """Four people of two tenants work; the caches are voided all the time; a process dies and is started again."""
    load = Load(deployment, [await person(deployment, slug, "ada") for slug in ("acme", "globex", "initech")])
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(load.work(who, number)) for number, who in enumerate(load.people * 2)]
        tasks.append(group.create_task(load.churn()))
        for _ in range(count):
            await load.answers(40)
            start = await kill(deployment)
            await load.everybody_meets_the_outage()
            await start()
            await load.everybody_is_served()
        load.stop = True
        await asyncio.wait(tasks)
    assert load.slowest < CALL_TIMEOUT + 2
    if kill is not kill_gateway:
        assert any("broker is unavailable" in how for how in load.errors), "the load has not met the outage"
    for who in load.people:
        kept = await names(deployment, who)
        assert load.acknowledged[who.email] <= kept
        assert all(name.startswith(who.email) for name in kept)
