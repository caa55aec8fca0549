"""What stands on the wire, and when a connection is used again."""

import asyncio

import pytest

from core.http.outbound_addresses import AllowedAddresses, GuardedResolver, SystemLookup
from core.http.tls import get_system_tls_context
from gateway.vendor_session.answer_reader import MAX_INTERIM_ANSWERS, AnswerReader
from gateway.vendor_session.connection_pool import ConnectionPool
from gateway.vendor_session.module_headers import format_request_head
from gateway.vendor_session.vendor_connection import ConnectionOwner, ConnectionRoute
from modules.kit import VendorProblem
from tests.gateway.vendor_session.conftest import VendorSessionApp
from tests.gateway.vendor_session.doubles import Exchange, answering, silent

INTERIM = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"


async def kind_of(app: VendorSessionApp, timeout: float = 30.0) -> str:
    with pytest.raises(VendorProblem) as caught:
        await app.client(timeout=timeout).request("GET", "/x")
    return caught.value.kind


async def test_the_host_comes_first_and_is_the_places(app: VendorSessionApp) -> None:
    await app.client().request("GET", "/x")
    headers = app.vendor.requests[0].headers
    assert next(iter(headers.items())) == ("host", f"127.0.0.1:{app.vendor.port}")
    assert headers["user-agent"] == "MCPist"


@pytest.mark.parametrize(("method", "length"), [("GET", None), ("HEAD", None), ("POST", "0"), ("DELETE", "0")])
async def test_the_length_of_no_body(app: VendorSessionApp, method: str, length: str | None) -> None:
    await app.client().request(method, "/x")
    headers = app.vendor.requests[0].headers
    assert headers.get("content-length") == length
    assert "transfer-encoding" not in headers
    assert "content-type" not in headers


async def test_interim_answers_are_passed_over(app: VendorSessionApp) -> None:
    async def later(exchange: Exchange) -> None:
        exchange.write(INTERIM)
        exchange.send(200, b'"real"')

    app.vendor.scripts = [later]
    for _ in range(2):
        answer = await app.client().request("GET", "/x")
        assert (answer.status, answer.json(), "link" in answer.headers) == (200, "real", False)
    assert app.vendor.accepted == 1


async def test_interim_answers_end(app: VendorSessionApp) -> None:
    async def forever(exchange: Exchange) -> None:
        exchange.write(INTERIM * MAX_INTERIM_ANSWERS)
        exchange.send()

    app.vendor.scripts = [forever, answering()]
    assert await kind_of(app) == "unavailable"
    await app.client().request("GET", "/x")
    assert app.vendor.accepted == 2


async def test_another_protocol_is_no_answer(app: VendorSessionApp) -> None:
    async def switch(exchange: Exchange) -> None:
        exchange.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n{}")

    app.vendor.scripts = [switch, answering()]
    assert await kind_of(app) == "unavailable"
    await app.client().request("GET", "/x")
    assert app.vendor.accepted == 2


async def test_an_answer_that_nobody_asked_for_is_nobodys(app: VendorSessionApp) -> None:
    async def twice(exchange: Exchange) -> None:
        exchange.send(200, b'"mine"')
        exchange.send(200, b'"smuggled"')

    app.vendor.scripts = [twice, answering(200, b'"own"')]
    first = await app.client().request("GET", "/x")
    second = await app.client().request("GET", "/x")
    assert (first.json(), second.json()) == ("mine", "own")
    assert app.vendor.accepted == 2


async def test_an_error_that_was_not_read_to_its_end_ends_its_connection(app: VendorSessionApp) -> None:
    app.vendor.scripts = [answering(404, b"", content_length=str(2**30)), answering()]
    assert await kind_of(app) == "not_found"
    await app.client().request("GET", "/x")
    assert app.vendor.accepted == 2


async def test_a_closing_answer_is_whole_and_the_last_on_its_connection(app: VendorSessionApp) -> None:
    app.vendor.scripts = [answering(200, b'"last"', connection="close"), answering()]
    assert (await app.client().request("GET", "/x")).json() == "last"
    await app.client().request("GET", "/x")
    assert app.vendor.accepted == 2


async def test_an_answer_without_a_length_that_is_cut_by_time_is_no_answer(app: VendorSessionApp) -> None:
    async def unfinished(exchange: Exchange) -> None:
        exchange.write(b'HTTP/1.1 200 OK\r\n\r\n"looks whole"')
        await silent(exchange)

    app.vendor.scripts = [unfinished]
    assert await kind_of(app, timeout=1) == "unavailable"


async def test_what_is_answered_before_it_was_read_ends_its_connection() -> None:
    done, accepted = asyncio.Event(), 0

    async def hasty(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal accepted
        accepted += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 X\r\nContent-Length: 0\r\n\r\n")
        await done.wait()
        writer.close()

    server = await asyncio.start_server(hasty, "127.0.0.1", 0)
    port, lookup = server.sockets[0].getsockname()[1], SystemLookup()
    allow = AllowedAddresses.from_hosts([f"127.0.0.1:{port}"])
    pool, route = (
        ConnectionPool(GuardedResolver(allow, lookup), get_system_tls_context()),
        ConnectionRoute("127.0.0.1", port, secure=False),
    )
    async with server:
        for _ in range(2):
            head = format_request_head("POST", "/x", f"host: x\r\ncontent-length: {2**24}\r\n")
            answer = await pool.exchange(
                route, ConnectionOwner("t", "c"), AnswerReader("POST"), head + bytes(2**24), 5.0
            )
            assert answer.status == 413
        assert accepted == 2
        done.set()
        pool.close()
        lookup.close()


@pytest.mark.parametrize("target", ["/x y", "/x\r\nX: y", "/x\ny", "/x\0"])
def test_a_target_keeps_to_its_line(target: str) -> None:
    with pytest.raises(ValueError):
        format_request_head("GET", target, "")
