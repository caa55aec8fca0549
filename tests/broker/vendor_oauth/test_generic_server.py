"""Any other server, found by what it publishes: the certified oidc-provider, with nothing told to us but its issuer."""

from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qsl, urljoin, urlsplit

import aiohttp
import pytest

from broker.providers.catalogue import own_providers
from broker.providers.discovery import Discovery, ServerMetadata
from broker.vendor_oauth import reasons
from broker.vendor_oauth.account import Found, VendorAccounts
from broker.vendor_oauth.authorize_url import authorize_url, expected_issuer
from broker.vendor_oauth.exchange import ErrorClass, Failed, VendorClient
from broker.vendor_oauth.registration import Registered, client_document, document_client, register
from broker.vendor_oauth.scopes import to_ask
from broker.vendor_oauth.token_endpoint import VendorTokenEndpoint
from broker.vendor_oauth.wire import VendorHttp
from core.outbound.addresses import AllowedAddresses
from core.outbound.documents import Documents
from core.secret import Secret
from tests.broker.vendor_oauth.conftest import VERIFIER, Ways, granted
from tests.broker.vendor_oauth.test_vendors import failed
from tests.support.oauth_provider import OauthProvider, oauth_provider

REDIRECT_URI = "https://mcpist.example/connect/callback/oidc"
DOCUMENT = "https://mcpist.example/connect/client.json"
PROVIDER = own_providers().get("oidc")


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[OauthProvider]:
    async with oauth_provider(tmp_path, redirect_uris=[REDIRECT_URI]) as running:
        yield running


@pytest.fixture
async def http(server: OauthProvider, way: Ways) -> VendorHttp:
    return await way(server.issuer)


async def discovered(server: OauthProvider) -> ServerMetadata:
    documents = Documents(AllowedAddresses.of([server.issuer.partition("://")[2]]))
    await documents.open()
    try:
        return await Discovery(documents).server(server.issuer)
    finally:
        await documents.close()


async def consented(client: VendorClient) -> dict[str, str]:
    """A person goes there and says yes; what the browser brings back."""
    assert PROVIDER.oauth is not None
    scopes = to_ask(PROVIDER.oauth, ["email"])
    url = authorize_url(
        PROVIDER, client, redirect_uri=REDIRECT_URI, state="a-state", scopes=scopes, verifier=Secret(VERIFIER)
    )
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:
        while not url.startswith(REDIRECT_URI):
            async with browser.get(url, allow_redirects=False) as answer:
                assert answer.status in (302, 303), await answer.text()
                url = urljoin(url, answer.headers["Location"])
    return dict(parse_qsl(urlsplit(url).query))


async def test_found_connected_refreshed_revoked(server: OauthProvider, http: VendorHttp) -> None:
    metadata = await discovered(server)
    assert metadata.provider_id == "oidc"
    client = VendorClient(server.client_id, Secret(server.client_secret), "basic", metadata.settings())
    brought = await consented(client)
    assert brought["iss"] == expected_issuer(PROVIDER, client) == server.issuer
    assert metadata.names_itself
    endpoint = VendorTokenEndpoint(http)
    first = granted(await endpoint.code(PROVIDER, client, Secret(brought["code"]), REDIRECT_URI, Secret(VERIFIER)))
    assert first.tokens.scopes is not None
    assert "offline_access" in first.tokens.scopes
    who = await VendorAccounts(http).who(PROVIDER, client.settings, first.tokens.access, first.tokens.extra)
    assert isinstance(who, Found)
    assert who.id == "alice"
    assert first.tokens.refresh is not None
    second = granted(await endpoint.refresh(PROVIDER, client, first.tokens.refresh))
    assert second.tokens.refresh not in (None, first.tokens.refresh)
    told = await endpoint.revoke(PROVIDER, client, access=second.tokens.access, refresh=second.tokens.refresh)
    assert told.done
    assert second.tokens.refresh is not None
    dead = failed(await endpoint.refresh(PROVIDER, client, second.tokens.refresh))
    assert (dead.cls, dead.reason) == (ErrorClass.PERMANENT, reasons.REVOKED)
    counters = (await server.told())["counters"]
    assert counters["granted:refresh_token"] == 1
    assert "refresh_token_reuse_detected" not in counters


