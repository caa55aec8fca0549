"""What a peer may make the server hold, and for how long. `now` is the server's clock: nothing here waits for it."""

import asyncio
import contextlib
from typing import Any

import pytest

from core.http.trusted_proxies import TrustedProxies
from core.http_server.http_limits import HttpLimits
from tests.core.http_server.echo import answer, echo, split_answers
from tests.support.eventually import within
from tests.support.http_server import RawClient, connected, exchange, served

LIMITS = HttpLimits()
HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"
CLOSE = b"Connection: close\r\n\r\n"


async def count_is(server: Any, wanted: int) -> None:
    async def there() -> bool:
        return len(server) == wanted

    await within(5, there)


@pytest.mark.guarantee("G17")
@pytest.mark.parametrize(
    "excess",
    [
        b"x: %b\r\n" % (b"a" * 40_000),
        b"".join(b"x-%d: %b\r\n" % (n, b"a" * 10) for n in range(3_000)),
        b"x: %b\r\n" % (b"a" * 300_000),
    ],
)
@pytest.mark.parametrize("apart", [False, True])
async def test_a_head_is_counted_before_it_is_read(excess: bytes, apart: bool) -> None:
    parts = (HEAD, *(excess[at : at + 5_000] for at in range(0, len(excess), 5_000)), CLOSE)
    async with served(echo) as (_, port):
        assert [
            status for status, _ in split_answers(await exchange(port, *(parts if apart else (b"".join(parts),))))
        ] == [431]
        assert (
            split_answers(await exchange(port, b"GET /%b HTTP/1.1\r\nHost: x\r\n" % (b"a" * 40_000) + CLOSE))[0][0]
            == 431
        )
        allowed = HEAD + b"x: " + b"a" * (LIMITS.head - len(HEAD + CLOSE) - 5) + b"\r\n" + CLOSE
        assert len(allowed) == LIMITS.head
        assert split_answers(await exchange(port, allowed))[0][0] == 200
        assert split_answers(await exchange(port, allowed.replace(b"x: ", b"x: a")))[0][0] == 431


@pytest.mark.guarantee("G17")
async def test_slow_heads_are_cut_off_and_others_are_not() -> None:
    async with served(echo) as (server, port), contextlib.AsyncExitStack() as stack:
        silent, slow, kept = [await stack.enter_async_context(connected(port)) for _ in range(3)]
        await slow.send(HEAD)
        await kept.send(HEAD + b"\r\n")
        assert b"200 OK" in await kept.receive(b"}")
        await count_is(server, 3)
        now = asyncio.get_running_loop().time()
        assert server.end_slow(now) == 0
        assert server.end_slow(now + LIMITS.head_seconds + 1) == 2
        assert await silent.has_ended()
        assert await slow.has_ended()
        await kept.send(HEAD + b"\r\n")
        assert b"200 OK" in await kept.receive(b"}")


