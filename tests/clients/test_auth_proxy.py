"""The proxy that gives tools without a token option their token changes nothing else."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from tests.support.auth_proxy import auth_proxy


class Target:
    """A server that keeps the request it got and sends its answer when it is told to."""

    def __init__(self) -> None:
        self.head = b""
        self.parts: asyncio.Queue[bytes] = asyncio.Queue()
        self.left = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.head = await reader.readuntil(b"\r\n\r\n")
        watch = asyncio.ensure_future(reader.read())
        watch.add_done_callback(lambda _: self.left.set())
        while part := await self.parts.get():
            writer.write(part)
        watch.cancel()
        writer.close()


@contextlib.asynccontextmanager
async def proxied(target: Target) -> AsyncIterator[tuple[str, str]]:
    """The addresses (host:port) of the target and of the proxy in front of it."""
    async with await asyncio.start_server(target.serve, "127.0.0.1", 0) as server:
        own = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with auth_proxy(f"http://{own}/mcp", "secret-1") as url:
            yield own, url.removeprefix("http://").removesuffix("/mcp")


async def send(address: str, *lines: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, port = address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write("\r\n".join([*lines, "", ""]).encode())
    return reader, writer


async def test_the_request_is_the_clients_own_with_a_token() -> None:
    target = Target()
    async with asyncio.timeout(10), proxied(target) as (own, proxy):
        lines = ["POST /mcp HTTP/1.1", f"Host: {proxy}", f"Origin: http://{proxy}", "MCP-METHOD:   ping  "]
        reader, writer = await send(proxy, *lines, "Connection: keep-alive")
        for part in (b"HTTP/1.1 204 No Content\r\n\r\n", b""):
            target.parts.put_nowait(part)
        assert (await reader.read()).startswith(b"HTTP/1.1 204")
        writer.close()
    kept = ["POST /mcp HTTP/1.1", f"Host: {own}", f"Origin: http://{own}", "MCP-METHOD:   ping  "]
    added = ["Connection: close", "Authorization: Bearer secret-1", "", ""]
    assert target.head.decode().split("\r\n") == [*kept, *added]


async def test_a_foreign_host_and_origin_reach_the_gateway() -> None:
    target = Target()
    async with asyncio.timeout(10), proxied(target) as (_, proxy):
        lines = ["GET /mcp HTTP/1.1", "Host: evil.example.com", "Origin: http://evil.example.com"]
        reader, writer = await send(proxy, *lines)
        target.parts.put_nowait(b"")
        await reader.read()
        writer.close()
    assert b"\r\nHost: evil.example.com\r\nOrigin: http://evil.example.com\r\n" in target.head


async def test_a_stream_arrives_as_it_is_sent_and_ends_with_the_client() -> None:
    target = Target()
    async with asyncio.timeout(10), proxied(target) as (_, proxy):
        reader, writer = await send(proxy, "POST /mcp HTTP/1.1", f"Host: {proxy}")
        for part in (b"first", b"second"):
            target.parts.put_nowait(part)
            assert await reader.readexactly(len(part)) == part
        writer.close()
        await target.left.wait()
        target.parts.put_nowait(b"")
