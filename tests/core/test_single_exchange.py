"""One request on a connection of its own, to servers that answer in every odd way."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from core.http.single_exchange import (
    ExchangeError,
    HttpResponse,
    RequestTarget,
    ServerHungUp,
    SingleExchange,
    UnreadableBody,
    connect_first,
)

MOST = 100


@contextlib.asynccontextmanager
async def answering(answer: bytes, heard: list[bytes], *, pieces: int = 1) -> AsyncIterator[int]:
    """A server that reads a head, answers and closes; its port."""

    served = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            heard.append(await reader.readuntil(b"\r\n\r\n"))
            for start in range(0, len(answer), -(-len(answer) // pieces)):
                writer.write(answer[start : start + -(-len(answer) // pieces)])
                await writer.drain()
                await asyncio.sleep(0)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        served.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
        await served.wait()


async def ask(answer: bytes, *, pieces: int = 1, heard: list[bytes] | None = None) -> HttpResponse:
    async with answering(answer, [] if heard is None else heard, pieces=pieces) as port:
        target = RequestTarget.from_url(f"http://server.example.:{port}/a%20b?c=d")
        exchange = await connect_first([(2, "127.0.0.1", port)], target.host, None, lambda: SingleExchange(MOST))
        return await exchange.send("POST", target, {"accept": "x", "X-Own": "1"}, b"{}")


async def test_what_is_sent() -> None:
    heard: list[bytes] = []
    await ask(b"HTTP/1.1 204 No Content\r\n\r\n", heard=heard)
    first, *lines = heard[0].decode().split("\r\n")
    assert first == "POST /a%20b?c=d HTTP/1.1"
    port = lines[2].rpartition(":")[2]
    expected = ["accept: x", "X-Own: 1", f"Host: server.example.:{port}", "Connection: close", "Content-Length: 2"]
    assert lines == [*expected, "", ""]


@pytest.mark.parametrize("pieces", [1, 3, 1000])
@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nA: 1\r\nContent-Length: 5\r\na: 2\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nA: 1\r\na:  2 \r\n\r\nhello",
        b"HTTP/1.0 200 OK\r\nA: 1\r\nA: 2\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nA: 1\r\nA: 2\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nB: trailer\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nA: no\r\n\r\nHTTP/1.1 200 OK\r\nA: 1\r\nA: 2\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nA: 1\r\nA: 2\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 500 Once Too Often\r\n\r\n",
    ],
)
async def test_answers_that_are_read(answer: bytes, pieces: int) -> None:
    response = await ask(answer, pieces=pieces)
    assert (response.status, response.get_header("a"), response.body) == (200, "1, 2", b"hello")
    assert response.get_header("b") == ""


@pytest.mark.parametrize("pieces", [1, 1000])
@pytest.mark.parametrize(
    ("answer", "error", "status"),
    [
        (b"", ServerHungUp, None),
        (b"HTTP/1.1 200 OK\r\nContent-Le", ServerHungUp, None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", ServerHungUp, 200),
        (b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", ServerHungUp, 500),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", ServerHungUp, 200),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", ServerHungUp, None),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 20, ServerHungUp, None),
        (b"220 smtp.example ESMTP\r\n", ServerHungUp, None),
        (b"HTTP/1.1 200 OK\r\nA: " + b"x" * 70_000, ServerHungUp, None),
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello", UnreadableBody, 200),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n" + b"x" * 101, UnreadableBody, 200),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 101, UnreadableBody, 200),
    ],
)
async def test_answers_that_are_none(
    answer: bytes, error: type[ExchangeError], status: int | None, pieces: int
) -> None:
    with pytest.raises(error) as caught:
        await ask(answer, pieces=pieces)
    assert caught.value.status == status


@pytest.mark.parametrize("value", ["a\r\nB: 1", "a\nb", "a\0b", "日本"])
async def test_a_header_keeps_to_its_line(value: str) -> None:
    heard: list[bytes] = []
    async with answering(b"", heard) as port:
        target = RequestTarget.from_url(f"http://127.0.0.1:{port}/")
        exchange = await connect_first([(2, "127.0.0.1", port)], target.host, None, lambda: SingleExchange(MOST))
        with pytest.raises(ValueError):
            await exchange.send("GET", target, {"X-Own": value}, None)
        exchange.abort()
    assert heard == []


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://a.example/x", RequestTarget("a.example", 443, True, "a.example", "/x")),
        ("http://A.example.:8080/x?y=z", RequestTarget("a.example", 8080, False, "A.example.:8080", "/x?y=z")),
        ("https://[::1]:444/", RequestTarget("::1", 444, True, "[::1]:444", "/")),
    ],
)
def test_parts_of_a_url(url: str, expected: RequestTarget) -> None:
    assert RequestTarget.from_url(url) == expected
