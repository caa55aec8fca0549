"""What can go wrong between us and a vendor: was the request sent, and may it have been processed?"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from broker.oauth_client.token_endpoint_client import HttpTokenEndpointClient
from broker.oauth_client.types import ErrorClass
from broker.oauth_client.vendor_http import (
    MOST_BYTES,
    TransportFailure,
    VendorHttpClient,
    VendorRequest,
    VendorResponse,
)
from broker.providers import error_reasons
from core.http.outbound_addresses import AllowedAddresses
from tests.broker.oauth_client.conftest import Ways, connected, granted
from tests.broker.oauth_client.test_vendors import failed, of, refreshed
from tests.support.vendor_tokens import Fault, VendorTokens

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
BODY = b"grant_type=refresh_token&refresh_token=rt_of-the-wire-test-0123456789"


@contextlib.asynccontextmanager
async def listening(serve: Serve, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """A server of raw bytes; its origin."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    async with server:
        scheme = "https" if tls else "http"
        yield f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def answering(*parts: bytes) -> tuple[Serve, list[bytes]]:
    """A server that reads a request's head and writes these bytes; and what it has read."""
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        with contextlib.suppress(ConnectionError):
            for part in parts:
                writer.write(part)
                await writer.drain()
        writer.close()

    return serve, heard


def post(url: str) -> VendorRequest:
    return VendorRequest("POST", url + "/token", {"Content-Type": "application/x-www-form-urlencoded"}, BODY)


async def test_a_refused_connection_was_never_sent(way: Ways) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and never listens
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        told = await (await way(url)).send(post(url))
    assert told == TransportFailure(ErrorClass.NOT_SENT, error_reasons.CONNECT)


async def test_a_connection_that_is_not_taken_was_never_sent(way: Ways) -> None:
    with socket.socket() as full, contextlib.ExitStack() as stack:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        for _ in range(4):  # the queue is full then, and the kernel drops what comes
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(("127.0.0.1", port))
        url = f"http://127.0.0.1:{port}"
        told = await (await way(url, connect_seconds=0.3, seconds=5.0)).send(post(url))
    assert told == TransportFailure(ErrorClass.NOT_SENT, error_reasons.CONNECT_TIMEOUT)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (socket.gaierror(socket.EAI_AGAIN, "try again"), error_reasons.NAME),
        (socket.gaierror(socket.EAI_NONAME, "unknown"), error_reasons.ADDRESS),
    ],
)
async def test_a_name_that_cannot_be_looked_up_was_never_sent(way: Ways, error: OSError, reason: str) -> None:
    async def lookup(host: str, port: int) -> list[tuple[int, str]]:
        raise error

    told = await (await way(lookup=lookup)).send(post("https://vendor.example"))
    assert told == TransportFailure(ErrorClass.NOT_SENT, reason)


@pytest.mark.guarantee("G12")
async def test_a_name_that_leads_to_a_private_address_is_not_asked(way: Ways) -> None:
    serve, heard = answering(b"HTTP/1.1 200 OK\r\n\r\n")

    async def lookup(host: str, port: int) -> list[tuple[int, str]]:
        return [(socket.AF_INET, "127.0.0.1")]

    async with listening(serve):
        told = await (await way(lookup=lookup)).send(post("https://rebound.example"))
    assert told == TransportFailure(ErrorClass.NOT_SENT, error_reasons.ADDRESS)
    assert not heard


@pytest.mark.parametrize(
    "url",
    [
        "http://vendor.example",
        "https://vendor.example:8443",
        "https://127.0.0.1",
        "https://[::1]",
        "https://2130706433",
        "https://user@vendor.example",
        "ftp://vendor.example",
        "https://localhost",
        "https://169.254.169.254",
    ],
)
async def test_a_url_that_may_not_be_asked_is_the_administrators_matter(way: Ways, url: str) -> None:
    assert await (await way()).send(post(url)) == TransportFailure(ErrorClass.SERVICE, error_reasons.URL_REFUSED)


