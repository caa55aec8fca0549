"""An answer of one piece leaves in one write; every other one as uvicorn sends it."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import pytest
import uvicorn

from gateway.http_protocol import BoundedHttp

Send = Callable[[Any], Awaitable[None]]
LENGTH_2 = (b"content-length", b"2")


class Counting(BoundedHttp):
    """Remembers what is written, and in which pieces."""

    writes: list[bytes]

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.transport = _Counted(transport, self.writes)  # type: ignore[assignment]


class _Counted:
    def __init__(self, transport: Any, writes: list[bytes]) -> None:
        self._transport = transport
        self._writes = writes

    def write(self, data: bytes) -> None:
        self._writes.append(data)
        self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


@contextlib.asynccontextmanager
async def served(answer: Callable[[Send], Awaitable[None]]) -> AsyncGenerator[tuple[int, list[bytes]]]:
    async def application(scope: Any, receive: Any, send: Any) -> None:
        await answer(send)

    class Protocol(Counting):
        writes: list[bytes] = []  # noqa: RUF012

    config = uvicorn.Config(
        application, port=0, http=Protocol, lifespan="off", ws="none", log_config=None, server_header=False
    )
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    async with asyncio.timeout(10):
        while not server.started:
            await asyncio.sleep(0.005)
    try:
        yield server.servers[0].sockets[0].getsockname()[1], Protocol.writes
    finally:
        server.should_exit = True
        await task


async def exchange(port: int, method: str = "GET", times: int = 1, head: str = "") -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    request = f"{method} / HTTP/1.1\r\nhost: x\r\n{head}"
    writer.write(f"{request}\r\n".encode() * (times - 1) + f"{request}connection: close\r\n\r\n".encode())
    async with asyncio.timeout(10):
        got = await reader.read()
    writer.close()
    return got


def start(*headers: tuple[bytes, bytes], status: int = 200) -> dict[str, Any]:
    return {"type": "http.response.start", "status": status, "headers": list(headers)}


def body(data: bytes = b"ok", *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.response.body", "body": data, "more_body": more}


async def whole(send: Send) -> None:
    await send(start(LENGTH_2, (b"x-own", b"1")))
    await send(body())


async def test_one_write_with_all_that_uvicorn_says() -> None:
    async with served(whole) as (port, writes):
        got = await exchange(port)
    assert writes == [got]
    head, _, content = got.partition(b"\r\n\r\n")
    assert content == b"ok"
    assert head.startswith(b"HTTP/1.1 200 OK\r\ndate: ")
    assert head.endswith(b"\r\ncontent-length: 2\r\nx-own: 1\r\nconnection: close")


async def test_pipelined_requests_are_answered_in_turn() -> None:
    async with served(whole) as (port, writes):
        got = await exchange(port, times=3)
    assert (len(writes), got.count(b"\r\n\r\nok")) == (3, 3)
    assert got.count(b"connection: close") == 1


async def test_an_answer_to_head_has_no_body() -> None:
    async with served(whole) as (port, _):
        got = await exchange(port, "HEAD")
    assert b"content-length: 2\r\n" in got
    assert got.endswith(b"\r\n\r\n")


async def in_pieces(send: Send) -> None:
    await send(start())
    await send(body(b"o", more=True))
    await send(body(b"k"))


async def after_closing(send: Send) -> None:
    await send(start(LENGTH_2, (b"connection", b"close")))
    await send(body())


@pytest.mark.parametrize(
    ("answer", "end"), [(in_pieces, b"1\r\no\r\n1\r\nk\r\n0\r\n\r\n"), (after_closing, b"\r\n\r\nok")]
)
async def test_what_is_left_to_uvicorn(answer: Callable[[Send], Awaitable[None]], end: bytes) -> None:
    async with served(answer) as (port, writes):
        got = await exchange(port)
    assert got.startswith(b"HTTP/1.1 200 OK\r\n")
    assert got.endswith(end)
    assert got.count(b"connection: close") == 1
    assert len(writes) > 1


async def raising(send: Send) -> None:
    await send(start(LENGTH_2))
    raise RuntimeError


async def without_a_body(send: Send) -> None:
    await send(start(LENGTH_2))


@pytest.mark.parametrize("value", [b"1\r\nset-cookie: x", b"1\nx: y", b"1\rx", b"1\0"])
async def test_a_value_keeps_to_its_line(value: bytes) -> None:
    async def split(send: Send) -> None:
        await send(start(LENGTH_2, (b"x-own", value)))
        await send(body())

    async with served(split) as (port, _):
        got = await exchange(port)
    assert b"set-cookie" not in got
    assert b"\r\n\r\nok" not in got


@pytest.mark.parametrize("answer", [raising, without_a_body])
async def test_an_application_that_fails_after_its_head(answer: Callable[[Send], Awaitable[None]]) -> None:
    async with served(answer) as (port, _):
        got = await exchange(port)
    assert got.startswith(b"HTTP/1.1 500 ")
    assert got.endswith(b"Internal Server Error")


async def test_a_wrong_length_is_no_answer() -> None:
    async def longer(send: Send) -> None:
        await send(start(LENGTH_2))
        await send(body(b"smuggled"))

    async with served(longer) as (port, _):
        assert b"smuggled" not in await exchange(port)


async def test_a_second_answer_is_not_sent() -> None:
    async def twice(send: Send) -> None:
        await whole(send)
        await whole(send)

    async with served(twice) as (port, _):
        got = await exchange(port)
    assert got.count(b"HTTP/1.1") == 1
