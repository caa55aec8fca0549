"""What a hostile connection may do before its request is even whole."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator
from typing import Any

import uvicorn

from gateway.http_protocol import BODY_SECONDS, HEAD_SECONDS, BoundedHttp, close_slow

REQUEST = b"GET / HTTP/1.1\r\nhost: x\r\n"


async def application(scope, receive, send) -> None:
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@contextlib.asynccontextmanager
async def served(app: Any = application) -> AsyncGenerator[tuple[uvicorn.Server, int]]:
    config = uvicorn.Config(app, port=0, http=BoundedHttp, lifespan="off", ws="none", log_config=None)
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    async with asyncio.timeout(10):
        while not server.started:
            await asyncio.sleep(0.005)
    try:
        yield server, server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await task


async def answer(port: int, *parts: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(10):
            with contextlib.suppress(ConnectionError):
                for part in parts:
                    writer.write(part)
                    await writer.drain()
            with contextlib.suppress(ConnectionError):
                return await reader.read()
    finally:
        writer.close()
    return b""


async def test_a_plain_request_and_a_large_but_allowed_head() -> None:
    async with served() as (_, port):
        assert b"200 OK" in await answer(port, REQUEST + b"connection: close\r\n\r\n")
        assert b"200 OK" in await answer(port, REQUEST + b"x: " + b"a" * 30_000 + b"\r\nconnection: close\r\n\r\n")


async def test_an_endless_head_is_cut_off() -> None:
    async with served() as (server, port):
        got = await answer(port, REQUEST, *[b"x-%d: %s\r\n" % (n, b"a" * 1000) for n in range(60)])
        assert got.startswith((b"HTTP/1.1 431", b""))
        async with asyncio.timeout(5):
            while server.server_state.connections:
                await asyncio.sleep(0.005)


async def test_a_large_body_is_not_taken_for_a_head() -> None:
    async with served() as (_, port):
        head = b"POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 200000\r\n\r\n"
        assert b"200 OK" in await answer(port, head, b"a" * 200_000)


async def test_slow_heads_are_closed_and_others_are_not() -> None:
    async with served() as (server, port):
        silent = await asyncio.open_connection("127.0.0.1", port)
        slow = await asyncio.open_connection("127.0.0.1", port)
        slow[1].write(REQUEST)
        idle = await asyncio.open_connection("127.0.0.1", port)
        idle[1].write(REQUEST + b"\r\n")
        assert b"200 OK" in await idle[0].readuntil(b"ok")
        async with asyncio.timeout(5):
            while len(server.server_state.connections) < 3:
                await asyncio.sleep(0.005)
        assert close_slow(server.server_state.connections, time.monotonic()) == 0
        assert close_slow(server.server_state.connections, time.monotonic() + HEAD_SECONDS + 1) == 2
        async with asyncio.timeout(5):
            for reader, _ in (silent, slow):
                with contextlib.suppress(ConnectionError):
                    assert await reader.read() == b""
        idle[1].write(REQUEST + b"\r\n")
        assert b"200 OK" in await idle[0].readuntil(b"ok")
        for _, writer in (silent, slow, idle):
            writer.close()


async def refusing(scope, receive, send) -> None:
    """Answers before it has read anything, as who refuses a caller does."""
    await send({"type": "http.response.start", "status": 429, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"no"})


async def test_a_body_that_drips_in_after_its_answer_is_cut_off() -> None:
    async with served(refusing) as (server, port):
        dripping = await asyncio.open_connection("127.0.0.1", port)
        dripping[1].write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 4000\r\n\r\nx")
        assert b"429" in await dripping[0].readuntil(b"no")
        whole = await asyncio.open_connection("127.0.0.1", port)
        whole[1].write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\n\r\nx")
        assert b"429" in await whole[0].readuntil(b"no")
        dripping[1].write(b"x")
        assert close_slow(server.server_state.connections, time.monotonic()) == 0
        assert close_slow(server.server_state.connections, time.monotonic() + BODY_SECONDS + 1) == 1
        with contextlib.suppress(ConnectionError):
            assert await dripping[0].read() == b""
        for _, writer in (dripping, whole):
            writer.close()