async def test_a_slow_head_behind_another_request_is_cut_off() -> None:
    async with served(echo) as (server, port):
        for first in (HEAD + b"\r\n", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"):
            async with connected(port) as client:
                await client.send(first + HEAD)
                await client.receive(b"}")
                now = asyncio.get_running_loop().time()
                assert server.end_slow(now + LIMITS.head_seconds - 1) == 0
                assert server.end_slow(now + LIMITS.head_seconds + 1) == 1
                assert await client.has_ended()


async def test_a_kept_connection_may_rest_so_long() -> None:
    async with served(echo) as (server, port), connected(port) as kept:
        await kept.send(HEAD + b"\r\n")
        await kept.receive(b"}")
        now = asyncio.get_running_loop().time()
        assert server.end_slow(now + LIMITS.idle_seconds - 1) == 0
        assert server.end_slow(now + LIMITS.idle_seconds + 1) == 1
        assert await kept.has_ended()


async def refuse(scope: Any, receive: Any, send: Any) -> None:
    """Answer before anything is read, as whoever refuses a caller does."""
    await answer(send, b"{}", status=429)


@pytest.mark.guarantee("G17")
@pytest.mark.parametrize("body", [b"Content-Length: 4000\r\n", b"Transfer-Encoding: chunked\r\n"])
@pytest.mark.parametrize("app", [refuse, echo])
async def test_a_body_that_drips_in_is_cut_off(app: Any, body: bytes) -> None:
    async with served(app) as (server, port), connected(port) as dripping:
        await dripping.send(b"POST / HTTP/1.1\r\nHost: x\r\n" + body + b"\r\n", b"1")
        await count_is(server, 1)
        now = asyncio.get_running_loop().time()
        assert server.end_slow(now) == 0
        await dripping.send(b"2")
        assert server.end_slow(now + LIMITS.body_seconds + 1) == 1
        assert await dripping.has_ended()


@pytest.mark.parametrize("sends_on", [False, True])
async def test_the_rest_of_a_refused_body_is_read_for_a_while_only(sends_on: bool) -> None:
    limits = HttpLimits(lingering_bytes=2**20)
    async with served(refuse, limits=limits) as (server, port), connected(port) as client:
        await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000000\r\n\r\n")
        assert b"connection: close" in await client.receive(b"{}")
        now = asyncio.get_running_loop().time()
        assert server.end_slow(now + limits.lingering_seconds - 1) == 0
        if sends_on:
            with contextlib.suppress(ConnectionError):
                await client.send(*[b"x" * 2**16] * 64)
        else:
            assert server.end_slow(now + limits.lingering_seconds + 1) == 1
        await count_is(server, 0)


LARGE = b"x" * 48_000


async def large(scope: Any, receive: Any, send: Any) -> None:
    await answer(send, LARGE)


@pytest.mark.guarantee("G17")
async def test_whoever_does_not_read_answers_is_cut_off() -> None:
    async with served(large) as (server, port), connected(port) as greedy, connected(port) as decent:
        greedy.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await greedy.send(*[HEAD + b"\r\n"] * 1_000)
        await decent.send(HEAD + b"\r\n")
        await decent.receive(LARGE)
        await count_is(server, 2)
        unsent = await _settled_unsent(server)
        assert 0 < unsent < 4 * 65_536 + len(LARGE)  # the transport's own mark, and one answer
        now = asyncio.get_running_loop().time()
        assert server.end_slow(now) == 0
        assert server.end_slow(now + LIMITS.slow_reader_seconds + 1) == 1
        await count_is(server, 1)


async def _settled_unsent(server: Any) -> int:
    """Bytes that wait for clients, once no more come."""
    before = -1
    while (unsent := server.buffered[1]) != before:
        before = unsent
        await asyncio.sleep(0.1)
    return unsent


async def test_whoever_reads_slowly_but_steadily_gets_the_whole_answer() -> None:
    whole = b"y" * (8 * 2**20)

    async def huge(scope: Any, receive: Any, send: Any) -> None:
        await answer(send, whole)

    async with served(huge) as (server, port), connected(port) as slow:
        await slow.send(HEAD + CLOSE)
        now, read = asyncio.get_running_loop().time(), 0
        while part := await slow.reader.read(2**20):
            read += len(part)
            if read // 2**20 > (read - len(part)) // 2**20:
                await asyncio.sleep(0.01)  # the server's side takes its turn
                now += LIMITS.slow_reader_seconds / 2
                assert server.end_slow(now) == 0
        assert read > len(whole)


@pytest.mark.guarantee("G17")
async def test_one_address_has_so_many_connections_and_leaves_room_for_others() -> None:
    limits = HttpLimits(connections=20, connections_per_address=8)
    async with served(echo, limits=limits) as (server, port), contextlib.AsyncExitStack() as stack:
        for _ in range(30):
            await stack.enter_async_context(connected(port, "127.0.0.2"))
        await count_is(server, 8)
        other = await stack.enter_async_context(connected(port, "127.0.0.3"))
        await other.send(HEAD + CLOSE)
        assert b"200 OK" in await other.receive()


async def test_resting_connections_make_room_and_busy_ones_do_not() -> None:
    running, go = asyncio.Event(), asyncio.Event()

    async def waits(scope: Any, receive: Any, send: Any) -> None:
        running.set()
        if scope["path"] == "/wait":
            await go.wait()
        await answer(send, b"{}")

    limits = HttpLimits(connections_per_address=2)
    async with served(waits, limits=limits) as (server, port), contextlib.AsyncExitStack() as stack:

        async def another() -> RawClient:
            return await stack.enter_async_context(connected(port))

        busy, resting = await another(), await another()
        await busy.send(b"GET /wait HTTP/1.1\r\nHost: x\r\n" + CLOSE)
        await running.wait()
        await resting.send(HEAD + b"\r\n")
        await resting.receive(b"{}")
        newest = await another()
        assert await resting.has_ended()
        await newest.send(b"GET /wait HTTP/1.1\r\nHost: x\r\n" + CLOSE)
        await asyncio.sleep(0)
        await count_is(server, 2)

        async def both_run() -> bool:
            return server.running == 2

        await within(5, both_run)
        refused = await another()
        ((status, said),) = split_answers(await refused.receive())
        assert (status, said["error"]) == (503, "Too many connections; try again in a moment")
        go.set()
        assert b"200 OK" in await busy.receive()
        assert b"200 OK" in await newest.receive()


async def test_a_trusted_proxy_speaks_for_many() -> None:
    limits = HttpLimits(connections_per_address=2)
    proxies = TrustedProxies(("127.0.0.9",))
    async with served(echo, limits=limits, proxies=proxies) as (server, port), contextlib.AsyncExitStack() as stack:
        for _ in range(10):
            await stack.enter_async_context(connected(port, "127.0.0.9"))
        await count_is(server, 10)


async def test_all_addresses_together_have_so_many() -> None:
    limits = HttpLimits(connections=5)
    async with served(echo, limits=limits) as (server, port), contextlib.AsyncExitStack() as stack:
        for n in range(20):
            await stack.enter_async_context(connected(port, f"127.0.1.{n + 1}"))
        await count_is(server, 5)
        newest = await stack.enter_async_context(connected(port, "127.0.2.1"))
        await newest.send(HEAD + CLOSE)
        assert b"200 OK" in await newest.receive()


async def test_a_body_waits_with_the_client_while_nobody_reads_it() -> None:
    go = asyncio.Event()

    async def late(scope: Any, receive: Any, send: Any) -> None:
        await go.wait()
        size = 0
        while (message := await receive())["type"] == "http.request":
            size += len(message["body"])
            if not message["more_body"]:
                break
        await answer(send, b"%d" % size)

    size = 32 * 2**20
    async with served(late) as (server, port), connected(port) as client:
        await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n" % size + CLOSE)
        sending = asyncio.create_task(client.send(*[b"x" * 2**16] * (size // 2**16)))
        done, _ = await asyncio.wait([sending], timeout=1)
        assert not done
        assert server.buffered[0] < 2**20
        go.set()
        assert (await client.receive()).endswith(b"%d" % size)
        await sending


async def test_a_pipeline_waits_with_the_client() -> None:
    go = asyncio.Event()

    async def waits(scope: Any, receive: Any, send: Any) -> None:
        await go.wait()
        await answer(send, b"{}")

    many = 2_000
    request = HEAD + b"X: " + b"a" * 8_000 + b"\r\n\r\n"
    async with served(waits) as (server, port), connected(port) as client:
        sending = asyncio.create_task(client.send(*[request * 10] * (many // 10)))
        done, _ = await asyncio.wait([sending], timeout=1)
        assert not done
        assert server.buffered[0] < 2**20
        go.set()
        for _ in range(many):
            assert (await client.receive(b"{}")).startswith(b"HTTP/1.1 200")
        await sending


async def test_no_connection_outlives_the_server() -> None:
    async def for_ever(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.Event().wait()

    limits = HttpLimits(drain_seconds=0.2)
    async with contextlib.AsyncExitStack() as stack:
        async with served(for_ever, limits=limits) as (server, port):
            resting = await stack.enter_async_context(connected(port))
            stuck = await stack.enter_async_context(connected(port))
            await stuck.send(HEAD + b"\r\n")

            async def runs() -> bool:
                return server.running == 1

            await within(5, runs)
        assert await resting.has_ended()
        assert await stuck.has_ended()
