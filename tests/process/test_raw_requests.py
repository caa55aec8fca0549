"""What a running product does with requests that no well-behaved client sends, byte by byte."""

from pathlib import Path

import pytest

from tests.support.http_server import exchange
from tests.support.running_product import Product, data_folder, running

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
CHUNKED = b"%x\r\n%b\r\n0\r\n" % (len(PING), PING)


@pytest.fixture(scope="module")
def home():
    with data_folder() as folder:
        yield folder


def statuses(received: bytes) -> list[int]:
    return [int(part[:3]) for part in received.split(b"HTTP/1.1 ")[1:]]


async def ask(product: Product, line: bytes, *fields: bytes, rest: bytes = b"", host: bytes | None = None) -> list[int]:
    own = b"127.0.0.1:%d" % product.port if host is None else host
    hosts = [b"Host: " + own] if own else []
    lines = [line + b" HTTP/1.1", *hosts, b"Connection: close", *fields]
    return statuses(await exchange(product.port, b"\r\n".join(lines) + b"\r\n\r\n" + rest))


JSON = b"Content-Type: application/json"
CHUNKS = b"Transfer-Encoding: chunked"


async def test_trailers_and_foreign_addresses(home: Path) -> None:
    async with running(home, MCPIST_TRUSTED_PROXIES="127.0.0.1", MCPIST_FAILED_AUTH_PER_MINUTE="20") as product:
        bearer = b"Authorization: Bearer " + product.ready["api_token"].encode()
        assert await ask(product, b"POST /mcp", JSON, CHUNKS, bearer, rest=CHUNKED + b"\r\n") == [200]

        trailer = CHUNKED + bearer + b"\r\n\r\n"
        assert await ask(product, b"POST /mcp", JSON, CHUNKS, rest=trailer) == [401]
        empty = b"0\r\n" + bearer + b"\r\n\r\n"
        assert await ask(product, b"GET /api/v1/me", CHUNKS, rest=empty) == [401]
        host = b"0\r\nHost: 127.0.0.1:%d\r\n\r\n" % product.port
        assert await ask(product, b"GET /sign-in", CHUNKS, rest=host, host=b"") == [421]

        # A limit by address holds, whatever addresses the trailers make up.
        wrong = b"Authorization: Bearer mcpist_0123456789ab_" + b"x" * 43
        told: list[int] = []
        for n in range(30):
            made_up = CHUNKED + b"X-Forwarded-For: 10.0.0.%d\r\n\r\n" % n
            told += await ask(product, b"POST /mcp", JSON, CHUNKS, wrong, b"X-Forwarded-For: 9.9.9.9", rest=made_up)
        assert told[0] == 401
        assert told[-1] == 429

        length = b"Content-Length: %d" % len(PING)
        own = b"POST http://127.0.0.1:%d/mcp" % product.port
        assert await ask(product, own, JSON, length, bearer, rest=PING) == [200]
        for path in (b"/mcp", b"/sign-in", b"/api/v1/me"):
            assert await ask(product, b"POST http://evil.example" + path, JSON, length, bearer, rest=PING) == [421]
        gzip = b"Transfer-Encoding: gzip, chunked"
        assert await ask(product, b"POST /mcp", JSON, gzip, bearer, rest=CHUNKED + b"\r\n") == [501]
