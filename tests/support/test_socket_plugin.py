"""Servers of tests close what they have accepted, in whichever turn of the loop they end; no TLS connection outlives
its loop."""

import asyncio
import contextlib
import gc
import socket
import ssl
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import web

from tests.support.certificates import self_signed

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


def test_a_tls_connection_whose_other_end_says_nothing(tmp_path: Path) -> None:
    certificate = self_signed(tmp_path)

    async def close_one(port: int) -> None:
        transport, _ = await asyncio.get_running_loop().create_connection(
            asyncio.Protocol, "127.0.0.1", port, ssl=certificate.client()
        )
        transport.close()

    with silent_tls_server(certificate.server()) as port:
        with asyncio.Runner() as runner:
            runner.run(close_one(port))
        assert collect_lost() == []


@contextlib.contextmanager
def silent_tls_server(context: ssl.SSLContext) -> Iterator[int]:
    """A port where one connection is made and nothing more is read or said."""
    ended = threading.Event()

    def serve() -> None:
        connection, _ = listener.accept()
        with context.wrap_socket(connection, server_side=True):
            ended.wait(10)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        ended.set()
        thread.join(10)


async def pass_turns(turns: int) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)


async def find_lost() -> list[str]:
    """The transports that the garbage collector has to close."""
    await pass_turns(TURNS)
    return collect_lost()


def collect_lost() -> list[str]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        gc.collect()
    return [str(one.message) for one in seen if one.category is ResourceWarning]
