"""Dynamic registration as MCPist does it where nobody has registered a client: against a server of every temper."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from aiohttp import web

from broker.connect.client_registration import (
    RETRY_PAUSE_SECONDS,
    AutomaticClientRegistration,
    choose_registration_method,
)
from broker.connections.connect_methods import ConnectError
from broker.connections.oauth_client_store import OAuthClientStore
from broker.oauth_client.types import OAuthClientConfig
from broker.oauth_client.vendor_http import VendorHttpClient
from broker.providers import error_reasons
from broker.providers.catalogue import load_builtin_providers
from broker.providers.schema import Provider
from core.directory.audit_trail import Actor
from core.http.outbound_addresses import AllowedAddresses
from tests.support.product import ACTOR

PUBLIC, LOCAL = "https://mcp.test", "http://127.0.0.1:8000"


@dataclass
class Server:
    """Registers clients. `lasts` says for which methods a secret has no end; `status` refuses everybody."""

    url: str = ""
    status: int = 201
    lasts: bool = True
    public: bool = True
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    given_back: list[str] = field(default_factory=list[str])

    async def register(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.asked.append(body)
        if self.status != 201:
            return web.json_response({"error": "invalid_client_metadata"}, status=self.status)
        name = f"client-{len(self.asked)}"
        told: dict[str, Any] = {"client_id": name, "registration_client_uri": f"{self.url}/register/{name}"}
        told |= {"registration_access_token": f"management-of-{name}"}
        method = body["token_endpoint_auth_method"]
        if method != "none" or not self.public:
            told |= {
                "client_secret": f"c0x-Lq2vN8rWt5zYb7-{name}",
                "client_secret_expires_at": 0 if self.lasts else 2e9,
            }
            method = "client_secret_basic"
        return web.json_response(told | {"token_endpoint_auth_method": method}, status=201)

    async def remove(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        assert request.headers["Authorization"] == f"Bearer management-of-{name}"
        self.given_back.append(name)
        return web.Response(status=204)


@dataclass
class Kept:
    """What would be stored; `first` says that nobody else was quicker."""

    first: bool = True
    clients: list[OAuthClientConfig] = field(default_factory=list[OAuthClientConfig])

    async def add_automatic(
        self, actor: Actor, tenant_id: UUID, provider: str, client: OAuthClientConfig, by: str
    ) -> bool:
        self.clients.append(client)
        return self.first


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    app = web.Application()
    app.router.add_post("/register", made.register)
    app.router.add_delete("/register/{name}", made.remove)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield made
    await runner.cleanup()


@dataclass
class RegisteringApp:
    server: Server
    kept: Kept
    clock: SimpleNamespace
    introductions: AutomaticClientRegistration
    tenant_id: UUID = field(default_factory=uuid4)

    async def introduce(self, **oauth: Any) -> None:
        await self.introductions.ensure_registered(ACTOR, self.tenant_id, provider(self.server.url, **oauth))


@pytest.fixture
async def app(server: Server) -> AsyncIterator[RegisteringApp]:
    http = VendorHttpClient(AllowedAddresses.from_hosts([server.url.partition("://")[2]]))
    await http.open()
    kept, clock = Kept(), SimpleNamespace(now=100.0)
    yield RegisteringApp(
        server,
        kept,
        clock,
        AutomaticClientRegistration(cast("OAuthClientStore", kept), http, PUBLIC, lambda: clock.now),
    )
    await http.close()


def provider(url: str, **oauth: Any) -> Provider:
    places = {"authorize_url": f"{url}/authorize", "token_url": f"{url}/token", "registration_url": f"{url}/register"}
    return load_builtin_providers().parse_custom(
        "acme", {"title": "Acme", "oauth": {**places, "client_auth": "basic", **oauth}}
    )


async def test_many_at_once_register_once(app: RegisteringApp) -> None:
    await asyncio.gather(*(app.introduce() for _ in range(5)))
    [asked] = app.server.asked
    assert asked["redirect_uris"] == [f"{PUBLIC}/connect/callback/acme"]
    assert asked["client_name"] == "MCPist at mcp.test"
    [client] = app.kept.clients
    assert (client.client_id, client.auth_method, client.secret is None) == ("client-1", "basic", False)


async def test_a_secret_that_ends_is_not_taken_if_there_is_a_client_without_one(app: RegisteringApp) -> None:
    app.server.lasts = False
    await app.introduce()
    assert [one["token_endpoint_auth_method"] for one in app.server.asked] == ["client_secret_basic", "none"]
    assert app.server.given_back == ["client-1"]
    [client] = app.kept.clients
    assert (client.client_id, client.auth_method, client.secret) == ("client-2", "none", None)


@pytest.mark.parametrize("pkce", ["S256", "none"])
async def test_a_server_whose_secrets_all_end_needs_an_administrator(app: RegisteringApp, pkce: str) -> None:
    app.server.lasts = app.server.public = False
    with pytest.raises(ConnectError) as refused:
        await app.introduce(pkce=pkce)
    assert (refused.value.key, refused.value.cause) == ("connect_setup", error_reasons.SECRET_EXPIRED)
    assert len(app.server.given_back) == len(app.server.asked) == (2 if pkce == "S256" else 1)
    assert app.kept.clients == []


async def test_a_client_that_another_process_was_quicker_with_is_given_back(app: RegisteringApp) -> None:
    app.kept.first = False
    await app.introduce()
    assert app.server.given_back == ["client-1"]


async def test_a_refusal_is_remembered_for_a_moment(app: RegisteringApp) -> None:
    app.server.status = 403
    for _ in range(3):
        with pytest.raises(ConnectError) as refused:
            await app.introduce()
        assert (refused.value.key, refused.value.cause) == ("connect_setup", error_reasons.REGISTRATION_REFUSED)
    assert len(app.server.asked) == 1
    app.clock.now += RETRY_PAUSE_SECONDS + 1
    app.server.status = 201
    await app.introduce()
    assert len(app.kept.clients) == 1


async def test_a_document_asks_nobody(app: RegisteringApp) -> None:
    await app.introduce(client_documents=True)
    assert app.server.asked == []
    [client] = app.kept.clients
    assert client.client_id == f"{PUBLIC}/connect/-/clients/{app.tenant_id}/acme.json"


@pytest.mark.parametrize(
    ("oauth", "public_url", "way"),
    [
        ({}, PUBLIC, "registration"),
        ({"client_documents": True}, PUBLIC, "document"),
        ({"client_documents": True}, LOCAL, "registration"),
        ({"client_documents": True, "registration_url": None}, LOCAL, ""),
        ({"registration_url": None}, PUBLIC, ""),
    ],
)
def test_which_way_there_is(oauth: dict[str, Any], public_url: str, way: str) -> None:
    assert choose_registration_method(provider("https://acme.example", **oauth), public_url) == way


def test_a_provider_with_something_to_fill_in_has_none() -> None:
    methods = {one.id: choose_registration_method(one, PUBLIC) for one in load_builtin_providers().known.values()}
    assert {name for name, method in methods.items() if method} == {"supabase_registered"}
    document = provider("https://acme.example", client_documents=True).as_document()
    document["settings"] = {"region": {"title": "Region"}}
    assert choose_registration_method(load_builtin_providers().parse_custom("acme", document), PUBLIC) == ""
