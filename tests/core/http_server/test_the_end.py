"""The end of a server ends every connection, one that is being accepted in that moment, too."""

import asyncio
import socket
from asyncio.selector_events import BaseSelectorEventLoop
from typing import Any

import pytest

from core.http_server.server import HttpServer, IsBusier, run_http_server
from tests.support.socket_plugin import ACCEPT_AS_ASYNCIO

TURNS = 6
"""Of the event loop: more than it takes to accept a connection."""


async def never_answer(_scope: Any, _receive: Any, _send: Any) -> None:
    raise AssertionError("nothing is asked")


@pytest.mark.parametrize("is_busier", [None, lambda _: False], ids=["alone", "shared"])
@pytest.mark.parametrize("turns", range(TURNS))
async def test_a_connection_that_is_being_accepted(
    turns: int, is_busier: IsBusier | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BaseSelectorEventLoop, "_accept_connection2", ACCEPT_AS_ASYNCIO)  # without the tests' remedy
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as client:
        server = HttpServer(never_answer)
        async with run_http_server(server, listener, is_busier):
            client.connect(listener.getsockname())
            for _ in range(turns):
                await asyncio.sleep(0)
        listener.close()
        client.setblocking(False)
        try:
            async with asyncio.timeout(5):
                assert await asyncio.get_running_loop().sock_recv(client, 1) == b""
        except ConnectionResetError:
            pass
        assert len(server) == 0
