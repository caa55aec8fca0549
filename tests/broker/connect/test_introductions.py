"""Our own client metadata documents: read by a real server that takes them, and the same for everybody."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import httpx2
import pytest

from broker.interface import Lease, LeaseRequest
from core.directory.tenants import Tenant
from core.secret import Secret
from tests.broker.connect.connect_app import Browser, catalogue_with, parameters, provider_document, shown
from tests.support.identity import Identity, identity_on
from tests.support.oauth_provider import OauthProvider, oauth_provider
from tests.support.postgres import ScratchDatabase
from tests.support.product import Person, product_on

URL = "https://mcp.test"
PROVIDER = "newcomer"


class Front(httpx2.AsyncBaseTransport):
    """Stands for the proxy in front of us, which has the certificate of our public name."""

    def __init__(self, url: str) -> None:
        self._port = urlsplit(url).port
        self._inner = httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.host == "mcp.test":
            url = request.url.copy_with(scheme="http", host="127.0.0.1", port=self._port)
            request = httpx2.Request(request.method, url, headers=request.headers, stream=request.stream)
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()


@dataclass
class IntroductionsApp:
    """A deployment with a public name, and a vendor that takes documents and lets clients register."""

    identity: Identity
    vendor: OauthProvider
    tenant: Tenant
    ada: Person

    async def client(self) -> httpx2.AsyncClient:
        _, _, cookie = (await self.identity.session(self.ada)).partition("=")
        http = httpx2.AsyncClient(transport=Front(self.identity.url), timeout=20)
        http.cookies.set("__Host-mcpist-session", cookie, domain="mcp.test")
        return http

    async def rows(self, sql: str) -> list[dict[str, object]]:
        async with self.identity.product.database.admin_connection() as admin:
            return [dict(row) for row in await admin.fetch(sql)]


@pytest.fixture
async def app(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[IntroductionsApp]:
    async with (
        oauth_provider(tmp_path, redirect_uris=["https://nowhere.test/"]) as vendor,
        product_on(database, tmp_path / "home", catalogue=catalogue_with("http://127.0.0.1:1")) as product,
        identity_on(
            product, providers=False, public_url=URL, allowed_private_hosts=[urlsplit(vendor.issuer).netloc]
        ) as identity,
    ):
        tenant = await product.tenant("acme")
        oauth = {"client_documents": True, "registration_url": f"{vendor.issuer}/reg"}
        document = provider_document(vendor, modules=("shop",), oauth=oauth)
        async with product.database.admin_connection() as admin:
            sql = "INSERT INTO vault.providers (tenant_id, id, document) VALUES ($1, $2, $3::jsonb)"
            await admin.execute(sql, tenant.id, PROVIDER, json.dumps(document))
        yield IntroductionsApp(
            identity, vendor, tenant, await product.person(tenant, "ada@acme.test", allow=["shop.*"])
        )


async def test_a_vendor_reads_who_we_are(app: IntroductionsApp) -> None:
    async with await app.client() as http:
        browser = Browser(http, URL)
        url = await browser.start("shop", PROVIDER)
        client_id = parameters(url)["client_id"]
        assert client_id == f"{URL}/connect/-/clients/{app.tenant.id}/{PROVIDER}.json"
        served = await http.get(client_id)
        assert served.headers["content-type"] == "application/json"
        assert "max-age" in served.headers["cache-control"]
        assert served.json()["client_id"] == client_id
        await app.vendor.control({"cimd": {client_id: served.json()}})
        page = await browser.get(await browser.consent(url))
        assert "Shop is connected" in shown(page), shown(page)
    lease = await app.identity.zone.broker.lease(LeaseRequest(Secret(app.ada.token), "shop", "look"))
    assert isinstance(lease, Lease)
    again = LeaseRequest(Secret(app.ada.token), "shop", "look", rejected_version=lease.version)
    refreshed = await app.identity.zone.broker.lease(again)
    assert isinstance(refreshed, Lease)
    assert refreshed.access_token != lease.access_token, "a client without a secret refreshes too"
    [client] = await app.rows("SELECT provider, client_id, secret, auth_method, role_id FROM vault.oauth_clients")
    assert client == {
        "provider": PROVIDER, "client_id": client_id, "secret": None, "auth_method": "none", "role_id": None
    }  # fmt: skip
    counters = (await app.vendor.told())["counters"]
    assert (counters["granted:authorization_code"], "refresh_token_reuse_detected" in counters) == (1, False)
    assert counters["granted:refresh_token"] >= 1


async def test_a_document_is_the_same_for_whatever_there_could_be(app: IntroductionsApp) -> None:
    async with httpx2.AsyncClient(transport=Front(app.identity.url), timeout=20) as stranger:
        for tenant, provider in ((app.tenant.id, PROVIDER), (app.tenant.id, "never_added"), (uuid4(), "x")):
            url = f"{URL}/connect/-/clients/{tenant}/{provider}.json"
            answer = await stranger.get(url)
            assert answer.status_code == 200, answer.text
            assert answer.json() == {
                "client_id": url,
                "client_name": "MCPist at mcp.test",
                "redirect_uris": [f"{URL}/connect/callback/{provider}"],
                "grant_types": ["authorization_code", "refresh_token"],
                "response_types": ["code"],
                "token_endpoint_auth_method": "none",
                "application_type": "web",
            }
            assert "set-cookie" not in answer.headers
        upper, tenant = str(app.tenant.id).upper(), app.tenant.id
        for path in (f"{upper}/x", f"{tenant}/X", "x/x", f"{tenant}/{'x' * 41}", f"{tenant}/.x", f"{{{tenant}}}/x"):
            answer = await stranger.get(f"{URL}/connect/-/clients/{path}.json")
            assert answer.status_code == 404, path
            assert answer.headers["content-type"] == "application/json"


async def test_a_server_that_takes_no_documents_lets_us_register(app: IntroductionsApp) -> None:
    sql = "UPDATE vault.providers SET document = jsonb_set(document, '{oauth,client_documents}', 'false') RETURNING id"
    assert len(await app.rows(sql)) == 1
    async with await app.client() as http:
        browser = Browser(http, URL)
        page = await browser.get(await browser.consent(await browser.start("shop", PROVIDER)))
        assert "Shop is connected" in shown(page), shown(page)
    [client] = await app.rows("SELECT client_id, secret IS NOT NULL AS secret, auth_method FROM vault.oauth_clients")
    assert (client["secret"], client["auth_method"]) == (True, "basic")
    assert "://" not in str(client["client_id"])
