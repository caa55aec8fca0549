"""A loopback proxy that adds `Authorization`, for clients that cannot be given a token.

It works on bytes: whatever the client sends reaches the gateway as it was (odd header spelling, blanks around values,
foreign Host and Origin), and answers are passed on as they come. Only the proxy's own address is replaced by the
gateway's in Host and Origin, as if the client had called the gateway. One request a connection, so that no second
request head has to be found in the stream.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import urlsplit

_DROPPED = (b"authorization:", b"connection:")
_ADDRESSED = (b"host:", b"origin:")
_CHUNK = 65536


@dataclass(frozen=True, slots=True)
class ProxiedExchange:
    """What the client has sent and what it was answered, until either has left."""

    request: bytearray = field(default_factory=bytearray)
    answer: bytearray = field(default_factory=bytearray)


@contextlib.asynccontextmanager
async def auth_proxy(url: str, token: str, record: list[ProxiedExchange] | None = None) -> AsyncIterator[str]:
    """The address under which `url` can be reached without a token, while the context is open. `record` gets what
    passes, one exchange for each request."""
    target = urlsplit(url)
    assert target.port is not None, "name the gateway's port"
    handler = partial(_serve, target.netloc, token, record)
    server = await asyncio.start_server(handler, "127.0.0.1", 0)
    async with server:
        own: str = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield target._replace(netloc=own).geturl()


async def _serve(
    target: str,
    token: str,
    record: list[ProxiedExchange] | None,
    client: asyncio.StreamReader,
    answer: asyncio.StreamWriter,
) -> None:
    host, _, port = target.rpartition(":")
    async with contextlib.AsyncExitStack() as stack:
        stack.callback(answer.close)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            head = await client.readuntil(b"\r\n\r\n")
            exchange = ProxiedExchange(bytearray(head))
            if record is not None:
                record.append(exchange)
            gateway, request = await asyncio.open_connection(host, int(port))
            stack.callback(request.close)
            own = "{}:{}".format(*answer.get_extra_info("sockname")[:2])
            request.write(_rewritten(head, own.encode(), target.encode(), token.encode()))
            await _until_either_ends(_copy(client, request, exchange.request), _copy(gateway, answer, exchange.answer))


def _rewritten(head: bytes, own: bytes, target: bytes, token: bytes) -> bytes:
    lines = [line for line in head[:-4].split(b"\r\n") if not line.lower().startswith(_DROPPED)]
    lines = [line.replace(own, target) if line.lower().startswith(_ADDRESSED) else line for line in lines]
    return b"\r\n".join([*lines, b"Connection: close", b"Authorization: Bearer " + token]) + b"\r\n\r\n"


async def _until_either_ends(*copies: Coroutine[Any, Any, None]) -> None:
    """The gateway closes after its answer, a client that gives up closes early: the other side is told at once."""
    tasks = [asyncio.ensure_future(copy) for copy in copies]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter, copied: bytearray) -> None:
    while data := await source.read(_CHUNK):
        sink.write(data)
        copied += data
        await sink.drain()
