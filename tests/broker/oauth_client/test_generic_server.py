"""Any other server, found by what it publishes: the certified oidc-provider, with nothing told to us but its issuer."""

from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qsl, urljoin, urlsplit

import aiohttp
import pytest

from broker.oauth_client.dynamic_registration import (
    RegisteredClient,
    build_client_document,
    build_document_client,
    register_client,
)
from broker.oauth_client.requests import build_authorize_url, get_expected_issuer
from broker.oauth_client.token_endpoint_client import HttpTokenEndpointClient
from broker.oauth_client.types import ErrorClass, OAuthClientConfig, VendorFailure
from broker.oauth_client.userinfo import AccountIdentity, UserinfoClient
from broker.oauth_client.vendor_http import VendorHttpClient
from broker.oauth_client.vendor_scopes import collect_scopes_to_request
from broker.providers import error_reasons
from broker.providers.catalogue import load_builtin_providers
from broker.providers.discovery import MetadataDiscovery, ServerMetadata
from core.http.json_documents import JsonDocumentFetcher
from core.http.outbound_addresses import AllowedAddresses
from core.secret import Secret
from tests.broker.oauth_client.conftest import VERIFIER, Ways, granted
from tests.broker.oauth_client.test_vendors import failed
from tests.support.oauth_provider import OauthProvider, oauth_provider

REDIRECT_URI = "https://mcpist.example/connect/callback/oidc"
DOCUMENT = "https://mcpist.example/connect/client.json"
PROVIDER = load_builtin_providers().get("oidc")


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[OauthProvider]:
    async with oauth_provider(tmp_path, redirect_uris=[REDIRECT_URI]) as running:
        yield running


@pytest.fixture
async def http(server: OauthProvider, way: Ways) -> VendorHttpClient:
    return await way(server.issuer)


async def discovered(server: OauthProvider) -> ServerMetadata:
    documents = JsonDocumentFetcher(AllowedAddresses.from_hosts([server.issuer.partition("://")[2]]))
    await documents.open()
    try:
        return await MetadataDiscovery(documents).fetch_server_metadata(server.issuer)
    finally:
        await documents.close()


async def consented(client: OAuthClientConfig) -> dict[str, str]:
    """A person goes there and says yes; what the browser brings back."""
    assert PROVIDER.oauth is not None
    scopes = collect_scopes_to_request(PROVIDER.oauth, ["email"])
    url = build_authorize_url(
        PROVIDER, client, redirect_uri=REDIRECT_URI, state="a-state", scopes=scopes, verifier=Secret(VERIFIER)
    )
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:
        while not url.startswith(REDIRECT_URI):
            async with browser.get(url, allow_redirects=False) as answer:
                assert answer.status in (302, 303), await answer.text()
                url = urljoin(url, answer.headers["Location"])
    return dict(parse_qsl(urlsplit(url).query))


async def test_found_connected_refreshed_revoked(server: OauthProvider, http: VendorHttpClient) -> None:
    metadata = await discovered(server)
    assert metadata.provider_id == "oidc"
    client = OAuthClientConfig(server.client_id, Secret(server.client_secret), "basic", metadata.build_settings())
    brought = await consented(client)
    assert brought["iss"] == get_expected_issuer(PROVIDER, client) == server.issuer
    assert metadata.sends_issuer
    endpoint = HttpTokenEndpointClient(http)
    first = granted(
        await endpoint.redeem_code(PROVIDER, client, Secret(brought["code"]), REDIRECT_URI, Secret(VERIFIER))
    )
    assert first.tokens.scopes is not None
    assert "offline_access" in first.tokens.scopes
    who = await UserinfoClient(http).fetch_account(
        PROVIDER, client.settings, first.tokens.access_token, first.tokens.extra
    )
    assert isinstance(who, AccountIdentity)
    assert who.id == "alice"
    assert first.tokens.refresh_token is not None
    second = granted(await endpoint.refresh(PROVIDER, client, first.tokens.refresh_token))
    assert second.tokens.refresh_token not in (None, first.tokens.refresh_token)
    told = await endpoint.revoke(
        PROVIDER, client, access=second.tokens.access_token, refresh=second.tokens.refresh_token
    )
    assert told.done
    assert second.tokens.refresh_token is not None
    dead = failed(await endpoint.refresh(PROVIDER, client, second.tokens.refresh_token))
    assert (dead.error_class, dead.reason) == (ErrorClass.PERMANENT, error_reasons.REVOKED)
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
    server: OauthProvider, http: VendorHttpClient, fault: dict[str, object], cls: ErrorClass
) -> None:
    metadata = await discovered(server)
    client = OAuthClientConfig(server.client_id, Secret(server.client_secret), "basic", metadata.build_settings())
    endpoint = HttpTokenEndpointClient(http)
    code = Secret((await consented(client))["code"])
    first = granted(await endpoint.redeem_code(PROVIDER, client, code, REDIRECT_URI, Secret(VERIFIER)))
    assert first.tokens.refresh_token is not None
    await server.control({"faults": [{"grant": "refresh_token", "times": 1, **fault}], "reset_counters": True})
    answer = failed(await endpoint.refresh(PROVIDER, client, first.tokens.refresh_token))
    assert answer.error_class is cls
    assert (await server.told())["counters"]["asked:refresh_token"] == 1


