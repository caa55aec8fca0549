"""Client ID metadata documents: found, kept, refused; and no way to make MCPist ask where it must not (G12)."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from broker.authorization_server.client_metadata import (
    MAX_DOCUMENT_BYTES,
    ClientMetadataResolver,
    parse_client_document,
)
from broker.authorization_server.client_registry import Client
from core.errors import Unavailable
from core.http.json_documents import DocumentUnavailable, JsonDocumentFetcher
from core.http.outbound_addresses import AllowedAddresses
from tests.broker.authorization_server.client_registry_app import ec_key, public_set
from tests.broker.authorization_server.metadata_site import JSON, PATIENCE, Site, document, finding, site_of_documents
from tests.gateway.vendor_session.doubles import Exchange, Script, answering, hanging_up, silent

URL = "https://app.example.com/client.json"
PUBLIC = "93.184.215.14"


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with site_of_documents() as site:
        yield site


async def test_a_client_is_what_its_document_says(site: Site) -> None:
    site.serves(site.says())
    assert await site.metadata.find(site.url) == Client(
        id=site.url,
        name="App",
        kind="metadata",
        redirect_uris=("http://127.0.0.1/cb", "https://app.example.com/cb"),
        verified_host=f"127.0.0.1:{site.server.port}",
    )
    [request] = site.server.requests
    assert (request.method, request.target, request.headers["accept"]) == ("GET", "/client.json", JSON)
    assert not request.headers.keys() & {"cookie", "authorization", "referer"}


@pytest.mark.parametrize(
    "changed",
    [
        {"client_id": URL + "/"},
        {"client_id": "https://evil.example/client.json"},
        {"client_id": ...},
        {"client_id": 1},
        {"client_name": ...},
        {"client_name": ""},
        {"client_name": "\u202e \x00"},
        {"client_name": ["App"]},
        {"redirect_uris": ...},
        {"redirect_uris": []},
        {"redirect_uris": "https://app.example.com/cb"},
        {"redirect_uris": ["javascript:alert(1)", 1, None, "http://evil.example/"]},
        {"redirect_uris": [f"https://app.example.com/{n}" for n in range(21)]},
        {"client_secret": "s"},
        {"token_endpoint_auth_method": "client_secret_basic"},
        {"token_endpoint_auth_method": "client_secret_jwt"},
        {"token_endpoint_auth_method": None},
        {"token_endpoint_auth_method": "private_key_jwt"},
        {"token_endpoint_auth_method": "private_key_jwt", "jwks": {"keys": []}},
        {"token_endpoint_auth_method": "private_key_jwt", "jwks_uri": "https://other.example/keys"},
        {"token_endpoint_auth_method": "private_key_jwt", "jwks_uri": "http://app.example.com/keys"},
        {"token_endpoint_auth_method": "private_key_jwt", "jwks_uri": "https://app.example.com.evil.example/"},
        {"token_endpoint_auth_method": "private_key_jwt", "jwks_uri": 1},
        {"grant_types": ["implicit"]},
        {"grant_types": "authorization_code"},
        {"response_types": ["token"]},
    ],
)
def test_documents_that_break_the_rules(changed: dict[str, Any]) -> None:
    assert parse_client_document(URL, document(URL)) is not None
    assert parse_client_document(URL, document(URL, **changed)) is None


def test_what_a_document_may_leave_out_or_have_too_much() -> None:
    bare = {"client_id": URL, "client_name": " A\nB\u202e ", "redirect_uris": ["http://localhost/", "app:/x"], "x": {}}
    client = parse_client_document(URL, bare)
    assert client is not None
    assert (client.name, client.redirect_uris, client.auth_method) == ("A B", ("http://localhost/",), "none")


def test_keys_of_a_client() -> None:
    inline = parse_client_document(
        URL, document(URL, token_endpoint_auth_method="private_key_jwt", jwks=public_set(ec_key()))
    )
    assert inline is not None
    assert (inline.auth_method, inline.jwks) == ("private_key_jwt", public_set(ec_key()))
    uri = "https://app.example.com/keys"
    published = parse_client_document(URL, document(URL, token_endpoint_auth_method="private_key_jwt", jwks_uri=uri))
    assert published is not None
    assert (published.jwks, published.jwks_uri) == (None, uri)


def served(status: int = 200, body: bytes | None = None, **headers: str) -> Callable[[Site], Script]:
    def made(site: Site) -> Script:
        right = json.dumps(document(site.url)).encode()
        return answering(status, right if body is None else body, **{"content_type": JSON, **headers})

    return made


@pytest.mark.parametrize(
    ("script", "found"),
    [
        (served(), True),
        (served(content_type="Application/JSON; charset=utf-8"), True),
        (served(content_type="application/oauth-client+json"), True),
        (served(content_type="text/html"), False),
        (served(content_type="text/json"), False),
        (served(content_type="application/jsonx"), False),
        (served(content_encoding="gzip"), False),
        (served(201), False),
        (served(301, location="/other"), False),
        (served(304, b""), False),
        (served(401), False),
        (served(404), False),
        (served(body=b""), False),
        (served(body=b"[]"), False),
        (served(body=b"null"), False),
        (served(body=b"{"), False),
        (served(body=b"\xff\xfe{}"), False),
        (served(body=b"[" * 5000), False),
    ],
)
async def test_answers(site: Site, script: Callable[[Site], Script], found: bool) -> None:
    site.serves(script(site))
    assert (await site.metadata.find(site.url) is not None) is found
    assert site.asked == 1


@pytest.mark.parametrize("script", [hanging_up, silent, answering(500), answering(503), answering(429)])
async def test_a_server_that_is_away_may_be_back_in_a_minute(site: Site, script: Script) -> None:
    site.serves(script, site.says())
    for _ in range(2):
        with pytest.raises(Unavailable) as away:
            await site.metadata.find(site.url)
        assert 0 < away.value.retry_after <= 60
    assert site.asked == 1
    site.clock.go(seconds=60)
    assert await site.metadata.find(site.url) is not None


async def test_five_kilobytes_and_no_more(site: Site) -> None:
    filled = len(json.dumps(document(site.url, padding="")))
    site.serves(site.says(padding="x" * (MAX_DOCUMENT_BYTES - filled)))
    assert await site.metadata.find(site.url) is not None
    site.clock.go(minutes=6)
    site.serves(site.says(padding="x" * (MAX_DOCUMENT_BYTES - filled + 1)))
    assert await site.metadata.find(site.url) is None


async def test_a_body_without_end_is_not_read_to_its_end(site: Site) -> None:
    sent = 0

    async def endless(exchange: Exchange) -> None:
        nonlocal sent
        exchange.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
        while not exchange.writer.is_closing() and sent < 100 * 2**20:
            exchange.write(b"1000\r\n" + b" " * 4096 + b"\r\n")
            sent += 4096
            await exchange.writer.drain()

    site.serves(endless)
    assert await site.metadata.find(site.url) is None
    assert sent < 20 * 2**20


async def test_a_body_that_drips_is_not_waited_for(site: Site) -> None:
    async def dripping(exchange: Exchange) -> None:
        exchange.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 4000\r\n\r\n")
        while not exchange.writer.is_closing():
            exchange.write(b" ")
            await exchange.writer.drain()
            await asyncio.sleep(0.02)

    site.serves(dripping)
    async with asyncio.timeout(10 * PATIENCE):
        with pytest.raises(Unavailable):
            await site.metadata.find(site.url)


async def test_only_hosts_of_the_policy(site: Site) -> None:
    async with finding(
        AllowedAddresses.from_hosts([f"127.0.0.1:{site.server.port}"]), hosts=("*.Example.com", "claude.ai")
    ) as (_, metadata, _documents):
        site.serves(site.says())
        assert await metadata.find(site.url) is None
    assert site.asked == 0
    async with finding(AllowedAddresses.from_hosts([f"127.0.0.1:{site.server.port}"]), hosts=("127.0.*",)) as (
        _,
        metadata,
        _d,
    ):
        assert await metadata.find(site.url) is not None


@dataclass(slots=True)
class Guarded:
    """A listener on every loopback address, whose port counts as an ordinary one, and a name server of the test's."""

    port: int
    metadata: ClientMetadataResolver
    documents: JsonDocumentFetcher
    server: socket.socket
    addresses: list[list[str]] = field(default_factory=list[list[str]])

    def was_reached(self) -> bool:
        with contextlib.suppress(BlockingIOError):
            self.server.accept()[0].close()
            return True
        return False


