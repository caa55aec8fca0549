"""Answers that are too large, packed too well, cut, or that never end."""

import asyncio
import contextlib
import functools
import gc
import gzip
import random
import tracemalloc
import zlib
from collections.abc import Callable

import pytest

from gateway.vendor_session.answer_reader import MAX_BODY_BYTES, MAX_HEAD_BYTES, MAX_UNPACKED_BYTES
from modules.kit import VendorProblem
from tests.gateway.vendor_session.conftest import VendorSessionApp
from tests.gateway.vendor_session.doubles import Exchange, Script, answering

NOISE = random.Random(5).randbytes(3 * 2**20)
TEXT = b'{"a":"some text"}'


def bare(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


def in_pieces(body: bytes, *, coding: str = "", size: int = 1000) -> Script:
    async def answer(exchange: Exchange) -> None:
        head = f"Content-Encoding: {coding}\r\n" if coding else ""
        exchange.write(f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n{head}\r\n".encode())
        for start in range(0, len(body), size):
            piece = body[start : start + size]
            exchange.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await exchange.writer.drain()
        exchange.write(b"0\r\n\r\n")

    return answer


async def kind_of(app: VendorSessionApp, script: Script, method: str = "GET") -> str:
    app.vendor.scripts = [script]
    with pytest.raises(VendorProblem) as caught:
        await app.client().request(method, "/x")
    return caught.value.kind


@pytest.mark.parametrize("body", [b"", TEXT, NOISE])
@pytest.mark.parametrize(
    ("coding", "pack"),
    [("", bytes), ("identity", bytes), ("gzip", gzip.compress), ("X-GZip", gzip.compress), ("deflate", zlib.compress),
     ("deflate", bare)],
)  # fmt: skip
async def test_bodies_arrive_whole(
    app: VendorSessionApp, body: bytes, coding: str, pack: Callable[[bytes], bytes]
) -> None:
    packed = pack(body)
    app.vendor.scripts = [
        answering(200, packed, content_encoding=coding),
        in_pieces(packed, coding=coding, size=9999),
    ]
    for _ in range(2):
        assert (await app.client().request("GET", "/x")).body == body
    assert app.vendor.accepted == 1


async def test_gzip_in_several_members(app: VendorSessionApp) -> None:
    app.vendor.scripts = [answering(200, gzip.compress(b"one ") + gzip.compress(b"two"), content_encoding="gzip")]
    assert (await app.client().request("GET", "/x")).body == b"one two"


@functools.cache
def make_bomb(kind: str) -> bytes:
    """Make what unpacks to more than is allowed, when a test needs it: the first takes half a second."""
    match kind:
        case "200 MB":
            return gzip.compress(bytes(200 * 2**20), 9)
        case "9 MB":
            return gzip.compress(bytes(9 * 2**20))
        case "noise":
            return gzip.compress(NOISE * 3)
        case _:
            return gzip.compress(bytes(2 * 2**20), 9) * 50


@pytest.mark.guarantee("G17")
@pytest.mark.parametrize("kind", ["200 MB", "9 MB", "noise", "50 of 2 MB"])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_a_bomb_is_not_unpacked(app: VendorSessionApp, kind: str, method: str) -> None:
    body = make_bomb(kind)
    app.vendor.scripts = [answering(200, body, content_encoding="gzip")]
    tracemalloc.start()
    assert await kind_of(app, app.vendor.scripts[0], method) == "too_large"
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * MAX_UNPACKED_BYTES
    assert len(app.vendor.requests) == 1


WHOLE = in_pieces(NOISE, size=99_999)
BOMB = in_pieces(gzip.compress(bytes(2**23)), coding="gzip", size=99_999)
CUT = in_pieces(gzip.compress(NOISE)[:-9], coding="gzip", size=99_999)


@pytest.mark.guarantee("G17")
@pytest.mark.parametrize("script", [WHOLE, BOMB, CUT, answering(503, NOISE)], ids=["whole", "bomb", "cut", "error"])
async def test_no_answer_stays_in_memory_until_garbage_is_collected(app: VendorSessionApp, script: Script) -> None:
    """The collector counts objects: a few hundred answers of some mebibytes each are not worth its while."""
    app.vendor.scripts = [script] * 10
    await once(app)
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        for _ in range(8):
            await once(app)
        assert tracemalloc.get_traced_memory()[0] < 2**22, "one may still be in the hands of the event loop"
    finally:
        tracemalloc.stop()
        gc.enable()


async def once(app: VendorSessionApp) -> None:
    with contextlib.suppress(VendorProblem):
        await app.client().request("POST", "/x")


async def test_the_ratio_counts_below_the_absolute_limit_too(app: VendorSessionApp) -> None:
    assert (
        await kind_of(app, answering(200, gzip.compress(bytes(4 * 2**20), 9), content_encoding="gzip")) == "too_large"
    )
    rows = b'{"id":1,"name":"a"},' * 40_000
    app.vendor.scripts = [answering(200, gzip.compress(rows, 9), content_encoding="gzip")]
    assert (await app.client().request("GET", "/x")).body == rows


async def test_a_body_as_large_as_can_be(app: VendorSessionApp) -> None:
    app.vendor.scripts = [answering(200, bytes(MAX_BODY_BYTES)), in_pieces(bytes(MAX_BODY_BYTES), size=2**16)]
    for _ in range(2):
        assert len((await app.client().request("GET", "/x")).body) == MAX_BODY_BYTES


@pytest.mark.parametrize(
    "script", [answering(200, bytes(MAX_BODY_BYTES + 1)), in_pieces(bytes(MAX_BODY_BYTES + 1), size=2**16)]
)
async def test_a_larger_one(app: VendorSessionApp, script: Script) -> None:
    assert await kind_of(app, script) == "too_large"
    app.vendor.scripts = [answering()]
    assert (await app.client().request("GET", "/x")).body == b"{}"


async def test_a_body_without_an_end(app: VendorSessionApp) -> None:
    async def endless(exchange: Exchange) -> None:
        exchange.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        while True:
            exchange.write(bytes(2**16))
            await exchange.writer.drain()

    assert await kind_of(app, endless) == "too_large"


async def test_a_body_that_drips(app: VendorSessionApp) -> None:
    async def drip(exchange: Exchange) -> None:
        exchange.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while True:
            exchange.write(b"x")
            await exchange.writer.drain()
            await asyncio.sleep(0.01)

    app.vendor.scripts = [drip]
    with pytest.raises(VendorProblem, match="in time"):
        await app.client(deadline=app.time.now + 0.3).request("GET", "/x")
    assert len(app.vendor.requests) == 1


@pytest.mark.parametrize(
    ("body", "coding"),
    [(gzip.compress(NOISE)[:-5], "gzip"), (TEXT, "gzip"), (TEXT, "deflate"), (TEXT, "br"), (TEXT, "zstd"),
     (gzip.compress(gzip.compress(TEXT)), "gzip, gzip"), (zlib.compress(TEXT) + b"more", "deflate"),
     (gzip.compress(TEXT) + b"more", "gzip"), (gzip.compress(b"") * 101, "gzip"), (gzip.compress(TEXT)[:5], "gzip")],
)  # fmt: skip
async def test_a_body_that_is_not_what_it_says(app: VendorSessionApp, body: bytes, coding: str) -> None:
    assert await kind_of(app, answering(200, body, content_encoding=coding)) == "unavailable"


async def test_an_error_with_an_unreadable_body_is_that_error(app: VendorSessionApp) -> None:
    assert await kind_of(app, answering(404, TEXT, content_encoding="gzip")) == "not_found"
    assert await kind_of(app, answering(404, bytes(MAX_BODY_BYTES + 1))) == "not_found"


async def test_head_has_no_body_whatever_its_headers_say(app: VendorSessionApp) -> None:
    app.vendor.scripts = [answering(200, b"", content_length=str(MAX_BODY_BYTES * 2), content_encoding="gzip")]
    answer = await app.client().request("HEAD", "/x")
    assert (answer.body, answer.headers["content-length"]) == (b"", str(MAX_BODY_BYTES * 2))


@pytest.mark.parametrize(
    "head",
    [b"Content-Length: 2\r\nX-Long: " + b"x" * MAX_HEAD_BYTES,
     b"Content-Length: 2\r\n" + b"\r\n".join(b"X-%d: 1" % number for number in range(11_000)),
     b"Content-Length: -1", b"Content-Length: 1, 2", b"Content-Length: 1\r\nTransfer-Encoding: chunked", b"X\x00Y: 1"],
)  # fmt: skip
async def test_headers_beyond_reason(app: VendorSessionApp, head: bytes) -> None:
    async def odd(exchange: Exchange) -> None:
        exchange.write(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n{}")

    assert await kind_of(app, odd) == "unavailable"
