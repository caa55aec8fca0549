"""Parts of files, and links to file stores: no credential goes there, and nothing of the link comes back."""

import asyncio
import contextlib
import gzip
import logging
import socket
import traceback
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from core.http.outbound_addresses import AllowedAddresses
from gateway.vendor_session.client_factory import VendorClientFactory
from gateway.vendor_session.download_client import download_part
from gateway.vendor_session.part_reader import MAX_SKIPPED_BYTES, MAX_SKIPPED_UNPACKED_BYTES
from modules.kit import Download, VendorApi, VendorProblem, VendorSettings
from modules.kit.vendor import MAX_DOWNLOAD_BYTES
from tests.gateway.vendor_session.conftest import NO_ACCOUNT, OWNER, TOKEN, Leases
from tests.gateway.vendor_session.doubles import Exchange, RawVendor, Script, answering, hanging_up, silent
from tests.support.certificates import self_signed

SIGNED = "/log.txt?sig=canary-signature-7d1e&se=2026"
TEXT = b"".join(b"line %06d\n" % number for number in range(2000))


@dataclass(slots=True)
class Stored:
    """A vendor that links to a file store, and sessions that may reach both."""

    vendor: RawVendor
    store: RawVendor
    sessions: VendorClientFactory
    leases: Leases = field(default_factory=Leases)

    async def download(
        self, limit: int = MAX_DOWNLOAD_BYTES, offset: int = 0, timeout: float = 5.0, **options: Any
    ) -> Download:
        headers = {"accept": "application/vnd.test", "x-secret-version": "9"}
        api = VendorApi(self.vendor.url + "/api", NO_ACCOUNT, headers=headers)
        client = self.sessions.create_client(api, VendorSettings(timeout=timeout), self.leases, OWNER)
        more: dict[str, Any] = {"query": None, "headers": {"x-more": "1"}, **options}
        return await download_part(client, "/jobs/1/logs", limit=limit, offset=offset, **more)

    async def problem(self, **options: Any) -> VendorProblem:
        with pytest.raises(VendorProblem) as caught:
            await self.download(**options)
        return caught.value

    def link(self, to: str | None = None, status: int = 302) -> None:
        self.vendor.scripts = [answering(status, b"", location=self.store.url + SIGNED if to is None else to)]


@contextlib.asynccontextmanager
async def open_stored(**more: Any) -> AsyncIterator[Stored]:
    async with RawVendor() as vendor, RawVendor() as store:
        allow = AllowedAddresses.from_hosts([f"127.0.0.1:{one.port}" for one in (vendor, store)])

        async def no_pause(_: float) -> None:
            return None

        sessions = VendorClientFactory(allow, pause=no_pause, **more)
        await sessions.open()
        made = Stored(vendor, store, sessions)
        made.link()
        yield made
        await sessions.close()


@pytest.fixture
async def stored() -> AsyncIterator[Stored]:
    async with open_stored() as made:
        yield made


def serving(content: bytes = TEXT, *, ranges: bool = True, total: bool = True, **headers: str) -> Script:
    """Serve a file, in parts where a part is asked for and `ranges` says so."""

    async def serve(exchange: Exchange) -> None:
        asked = exchange.request.headers["range"].removeprefix("bytes=").partition("-")
        first, last = int(asked[0]), min(int(asked[2]), len(content) - 1)
        size = str(len(content)) if total else "*"
        if not ranges:
            exchange.send(200, content, content_type="text/plain", **headers)
        elif first >= len(content):
            exchange.send(416, b"no", content_range=f"bytes */{size}")
        else:
            named = {"content_type": "text/plain; charset=utf-8", "content_range": f"bytes {first}-{last}/{size}"}
            exchange.send(206, content[first : last + 1], **named, **headers)

    return serve


