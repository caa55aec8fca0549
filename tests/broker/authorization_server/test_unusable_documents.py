"""A client whose metadata document is of no use, over HTTP: the person reads what failed and what helps, the operator
finds it in the log and in the audit log, and neither can be flooded."""

import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx2
import pytest

from core.audit.event import AuditEvent
from tests.broker.authorization_server.metadata_site import JSON
from tests.broker.authorization_server.server_app import parameters
from tests.gateway.vendor_session.doubles import RawVendor, answering
from tests.support.identity import Identity, identity_on
from tests.support.postgres import ScratchDatabase
from tests.support.product import Product, product_on
from tests.support.running_product import free_port

KIND = "client_document.refused"
HELPS = "mcpist client add"
SECRET = "sesame-0815"
"""Stands in the path of every document: nobody is told it."""

Serving = Callable[..., contextlib.AbstractAsyncContextManager[Identity]]


@pytest.fixture
async def product(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[Product]:
    async with product_on(database, tmp_path / "home") as made:
        yield made


@pytest.fixture
async def site() -> AsyncIterator[RawVendor]:
    async with RawVendor() as server:
        yield server


@pytest.fixture
def closed() -> str:
    """A host and port where nobody listens."""
    return f"127.0.0.1:{free_port()}"


def serving(product: Product, *listed: str, server: dict[str, Any] | None = None, **settings: Any) -> Any:
    options = {"failed_auth_per_minute": 100_000, **settings}
    return identity_on(product, providers=False, server=server, allowed_private_hosts=listed, **options)


async def asks(identity: Identity, client_id: str, language: str = "en", **changes: str | None) -> httpx2.Response:
    """The browser of a person follows the link of a client."""
    given = {"client_id": client_id, "redirect_uri": "http://127.0.0.1:9/cb", "resource": f"{identity.url}/mcp"}
    asked = urlencode(parameters(**given, **changes), quote_via=quote)
    async with httpx2.AsyncClient(headers={"Accept-Language": language, "Accept": "text/html"}) as http:
        return await http.get(f"{identity.url}/oauth/authorize?{asked}")


async def told(product: Product) -> list[dict[str, Any]]:
    """What the deployment's audit log says of documents."""
    events: list[AuditEvent] = await product.events(None, KIND)
    assert all(event.tenant_id is None or event.tenant_id.int == 0 for event in events)
    return [dict(event.detail or {}) for event in events]


def logged(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    """Host and cause of each line."""
    lines = [one for one in caplog.records if one.name == "broker.authorization_server.client_document_reports"]
    return [(vars(one)["host"], vars(one)["cause"]) for one in lines]


async def test_a_document_that_cannot_be_fetched(
    product: Product, closed: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(product, closed) as identity:
        for language in ("en", "ja", "en"):
            page = await asks(identity, f"http://{closed}/{SECRET}.json", language)
            assert (page.status_code, page.headers["content-type"]) == (503, "text/html; charset=utf-8")
            assert HELPS in page.text
            assert "127.0.0.1" in page.text
            assert SECRET not in page.text
            assert "not known here" not in page.text
        assert "could not fetch" in page.text
    assert logged(caplog) == [("127.0.0.1", "unreachable")]
    assert SECRET not in caplog.text
    assert await told(product) == [{"host": "127.0.0.1", "cause": "unreachable", "more": 0}]


async def test_whether_an_address_is_private_is_the_operators_to_know(
    product: Product, closed: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A stranger must not learn from the page which names lead into our network."""
    pages: list[tuple[int, str]] = []
    async with serving(product, closed) as identity:
        for host in (closed, "10.0.0.1"):
            scheme = "https" if host == "10.0.0.1" else "http"
            page = await asks(identity, f"{scheme}://{host}/{SECRET}.json")
            text = page.text.replace(host.partition(":")[0], "HOST")
            pages.append((page.status_code, text[text.index("<main") :]))
    assert pages[0] == pages[1]
    assert logged(caplog) == [("127.0.0.1", "unreachable"), ("10.0.0.1", "refused")]
    assert [one["cause"] for one in await told(product)] == ["unreachable", "refused"]


@pytest.mark.parametrize("script", [answering(404), answering(200, b"{}", content_type=JSON)])
async def test_a_document_that_is_none(product: Product, site: RawVendor, script: Any) -> None:
    site.scripts = [script]
    async with serving(product, f"127.0.0.1:{site.port}") as identity:
        page = await asks(identity, f"{site.url}/{SECRET}.json")
        assert page.status_code == 400
        assert "not valid" in page.text
        assert HELPS in page.text
        again = await asks(identity, f"{site.url}/{SECRET}.json")
        assert "not valid" in again.text, "what is remembered for a minute is told in the same words"
    assert len(site.requests) == 1
    assert [one["cause"] for one in await told(product)] == ["wrong"]


OFF = [{"client_metadata": False}, {"client_metadata_hosts": []}]


@pytest.mark.parametrize("server", OFF, ids=["client_metadata", "client_metadata_hosts"])
async def test_documents_are_switched_off(product: Product, site: RawVendor, server: dict[str, Any]) -> None:
    async with serving(product, f"127.0.0.1:{site.port}", server=server) as identity:
        async with httpx2.AsyncClient(base_url=identity.url) as http:
            for name in ("oauth-authorization-server", "openid-configuration"):
                document = (await http.get(f"/.well-known/{name}")).json()
                assert document["client_id_metadata_document_supported"] is False
        page = await asks(identity, f"{site.url}/{SECRET}.json")
        assert (page.status_code, "not accept documents" in page.text, HELPS in page.text) == (400, True, True)
    assert site.requests == []
    assert [one["cause"] for one in await told(product)] == ["off"]


async def test_only_listed_hosts(product: Product, site: RawVendor) -> None:
    async with serving(
        product, f"127.0.0.1:{site.port}", server={"client_metadata_hosts": ["*.example.com"]}
    ) as identity:
        page = await asks(identity, f"{site.url}/{SECRET}.json")
        assert (page.status_code, "not accept documents" in page.text, HELPS in page.text) == (400, True, True)
        async with httpx2.AsyncClient(base_url=identity.url) as http:
            document = (await http.get("/.well-known/oauth-authorization-server")).json()
            assert document["client_id_metadata_document_supported"] is True
    assert site.requests == []
    assert [one["cause"] for one in await told(product)] == ["host"]


async def test_an_id_that_is_no_address_of_a_document_is_an_unknown_client(product: Product) -> None:
    async with serving(product) as identity:
        for client_id in ("https://a b/c", "https://user@host/c", "https://host/?q", "dyn_" + "a" * 22, "nobody-here"):
            page = await asks(identity, client_id)
            assert (page.status_code, "not known here" in page.text) == (400, True), client_id
            assert HELPS in page.text
    assert await told(product) == []


async def test_logs_are_not_flooded(product: Product, caplog: pytest.LogCaptureFixture) -> None:
    """Anybody can name a thousand hosts; nobody else's text gets in."""
    async with serving(product, server={"client_metadata_hosts": []}) as identity:
        for number in range(100):
            await asks(identity, f"https://host-{number}.example/{SECRET}.json")
        for odd in ("<b>bold</b>", "x" * 300 + ".example", "日本.example", "a\u202eb.example"):
            page = await asks(identity, f"https://{odd}/{SECRET}.json")
            assert page.status_code == 400
            assert "<b>bold" not in page.text
    seen = await told(product)
    assert 1 <= len(seen) == len(logged(caplog)) <= 20
    assert SECRET not in caplog.text
    assert "bold" not in caplog.text + str(seen)
