"""The product's connect pages on loopback, with real OAuth servers as vendors and browsers that are only HTTP.

async with vendors_on(database, tmp_path) as app:
    ada = await app.person("ada@acme.test", allow=["shop.*"])
    async with app.browser(ada) as browser:
        answer = await browser.connect("shop")
"""

import contextlib
import html
import json
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit
from uuid import UUID

import httpx2

from broker.connections.oauth_client_store import OAuthClientRegistration, OAuthClientStore
from broker.interface import Lease, LeaseRequest
from broker.providers.catalogue import ProviderRegistry, load_builtin_providers
from core.directory.services import set_settings
from core.directory.tenants import Tenant
from core.secret import Secret
from gateway.catalogue import Catalogue, build_catalogue
from server.wiring.disconnect import DisconnectServices, build_disconnect_services
from tests.broker.connect.sites import Sites, sites
from tests.support.canary import SUITE
from tests.support.identity import Identity, identity_on
from tests.support.mcp_client import Answer, Client
from tests.support.oauth_provider import OauthProvider, oauth_provider
from tests.support.postgres import ScratchDatabase
from tests.support.product import ACTOR, Person, Product, product_on
from tests.support.toy_vendor import Shop, shop, shop_module

GOES_ON = re.compile(r'http-equiv="refresh" content="0; url=([^"]+)"')
OPERATORS = "operators"
CALLBACK = "http://127.0.0.1/connect/callback"