async def test_a_link_is_followed_without_credential_and_headers(stored: Stored) -> None:
    stored.store.scripts = [serving()]
    assert await stored.download() == Download(TEXT, "text/plain; charset=utf-8", len(TEXT), None)
    (asked,), (fetched,) = stored.vendor.requests, stored.store.requests
    assert asked.headers["authorization"] == f"Bearer {TOKEN}-1"
    assert (asked.headers["accept"], asked.headers["x-more"]) == ("application/vnd.test", "1")
    assert fetched.target == SIGNED
    assert fetched.headers == {
        "host": f"127.0.0.1:{stored.store.port}", "accept": "*/*", "accept-encoding": "identity",
        "user-agent": "MCPist", "range": f"bytes=0-{MAX_DOWNLOAD_BYTES}",
    }  # fmt: skip


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("total", [True, False])
async def test_a_file_is_read_part_by_part(stored: Stored, ranges: bool, total: bool) -> None:
    stored.store.scripts = [serving(ranges=ranges, total=total)]
    read, offset = b"", 0
    while True:
        part = await stored.download(7000, offset)
        assert part.size == (len(TEXT) if total or not ranges else None)
        read += part.content
        if part.next_offset is None:
            break
        assert part.next_offset == len(read)
        offset = part.next_offset
    assert read == TEXT
    assert len(stored.store.requests) == len(TEXT) // 7000 + 1


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("content", [b"", b"x"])
async def test_the_smallest_files(stored: Stored, content: bytes, ranges: bool) -> None:
    stored.store.scripts = [serving(content, ranges=ranges)]
    part = await stored.download(1)
    assert (part.content, part.size, part.next_offset) == (content, len(content), None)


@pytest.mark.parametrize("ranges", [True, False])
async def test_behind_the_end_there_is_nothing(stored: Stored, ranges: bool) -> None:
    stored.store.scripts = [serving(ranges=ranges)]
    for offset in (len(TEXT), len(TEXT) + 5):
        part = await stored.download(offset=offset)
        assert (part.content, part.size, part.next_offset) == (b"", len(TEXT), None)


async def test_a_file_that_the_vendor_gives_itself(stored: Stored) -> None:
    stored.vendor.scripts = [serving()]
    part = await stored.download(5, 10)
    assert (part.content, part.next_offset) == (TEXT[10:15], 15)
    assert stored.store.accepted == 0


async def test_a_redirect_of_the_vendors_own_keeps_the_credential(stored: Stored) -> None:
    stored.vendor.scripts = [answering(301, b"", location="/api/jobs/2/logs"), serving()]
    assert (await stored.download()).content == TEXT
    assert [request.target for request in stored.vendor.requests] == ["/api/jobs/1/logs", "/api/jobs/2/logs"]
    assert all("authorization" in request.headers for request in stored.vendor.requests)


async def test_no_way_back_to_the_credential(stored: Stored) -> None:
    stored.vendor.scripts = [answering(302, b"", location=stored.store.url + SIGNED), serving()]
    stored.store.scripts = [answering(302, b"", location=stored.vendor.url + "/api/stolen")]
    assert (await stored.download()).content == TEXT
    assert "authorization" not in stored.vendor.requests[1].headers
    assert "x-secret-version" not in stored.vendor.requests[1].headers


async def test_a_loop_ends(stored: Stored) -> None:
    stored.store.scripts = [answering(302, b"", location=SIGNED)]
    assert "too many further links" in str(await stored.problem())
    assert len(stored.store.requests) == 3


FORBIDDEN = {
    "loopback": "https://127.0.0.1/x", "metadata": "http://169.254.169.254/latest/meta-data",
    "metadata by https": "https://169.254.169.254/latest", "private": "https://10.0.0.1/x",
    "IPv6": "https://[::1]/x", "mapped": "https://[::ffff:127.0.0.1]/x", "number": "https://2130706433/x",
    "port": "https://files.example:8443/x", "no TLS": "http://files.example/x", "file": "file:///etc/passwd",
    "data": "data:text/plain,x", "user": "https://user:pass@files.example/x", "backslash": "https://a.example\\@b/x",
    "blank": "https://files.example/x y", "nothing": "", "dot": "https://localhost/x", "gopher": "gopher://x/",
    "long": "https://files.example/" + "x" * 8001,
}  # fmt: skip


@pytest.mark.guarantee("G12")
@pytest.mark.parametrize("location", FORBIDDEN.values(), ids=FORBIDDEN)
async def test_where_a_link_may_not_lead(stored: Stored, location: str) -> None:
    stored.link(location)
    caught = await stored.problem()
    assert (caught.kind, caught.answer) == ("refused", None)
    assert "canary" not in str(caught)
    assert stored.store.accepted == 0
    assert len(stored.vendor.requests) == 1


