"""A relay between a client and a server that, when told to, gives the last answer once more while nobody asks."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field


@dataclass
class ShiftingRelay:
    """`port` is its own. `connections` counts those that were made."""

    target: int
    port: int = 0
    connections: int = 0
    _last: bytes = b""
    _clients: list[asyncio.StreamWriter] = field(default_factory=list)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def repeat(self) -> None:
        """Send what the server sent last, once more, on every open connection."""
        for client in self._clients:
            if not client.is_closing():
                client.write(self._last)
                await client.drain()
        await asyncio.sleep(0.05)  # until it has arrived, on this machine

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._clients.append(writer)
        upstream_reader, upstream = await asyncio.open_connection("127.0.0.1", self.target)
        answers = asyncio.create_task(self._answers(upstream_reader, writer))
        self._tasks.add(answers)
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65_536):
                self._last = b""
                upstream.write(data)
                await upstream.drain()
        upstream.close()
        writer.close()

    async def _answers(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65_536):
                self._last += data
                writer.write(data)
                await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def relayed(target: int) -> AsyncIterator[ShiftingRelay]:
    """A relay to a loopback port."""
    relay = ShiftingRelay(target)
    server = await asyncio.start_server(relay.serve, "127.0.0.1", 0)
    relay.port = server.sockets[0].getsockname()[1]
    async with server:
        yield relay
        for client in relay._clients:
            client.close()