async def test_a_wrong_secret_harms_no_grant(server: OauthProvider, http: VendorHttpClient) -> None:
    metadata = await discovered(server)
    client = OAuthClientConfig(
        server.client_id, Secret("another-secret-than-the-right-one"), "basic", metadata.build_settings()
    )
    answer = failed(await HttpTokenEndpointClient(http).refresh(PROVIDER, client, Secret("rt_whatever-it-may-be")))
    assert (answer.error_class, answer.reason, answer.status) == (ErrorClass.SERVICE, error_reasons.CLIENT_REFUSED, 401)


async def test_it_registers_itself(server: OauthProvider, http: VendorHttpClient) -> None:
    found = await discovered(server)
    made = await register_client(
        http,
        found.registration_url,
        "basic",
        name="MCPist",
        redirect_uris=[REDIRECT_URI],
        settings=found.build_settings(),
    )
    assert isinstance(made, RegisteredClient), made
    assert made.client.secret is not None
    assert made.client.auth_method == "basic"
    assert (made.management_token is None, made.secret_expires_at) == (False, None)
    code = Secret((await consented(made.client))["code"])
    endpoint = HttpTokenEndpointClient(http)
    first = granted(await endpoint.redeem_code(PROVIDER, made.client, code, REDIRECT_URI, Secret(VERIFIER)))
    assert first.tokens.refresh_token is not None
    granted(await endpoint.refresh(PROVIDER, made.client, first.tokens.refresh_token))


async def test_where_registration_needs_a_token_that_is_said(tmp_path: Path, way: Ways) -> None:
    token = "initial-access-token-0123456789"
    async with oauth_provider(tmp_path, redirect_uris=[REDIRECT_URI], dcr_initial_access_token=token) as server:
        http, url = await way(server.issuer), (await discovered(server)).registration_url
        refused = await register_client(http, url, "basic", name="MCPist", redirect_uris=[REDIRECT_URI])
        assert isinstance(refused, VendorFailure)
        assert (refused.error_class, refused.reason) == (ErrorClass.SERVICE, error_reasons.REGISTRATION_REFUSED)
        made = await register_client(
            http, url, "basic", name="MCPist", redirect_uris=[REDIRECT_URI], initial_token=Secret(token)
        )
        assert isinstance(made, RegisteredClient), made
        wrong = await register_client(http, url, "basic", name="MCPist", redirect_uris=["javascript:alert(1)"],
                               initial_token=Secret(token))  # fmt: skip
        assert isinstance(wrong, VendorFailure)
        assert wrong.exchange.vendor_error == "invalid_redirect_uri"


async def test_a_document_stands_for_the_client(server: OauthProvider, http: VendorHttpClient) -> None:
    metadata = await discovered(server)
    assert metadata.supports_client_documents
    await server.control({"cimd": {DOCUMENT: build_client_document(DOCUMENT, "MCPist of Acme", [REDIRECT_URI])}})
    client = build_document_client(DOCUMENT, metadata.build_settings())
    code = Secret((await consented(client))["code"])
    endpoint = HttpTokenEndpointClient(http)
    first = granted(await endpoint.redeem_code(PROVIDER, client, code, REDIRECT_URI, Secret(VERIFIER)))
    assert first.tokens.refresh_token is not None
    granted(await endpoint.refresh(PROVIDER, client, first.tokens.refresh_token))