@dataclass(slots=True)
class ConnectApp:
    """One product, its shop (with an API and keys), the OAuth servers `vendor` and `other`, and `elsewhere`: an API
    that nobody was sent to."""

    identity: Identity
    shop: Shop
    vendor: OauthProvider
    other: OauthProvider
    sites: Sites
    elsewhere: Shop
    tenants: dict[str, Tenant] = field(default_factory=dict)

    @property
    def product(self) -> Product:
        return self.identity.product

    @property
    def url(self) -> str:
        return self.identity.url

    async def tenant(self, slug: str = "acme") -> Tenant:
        """A tenant that has both vendors, with an OAuth client at each."""
        if slug not in self.tenants:
            made = self.tenants[slug] = await self.product.tenant(slug)
            await self.provider(made, "vendor", provider_document(self.vendor))
            await self.provider(made, "other", provider_document(self.other, modules=("stall",)))
            for provider, server in (("vendor", self.vendor), ("other", self.other)):
                await self.register(made, provider, server.client_id, server.client_secret)
        return self.tenants[slug]

    async def provider(self, tenant: Tenant, provider: str, document: Mapping[str, Any]) -> None:
        """Add a provider of a tenant's own, or put another document in its place."""
        async with self.product.database.admin_connection() as admin:
            await admin.execute(
                """INSERT INTO vault.providers (tenant_id, id, document) VALUES ($1, $2, $3::jsonb)
                ON CONFLICT (tenant_id, id) DO UPDATE SET document = excluded.document""",
                tenant.id,
                provider,
                json.dumps(document),
            )

    async def register(
        self,
        tenant: Tenant,
        provider: str,
        client_id: str,
        secret: str,
        role_id: UUID | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> UUID:
        """Register an OAuth client at a provider."""
        clients = OAuthClientStore(
            self.identity.zone.database, self.identity.zone.vault, ProviderRegistry(load_builtin_providers())
        )
        registration = OAuthClientRegistration(provider, client_id, Secret(secret), role_id, settings=settings)
        return await clients.register(ACTOR, tenant.id, registration)

    async def person(self, email: str, slug: str = "acme", *, admin: bool = False, **role: Any) -> Person:
        """Somebody with a role of these permissions; all of `shop` unless `allow` says otherwise."""
        person = await self.product.person(await self.tenant(slug), email, **{"allow": ["shop.*"], **role})
        if admin:
            await self.execute("UPDATE core.users SET system_role = 'admin' WHERE id = $1", person.id)
        return person

    @contextlib.asynccontextmanager
    async def browser(self, person: Person | None = None) -> AsyncIterator["Browser"]:
        """A browser, signed in as somebody."""
        async with httpx2.AsyncClient(timeout=20, headers={"Accept": "text/html,*/*;q=0.8"}) as http:
            browser = Browser(http, self.url)
            if person is not None:
                await browser.sign_in(self.identity, person)
            yield browser

    @property
    def ends(self) -> DisconnectServices:
        """What ends accounts, as the product has it."""
        zone = self.identity.zone
        return build_disconnect_services(zone.database, zone.vault, zone.oauth_http, clock=zone.clock)

    async def revoked(self) -> int:
        """How many grants `vendor` was told to forget."""
        return (await self.vendor.told())["counters"].get("grant_revoked", 0)

    async def set_service(self, tenant: Tenant, module: str, **settings: Any) -> None:
        """What an administrator sets for a service."""
        await set_settings(self.product.console, ACTOR, tenant.id, module, lambda _: settings)

    async def call(self, person: Person, module: str, tool: str = "look", **params: Any) -> Answer:
        """A tool call of theirs, through the running gateway."""
        client = Client(self.identity.gateway.app, SUITE.hear)
        return await client.call(person.token, module, tool, params or {"what": "tea"})

    async def schema(self, person: Person, module: str) -> dict[str, Any]:
        """How `get_module_schema` shows a module to them."""
        client = Client(self.identity.gateway.app, SUITE.hear)
        answer = await client.tool(person.token, "get_module_schema", {"module": module})
        return answer.value["modules"][0]

    async def known(self, person: Person, module: str = "shop") -> None:
        """Let the shop know the token that the person's calls bring."""
        lease = await self.identity.zone.broker.lease(LeaseRequest(Secret(person.token), module, "look"))
        assert isinstance(lease, Lease), lease
        self.shop.tokens[lease.access_token.reveal()] = person.email

    @contextlib.asynccontextmanager
    async def api(self, person: Person) -> AsyncIterator[httpx2.AsyncClient]:
        """The admin API, signed in as somebody."""
        headers = {"Cookie": await self.identity.session(person), "Origin": self.url}
        async with httpx2.AsyncClient(base_url=f"{self.url}/api/v1", headers=headers, timeout=20) as http:
            yield http

    async def execute(self, sql: str, *args: object) -> None:
        """Change something behind the product's back."""
        async with self.product.database.admin_connection() as admin:
            await admin.execute(sql, *args)

    async def rows(self, sql: str, *args: object) -> list[dict[str, Any]]:
        """Rows, seen by nobody's role."""
        async with self.product.database.admin_connection() as admin:
            return [dict(row) for row in await admin.fetch(sql, *args)]

    async def accounts(self) -> list[dict[str, Any]]:
        """Every account of the deployment."""
        return await self.rows("SELECT * FROM vault.accounts ORDER BY created_at")

    async def nothing_stored(self) -> None:
        """No account and no credential of anybody."""
        assert await self.accounts() == []
        assert await self.rows("SELECT * FROM vault.credentials") == []

    async def asked_for_tokens(self) -> int:
        """How many codes were shown to either vendor."""
        counters = [(await one.told())["counters"] for one in (self.vendor, self.other)]
        return sum(one.get("asked:authorization_code", 0) for one in counters)


class Browser:
    """One cookie jar; follows our pages that go on, and redirects of ours."""

    def __init__(self, http: httpx2.AsyncClient, url: str) -> None:
        self.http = http
        self.url = url

    async def sign_in(self, identity: Identity, person: Person) -> None:
        """Another session in the place of the browser's, as after a sign-in."""
        name, _, value = (await identity.session(person)).partition("=")
        self.http.cookies.delete(name) if name in self.http.cookies else None
        self.http.cookies.set(name, value, domain="127.0.0.1")

    def sign_out(self) -> None:
        self.http.cookies.delete("mcpist-session")

    def leave_vendors(self) -> None:
        """Forget every session at vendors."""
        session = self.http.cookies.get("mcpist-session")
        self.http.cookies.clear()
        if session:
            self.http.cookies.set("mcpist-session", session, domain="127.0.0.1")

    async def get(self, path: str) -> httpx2.Response:
        """Open an address of ours and follow where it leads on our side."""
        return await self._follow(await self.http.get(self._absolute(path)))

    async def post(self, path: str, **fields: str) -> httpx2.Response:
        """Send a form of one of our pages, and stay there."""
        form = "application/x-www-form-urlencoded"
        headers = {"Origin": self.url, "Sec-Fetch-Site": "same-origin", "Content-Type": form}
        return await self.http.post(self._absolute(path), data=fields, headers=headers)

    async def follow(self, path: str, **fields: str) -> httpx2.Response:
        """Send a form, and follow where it leads on our side."""
        return await self._follow(await self.post(path, **fields))

    async def start(self, module: str = "shop", provider: str = "vendor", **fields: str) -> str:
        """Begin; the vendor's address that the browser is sent to."""
        answer = await self.post(f"/connect/{module}", provider=provider, **fields)
        found = GOES_ON.search(answer.text)
        assert found, (answer.status_code, answer.text)
        return html.unescape(found[1])

    async def consent(self, url: str) -> str:
        """Go to a vendor and through it; the address of ours that it sends the browser back to, unopened."""
        answer = await self.http.get(url)
        for _ in range(20):
            target = str(httpx2.URL(str(answer.url)).join(answer.headers["location"]))
            if target.startswith(self.url):
                return target
            answer = await self.http.get(target)
        raise AssertionError("the vendor never comes to an end")

    async def connect(self, module: str = "shop", provider: str = "vendor", **fields: str) -> httpx2.Response:
        """The whole way; the page that it ends at."""
        return await self.get(await self.consent(await self.start(module, provider, **fields)))

    async def _follow(self, answer: httpx2.Response) -> httpx2.Response:
        for _ in range(10):
            if "location" not in answer.headers:
                return answer
            answer = await self.http.get(httpx2.URL(str(answer.url)).join(answer.headers["location"]))
        raise AssertionError("it never ends")

    def _absolute(self, path: str) -> str:
        return path if path.startswith("http") else self.url + path


def provider_document(
    server: OauthProvider, *, modules: tuple[str, ...] = ("shop", "till"), **more: Any
) -> dict[str, Any]:
    """A provider as an administrator would write it."""
    oauth = {
        "authorize_url": f"{server.issuer}/auth",
        "token_url": f"{server.issuer}/token",
        "issuer": server.issuer,
        "issuer_required": True,
        "client_auth": "basic",
        "authorize_params": {"prompt": "consent"},
        "base_scopes": ["openid", "offline_access"],
        "revoke": {"url": f"{server.issuer}/token/revocation"},
        **more.pop("oauth", {}),
    }
    return {
        "title": "Vendor",
        "oauth": oauth,
        "account": {"source": "url", "url": f"{server.issuer}/me", "id": "/sub", "name": ["/email"]},
        "modules": {name: {"reading": ["email"], "writing": ["profile"]} for name in modules},
        **more,
    }


def shown(page: httpx2.Response) -> str:
    """The text of a page, with one blank between its parts."""
    body = re.sub(r"<style.*?</style>", "", page.text, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", re.sub(r"</(?!bdi)[a-z0-9]+>", " ", body))).split())


def changed(url: str, **parameters: str | None) -> str:
    """The same address with other parameters; None takes one away."""
    parts = urlsplit(url)
    asked = {**dict(parse_qsl(parts.query)), **parameters}
    kept = {name: value for name, value in asked.items() if value is not None}
    return urlunsplit(parts._replace(query=urlencode(kept)))


def parameters(url: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(url).query))


def catalogue_with(shop_url: str) -> Catalogue:
    """Modules shop, till (same vendor), stall (another), kiosk, which only takes keys, and desk, which needs a site."""
    made, desk = shop_module(shop_url), shop_module(shop_url + "/ex/{site}")
    names = {"shop": "Shop", "till": "Till", "stall": "Stall", "kiosk": "Kiosk"}
    modules = [replace(made, name=name, title=title) for name, title in names.items()]
    return build_catalogue([*modules, replace(desk, name="desk", title="Desk")])


@dataclass(slots=True)
class TwoVendors:
    """The OAuth servers of two vendors, which know our address on any port (RFC 8252 §7.3)."""

    vendor: OauthProvider
    other: OauthProvider
    settings: dict[str, Any]

    async def reset(self) -> None:
        """As they were at the start, but for what they have granted."""
        for one in (self.vendor, self.other):
            await one.control({"set": self.settings, "faults": [], "reset_counters": True})


@contextlib.asynccontextmanager
async def two_vendors(folder: Path) -> AsyncIterator[TwoVendors]:
    """Both, until the block is left."""
    async with (
        oauth_provider(folder, redirect_uris=[f"{CALLBACK}/vendor"], client_id="shop-client") as vendor,
        oauth_provider(folder, redirect_uris=[f"{CALLBACK}/other"], client_id="stall-client") as other,
    ):
        yield TwoVendors(vendor, other, (await vendor.told())["settings"])


@contextlib.asynccontextmanager
async def vendors_on(
    database: ScratchDatabase, folder: Path, *more_hosts: str, running: TwoVendors | None = None
) -> AsyncIterator[ConnectApp]:
    """The app; `more_hosts` may be asked too. Without vendors that are `running`, it has its own."""
    async with contextlib.AsyncExitStack() as stack:
        vendors = running or await stack.enter_async_context(two_vendors(folder))
        market, list_of_sites = await stack.enter_async_context(shop()), await stack.enter_async_context(sites())
        elsewhere = await stack.enter_async_context(shop())
        product = await stack.enter_async_context(
            product_on(database, folder / "home", catalogue=catalogue_with(market.url))
        )
        hosts = [
            *more_hosts,
            market.host,
            elsewhere.host,
            *(urlsplit(one).netloc for one in (vendors.vendor.issuer, vendors.other.issuer, list_of_sites.url)),
        ]
        identity = await stack.enter_async_context(
            identity_on(product, providers=False, allowed_private_hosts=hosts, operator_tenant=OPERATORS)
        )
        yield ConnectApp(identity, market, vendors.vendor, vendors.other, list_of_sites, elsewhere)
