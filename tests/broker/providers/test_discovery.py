"""Authorization servers and protected resources by what they publish: found, checked, refused."""

import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from broker.providers.catalogue import load_builtin_providers
from broker.providers.discovery import MetadataDiscovery
from broker.providers.drafts import DraftRequest, ProviderDraft, draft_provider
from broker.providers.schema import Provider
from broker.providers.templates import resolve_settings
from core.errors import Invalid, Unavailable
from core.http.json_documents import JsonDocumentFetcher
from core.http.outbound_addresses import AllowedAddresses


@dataclass
class Site:
    """A server that publishes documents at their paths; `asked` lists where it was asked for one."""

    origin: str = ""
    documents: dict[str, Any] = field(default_factory=dict[str, Any])
    asked: list[str] = field(default_factory=list[str])
    away: bool = False

    async def handle(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        if self.away:
            return web.Response(status=503)
        if request.path not in self.documents:
            return web.Response(status=404, text="{}", content_type="application/json")
        return web.json_response(self.documents[request.path])

    def server(self, path: str = "", **changed: Any) -> dict[str, Any]:
        issuer = self.origin + path
        whole = {
            "issuer": issuer,
            "authorization_endpoint": f"{issuer}/authorize",
            "token_endpoint": f"{issuer}/token",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
        }
        return {name: value for name, value in {**whole, **changed}.items() if value is not ...}


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    site = Site()
    app = web.Application()
    app.router.add_route("*", "/{anything:.*}", site.handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    site.origin = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield site
    await runner.cleanup()


@contextlib.asynccontextmanager
async def discovery(site: Site) -> AsyncIterator[MetadataDiscovery]:
    documents = JsonDocumentFetcher(AllowedAddresses.from_hosts([site.origin.partition("://")[2]]))
    await documents.open()
    try:
        yield MetadataDiscovery(documents)
    finally:
        await documents.close()


PLACES = {
    "": ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"],
    "/t1": [
        "/.well-known/oauth-authorization-server/t1",
        "/.well-known/openid-configuration/t1",
        "/t1/.well-known/openid-configuration",
    ],
}


@pytest.mark.parametrize(("path", "place"), [(path, place) for path, places in PLACES.items() for place in places])
async def test_metadata_is_found_in_each_of_its_places(site: Site, path: str, place: str) -> None:
    site.documents[place] = site.server(path)
    async with discovery(site) as finder:
        found = await finder.fetch_server_metadata(site.origin + path)
    assert (found.issuer, found.token_url) == (site.origin + path, f"{site.origin}{path}/token")
    assert site.asked == PLACES[path][: PLACES[path].index(place) + 1]


@pytest.mark.parametrize("open_id", [True, False])
async def test_what_is_found_fills_the_settings_of_a_generic_provider(site: Site, open_id: bool) -> None:
    more = {"scopes_supported": ["openid"], "jwks_uri": site.origin + "/jwks"} if open_id else {}
    site.documents[PLACES[""][0]] = site.server(
        revocation_endpoint=site.origin + "/revoke",
        userinfo_endpoint=site.origin + "/me",
        registration_endpoint=site.origin + "/register",
        token_endpoint_auth_methods_supported=["private_key_jwt", "none", "client_secret_post"],
        authorization_response_iss_parameter_supported=True,
        client_id_metadata_document_supported=True,
        **more,
    )
    async with discovery(site) as finder:
        found = await finder.fetch_server_metadata(site.origin)
    assert (found.provider_id, found.auth_methods) == ("oidc" if open_id else "oauth2", ("post", "none"))
    assert (found.sends_issuer, found.supports_client_documents) == (True, True)
    values = resolve_settings(
        load_builtin_providers().get(found.provider_id), found.build_settings("" if open_id else "https://r.example")
    )
    assert values["token_url"] == site.origin + "/token"
    assert values["revoke_url"] == site.origin + "/revoke"
    assert values.get("resource", "https://r.example") == "https://r.example"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"issuer": "https://other.example"}, "another issuer"),
        ({"issuer": ...}, "another issuer"),
        ({"token_endpoint": ...}, "token_endpoint is missing"),
        (
            {"token_endpoint": "http://10.0.0.8/token"},
            "token_endpoint is missing, or a URL that MCPist is not allowed to reach",
        ),
        ({"revocation_endpoint": "file:///etc/passwd"}, "revocation_endpoint"),
        ({"registration_endpoint": 7}, "registration_endpoint"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "no URL that a browser may be sent to"),
        ({"authorization_endpoint": "https://u@x.example/"}, "no URL that a browser may be sent to"),
        ({"code_challenge_methods_supported": ["plain"]}, "S256 is not in its code_challenge_methods_supported"),
        ({"grant_types_supported": ["client_credentials"]}, "authorization_code is not in"),
        ({"response_types_supported": ["token"]}, "code is not in"),
        ({"token_endpoint_auth_methods_supported": ["tls_client_auth"]}, "supports none of client_secret_basic"),
    ],
)
async def test_a_server_that_will_not_do_is_refused(site: Site, changed: dict[str, Any], told: str) -> None:
    site.documents[PLACES[""][0]] = site.server(**changed)
    async with discovery(site) as finder:
        with pytest.raises(Invalid, match=told):
            await finder.fetch_server_metadata(site.origin)


