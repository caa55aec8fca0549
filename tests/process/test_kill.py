"""Kill -9 under write load: the next start works, and no acknowledged write and no durable record is lost."""

import asyncio
import contextlib
import itertools
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp
import pytest

from tests.support.running_product import Client, Product, ToolFailed, client, command, data_folder, free_port, start

WRITERS = 6
NUMBERS = itertools.count()


async def write_until_it_breaks(
    caller: Client, acknowledged: set[str], enough: asyncio.Event, killed: asyncio.Event
) -> None:
    """Create entities one after the other; a name is acknowledged once its answer is here."""
    with contextlib.suppress(aiohttp.ClientError, ToolFailed, TimeoutError):
        while not killed.is_set():
            name = f"e{next(NUMBERS)}"
            await caller.call("create_entities", entities=[{"name": name, "entityType": "t", "observations": ["o"]}])
            acknowledged.add(name)
            if len(acknowledged) >= 60:
                enough.set()


async def kill_product(product: Product) -> None:
    product.process.kill()
    await product.wait()


async def kill_postgres(product: Product) -> None:
    """Kill the postmaster, and wait for the next one.

    A backend outlives its postmaster by some milliseconds. An answer from one would end `recovered` too early.
    """
    killed = product.postmaster()
    os.kill(killed, signal.SIGKILL)
    async with asyncio.timeout(30):
        while not has_new_postmaster(product, killed):
            await asyncio.sleep(0.05)


def has_new_postmaster(product: Product, killed: int) -> bool:
    with contextlib.suppress(StopIteration, FileNotFoundError, IndexError):  # the file is gone, then empty, then new
        return product.postmaster() != killed
    return False


async def kill_both(product: Product) -> None:
    os.kill(product.postmaster(), signal.SIGKILL)
    await kill_product(product)


async def all_names(caller: Client) -> set[str]:
    names: set[str] = set()
    cursor = None
    while True:
        page = await caller.call("read_graph", limit=100, **({"cursor": cursor} if cursor else {}))
        names |= {entity["name"] for entity in page["entities"]}
        cursor = page.get("nextCursor")
        if not cursor:
            return names


async def recovered(caller: Client) -> set[str]:
    """All names, as soon as the product answers again."""
    async with asyncio.timeout(30):
        while True:
            with contextlib.suppress(aiohttp.ClientError, ToolFailed):
                return await all_names(caller)
            await asyncio.sleep(0.05)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("kill", [kill_product, kill_postgres, kill_both])
async def test_no_acknowledged_write_is_lost(kill: Callable[[Product], Awaitable[None]]) -> None:
    with data_folder() as home:
        port = free_port()
        await rounds(home, port, kill, 2)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kill", [kill_product, kill_postgres, kill_both])
async def test_no_acknowledged_write_is_lost_however_often(kill: Callable[[Product], Awaitable[None]]) -> None:
    with data_folder() as home:
        await rounds(home, free_port(), kill, 12)


async def rounds(home: Path, port: int, kill: Callable[[Product], Awaitable[None]], count: int) -> None:
    product = await start(home, port)
    token = product.ready["api_token"]
    acknowledged: set[str] = set()
    try:
        for _ in range(count):
            acknowledged |= await one_round(product, token, kill)
            if product.process.returncode is not None:
                product = await start(home, port)
                assert "api_token" not in product.ready
            async with client(product.url, token) as caller:
                assert acknowledged <= await recovered(caller)
        await assert_recorded(home, port, len(acknowledged))
    finally:
        if product.process.returncode is None:
            assert await product.end() == 0


async def one_round(product: Product, token: str, kill: Callable[[Product], Awaitable[None]]) -> set[str]:
    acknowledged: set[str] = set()
    enough, killed = asyncio.Event(), asyncio.Event()
    async with client(product.url, token) as caller:
        work = (write_until_it_breaks(caller, acknowledged, enough, killed) for _ in range(WRITERS))
        writers = [asyncio.create_task(writing) for writing in work]
        async with asyncio.timeout(30):
            await enough.wait()
        await kill(product)
        killed.set()
        await asyncio.gather(*writers)
    return acknowledged


async def assert_recorded(home: Path, port: int, writes: int) -> None:
    """Every acknowledged write has its record, and the chain holds."""
    found, cursor = 0, None
    while True:
        more = ["--cursor", cursor] if cursor else []
        page = await command(home, port, "audit", "--tool", "create_entities", "--limit", "500", *more)
        found += len(page["items"])
        cursor = page.get("next_cursor")
        if not cursor:
            break
    assert found >= writes
    assert all(chain["ok"] for chain in await command(home, port, "audit", "verify"))