@pytest.fixture
async def guarded() -> AsyncIterator[Guarded]:
    server = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    server.setblocking(False)
    answers: list[list[str]] = [["127.0.0.1"]]

    async def names(_host: str, _port: int) -> list[tuple[int, str]]:
        given = answers.pop(0) if len(answers) > 1 else answers[0]
        return [(socket.AF_INET6 if ":" in one else socket.AF_INET, one) for one in given]

    port = server.getsockname()[1]
    allow = AllowedAddresses(ports=frozenset({443, port}))
    async with finding(allow, lookup=names) as (_, metadata, documents):
        yield Guarded(port, metadata, documents, server, answers)
    server.close()


LOOPBACK_SPELLINGS = (
    "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "127.0.0.1.", "0.0.0.0",
    "localhost", "LOCALHOST", "localhost.", "a.localhost", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
    "[0:0:0:0:0:0:0:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fe80::1]", "[fc00::1]", "169.254.169.254",
    "10.0.0.1", "100.64.0.1", "192.168.0.1", "224.0.0.1", "①②⑦.⓪.⓪.①", "127。0。0。1", "127.0.0.1%00.example",
    "app.example",
)  # fmt: skip


@pytest.mark.guarantee("G12")
async def test_no_spelling_of_this_machine_is_asked(guarded: Guarded) -> None:
    for host in LOOPBACK_SPELLINGS:
        assert await guarded.metadata.find(f"https://{host}:{guarded.port}/client.json") is None, host
    assert not guarded.was_reached()


