"""An application on a loopback socket, served as the product serves it, and raw connections to it."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Callable
from typing import Any

from core.http.trusted_proxies import TrustedProxies
from core.http_server.http_limits import HttpLimits
from core.http_server.server import NO_PROXIES, HttpServer, run_http_server


@contextlib.asynccontextmanager
async def served(
    app: Any,
    *,
    limits: HttpLimits | None = None,
    proxies: TrustedProxies = NO_PROXIES,
    clock: Callable[[], float] | None = None,
) -> AsyncGenerator[tuple[HttpServer, int]]:
    """The server and its port."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = HttpServer(app, limits=limits, proxies=proxies, clock=clock)
    async with run_http_server(server, listener):
        yield server, listener.getsockname()[1]


class RawClient:
    """A connection that sends whatever bytes it is given."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, *parts: bytes) -> None:
        """Send each part in a segment of its own."""
        for part in parts:
            self.writer.write(part)
            await self.writer.drain()
            await asyncio.sleep(0)  # the server's side gets its turn, so that it reads the parts apart

    async def receive(self, end: bytes = b"", seconds: float = 10.0) -> bytes:
        """What comes up to `end`, or until the connection ends."""
        async with asyncio.timeout(seconds):
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                return await self.reader.readuntil(end) if end else await self.reader.read()
        return b""

    async def has_ended(self, seconds: float = 5.0) -> bool:
        """Whether the server ends the connection; what it still sends is read."""
        with contextlib.suppress(TimeoutError):
            await self.receive(seconds=seconds)
            return True
        return False


@contextlib.asynccontextmanager
async def connected(port: int, address: str = "127.0.0.1") -> AsyncGenerator[RawClient]:
    """A raw connection from `address`, one of this machine's 127.0.0.0/8."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        yield RawClient(reader, writer)
    finally:
        writer.close()


async def exchange(port: int, *parts: bytes, seconds: float = 10.0) -> bytes:
    """All that comes on one connection after `parts` were sent."""
    async with connected(port) as client:
        with contextlib.suppress(ConnectionError):
            await client.send(*parts)
        return await client.receive(seconds=seconds)
