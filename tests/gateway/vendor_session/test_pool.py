"""Whose connection carries which request, how many there are, and that no answer reaches somebody else."""

import asyncio
import contextlib
import gzip
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from core.http.outbound_addresses import AllowedAddresses, GuardedResolver, SystemLookup
from core.http.tls import get_system_tls_context
from gateway.vendor_session.answer_reader import AnswerReader, ConnectionBroken, ConnectionDropped, UnreadableAnswer
from gateway.vendor_session.connection_pool import ConnectionPool, TooManyConnections, VendorConnectFailure
from gateway.vendor_session.module_headers import format_request_head
from gateway.vendor_session.vendor_connection import ConnectionOwner, ConnectionRoute
from tests.gateway.vendor_session.conftest import VendorSessionApp
from tests.gateway.vendor_session.doubles import Exchange, RawVendor, Script, answering
from tests.support.eventually import within

STALE = b'HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n"STALE"'
TIMED_OUT = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
ADA, BOB, EVE = ConnectionOwner("acme", "ada"), ConnectionOwner("acme", "bob"), ConnectionOwner("globex", "eve")


@dataclass
class Pool:
    """A pool, and the vendor that it leads to."""

    vendor: RawVendor
    pool: ConnectionPool

    async def ask(self, owner: ConnectionOwner, path: str = "/x", method: str = "GET", seconds: float = 5.0) -> bytes:
        route = ConnectionRoute("127.0.0.1", self.vendor.port, secure=False)
        head = format_request_head(method, path, "host: x\r\n")
        return (await self.pool.exchange(route, owner, AnswerReader(method), head, seconds)).body


@contextlib.asynccontextmanager
async def pooled(vendor: RawVendor, **limits: int) -> AsyncIterator[Pool]:
    lookup = SystemLookup()
    resolver = GuardedResolver(AllowedAddresses.from_hosts([f"127.0.0.1:{vendor.port}"]), lookup)
    pool = ConnectionPool(resolver, get_system_tls_context(), **limits)
    try:
        yield Pool(vendor, pool)
    finally:
        pool.close()
        lookup.close()


def echoing(then: bytes = b"") -> Script:
    """Answer with the path, and send something more a moment later, which nobody asked for."""

    async def answer(exchange: Exchange) -> None:
        exchange.send(200, exchange.request.target.encode())
        if then:
            await exchange.writer.drain()
            await asyncio.sleep(0.02)  # so that it comes while the connection rests
            exchange.write(then)

    return answer


@pytest.mark.parametrize("stray", [STALE, TIMED_OUT, b"H", b"\r\n", b"\0" * 100])
async def test_what_comes_on_a_resting_connection_ends_it(stray: bytes) -> None:
    async with RawVendor([echoing(stray)]) as vendor, pooled(vendor) as pool:
        for number, owner in enumerate((ADA, ADA, EVE, ADA, BOB, EVE)):
            assert await pool.ask(owner, f"/{number}") == f"/{number}".encode()
            await within(5, lambda: _is_empty(pool))


async def test_two_credentials_of_a_tenant_have_connections_of_their_own(app: VendorSessionApp) -> None:
    ada, bob = (app.client(key=key, tenant="acme") for key in ("ada", "bob"))
    for client in (ada, bob, ada, bob):
        await client.request("GET", "/x")
    assert [request.connection for request in app.vendor.requests] == [1, 2, 1, 2]


async def _is_empty(pool: Pool) -> bool:
    return len(pool.pool) == 0


async def test_an_answer_too_many_in_the_moment_of_sending_stays_with_its_owner() -> None:
    """It cannot be told from the answer; but the connection is nobody else's, and is not used again."""

    async def twice(exchange: Exchange) -> None:
        exchange.send(200, exchange.request.target.encode())
        exchange.write(STALE)

    async with RawVendor([twice]) as vendor, pooled(vendor) as pool:
        for number, owner in enumerate((ADA, BOB, EVE) * 5):
            assert await pool.ask(owner, f"/{number}") == f"/{number}".encode()
        assert vendor.accepted == 15


async def test_a_connection_serves_its_owner_again_and_nobody_else() -> None:
    async with RawVendor([echoing()]) as vendor, pooled(vendor) as pool:
        for _ in range(3):
            for owner in (ADA, BOB, EVE):
                await pool.ask(owner)
        assert vendor.accepted == 3
        assert {request.connection for request in vendor.requests} == {1, 2, 3}
        assert [request.connection for request in vendor.requests[:3]] == [
            one.connection for one in vendor.requests[3:6]
        ]


BODY = b'{"a": "' + b"x" * 50 + b'"}'
PACKED = gzip.compress(BODY)
ANSWERS = {
    "length": b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY),
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY),
    "packed": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (len(PACKED), PACKED),
    "until closed, packed": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + PACKED,
    "interim": b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b"
    % (len(BODY), BODY),
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_a_vendor_that_hangs_up_at_every_byte(name: str) -> None:
    whole = ANSWERS[name]
    at = 0

    async def cut(exchange: Exchange) -> None:
        exchange.write(whole[:at])
        await exchange.writer.drain()
        exchange.writer.close()

    async with RawVendor([cut]) as vendor, pooled(vendor) as pool:
        for at in range(len(whole)):
            with pytest.raises((ConnectionDropped, ConnectionBroken, UnreadableAnswer)) as caught:
                await pool.ask(ADA)
            assert isinstance(caught.value, ConnectionDropped) == (at == 0)
        at = len(whole)
        assert await pool.ask(ADA) == BODY
        await within(5, lambda: _is_empty(pool))


