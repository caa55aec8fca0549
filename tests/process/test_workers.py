"""`mcpist up --workers N`: several processes on one port behave as one."""

import asyncio
import contextlib
import os
import signal
import urllib.request
from collections import Counter
from collections.abc import AsyncGenerator
from pathlib import Path

import aiohttp
import psutil
import pytest

from tests.support.eventually import within
from tests.support.running_product import MCPIST, Product, client, command, data_folder, environment, free_port, start


@pytest.fixture(scope="module")
def home():
    with data_folder() as folder:
        yield folder


@contextlib.asynccontextmanager
async def running_workers(home: Path, workers: int = 2, **variables: str) -> AsyncGenerator[Product]:
    product = await start(home, free_port(), "up", "--json", "--workers", str(workers), **variables)
    try:
        yield product
    finally:
        if product.process.returncode is None:
            await product.end()


def find_workers(product: Product) -> list[psutil.Process]:
    children = psutil.Process(product.process.pid).children()
    return [child for child in children if "server.workers.process" in child.cmdline()]


async def create_token(product: Product) -> str:
    created = await command(product.home, product.port, "token", "create", "--user", "admin@localhost")
    return created["token"]


async def count_calls(port: int) -> Counter[str]:
    """Finished calls of each worker, by the metrics."""

    def read() -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as response:
            return response.read().decode()

    counts = Counter[str]()
    for line in (await asyncio.to_thread(read)).splitlines():
        if line.startswith("mcpist_calls_total{"):
            counts[line.partition('worker="')[2].partition('"')[0]] += int(float(line.rpartition(" ")[2]))
    return counts


async def call_over_connections(product: Product, token: str, connections: int, calls: int) -> None:
    async with contextlib.AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(client(product.url, token)) for _ in range(connections)]
        for _ in range(calls):
            await asyncio.gather(*(one.call("read_graph") for one in clients))


async def test_connections_are_shared_and_every_worker_is_the_product(home: Path) -> None:
    metrics = free_port()
    async with running_workers(home, 3, MCPIST_METRICS_PORT=str(metrics)) as product:
        assert len(find_workers(product)) == 2
        token = await create_token(product)
        counts = Counter[str]()
        made = 0

        async def is_complete() -> bool:  # a worker that does not answer within a second is left out
            counts.clear()
            counts.update(await count_calls(metrics))
            return sum(counts.values()) == made

        # On a quiet machine each has 5 of the first 15 connections; on a busy one a worker may sleep through them.
        while set(counts) != {"1", "2", "3"} and made < 600:
            await call_over_connections(product, token, 15, 4)
            made += 60
            await within(10, is_complete)
        assert set(counts) == {"1", "2", "3"}, counts
        for _ in range(4):  # the operator's credential is good at whichever worker the command meets
            await command(home, product.port, "user", "list")


@pytest.mark.long
async def test_limits_count_over_all_workers(home: Path) -> None:
    async with running_workers(home, MCPIST_RATE_PER_SECOND="0.01", MCPIST_RATE_BURST="20") as product:
        token = await create_token(product)
        async with aiohttp.ClientSession() as session:

            async def ping() -> int:
                headers = {
                    "Authorization": f"Bearer {token}",
                    "Accept": "application/json, text/event-stream",
                    "Connection": "close",
                }
                message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
                async with session.post(product.url, json=message, headers=headers) as response:
                    return response.status

            statuses = Counter([await ping() for _ in range(40)])
        assert statuses == {200: 20, 429: 20}


async def test_a_killed_worker_is_started_again_while_the_others_answer(home: Path) -> None:
    async with running_workers(home) as product:
        token = await create_token(product)
        killed = find_workers(product)[0].pid
        os.kill(killed, signal.SIGKILL)
        await call_over_connections(product, token, 6, 3)

        async def is_replaced() -> bool:
            return any(worker.pid != killed for worker in find_workers(product))

        await within(20, is_replaced)
        await call_over_connections(product, token, 6, 3)


@pytest.mark.long
async def test_no_worker_outlives_the_first_process(home: Path) -> None:
    async with running_workers(home) as product:
        workers = find_workers(product)
        assert await product.end(signal.SIGKILL) == -signal.SIGKILL
        assert psutil.wait_procs(workers, timeout=20)[1] == []
    async with running_workers(home) as product:  # the folder is free again
        workers = find_workers(product)
        assert await product.end() == 0
        assert not any(worker.is_running() for worker in workers)


@pytest.mark.long
async def test_a_worker_that_cannot_start_ends_the_start(home: Path) -> None:
    """The first process says so, and leaves nothing behind."""
    variables = environment(home, free_port(), MCPIST_WORKERS="2", PYTHONSAFEPATH="1")
    broken = home.with_name("broken")
    broken.mkdir(exist_ok=True)
    (broken / "sitecustomize.py").write_text(
        "import sys\nif '-m' in sys.orig_argv and 'server.workers.process' in sys.orig_argv: sys.exit(3)\n"
    )
    process = await asyncio.create_subprocess_exec(
        str(MCPIST), "up", "--json", env={**variables, "PYTHONPATH": str(broken)},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, err = await asyncio.wait_for(process.communicate(), 60)
    assert (process.returncode, out) == (7, b"")
    assert b"worker 2 could not start" in err