async def test_a_certificate_of_nobody_we_trust_was_never_sent(way: Ways, tmp_path) -> None:
    serve, heard = answering(b"HTTP/1.1 200 OK\r\n\r\n")
    async with listening(serve, _own_certificate(tmp_path)) as url:
        told = await (await way(url)).send(post(url))
    assert told == TransportFailure(ErrorClass.NOT_SENT, error_reasons.TLS)
    assert not heard


@pytest.mark.parametrize(
    ("parts", "status", "reason"),
    [
        ([b""], None, error_reasons.CUT_OFF),
        ([b"HTTP/1.1 200 OK\r\nContent-Le"], None, error_reasons.CUT_OFF),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"], 200, error_reasons.CUT_OFF),
        ([b"nonsense\r\n\r\n"], None, error_reasons.CUT_OFF),
        (
            [b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b"],
            200,
            error_reasons.UNREADABLE,
        ),
        ([b"HTTP/1.1 200 OK\r\n\r\n", *[b" " * 65536] * 6], 200, error_reasons.TOO_LARGE),
    ],
)
async def test_after_it_was_sent_nobody_knows(way: Ways, parts: list[bytes], status: int | None, reason: str) -> None:
    serve, heard = answering(*parts)
    async with listening(serve) as url:
        told = await (await way(url)).send(post(url))
    assert told == TransportFailure(ErrorClass.UNCERTAIN, reason, status)
    assert len(heard) == 1  # and it was asked once


async def test_the_largest_answer_is_read(way: Ways) -> None:
    whole = b"x" * MOST_BYTES
    serve, _ = answering(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(whole), whole)
    async with listening(serve) as url:
        told = await (await way(url)).send(post(url))
    assert isinstance(told, VendorResponse)
    assert len(told.body) == MOST_BYTES


async def test_an_answer_that_drips_is_given_up_as_uncertain(way: Ways) -> None:
    stop = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            while not stop.is_set():
                writer.write(b" ")
                await writer.drain()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), 0.02)
        writer.close()

    async with listening(serve) as url:
        told = await (await way(url, seconds=0.3)).send(post(url))
        stop.set()
    assert told == TransportFailure(ErrorClass.UNCERTAIN, error_reasons.TIMEOUT)


async def test_a_redirect_is_not_followed(way: Ways) -> None:
    serve, heard = answering(b"HTTP/1.1 307 T\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n")
    async with listening(serve) as url:
        told = await (await way(url)).send(post(url))
    assert isinstance(told, VendorResponse)
    assert told.status == 307
    assert len(heard) == 1


async def test_a_delete_is_not_repeated_either(way: Ways) -> None:
    serve, heard = answering(b"")
    async with listening(serve) as url:
        told = await (await way(url)).send(VendorRequest("DELETE", url + "/grant", {}, b"{}"))
    assert told == TransportFailure(ErrorClass.UNCERTAIN, error_reasons.CUT_OFF)
    assert len(heard) == 1


async def test_who_has_lost_the_turn_sends_nothing(way: Ways) -> None:
    """Asked with the connection open, so that what a frozen process wakes up to is seen."""
    accepted, heard = asyncio.Event(), bytearray()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.set()
        heard.extend(await reader.read())
        writer.close()

    asked: list[bool] = []

    def may_send() -> bool:
        asked.append(True)
        return False

    async with listening(serve) as url:
        told = await (await way(url)).send(post(url), may_send)
        async with asyncio.timeout(5):
            await accepted.wait()
    assert told == TransportFailure(ErrorClass.NOT_SENT, error_reasons.WITHDRAWN)
    assert (asked, bytes(heard)) == ([True], b"")


async def test_one_that_may_not_send_keeps_nobody_else_from_it(way: Ways) -> None:
    serve, heard = answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
    async with listening(serve) as url:
        http = await way(url)
        told = await asyncio.gather(http.send(post(url), lambda: False), http.send(post(url)), http.send(post(url)))
    assert [type(one) for one in told] == [TransportFailure, VendorResponse, VendorResponse]
    assert len(heard) == 2


async def test_nothing_of_a_request_or_an_answer_is_printed() -> None:
    request = VendorRequest("POST", "https://vendor.example/token", {"Authorization": "Basic c2VjcmV0"}, BODY)
    reply = VendorResponse(200, {"x": "header"}, b"at_of-the-wire-test")
    assert "c2VjcmV0" not in repr(request)
    assert "rt_" not in repr(request)
    assert "at_" not in repr(reply)


