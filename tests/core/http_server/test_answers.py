"""How an application's answer leaves, and that it cannot become two."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.support.http_server import connected, exchange, served

Send = Callable[[Any], Awaitable[None]]
LENGTH_2 = (b"content-length", b"2")
CLOSE = b"Connection: close\r\n\r\n"


def application(answer: Callable[[Send], Awaitable[None]]) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await answer(send)

    return app


def start(*headers: tuple[bytes, bytes], status: int = 200) -> dict[str, Any]:
    return {"type": "http.response.start", "status": status, "headers": list(headers)}


def body(data: bytes = b"ok", *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.response.body", "body": data, "more_body": more}


async def ask(
    answer: Callable[[Send], Awaitable[None]], method: bytes = b"GET", version: bytes = b"1.1", fields: bytes = CLOSE
) -> bytes:
    async with served(application(answer)) as (_, port):
        return await exchange(port, method + b" / HTTP/" + version + b"\r\nHost: x\r\n" + fields)


async def whole(send: Send) -> None:
    await send(start(LENGTH_2, (b"x-own", b"1")))
    await send(body())


async def in_pieces(send: Send) -> None:
    await send(start())
    await send(body(b"o", more=True))
    await send(body(b"k"))


async def test_an_answer_of_one_piece() -> None:
    head, _, content = (await ask(whole)).partition(b"\r\n\r\n")
    assert content == b"ok"
    assert head.startswith(b"HTTP/1.1 200 OK\r\ndate: ")
    assert head.endswith(b"\r\ncontent-length: 2\r\nx-own: 1\r\nconnection: close")


async def test_an_answer_of_unknown_length() -> None:
    got = await ask(in_pieces)
    assert b"transfer-encoding: chunked\r\n" in got
    assert got.endswith(b"1\r\no\r\n1\r\nk\r\n0\r\n\r\n")
    old = await ask(in_pieces, version=b"1.0", fields=b"\r\n")
    assert old.endswith(b"connection: close\r\n\r\nok")
    assert b"chunked" not in old


async def test_an_answer_to_head_has_no_body() -> None:
    for answer in (whole, in_pieces):
        got = await ask(answer, b"HEAD")
        assert got.endswith(b"\r\n\r\n")
        assert got.count(b"\r\n\r\n") == 1


async def test_statuses_without_a_body() -> None:
    async def nothing(send: Send) -> None:
        await send(start(status=204))
        await send(body(b""))

    got = await ask(nothing)
    assert got.startswith(b"HTTP/1.1 204 No Content\r\n")
    assert b"chunked" not in got
    assert got.endswith(b"\r\n\r\n")


async def closes(send: Send) -> None:
    await send(start(LENGTH_2, (b"connection", b"close")))
    await send(body())


async def test_an_application_ends_the_connection() -> None:
    got = await ask(closes, fields=b"\r\n")
    assert got.count(b"connection: close") == 1


async def raises(send: Send) -> None:
    await send(start(LENGTH_2))
    raise RuntimeError("secret text")


async def leaves(send: Send) -> None:
    await send(start(LENGTH_2))


async def says_nothing(send: Send) -> None:
    pass


@pytest.mark.parametrize("answer", [raises, leaves, says_nothing])
async def test_an_application_that_fails_before_its_body(answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    got = await ask(answer)
    assert got.startswith(b"HTTP/1.1 500 ")
    assert got.endswith(b'{"error":"Internal Server Error"}')
    assert "secret text" not in caplog.text + got.decode()


async def test_an_application_that_fails_in_the_middle_ends_the_connection() -> None:
    async def half(send: Send) -> None:
        await send(start(LENGTH_2))
        await send(body(b"o", more=True))
        raise RuntimeError

    assert (await ask(half)).endswith(b"\r\n\r\no")


@pytest.mark.parametrize("value", [b"1\r\nset-cookie: x", b"1\nx: y", b"1\rx", b"1\0"])
async def test_a_value_keeps_to_its_line(value: bytes) -> None:
    async def split(send: Send) -> None:
        await send(start(LENGTH_2, (b"x-own", value)))
        await send(body())

    got = await ask(split)
    assert got.startswith(b"HTTP/1.1 500 ")
    assert b"set-cookie" not in got


@pytest.mark.parametrize("pieces", [[b"smuggled"], [b"o"], [b"o", b"kk"], [b"o", b""]])
async def test_a_wrong_length_is_no_answer(pieces: list[bytes]) -> None:
    async def wrong(send: Send) -> None:
        await send(start(LENGTH_2))
        for left, piece in zip(reversed(range(len(pieces))), pieces, strict=True):
            await send(body(piece, more=left > 0))

    got = await ask(wrong)
    assert b"smuggled" not in got
    assert not got.endswith((b"okk", b"ok"))


async def test_a_second_answer_is_not_sent() -> None:
    async def twice(send: Send) -> None:
        await whole(send)
        await whole(send)

    assert (await ask(twice)).count(b"HTTP/1.1") == 1


async def test_an_application_hears_that_its_client_has_gone() -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        heard.put_nowait((await receive())["type"])
        heard.put_nowait((await receive())["type"])
        await send(start(LENGTH_2))  # goes nowhere, and harms nobody
        await send(body())

    async with served(app) as (_, port):
        async with connected(port) as client:
            await client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert await asyncio.wait_for(heard.get(), 5) == "http.request"
        assert await asyncio.wait_for(heard.get(), 5) == "http.disconnect"


async def test_a_stream_waits_for_its_reader() -> None:
    sent = 0

    async def stream(scope: Any, receive: Any, send: Any) -> None:
        nonlocal sent
        await send(start())
        for _ in range(1_000):
            await send(body(b"x" * 65_536, more=True))
            sent += 1
        await send(body(b""))

    async with served(stream) as (server, port), connected(port) as client:
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await client.send(b"GET / HTTP/1.1\r\nHost: x\r\n" + CLOSE)
        before = -1
        while sent != before:
            before = sent
            await asyncio.sleep(0.1)
        assert sent < 500
        assert server.buffered[1] < 2**20
        client.writer.transport.resume_reading()  # type: ignore[attr-defined]
        assert len(await client.receive(seconds=30)) > 1_000 * 65_536
    assert sent == 1_000
