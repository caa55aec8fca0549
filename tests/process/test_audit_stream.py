"""The stream of the audit log from a real product that is killed while records are under way."""

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.broker.audit_streams.collector_server import SECRET, CollectorServer
from tests.support.running_product import Client, ToolFailed, client, command, data_folder, free_port, start


async def call_until(caller: Client, ended: asyncio.Event) -> None:
    """Let calls happen, which are two records each."""
    with contextlib.suppress(aiohttp.ClientError, ToolFailed, TimeoutError):
        while not ended.is_set():
            await caller.call("read_graph", limit=1)


async def read_stream(home: Path, port: int) -> Any:
    return await command(home, port, "audit", "stream", "show", "--tenant", "default")


@pytest.mark.long
@pytest.mark.timeout(180)
@pytest.mark.guarantee("G15")
async def test_no_record_is_lost_to_a_kill_and_their_order_stays(tmp_path: Path) -> None:
    """It waits 20 seconds for the claim of the killed process; without a process of its own:
    tests/broker/audit_streams."""
    key = tmp_path / "secret"
    key.write_text(SECRET)
    key.chmod(0o600)
    async with CollectorServer() as collector:
        allowed = {"MCPIST_ALLOWED_PRIVATE_HOSTS": f"127.0.0.1:{collector.port}"}
        with data_folder() as home:
            port = free_port()
            product = await start(home, port, **allowed)
            token = product.ready["api_token"]
            await command(
                home, port, "audit", "stream", "set", collector.url, "--from-file", str(key), "--tenant", "default",
                "--from-beginning", **allowed,
            )  # fmt: skip
            ended = asyncio.Event()
            async with client(product.url, token) as caller:
                calling = [asyncio.create_task(call_until(caller, ended)) for _ in range(4)]
                collector.arrived.clear()
                collector.gate.clear()
                async with asyncio.timeout(30):
                    await collector.arrived.wait()
                product.process.kill()  # while the collector holds a request
                await product.wait()
                ended.set()
                await asyncio.gather(*calling)
            collector.gate.set()
            product = await start(home, port, **allowed)
            try:
                async with client(product.url, token) as caller:
                    await caller.call("read_graph", limit=1)
                async with asyncio.timeout(60):
                    while (stand := await read_stream(home, port))["pending"] or not stand["delivered_at"]:
                        await asyncio.sleep(0.5)
            finally:
                assert await product.end() == 0
    assert len(collector.numbers) > 10
    assert collector.numbers == list(range(1, collector.numbers[-1] + 1))
    assert collector.numbers[-1] >= stand["position"]
