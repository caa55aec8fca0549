"""Servers of tests close what they have accepted, in whichever turn of the loop they end."""

import asyncio
import gc
import socket
import warnings

import pytest
from aiohttp import web

TURNS = 6
"""Of the event loop: more than it takes to accept a connection."""


class Greeted(asyncio.Protocol):
    """Closes each connection at its beginning, so that only one that never began can be lost."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


@pytest.mark.parametrize("turns", range(TURNS))
async def test_a_plain_server(turns: int) -> None:
    with socket.socket() as client:
        server = await asyncio.get_running_loop().create_server(Greeted, "127.0.0.1", 0)
        client.connect(server.sockets[0].getsockname())
        await pass_turns(turns)
        server.close()
        assert await find_lost() == []


@pytest.mark.parametrize("turns", range(TURNS))
async def test_a_server_of_aiohttp(turns: int) -> None:
    with socket.socket() as client:
        runner = web.AppRunner(web.Application(), shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        client.connect(runner.addresses[0])
        await pass_turns(turns)
        await runner.cleanup()
        assert await find_lost() == []


async def pass_turns(turns: int) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)


async def find_lost() -> list[str]:
    """The transports that the garbage collector has to close."""
    await pass_turns(TURNS)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        gc.collect()
    return [str(one.message) for one in seen if one.category is ResourceWarning]