@pytest.mark.guarantee("G12")
async def test_a_name_with_a_private_address_is_not_asked(stored: Stored) -> None:
    async def lookup(host: str, port: int) -> list[tuple[int, str]]:
        return [(socket.AF_INET, "127.0.0.1")]

    async with open_stored(lookup=lookup) as made:
        made.link("https://files.example/secret?sig=canary-signature-7d1e")
        caught = await made.problem()
        assert caught.kind == "refused"
        assert "canary" not in str(caught)
        assert made.store.accepted == 0


@pytest.mark.guarantee("G12")
@pytest.mark.parametrize("name", ["127.0.0.1", "intranet.example"])
async def test_a_vendor_outside_leads_to_no_private_host_of_the_operators(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The store is on the operator's list, for another service; the vendor passes for a public one."""
    monkeypatch.setattr("core.http.outbound_addresses.is_public", lambda _: True)
    signed = self_signed(tmp_path)

    async def lookup(host: str, port: int) -> list[tuple[int, str]]:
        return [(socket.AF_INET, "127.0.0.1")]

    async with RawVendor(tls=signed.server()) as vendor, RawVendor() as store:
        allow = AllowedAddresses(frozenset({(name, store.port)}), frozenset({443, vendor.port, store.port}))
        sessions = VendorClientFactory(allow, lookup=lookup, tls=signed.client())
        await sessions.open()
        api = VendorApi(f"https://127.0.0.1:{vendor.port}", NO_ACCOUNT)
        client = sessions.create_client(api, VendorSettings(), Leases(), OWNER)
        for scheme in ("http", "https"):
            vendor.scripts = [answering(302, b"", location=f"{scheme}://{name}:{store.port}/x")]
            with pytest.raises(VendorProblem, match="leads to an address"):
                await download_part(client, "/x", limit=10, offset=0, query=None, headers=None)
        await sessions.close()
        assert store.accepted == 0


async def test_what_the_store_refuses_says_nothing_of_the_credential(stored: Stored) -> None:
    for status in (400, 401, 403, 429):
        stored.store.scripts = [answering(status, b"<Error>canary</Error>", retry_after="600")]
        caught = await stored.problem()
        assert (caught.kind, caught.answer, caught.retry_after) == ("unavailable", None, None)
        assert "canary" not in str(caught)
    assert set(stored.leases.asked) == {None}, "no 401 of a store is reported as the credential's"
    stored.store.scripts = [serving()]
    assert (await stored.download()).content == TEXT, "and nothing is remembered as the vendor's limit"
    stored.store.scripts = [answering(404)]
    assert (await stored.problem()).kind == "not_found"


async def test_a_store_that_fails_for_a_moment_is_asked_by_a_new_link(stored: Stored) -> None:
    for script in (answering(503), hanging_up, cutting(100, TEXT)):
        stored.vendor.requests.clear()
        stored.store.scripts = [script, serving()]
        assert (await stored.download()).content == TEXT
        assert len(stored.vendor.requests) == 2


def cutting(length: int, content: bytes) -> Script:
    """End the connection in the middle of the answer."""

    async def cut(exchange: Exchange) -> None:
        exchange.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(content), content[:length]))
        exchange.hang_up()

    return cut


async def test_a_connection_that_always_ends_in_the_middle(stored: Stored) -> None:
    stored.store.scripts = [cutting(100, TEXT)]
    assert (await stored.problem()).kind == "unavailable"


async def test_a_slow_store_ends_by_the_time(stored: Stored) -> None:
    stored.store.scripts = [silent]
    caught = await stored.problem(timeout=1)
    assert "did not answer in time" in str(caught)


async def test_a_gigabyte_is_cut_and_no_more_of_it_read(stored: Stored) -> None:
    sent = 0

    async def endless(exchange: Exchange) -> None:
        nonlocal sent
        exchange.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % 2**30)
        for _ in range(2**14):
            exchange.write(bytes(2**16))
            sent += 2**16
            await exchange.writer.drain()

    stored.store.scripts = [endless]
    part = await stored.download(100_000)
    assert (len(part.content), part.size, part.next_offset) == (100_000, 2**30, 100_000)
    assert sent < 2**26
    part = await stored.download(10, 10_000_000)
    assert (part.content, part.next_offset) == (bytes(10), 10_000_010)
    caught = await stored.problem(offset=MAX_SKIPPED_BYTES + 1)
    assert caught.kind == "too_large"


