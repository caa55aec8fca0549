"""One request, one answer: no byte of a body, a trailer or a following request counts as anything else."""

import pytest

from core.http_server.http_limits import HttpLimits
from tests.core.http_server.echo import echo, split_answers
from tests.support.http_server import connected, exchange, served

SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
CHUNKED = b"%x\r\n%b\r\n0\r\n\r\n" % (len(SMUGGLED), SMUGGLED)
UPGRADE = b"Connection: Upgrade\r\nUpgrade: h2c\r\n"
WITH_LENGTH = b"Content-Length: %d\r\n" % len(SMUGGLED)


def post(*fields: bytes, body: bytes = b"") -> bytes:
    return b"POST /own HTTP/1.1\r\nHost: x\r\n" + b"".join(fields) + b"\r\n" + body


LAST = b"GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(
    "upgrade", [b"", UPGRADE, UPGRADE.replace(b"h2c", b"websocket"), UPGRADE.replace(b"h2c", b"x")]
)
@pytest.mark.parametrize("apart", [False, True])
async def test_a_body_is_never_a_request(upgrade: bytes, apart: bool) -> None:
    head = post(upgrade, WITH_LENGTH)
    async with served(echo) as (_, port):
        parts = (head, SMUGGLED, LAST) if apart else (head + SMUGGLED + LAST,)
        answers = split_answers(await exchange(port, *parts))
    assert [said.get("path") for _, said in answers] == ["/own", "/last"]
    assert answers[0][1]["body"].encode() == SMUGGLED


@pytest.mark.parametrize("apart", [False, True])
async def test_an_upgrade_with_chunks_is_refused(apart: bool) -> None:
    head = post(UPGRADE, b"Transfer-Encoding: chunked\r\n")
    async with served(echo) as (_, port):
        parts = (head, CHUNKED) if apart else (head + CHUNKED,)
        answers = split_answers(await exchange(port, *parts))
    assert [status for status, _ in answers] == [400]


async def test_a_padded_body_behind_an_upgrade_stays_a_body() -> None:
    """A parser skips blank lines before a request, so padding reaches the next read of the server."""
    body = b"\r\n" * 200_000 + SMUGGLED
    async with served(echo) as (_, port):
        head = post(UPGRADE, b"Content-Length: %d\r\nConnection: close\r\n" % len(body))
        answers = split_answers(await exchange(port, head + body))
    assert len(answers) == 1
    assert len(answers[0][1]["body"]) == len(body)


@pytest.mark.parametrize("upgrade", [b"", UPGRADE])
@pytest.mark.parametrize("method", [b"GET", b"POST"])
@pytest.mark.parametrize("apart", [False, True])
async def test_without_a_body_the_next_request_follows(method: bytes, upgrade: bytes, apart: bool) -> None:
    first = method + b" /own HTTP/1.1\r\nHost: x\r\n" + upgrade + b"\r\n"
    async with served(echo) as (_, port):
        parts = (first, LAST) if apart else (first + LAST,)
        answers = split_answers(await exchange(port, *parts))
    assert [said["path"] for _, said in answers] == ["/own", "/last"]


async def test_trailers_are_no_headers() -> None:
    body = b"2\r\nhi\r\n0\r\nAuthorization: Bearer stolen\r\nX-Forwarded-For: 9.9.9.9\r\nHost: evil\r\n\r\n"
    async with served(echo) as (_, port):
        head = post(b"Transfer-Encoding: chunked\r\nConnection: close\r\n")
        for parts in ((head + body,), (head, body)):
            ((_, said),) = split_answers(await exchange(port, *parts))
            assert said["body"] == "hi"
            assert [name for name, _ in said["headers"]] == ["host", "transfer-encoding", "connection"]
            assert said["headers"][0] == ["host", "x"]


@pytest.mark.parametrize("size", [1, 7, 100])
async def test_a_request_in_pieces_of_any_size(size: int) -> None:
    chunked = post(b"Transfer-Encoding: chunked\r\nConnection: close\r\n", body=CHUNKED)
    whole = post(WITH_LENGTH, body=SMUGGLED) + SMUGGLED + chunked
    async with served(echo) as (_, port), connected(port) as client:
        await client.send(*(whole[at : at + size] for at in range(0, len(whole), size)))
        answers = split_answers(await client.receive())
    assert [said["path"] for _, said in answers] == ["/own", "/smuggled", "/own"]
    assert [said["body"].encode() for _, said in answers] == [SMUGGLED, b"", SMUGGLED]


async def test_what_follows_chunks_in_one_read_is_dropped_with_the_connection() -> None:
    """Where the second request begins the parser does not tell, so it is not answered, and the client is told."""
    async with served(echo) as (_, port):
        got = await exchange(port, post(b"Transfer-Encoding: chunked\r\n", body=CHUNKED) + SMUGGLED)
    assert len(split_answers(got)) == 1
    assert b"connection: close\r\n" in got


async def test_pipelined_requests_are_answered_in_turn() -> None:
    ask = b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n"
    async with served(echo) as (_, port):
        answers = split_answers(await exchange(port, b"".join(ask % n for n in range(50)) + LAST))
    assert [said["path"] for _, said in answers] == [*(f"/{n}" for n in range(50)), "/last"]