@pytest.mark.parametrize("name", ["length", "chunks", "packed"])
async def test_a_vendor_that_says_more_at_every_byte(name: str) -> None:
    """So much of a second answer, at once with the first: it reaches nobody."""
    stale = b""

    async def answer(exchange: Exchange) -> None:
        exchange.write(ANSWERS[name] + stale)

    async with RawVendor([answer]) as vendor, pooled(vendor) as pool:
        for more in range(len(STALE) + 1):
            stale = STALE[:more]
            assert await pool.ask(ADA) == BODY
            assert await pool.ask(EVE) == BODY


async def test_an_answer_in_single_bytes() -> None:
    async def drip(exchange: Exchange) -> None:
        for name in ("interim", "chunks"):
            if exchange.request.target == f"/{name}":
                for at in range(len(ANSWERS[name])):
                    exchange.write(ANSWERS[name][at : at + 1])
                    await exchange.writer.drain()
                    await asyncio.sleep(0)

    async with RawVendor([drip]) as vendor, pooled(vendor) as pool:
        assert await pool.ask(ADA, "/interim") == BODY
        assert await pool.ask(ADA, "/chunks") == BODY
        assert vendor.accepted == 1


async def test_a_head_without_end() -> None:
    async def endless(exchange: Exchange) -> None:
        exchange.write(b"HTTP/1.1 200 OK\r\n")
        with contextlib.suppress(ConnectionError):
            for number in range(10_000):
                exchange.write(b"x-%d: %b\r\n" % (number, b"a" * 100))
                await exchange.writer.drain()

    async with RawVendor([endless]) as vendor, pooled(vendor) as pool:
        with pytest.raises(UnreadableAnswer):
            await pool.ask(ADA)


async def test_one_tenant_has_so_many_connections_and_another_its_own() -> None:
    go = asyncio.Event()

    async def waits(exchange: Exchange) -> None:
        if exchange.request.target != "/now":
            await go.wait()
        exchange.send(200, exchange.request.target.encode())

    async with RawVendor([waits]) as vendor, pooled(vendor, per_tenant=4) as pool:
        running = [asyncio.create_task(pool.ask(ConnectionOwner("acme", f"c{n}"), f"/{n}")) for n in range(12)]

        async def four_came() -> bool:
            return vendor.accepted == 4

        await within(5, four_came)
        assert await pool.ask(EVE, "/now") == b"/now"
        assert vendor.accepted == 5
        with pytest.raises(TooManyConnections):
            await pool.ask(ConnectionOwner("acme", "late"), "/late", seconds=0.05)
        go.set()
        assert await asyncio.gather(*running) == [f"/{n}".encode() for n in range(12)]
        assert len(pool.pool) <= 5


async def test_resting_connections_make_room() -> None:
    async with RawVendor([echoing()]) as vendor, pooled(vendor, connections=3, per_tenant=2) as pool:
        for number in range(10):
            assert await pool.ask(ConnectionOwner("acme", f"c{number}")) == b"/x"
            assert len(pool.pool) <= 2
        for number in range(10):
            assert await pool.ask(ConnectionOwner(f"t{number}", "c")) == b"/x"
            assert len(pool.pool) <= 3


async def test_whoever_goes_away_leaves_a_place() -> None:
    """Calls that are cancelled while they wait, connect, send or read: the count is right in the end."""
    chance = random.Random(7)

    async def sometimes(exchange: Exchange) -> None:
        await asyncio.sleep(chance.choice((0, 0, 0.001, 0.01)))
        if chance.random() < 0.1:
            exchange.hang_up()
        else:
            exchange.send(200, b"{}")

    async with RawVendor([sometimes]) as vendor, pooled(vendor, connections=6, per_tenant=3) as pool:
        for _ in range(40):
            owners = [ConnectionOwner(chance.choice("ab"), chance.choice("xyz")) for _ in range(10)]
            calls = [asyncio.create_task(pool.ask(owner, seconds=1.0)) for owner in owners]
            await asyncio.sleep(chance.choice((0, 0.001, 0.003)))
            for call in calls:
                if chance.random() < 0.5:
                    call.cancel()
            for outcome in await asyncio.gather(*calls, return_exceptions=True):
                expected = (
                    bytes,
                    asyncio.CancelledError,
                    ConnectionDropped,
                    VendorConnectFailure,
                    TooManyConnections,
                    TimeoutError,
                )
                assert isinstance(outcome, expected), outcome
            assert len(pool.pool) <= 6
        # Every place is free again: as many calls as there are places run at once.
        vendor.scripts = [answering()]
        for tenant in "ab":
            assert await asyncio.gather(*(pool.ask(ConnectionOwner(tenant, str(n))) for n in range(3))) == [b"{}"] * 3
        assert len(pool.pool) <= 6