async def test_what_a_server_does_not_tell_is_taken_to_be_there(site: Site) -> None:
    few = site.server(code_challenge_methods_supported=..., response_types_supported=...)
    site.documents[PLACES[""][1]] = few
    async with discovery(site) as finder:
        assert (await finder.fetch_server_metadata(site.origin)).auth_methods == ("basic",)


@pytest.mark.parametrize(
    "issuer",
    ["", "x", "https://X.example", "https://x.example/?a", "https://x.example/#a", "https://u@x.example", "ftp://x.example",
     "https://x.example/" + "a" * 2000],
)  # fmt: skip
async def test_what_is_no_issuer_is_not_asked(site: Site, issuer: str) -> None:
    async with discovery(site) as finder:
        with pytest.raises(Invalid, match="an issuer must be a URL"):
            await finder.fetch_server_metadata(issuer)


@pytest.mark.parametrize("issuer", ["https://127.0.0.1", "https://localhost", "http://public.example", "https://[::1]"])
async def test_a_host_that_may_not_be_reached_is_not_asked(site: Site, issuer: str) -> None:
    async with discovery(site) as finder:
        with pytest.raises(Invalid, match="not allowed to reach"):
            await finder.fetch_server_metadata(issuer)
    assert not site.asked


async def test_a_server_that_is_away_is_not_taken_for_one_without_metadata(site: Site) -> None:
    async with discovery(site) as finder:
        with pytest.raises(Invalid, match="there is no authorization server metadata"):
            await finder.fetch_server_metadata(site.origin)
        site.away = True
        with pytest.raises(Unavailable):
            await finder.fetch_server_metadata(site.origin)


async def test_a_document_that_is_too_large_is_none(site: Site) -> None:
    site.documents[PLACES[""][0]] = site.server(more="x" * 70_000)
    async with discovery(site) as finder:
        with pytest.raises(Invalid, match="there is no authorization server metadata"):
            await finder.fetch_server_metadata(site.origin)


async def test_many_scopes_are_cut_and_strange_ones_left_out(site: Site) -> None:
    scopes = ["a b", 'q"', 7, *[f"s{number}" for number in range(500)]]
    site.documents[PLACES[""][0]] = site.server(scopes_supported=scopes)
    async with discovery(site) as finder:
        found = await finder.fetch_server_metadata(site.origin)
    assert found.scopes[0] == "s0"
    assert len(found.scopes) <= 200


# Protected resources


WELL_KNOWN = "/.well-known/oauth-protected-resource"


@pytest.mark.parametrize(
    ("place", "resource"),
    [(WELL_KNOWN + "/a/mcp", "/a/mcp"), (WELL_KNOWN, ""), (WELL_KNOWN, "/a"), ("/told.json", "/a/mcp")],
)
async def test_a_resource_names_its_authorization_server(site: Site, place: str, resource: str) -> None:
    site.documents[place] = {"resource": site.origin + resource, "authorization_servers": [site.origin + "/as"]}
    async with discovery(site) as finder:
        found = await finder.fetch_resource_metadata(
            site.origin + "/a/mcp", site.origin + place if "told" in place else ""
        )
    assert (found.resource, found.authorization_servers) == (site.origin + resource, (site.origin + "/as",))


