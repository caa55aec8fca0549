"""A running deployment that a real Prometheus watches with the product's rules."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp

from tests.support.postgres import ScratchDatabase
from tests.support.prometheus_server import PrometheusServer, running_prometheus
from tests.support.running_product import free_port
from tests.support.split import Process, Split, add_console, running, show_metrics, split_on

HURRY = {"SWEEP_EVERY": "0.3", "FIGURES_EVERY": "0.3"}
PAUSE = 0.05


@contextlib.asynccontextmanager
async def watched(
    database: ScratchDatabase, folder: Path, *, console: bool = False, slow: bool = False, **options: Any
) -> AsyncIterator[tuple[Split, PrometheusServer]]:
    """A broker, a gateway and, with `console`, a control plane; no alert fires. `slow` is that of `running_prometheus`,
    `options` are those of `split_on`."""
    options["variables"] = HURRY | options.get("variables", {})
    async with contextlib.AsyncExitStack() as stack:
        deployment = await stack.enter_async_context(
            split_on(database, folder, gateways=1, prepare=show_metrics, **options)
        )
        processes = {"broker": deployment.broker, "gateway": deployment.gateways[0]}
        if console:
            processes["console"] = await stack.enter_async_context(_running_console(deployment, folder))
        ports = {name: process.metrics_port for name, process in processes.items()}
        prometheus = await stack.enter_async_context(running_prometheus(ports, slow=slow))
        await prometheus.is_calm()
        yield deployment, prometheus


@contextlib.asynccontextmanager
async def _running_console(deployment: Split, folder: Path) -> AsyncIterator[Process]:
    process = add_console(deployment, folder, MCPIST_METRICS_PORT=str(free_port()))
    await deployment.broker.end()
    await deployment.broker.start()
    async with running([process]):
        yield process


@contextlib.asynccontextmanager
async def repeated(action: Callable[[], Awaitable[object]]) -> AsyncIterator[None]:
    """Do something again and again until the block ends, whatever comes of it."""

    async def repeat() -> None:
        while True:
            with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                await action()
            await asyncio.sleep(PAUSE)

    task = asyncio.create_task(repeat())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def get_readiness(process: Process) -> dict[str, str]:
    """What /readyz says of each part."""
    url = f"http://127.0.0.1:{process.port}/readyz"
    async with aiohttp.ClientSession() as http, http.get(url) as answer:
        return {one["name"]: one["state"] for one in (await answer.json())["components"]}