async def test_whoever_reads_documents_is_guarded(guarded: Guarded) -> None:
    """Key sets are read without the rules of client ids before them."""
    for host in LOOPBACK_SPELLINGS:
        with pytest.raises(DocumentUnavailable) as none:
            await guarded.documents.fetch_document(f"https://{host}:{guarded.port}/keys", 1000)
        assert none.value.trouble == "refused", host
    assert not guarded.was_reached()


@pytest.mark.parametrize("addresses", [[PUBLIC, "127.0.0.1"], ["::ffff:127.0.0.1"], ["fe80::1%lo"], []])
async def test_a_name_with_one_wrong_address_is_not_asked(guarded: Guarded, addresses: list[str]) -> None:
    guarded.addresses[:] = [addresses]
    assert await guarded.metadata.find(f"https://app.example:{guarded.port}/client.json") is None
    assert not guarded.was_reached()


async def test_a_name_that_changes_its_mind_has_no_window(guarded: Guarded, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is connected to is what was checked: the name server is asked once for each attempt."""
    guarded.addresses[:] = [[PUBLIC], ["127.0.0.1"]]
    connected: list[Any] = []

    async def connect(*given: Any, addr_infos: Any = None, **_: Any) -> socket.socket:
        connected.extend(info[4][0] for info in addr_infos or given[0])
        raise ConnectionRefusedError

    monkeypatch.setattr("core.http.single_exchange.start_connection", connect)
    url = f"https://app.example:{guarded.port}/client.json"
    with pytest.raises(Unavailable):
        await guarded.metadata.find(url)
    assert connected == [PUBLIC]
    assert await guarded.metadata.find(url.replace("app", "app2")) is None
    assert connected == [PUBLIC]
    assert not guarded.was_reached()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(site: Site, guarded: Guarded, status: int) -> None:
    site.serves(answering(status, b"{}", content_type=JSON, location=f"http://127.0.0.1:{guarded.port}/x"))
    assert await site.metadata.find(site.url) is None
    assert not guarded.was_reached()


async def test_only_urls_of_documents(guarded: Guarded) -> None:
    base = f"https://{PUBLIC}:{guarded.port}"
    for url in (
        "",
        "x",
        "https://",
        f"{base}",
        f"{base}/",
        f"{base}/c?x=1",
        f"{base}/c?",
        f"{base}/c#x",
        f"{base}/c#",
        f"{base}/../c",
        f"{base}/a/./c",
        f"{base}/a/%2e%2E/c",
        f"{base}/a/.%2e",
        f"{base}\\c",
        f"{base}/a b",
        f"{base}/a\nb",
        f"{base}/ä",
        f"{base}/" + "a" * 500,
        f"https://user@{PUBLIC}/c",
        f"https://user:pw@{PUBLIC}/c",
        f"https://@{PUBLIC}/c",
        f"http://{PUBLIC}/c",
        f"http://{PUBLIC}:443/c",
        f"https://{PUBLIC}:22/c",
        f"https://{PUBLIC}:0/c",
        f"https://{PUBLIC}:/c",
        f"https://{PUBLIC}:99999/c",
        f"HTTPS://{PUBLIC}/c",
        f"ftp://{PUBLIC}/c",
        "file:///etc/passwd",
        "https:///c",
        "https:/app.example/c",
        "//app.example/c",
        "https://App.example/c",
        "https://[::1/c",
    ):
        assert await guarded.metadata.find(url) is None, url


async def test_a_document_over_tls_needs_a_certificate_that_somebody_vouches_for(site: Site) -> None:
    """The listener of this test speaks no TLS at all: no document comes of a handshake that fails."""
    site.serves(site.says(url=site.url.replace("http:", "https:")))
    with pytest.raises(Unavailable):
        await site.metadata.find(site.url.replace("http:", "https:"))
    assert site.asked == 0