# The same through the token endpoint, against a vendor that rotates


@of("github")
@pytest.mark.parametrize(
    ("fault", "cls", "rotated"),
    [
        (Fault("hang_up_before"), ErrorClass.UNCERTAIN, False),
        (Fault("hang_up_after"), ErrorClass.UNCERTAIN, True),
        (Fault("cut"), ErrorClass.UNCERTAIN, True),
        (Fault("garbage", body="<html>welcome</html>"), ErrorClass.UNCERTAIN, True),
        (Fault("garbage", body=""), ErrorClass.UNCERTAIN, True),
        (Fault("garbage", body="{}"), ErrorClass.UNCERTAIN, True),
        (Fault("garbage", body="[1]"), ErrorClass.UNCERTAIN, True),
        (Fault("garbage", body='{"access_token":"at_x","error":"invalid_grant"}'), ErrorClass.UNCERTAIN, True),
        (Fault("garbage", body='{"access_token":"at_x","token_type":"DPoP"}'), ErrorClass.SERVICE, True),
        (Fault("status", 500, body="x"), ErrorClass.UNCERTAIN, False),
        (Fault("status", 502, body={"error": "invalid_grant"}), ErrorClass.UNCERTAIN, False),
        (Fault("status", 503, {"Retry-After": "9"}, "busy"), ErrorClass.THROTTLED, False),
        (Fault("status", 429), ErrorClass.THROTTLED, False),
        (Fault("status", 404, body={"error": "invalid_grant"}), ErrorClass.SERVICE, False),
        (Fault("status", 403, body="<html>blocked</html>"), ErrorClass.SERVICE, False),
        (Fault("status", 302, {"Location": "/elsewhere"}), ErrorClass.SERVICE, False),
    ],
    ids=lambda value: f"{value.kind}-{value.status}" if isinstance(value, Fault) else str(value),
)
async def test_a_fault_has_the_class_of_what_it_may_have_done(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient, fault: Fault, cls: ErrorClass, rotated: bool
) -> None:
    first = await connected(vendor, endpoint)
    before = vendor.state.grants[0].refresh
    vendor.faults.append(fault)
    answer = failed(await refreshed(vendor, endpoint, first.tokens.refresh_token))
    assert answer.error_class is cls
    assert answer.exchange.error_class is cls
    assert (vendor.state.grants[0].refresh != before) == rotated
    assert len([one for one in vendor.asked if one.path == vendor.style.token_path]) == 2  # never by itself again


@of("github")
async def test_an_answer_that_never_comes_is_uncertain_within_the_time(vendor: VendorTokens, way: Ways) -> None:
    endpoint = HttpTokenEndpointClient(await way(vendor.url, seconds=0.3))
    first = await connected(vendor, endpoint)
    vendor.faults.append(Fault("stall_after"))
    answer = failed(await refreshed(vendor, endpoint, first.tokens.refresh_token))
    assert (answer.error_class, answer.reason, answer.status) == (ErrorClass.UNCERTAIN, error_reasons.TIMEOUT, None)


@of("github")
async def test_a_withdrawn_refresh_leaves_the_grant_as_it_was(
    vendor: VendorTokens, endpoint: HttpTokenEndpointClient
) -> None:
    first = await connected(vendor, endpoint)
    assert first.tokens.refresh_token is not None
    answer = await endpoint.refresh(vendor.provider, vendor.client, first.tokens.refresh_token, may_send=lambda: False)
    assert (failed(answer).error_class, failed(answer).reason) == (ErrorClass.NOT_SENT, error_reasons.WITHDRAWN)
    assert vendor.state.presented == []
    granted(await refreshed(vendor, endpoint, first.tokens.refresh_token))


async def test_a_closed_way_out_can_be_opened_again() -> None:
    http = VendorHttpClient(AllowedAddresses())
    await http.open()
    await http.close()
    await http.open()
    assert isinstance(await http.send(post("http://x.example")), TransportFailure)
    await http.close()


def _own_certificate(folder) -> ssl.SSLContext:
    from datetime import UTC, datetime, timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    (folder / "certificate.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    return context
