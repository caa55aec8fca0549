"""Servers of the tests' own processes lose no connection at their end.

asyncio's server loses one that it has accepted and not begun to serve when it is closed (python/cpython#109564): an
assertion fails, and the socket is closed by the garbage collector, whose warning fails whichever test that runs in.
The product's own server takes care itself (core/http_server/server.py).
"""

import socket
from asyncio.selector_events import BaseSelectorEventLoop
from typing import Any

import pytest

_begin = BaseSelectorEventLoop._accept_connection2  # pyright: ignore[reportAttributeAccessIssue]


async def _begin_unless_closed(
    loop: Any, factory: Any, connection: socket.socket, extra: Any, context: Any = None, server: Any = None, *more: Any
) -> None:
    if server is not None and not server.sockets:
        connection.close()
        return
    await _begin(loop, factory, connection, extra, context, server, *more)


def pytest_configure(config: pytest.Config) -> None:
    BaseSelectorEventLoop._accept_connection2 = _begin_unless_closed  # pyright: ignore[reportAttributeAccessIssue]


def pytest_unconfigure(config: pytest.Config) -> None:
    BaseSelectorEventLoop._accept_connection2 = _begin  # pyright: ignore[reportAttributeAccessIssue]