REFUSED = {
    "two lengths": (post(b"Content-Length: 1\r\nContent-Length: 1\r\n", body=b"x"), 400),
    "a list of lengths": (post(b"Content-Length: 1, 1\r\n", body=b"x"), 400),
    "length and chunks": (post(b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", body=b"x"), 400),
    "a signed length": (post(b"Content-Length: +1\r\n", body=b"x"), 400),
    "another coding": (post(b"Transfer-Encoding: gzip, chunked\r\n", body=CHUNKED), 501),
    "a coding twice": (post(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", body=CHUNKED), 400),
    "an unknown coding": (post(b"Transfer-Encoding: xchunked\r\n", body=CHUNKED), 400),
    "chunks in HTTP/1.0": (post(b"Transfer-Encoding: chunked\r\n", body=CHUNKED).replace(b"1.1", b"1.0", 1), 400),
    "a bad chunk size": (post(b"Transfer-Encoding: chunked\r\n", body=b"+2\r\nhi\r\n0\r\n\r\n"), 400),
    "a blank before the colon": (post(b"Evil : 1\r\n"), 400),
    "a folded line": (post(b"Evil: 1\r\n 2\r\n"), 400),
    "a NUL": (post(b"Evil: \x00\r\n"), 400),
    "bare line feeds": (b"GET / HTTP/1.1\nHost: x\n\n", 400),
    "two hosts": (post(b"Host: y\r\n"), 400),
    "another protocol": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "another version": (b"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505),
    "CONNECT": (b"CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n", 400),
    "no path": (b"GET x HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    "a user in the address": (b"GET http://a@x/ HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    "a fragment": (b"GET /#a HTTP/1.1\r\nHost: x\r\n\r\n", 400),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_what_proxies_may_read_differently_ends_the_connection(name: str) -> None:
    request, status = REFUSED[name]
    async with served(echo) as (_, port):
        got = await exchange(port, request + SMUGGLED)
    assert [one for one, _ in split_answers(got)] == [status]
    assert b"connection: close\r\n" in got


async def test_the_host_of_an_absolute_target_counts() -> None:
    request = b"GET http://other.example/x?y=1 HTTP/1.1\r\nHost: own.example\r\nConnection: close\r\n\r\n"
    async with served(echo) as (_, port):
        ((_, said),) = split_answers(await exchange(port, request))
    assert [value for name, value in said["headers"] if name == "host"] == ["other.example"]
    assert (said["path"], said["query"]) == ("/x", "y=1")


async def test_a_client_that_waits_for_leave_gets_it_once() -> None:
    async with served(echo) as (_, port), connected(port) as client:
        await client.send(post(b"Expect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n"))
        assert await client.receive(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        await client.send(b"hi")
        ((_, said),) = split_answers(await client.receive())
    assert said["body"] == "hi"


async def refuse(scope: object, receive: object, send: object) -> None:
    """Answer without a look at the body."""
    from tests.core.http_server.echo import answer

    await answer(send, b'{"path": "refused"}', status=401)


async def test_a_body_that_was_refused_before_it_came_is_no_request() -> None:
    async with served(refuse) as (_, port), connected(port) as client:
        await client.send(post(b"Expect: 100-continue\r\nContent-Length: %d\r\n" % len(SMUGGLED)))
        got = await client.receive(b'"refused"}')
        assert b"connection: close\r\n" in got  # nobody knows whether the body will come
        await client.send(SMUGGLED)
        assert await client.receive() == b""

        async with connected(port) as kept:
            await kept.send(post(WITH_LENGTH))
            assert b"connection: close" not in await kept.receive(b'"refused"}')
            await kept.send(SMUGGLED + LAST)
            assert len(split_answers(await kept.receive())) == 1


async def test_a_large_rest_of_a_refused_body_costs_the_connection_but_not_the_answer() -> None:
    size = 8 * 2**20
    async with served(refuse) as (_, port), connected(port) as client:
        await client.send(post(b"Content-Length: %d\r\n" % size))
        got = await client.receive(b'"refused"}')
        assert b"connection: close\r\n" in got
        for _ in range(size // 2**16):
            client.writer.write(b"x" * 2**16)  # what arrives is thrown away, not answered by a reset
            await client.writer.drain()
        assert await client.has_ended()


@pytest.mark.guarantee("G17")
async def test_trailers_and_extensions_have_a_limit() -> None:
    limits = HttpLimits()
    head = post(b"Transfer-Encoding: chunked\r\n") + b"2\r\nhi\r\n"
    async with served(echo) as (_, port):
        small = await exchange(port, head + b"0\r\n" + b"x-a: b\r\n" * 10 + b"\r\n" + LAST)
        assert split_answers(small)[0][0] == 200
        for endless in (b"x-a: %b\r\n" % (b"a" * 1000), b"a" * 1000):
            got = await exchange(port, head + b"0\r\nx-b: ", *[endless] * (3 * limits.trailer // 1000))
            assert [status for status, _ in split_answers(got)] == [431]
        got = await exchange(port, head + b"1;" + b"a" * (3 * limits.trailer))
        assert [status for status, _ in split_answers(got)] == [431]
