"""A load balancer without affinity: each connection goes to the next gateway, or past one that does not listen."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Sequence


@contextlib.asynccontextmanager
async def round_robin(port: int, backends: Sequence[int]) -> AsyncIterator[None]:
    """Listen on a loopback port for as long as the block lasts; `backends` are loopback ports."""
    turns = itertools.count()
    running: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        try:
            await _relay(reader, writer, backends, next(turns))
        finally:
            running.discard(task)
            await _closed(writer)

    server = await asyncio.start_server(accept, "127.0.0.1", port)
    try:
        yield
    finally:
        server.close()
        async with asyncio.timeout(10):  # clients have closed by now; a cancelled connect would leak its socket
            await asyncio.gather(*running, return_exceptions=True)


async def _relay(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, backends: Sequence[int], turn: int
) -> None:
    for offset in range(len(backends)):
        try:
            there, back = await asyncio.open_connection("127.0.0.1", backends[(turn + offset) % len(backends)])
            break
        except OSError:
            continue
    else:
        return
    pumps = [asyncio.create_task(_pump(reader, back)), asyncio.create_task(_pump(there, writer))]
    try:
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)
        await _closed(back)


async def _closed(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