@pytest.mark.parametrize(
    "document",
    [
        {"resource": "https://other.example/a/mcp", "authorization_servers": ["https://as.example"]},
        {"resource": "ORIGIN/a/m", "authorization_servers": ["https://as.example"]},
        {"resource": "ORIGIN/a/mcp/more", "authorization_servers": ["https://as.example"]},
        {"resource": "ORIGIN/a/mcp"},
        {"resource": "ORIGIN/a/mcp", "authorization_servers": []},
        {"resource": "ORIGIN/a/mcp", "authorization_servers": "https://as.example"},
        {"resource": 7, "authorization_servers": ["https://as.example"]},
    ],
)
async def test_metadata_of_another_resource_or_without_server_is_refused(site: Site, document: dict[str, Any]) -> None:
    site.documents[WELL_KNOWN + "/a/mcp"] = json.loads(json.dumps(document).replace("ORIGIN", site.origin))
    async with discovery(site) as finder:
        with pytest.raises(Invalid):
            await finder.fetch_resource_metadata(site.origin + "/a/mcp")


RESOURCE = "/.well-known/oauth-protected-resource/mcp"


async def drafted(site: Site, **wish: Any) -> ProviderDraft:
    async with discovery(site) as finder:
        return await draft_provider(finder, DraftRequest(**wish))


def read(site: Site, made: ProviderDraft) -> Provider:
    """The draft as it is when somebody adds it."""
    return load_builtin_providers().parse_custom(
        made.id, made.document, AllowedAddresses.from_hosts([site.origin.partition("://")[2]])
    )


async def test_a_draft_of_an_open_id_provider_can_be_added(site: Site) -> None:
    site.documents[PLACES[""][1]] = site.server(
        scopes_supported=["openid", "email", "offline_access", "calendar"],
        jwks_uri=site.origin + "/jwks",
        revocation_endpoint=site.origin + "/revoke",
        registration_endpoint=site.origin + "/register",
        client_id_metadata_document_supported=True,
        authorization_response_iss_parameter_supported=True,
    )
    made = await drafted(site, url=site.origin, id="acme", title="Acme", modules=("shop",))
    provider = read(site, made)
    assert (made.id, provider.title, made.scopes) == ("acme", "Acme", ("openid", "email", "offline_access", "calendar"))
    assert provider.oauth is not None
    assert provider.account is not None
    assert (provider.oauth.issuer, provider.oauth.issuer_required) == (site.origin, True)
    assert (provider.oauth.client_documents, provider.oauth.registration_url) == (True, site.origin + "/register")
    assert provider.oauth.base_scopes == ("openid", "email", "offline_access")
    assert provider.oauth.authorize_params == {"prompt": "consent"}
    assert provider.oauth.refresh.profile == "strict", "nobody knows better"
    assert provider.account.source == "id_token"
    assert set(provider.modules) == {"shop"}
    assert not provider.settings, "nothing is left for an OAuth client to fill in"


@pytest.mark.parametrize("named", [True, False])
async def test_a_draft_from_a_protected_resource_names_it_in_every_request(site: Site, named: bool) -> None:
    target = site.origin + "/mcp"
    site.documents[RESOURCE] = {
        "resource": target,
        "authorization_servers": [site.origin + "/t1"],
        "scopes_supported": ["shop.read"],
    }
    site.documents[PLACES["/t1"][0]] = site.server("/t1", scopes_supported=["shop.read", "shop.write"])
    wish = {"url": site.origin + "/t1", "resource": target} if named else {"url": target}
    made = await drafted(site, **wish, modules=("shop",))
    provider = read(site, made)
    assert provider.oauth is not None
    told = (provider.oauth.authorize_params, provider.oauth.code_params, provider.oauth.refresh_params)
    assert told == ({"resource": target},) * 3
    assert provider.modules["shop"].reading == ("shop.read",)
    assert (made.id, provider.account) == ("127_0_0_1", None)


async def test_a_draft_is_for_the_server_that_the_resource_names(site: Site) -> None:
    site.documents[RESOURCE] = {"resource": site.origin + "/mcp", "authorization_servers": ["https://other.example"]}
    with pytest.raises(Invalid, match="lists another authorization server"):
        await drafted(site, url=site.origin, resource=site.origin + "/mcp")


async def test_a_url_that_publishes_nothing_gives_no_draft(site: Site) -> None:
    with pytest.raises(Invalid, match="there is no authorization server metadata"):
        await drafted(site, url=site.origin)