async def test_a_packed_file_is_unpacked_within_limits(stored: Stored) -> None:
    stored.store.scripts = [serving(gzip.compress(TEXT), ranges=False, content_encoding="gzip")]
    part = await stored.download(1000, 500)
    assert (part.content, part.size, part.next_offset) == (TEXT[500:1500], None, 1500)
    assert (await stored.download(offset=500)).content == TEXT[500:]


async def test_a_bomb_is_told(stored: Stored) -> None:
    bomb = gzip.compress(bytes(2**25), 9)
    stored.store.scripts = [serving(bomb, ranges=False, content_encoding="gzip")]
    assert (await stored.problem(offset=2**22)).kind == "too_large"
    assert (await stored.problem(offset=MAX_SKIPPED_UNPACKED_BYTES + 1)).kind == "too_large"
    stored.store.scripts = [serving(bomb[:-20], ranges=False, content_encoding="br")]
    assert (await stored.problem()).kind == "unavailable"


@pytest.mark.parametrize(
    "headers",
    [
        {"content_range": "bytes 5-9/20"}, {"content_range": "bytes x"}, {},
        {"content_range": "bytes 0-9/20", "content_encoding": "gzip"},
    ],
)  # fmt: skip
async def test_another_part_than_was_asked_for(stored: Stored, headers: Mapping[str, str]) -> None:
    stored.store.scripts = [answering(206, b"0123456789", **headers)]
    assert (await stored.problem()).kind == "unavailable"


async def test_the_signed_address_is_in_no_text_and_no_log(stored: Stored, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for script in (answering(403), answering(500), hanging_up, answering(206)):
        stored.store.scripts = [script]
        caught = await stored.problem()
        shown = "".join(traceback.format_exception(caught)) + repr(caught) + str(caught.answer)
        assert "canary-signature" not in shown
        assert str(stored.store.port) not in shown
    assert "canary-signature" not in caplog.text


async def test_two_credentials_share_no_connection_to_a_store(stored: Stored) -> None:
    stored.store.scripts = [serving()]
    api = VendorApi(stored.vendor.url, NO_ACCOUNT)
    for tenant in ("acme", "globex", "acme"):
        client = stored.sessions.create_client(api, VendorSettings(), stored.leases, OWNER._replace(tenant=tenant))
        await download_part(client, "/x", limit=2**20, offset=0, query=None, headers=None)
    assert [request.connection for request in stored.store.requests] == [1, 2, 1]


async def test_the_rest_of_a_cut_file_is_nobodys_answer(stored: Stored) -> None:
    stored.store.scripts = [serving(ranges=False)]
    parts = await asyncio.gather(*(stored.download(10, offset) for offset in range(0, 200, 10)))
    assert b"".join(part.content for part in parts) == TEXT[:200]


async def test_a_second_answer_changes_nothing_of_the_first(stored: Stored) -> None:
    async def twice(exchange: Exchange) -> None:
        exchange.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none")
        exchange.write(b"HTTP/1.1 404 No\r\nContent-Length: 3\r\n\r\ntwo")

    stored.store.scripts = [twice]
    for _ in range(2):
        assert (await stored.download()).content == b"one"
    assert [request.connection for request in stored.store.requests] == [1, 2]


async def test_a_link_that_is_sent_twice_is_none(stored: Stored) -> None:
    async def twice(exchange: Exchange) -> None:
        link = f"Location: {stored.store.url}{SIGNED}\r\n"
        exchange.write(f"HTTP/1.1 302 Found\r\n{link}{link}Content-Length: 0\r\n\r\n".encode())

    stored.vendor.scripts = [twice]
    assert (await stored.problem()).kind == "refused"
    assert stored.store.accepted == 0


@pytest.mark.parametrize(("limit", "offset"), [(0, 0), (-1, 0), (1, -1)])
async def test_parts_that_are_none(stored: Stored, limit: int, offset: int) -> None:
    assert (await stored.problem(limit=limit, offset=offset)).kind == "invalid"
    assert stored.vendor.accepted == 0
