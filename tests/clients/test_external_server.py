"""Another authorization server in the place of ours: npm's certified `oidc-provider`, and the Python SDK's client."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import httpx2
import pytest
import pytest_asyncio
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata
from pydantic import AnyUrl

from tests.clients.test_oauth import ERAS, Storage, create
from tests.support.loopback_client import LoopbackClient
from tests.support.oauth_provider import OauthProvider, oauth_provider
from tests.support.running_product import Product, client, data_folder, free_port, running

ADMIN = "admin@localhost"
AT = LoopbackClient("http://127.0.0.1:3456")
OUR_SERVER = (
    "/oauth/authorize",
    "/oauth/token",
    "/oauth/revoke",
    "/oauth/register",
    "/oauth/jwks.json",
    "/.well-known/oauth-authorization-server",
    "/.well-known/openid-configuration",
)
POSTED = ("/oauth/token", "/oauth/revoke", "/oauth/register")


@dataclass(frozen=True, slots=True)
class Deployment:
    """A product, the server that it trusts, and one that it does not."""

    product: Product
    trusted: OauthProvider
    foreign: OauthProvider

    @property
    def resource(self) -> str:
        return self.product.url


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def deployment(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Deployment]:
    async with (
        _server(tmp_path_factory.mktemp("trusted")) as trusted,
        _server(tmp_path_factory.mktemp("foreign")) as foreign,
    ):
        with data_folder() as home:
            identity = home.with_name("identity.toml")
            identity.touch(0o600)
            identity.write_text(
                f'[external]\nissuer = "{trusted.issuer}"\njwks_uri = "{trusted.issuer}/jwks"\n'
                '[external.tenants]\norg-17 = "default"\n[external.claims]\ntenant = "org"\n'
            )
            allowed = trusted.issuer.removeprefix("http://")
            port = free_port()
            variables = {"MCPIST_IDENTITY_FILE": str(identity), "MCPIST_ALLOWED_PRIVATE_HOSTS": allowed}
            async with running(home, port, **variables) as product:
                yield Deployment(product, trusted, foreign)


@contextlib.asynccontextmanager
async def _server(folder: Path) -> AsyncIterator[OauthProvider]:
    """It knows our scopes, and says in its tokens whose they are."""
    options: dict[str, Any] = {
        "scopes": "mcp:read mcp:write",
        "resource_scopes": "mcp:read mcp:write",
        "token_claims": "email email_verified org",
    }
    async with oauth_provider(folder, redirect_uris=[AT.redirect_uri], access_token_ttl=600, **options) as server:
        await server.sign_in_as("7", email=ADMIN, org="org-17")
        yield server


@pytest.fixture
async def browser() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(trust_env=False, timeout=20) as made:
        yield made


async def sent_back(browser: httpx2.AsyncClient, url: str) -> dict[str, str]:
    """Go where a client sends the browser; the server there asks nothing. The parameters that the client gets."""
    for _ in range(10):
        answer = await browser.get(url)
        assert answer.is_redirect, answer.text
        target = answer.url.join(answer.headers["location"])
        if str(target).startswith(AT.redirect_uri):
            return dict(target.params)
        url = str(target)
    raise AssertionError("the browser was sent round and round")


async def tokens_of(browser: httpx2.AsyncClient, server: OauthProvider, resource: str, **more: str) -> dict[str, Any]:
    """What a client of `server` gets for a resource."""
    scope = more.pop("scope", "openid email mcp:read mcp:write")
    asked = httpx2.URL(AT.authorize(server.issuer, "public-cli", scope=scope, resource=resource))
    answer = await sent_back(browser, f"{server.issuer}/auth?{asked.params}")
    form = AT.redemption(answer["code"], "public-cli") | {"resource": resource}
    tokens = await browser.post(f"{server.issuer}/token", data=form)
    assert tokens.status_code == 200, tokens.text
    return tokens.json()


async def listed(browser: httpx2.AsyncClient, url: str, token: str) -> httpx2.Response:
    headers = {
        "Authorization": f"Bearer {token}",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2025-11-25",
    }
    return await browser.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, headers=headers)


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("kind", ["dynamic", "registered"])
async def test_a_url_is_enough(deployment: Deployment, browser: httpx2.AsyncClient, mode: str, kind: str) -> None:
    """The client finds the other server by our metadata, and its tokens count here."""
    storage = Storage()
    redirect_uris = [AnyUrl(AT.redirect_uri)]
    if kind == "registered":
        storage.client = OAuthClientInformationFull(
            client_id="public-cli", redirect_uris=redirect_uris, issuer=deployment.trusted.issuer
        )
    answers: list[dict[str, str]] = []

    async def go(url: str) -> None:
        assert url.startswith(f"{deployment.trusted.issuer}/")
        answers.append(await sent_back(browser, url))

    async def answer() -> AuthorizationCodeResult:
        return AuthorizationCodeResult.model_validate(answers.pop())

    metadata = OAuthClientMetadata(client_name="SDK of Python", redirect_uris=redirect_uris, application_type="native")
    provider = OAuthClientProvider(deployment.resource, metadata, storage, go, answer)
    async with (
        httpx2.AsyncClient(auth=provider, trust_env=False, timeout=20) as http,
        Client(streamable_http_client(deployment.resource, http_client=http), mode=mode) as connected,
    ):
        assert connected.protocol_version == ERAS[mode]
        assert not (await create(connected, f"External {kind} {mode}")).is_error
        provider.context.token_expiry_time = 1.0  # it lies in the past, as far as the client knows
        assert not (await create(connected, f"External again {kind} {mode}")).is_error
    first, second = storage.tokens
    assert first.access_token != second.access_token


async def test_what_the_metadata_say(deployment: Deployment, browser: httpx2.AsyncClient) -> None:
    base = deployment.resource.removesuffix("/mcp")
    challenged = await browser.post(deployment.resource)
    assert challenged.status_code == 401
    assert (
        f'resource_metadata="{base}/.well-known/oauth-protected-resource/mcp"' in challenged.headers["WWW-Authenticate"]
    )
    found = (await browser.get(f"{base}/.well-known/oauth-protected-resource/mcp")).json()
    assert (found["resource"], found["authorization_servers"]) == (deployment.resource, [deployment.trusted.issuer])


async def test_our_own_server_is_off(deployment: Deployment, browser: httpx2.AsyncClient) -> None:
    base = deployment.resource.removesuffix("/mcp")
    asked = [*(("GET", path) for path in OUR_SERVER), *(("POST", path) for path in POSTED)]
    answers = {(method, path): (await browser.request(method, base + path)).status_code for method, path in asked}
    assert answers == dict.fromkeys(asked, 404)


async def test_what_counts_and_what_does_not(deployment: Deployment, browser: httpx2.AsyncClient) -> None:
    resource, trusted = deployment.resource, deployment.trusted
    good = await tokens_of(browser, trusted, resource)
    assert (await listed(browser, resource, good["access_token"])).status_code == 200
    elsewhere = await tokens_of(browser, trusted, "https://other.example/mcp")
    foreign = await tokens_of(browser, deployment.foreign, resource)
    await trusted.sign_in_as("8", email="stranger@acme.test", org="org-17")
    async with httpx2.AsyncClient(trust_env=False, timeout=20) as another:
        unknown = await tokens_of(another, trusted, resource)
    await trusted.sign_in_as("9", email=ADMIN, org="org-18")
    async with httpx2.AsyncClient(trust_env=False, timeout=20) as another:
        other_tenant = await tokens_of(another, trusted, resource)
    await trusted.sign_in_as("10", email=ADMIN, org="org-17", email_verified=False)
    async with httpx2.AsyncClient(trust_env=False, timeout=20) as another:
        unverified = await tokens_of(another, trusted, resource)
    await trusted.sign_in_as("7", email=ADMIN, org="org-17")
    for name, token in {
        "for another resource": elsewhere["access_token"],
        "an ID token": good["id_token"],
        "a refresh token": good["refresh_token"],
        "of a foreign issuer": foreign["access_token"],
        "of nobody here": unknown["access_token"],
        "of another organization": other_tenant["access_token"],
        "of an address that nobody has checked": unverified["access_token"],
    }.items():
        answer = await listed(browser, resource, token)
        assert answer.status_code == 401, name
        assert 'error="invalid_token"' in answer.headers["WWW-Authenticate"], name


async def test_too_few_scopes(deployment: Deployment, browser: httpx2.AsyncClient) -> None:
    tokens = await tokens_of(browser, deployment.trusted, deployment.resource, scope="openid email mcp:read")
    assert (await listed(browser, deployment.resource, tokens["access_token"])).status_code == 200
    async with client(deployment.resource, tokens["access_token"]) as caller:
        await caller.call("read_graph")
        with pytest.raises(aiohttp.ClientResponseError) as refused:
            await caller.call("delete_entities", entityNames=["nobody"])
    assert refused.value.status == 403
    assert refused.value.headers is not None
    challenge = refused.value.headers["WWW-Authenticate"]
    assert 'error="insufficient_scope"' in challenge
    assert 'scope="mcp:write"' in challenge