@pytest.mark.parametrize(
    ("fault", "cls"),
    [
        ({"kind": "hang_up_before"}, ErrorClass.UNCERTAIN),
        ({"kind": "hang_up_after"}, ErrorClass.UNCERTAIN),
        ({"kind": "garbage", "body": "<html>"}, ErrorClass.UNCERTAIN),
        ({"kind": "status", "status": 200, "body": {"error": "bad_refresh_token"}}, ErrorClass.PERMANENT),
        ({"kind": "status", "status": 503, "headers": {"Retry-After": "5"}}, ErrorClass.THROTTLED),
        ({"kind": "status", "status": 500}, ErrorClass.UNCERTAIN),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else str(value),
)
async def test_its_faults_have_the_class_of_what_they_did(
    server: OauthProvider, http: VendorHttp, fault: dict[str, object], cls: ErrorClass
) -> None:
    metadata = await discovered(server)
    client = VendorClient(server.client_id, Secret(server.client_secret), "basic", metadata.settings())
    endpoint = VendorTokenEndpoint(http)
    code = Secret((await consented(client))["code"])
    first = granted(await endpoint.code(PROVIDER, client, code, REDIRECT_URI, Secret(VERIFIER)))
    assert first.tokens.refresh is not None
    await server.control({"faults": [{"grant": "refresh_token", "times": 1, **fault}], "reset_counters": True})
    answer = failed(await endpoint.refresh(PROVIDER, client, first.tokens.refresh))
    assert answer.cls is cls
    assert (await server.told())["counters"]["asked:refresh_token"] == 1


async def test_a_wrong_secret_harms_no_grant(server: OauthProvider, http: VendorHttp) -> None:
    metadata = await discovered(server)
    client = VendorClient(server.client_id, Secret("another-secret-than-the-right-one"), "basic", metadata.settings())
    answer = failed(await VendorTokenEndpoint(http).refresh(PROVIDER, client, Secret("rt_whatever-it-may-be")))
    assert (answer.cls, answer.reason, answer.status) == (ErrorClass.SERVICE, reasons.CLIENT_REFUSED, 401)


async def test_it_registers_itself(server: OauthProvider, http: VendorHttp) -> None:
    found = await discovered(server)
    made = await register(
        http, found.registration_url, "basic", name="MCPist", redirect_uris=[REDIRECT_URI], settings=found.settings()
    )
    assert isinstance(made, Registered), made
    assert made.client.secret is not None
    assert made.client.auth_method == "basic"
    assert (made.management_token is None, made.secret_expires_at) == (False, None)
    code = Secret((await consented(made.client))["code"])
    endpoint = VendorTokenEndpoint(http)
    first = granted(await endpoint.code(PROVIDER, made.client, code, REDIRECT_URI, Secret(VERIFIER)))
    assert first.tokens.refresh is not None
    granted(await endpoint.refresh(PROVIDER, made.client, first.tokens.refresh))


async def test_where_registration_needs_a_token_that_is_said(tmp_path: Path, way: Ways) -> None:
    token = "initial-access-token-0123456789"
    async with oauth_provider(tmp_path, redirect_uris=[REDIRECT_URI], dcr_initial_access_token=token) as server:
        http, url = await way(server.issuer), (await discovered(server)).registration_url
        refused = await register(http, url, "basic", name="MCPist", redirect_uris=[REDIRECT_URI])
        assert isinstance(refused, Failed)
        assert (refused.cls, refused.reason) == (ErrorClass.SERVICE, reasons.REGISTRATION_REFUSED)
        made = await register(
            http, url, "basic", name="MCPist", redirect_uris=[REDIRECT_URI], initial_token=Secret(token)
        )
        assert isinstance(made, Registered), made
        wrong = await register(http, url, "basic", name="MCPist", redirect_uris=["javascript:alert(1)"],
                               initial_token=Secret(token))  # fmt: skip
        assert isinstance(wrong, Failed)
        assert wrong.exchange.vendor_error == "invalid_redirect_uri"


async def test_a_document_stands_for_the_client(server: OauthProvider, http: VendorHttp) -> None:
    metadata = await discovered(server)
    assert metadata.takes_documents
    await server.control({"cimd": {DOCUMENT: client_document(DOCUMENT, "MCPist of Acme", [REDIRECT_URI])}})
    client = document_client(DOCUMENT, metadata.settings())
    code = Secret((await consented(client))["code"])
    endpoint = VendorTokenEndpoint(http)
    first = granted(await endpoint.code(PROVIDER, client, code, REDIRECT_URI, Secret(VERIFIER)))
    assert first.tokens.refresh is not None
    granted(await endpoint.refresh(PROVIDER, client, first.tokens.refresh))
