"""Connections of the tests' own processes are closed when their test ends.

asyncio leaves two kinds open, which the garbage collector closes in some later test, with a warning that fails it:

* a connection that a server has accepted and not begun to serve when it is closed (python/cpython#109564). The
  product's own server takes care itself (core/http_server/server.py);
* a TLS connection that was closed and waits for the other end's goodbye, for up to 30 s (``ssl_shutdown_timeout``).
  asyncpg closes one so after a login that is refused, and nobody else knows of it.
"""

import asyncio
import socket
from asyncio.selector_events import BaseSelectorEventLoop
from asyncio.sslproto import SSLProtocol, SSLProtocolState
from typing import Any

import pytest

_Loop: Any = BaseSelectorEventLoop
ACCEPT_AS_ASYNCIO = _Loop._accept_connection2
_close = _Loop.close
_SAYS_GOODBYE = (SSLProtocolState.FLUSHING, SSLProtocolState.SHUTDOWN)


async def _begin_unless_closed(
    loop: Any, factory: Any, connection: socket.socket, extra: Any, context: Any = None, server: Any = None, *more: Any
) -> None:
    if server is not None and not server.sockets:
        connection.close()
        return
    await ACCEPT_AS_ASYNCIO(loop, factory, connection, extra, context, server, *more)


def _close_without_goodbye(loop: Any) -> None:
    if not loop.is_closed() and not loop.is_running():
        waiting = [one for one in loop._transports.values() if _waits_for_goodbye(one)]
        for transport in waiting:
            transport.abort()
        if waiting:
            loop.run_until_complete(asyncio.sleep(0))
    _close(loop)


def _waits_for_goodbye(transport: Any) -> bool:
    protocol = transport.get_protocol()
    return isinstance(protocol, SSLProtocol) and getattr(protocol, "_state", None) in _SAYS_GOODBYE


def pytest_configure(config: pytest.Config) -> None:
    _Loop._accept_connection2, _Loop.close = _begin_unless_closed, _close_without_goodbye


def pytest_unconfigure(config: pytest.Config) -> None:
    _Loop._accept_connection2, _Loop.close = ACCEPT_AS_ASYNCIO, _close
