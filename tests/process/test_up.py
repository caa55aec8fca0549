"""`mcpist up` as a new user and a script meet it."""

import asyncio
import json
import os
import signal
import socket
from pathlib import Path

import aiohttp
import pytest

from broker.rpc.gateway_keys import make_key_pair
from tests.support.fork_server import create_forked_process
from tests.support.running_product import (
    MCPIST,
    client,
    command,
    data_folder,
    environment,
    free_port,
    hear_command,
    running,
    start,
)


@pytest.fixture(scope="module")
def home():
    with data_folder(migrated=False) as folder:
        yield folder


async def test_first_start_second_start_and_the_only_line(home: Path) -> None:
    port = free_port()
    first = await start(home, port)
    assert first.ready["ready"] is True
    way_in = {"api_token", "sign_in_link"}
    assert set(first.ready) == {"ready", "mcp_url", "console_url", "home", "admin_email"} | way_in
    assert first.ready["mcp_url"] == f"http://127.0.0.1:{port}/mcp"
    async with client(first.url, first.ready["api_token"]) as caller:
        await caller.call("create_entities", entities=[{"name": "日本", "entityType": "国", "observations": []}])
    assert await first.end(signal.SIGINT) == 0
    assert first.process.stdout is not None
    assert await first.process.stdout.read() == b""

    async with running(home, port) as second:
        assert set(second.ready) == {"ready", "mcp_url", "console_url", "home", "admin_email"}
        async with client(second.url, first.ready["api_token"]) as caller:
            assert (await caller.call("read_graph"))["entities"][0]["name"] == "日本"


async def test_a_clean_stop_finishes_what_runs_and_leaves_no_process(home: Path) -> None:
    async with running(home) as product:
        postmaster = product.postmaster()
        assert await product.end() == 0
    with pytest.raises(ProcessLookupError):
        os.kill(postmaster, 0)
    assert not (home / "endpoint.json").exists()


async def test_a_second_product_on_the_same_folder_is_told_so(home: Path) -> None:
    async with running(home):
        code, out, err = await fails(home, free_port())
    assert (code != 0, out) == (True, "")
    assert "MCPIST_HOME" in err


async def test_a_taken_port_is_told_before_anything_starts(home: Path) -> None:
    async with running(home) as product:
        code, out, err = await fails(home.with_name("other"), product.port)
    assert (code != 0, out) == (True, "")
    assert "MCPIST_PORT" in err
    assert not home.with_name("other").exists()


async def test_a_second_start_is_told_that_the_first_one_runs(home: Path) -> None:
    async with running(home) as product:
        code, out, err = await fails(home, product.port)
        told = json.loads(err)["error"]
    assert (code, out, told["code"]) == (5, "", "conflict")
    assert "MCPist itself" in told["message"]
    assert (product.url in told["message"], f"process {product.process.pid}" in told["message"]) == (True, True)
    assert told["message"].count(f"port {product.port}") == 1
    assert "while attempting" not in told["message"]


async def test_whose_a_taken_port_is(home: Path) -> None:
    other = home.with_name("other")
    async with running(home) as product:
        _, _, err = await fails(other, product.port)
        assert "another MCPist" in err
        again = await command(home, product.port, "doctor")
        assert again["healthy"]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        _, _, err = await fails(other, listener.getsockname()[1])
    assert "another program" in err
    assert "while attempting" not in err
    assert not other.exists()


async def test_health_and_unknown_paths(home: Path) -> None:
    async with running(home) as product, aiohttp.ClientSession() as session:
        base = product.url.removesuffix("/mcp")
        async with session.get(f"{base}/healthz") as alive:
            assert alive.status == 200
        async with session.get(f"{base}/readyz") as ready:
            assert (ready.status, (await ready.json())["ready"]) == (200, True)
        async with session.get(f"{base}/metrics") as metrics:
            assert metrics.status == 404
        async with session.get(f"{base}/no-such-page") as unknown:
            assert unknown.status == 404


async def test_it_is_not_ready_before_it_stops_serving(home: Path) -> None:
    """A load balancer learns from `/readyz` that both workers end, while what it still sends is served."""
    async with running(home, MCPIST_DRAIN_DELAY="4", MCPIST_WORKERS="2") as product:
        token = json.loads(await created_token(home, product.port))["token"]
        ready = product.url.replace("/mcp", "/readyz")
        product.process.send_signal(signal.SIGTERM)
        refused = 0
        while refused < 4:  # each over a connection of its own, so that both workers have to answer
            refused = refused + 1 if await _get_status(ready) == 503 else 0
        for _ in range(4):
            async with client(product.url, token) as caller:
                await caller.call("read_graph")
        assert await product.wait() == 0


async def test_a_broker_is_not_ready_before_it_stops_serving() -> None:
    with data_folder() as home:
        make_key_pair(home / "keys" / "gateway.pem", home / "keys" / "gateways.pem")
        broker = await start(home, free_port(), "broker", "--json", MCPIST_DRAIN_DELAY="2")
        ready = f"{broker.ready['broker_url']}/readyz"
        assert await _get_status(ready) == 200
        broker.process.send_signal(signal.SIGTERM)
        while await _get_status(ready) != 503:
            pass
        assert await broker.wait() == 0


async def _get_status(url: str) -> int:
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return answer.status


async def test_metrics_have_a_port_of_their_own(home: Path) -> None:
    port = free_port()
    async with (
        running(home, MCPIST_METRICS_PORT=str(port)),
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{port}/metrics") as response,
    ):
        text = await response.text()
    assert "mcpist_build_info" in text
    assert "mcpist_database_up 1.0" in text


async def test_postgres_dies_under_a_live_product(home: Path) -> None:
    """Requests meanwhile get a clear error; then it works again without help."""
    async with running(home) as product:
        token = json.loads(await created_token(home, product.port))["token"]
        async with client(product.url, token) as caller:
            await caller.call("read_graph")
            os.kill(product.postmaster(), signal.SIGKILL)
            texts = await until_it_works(caller)
    for text in texts:
        assert "503" in text or "database is unavailable" in text, text


async def until_it_works(caller) -> list[str]:
    """What the caller was told while the database was away."""
    told: list[str] = []
    async with asyncio.timeout(30):
        while True:
            try:
                await caller.call("read_graph")
            except Exception as error:  # noqa: BLE001 whatever it is stands in the list that the test looks at
                told.append(str(error))
                await asyncio.sleep(0.02)
            else:
                return told


async def created_token(home: Path, port: int) -> bytes:
    process = await create_forked_process(
        str(MCPIST), "token", "create", "--user", "admin@localhost", "--json",
        env=environment(home, port), stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, _ = await process.communicate()
    hear_command(("token", "create"), out, b"")
    return out


async def fails(home: Path, port: int) -> tuple[int | None, str, str]:
    process = await create_forked_process(
        str(MCPIST), "up", "--json", env=environment(home, port),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    async with asyncio.timeout(30):
        out, err = await process.communicate()
    hear_command(("up",), out, err)
    return process.returncode, out.decode(), err.decode()
