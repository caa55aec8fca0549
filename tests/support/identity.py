"""A whole product on one loopback port: the gateway, and identity with its pages, on a test's own database.

    async with product_on(database, tmp_path) as product, identity_on(product) as identity:
        acme = await product.tenant("acme")
        await identity.let_in(acme, "@acme.test")
        await identity.company.sign_in_as("ada@acme.test")
        client = await identity.client(acme, "http://127.0.0.1/callback")
        # identity.url in a browser, or with any HTTP client

`company` is the one identity provider, a real one (tests/support/oauth_provider); `providers=False` is a deployment
without any, where people sign in by one-time links: `await identity.link(person)`.
"""

import contextlib
import socket
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

from starlette.types import ASGIApp

from broker.identity.front_door import FrontDoor, front_door
from broker.identity.pepper import Peppers, load_or_create
from broker.identity.settings import IdentitySettings
from broker.oauth.access_tokens import AccessTokens
from broker.oauth.authorization import Authorization
from broker.oauth.client_authentication import ClientAuthentication
from broker.oauth.clients import Client, Clients, MetadataClients
from broker.oauth.consents import Consents
from broker.oauth.errors import OAuthError
from broker.oauth.grants import Grants
from broker.oauth.registered_clients import NewClient, RegisteredClients
from broker.oauth.revocation import Revocation
from broker.oauth.signing_keys import SigningKeys, open_signing_keys
from broker.oauth.single_use import SingleUse
from broker.oauth.token_endpoint import TokenEndpoint
from broker.vault.keys import LocalKeys
from broker.vault.vault import open_vault
from broker.web import account, oauth, sign_in
from broker.web.app import identity_app
from broker.web.parts import WebParts, web_parts
from core.db import Database
from core.directory import allow_list
from core.directory.tenants import Tenant
from core.settings import Settings
from gateway.deployment import KEYS
from gateway.single.vault_access import VAULT_KEYS
from gateway.single.operator import BROKER, connected
from gateway.single.serving import served
from tests.support.oauth_provider import OauthProvider, oauth_provider
from tests.support.product import ACTOR, Node, Person, Product

PROVIDER = "company"
GATEWAY_PATHS = ("/mcp", "/healthz", "/readyz", "/.well-known/oauth-protected-resource")


@dataclass(frozen=True, slots=True)
class Identity:
    """A running one, and its administrators' hands. `node` is the gateway beside it."""

    product: Product
    node: Node
    url: str
    parts: WebParts
    door: FrontDoor
    clients: RegisteredClients
    grants: Grants
    _company: OauthProvider | None

    @property
    def company(self) -> OauthProvider:
        """The identity provider."""
        assert self._company is not None, "this deployment has no provider"
        return self._company

    async def let_in(self, tenant: Tenant, *entries: str) -> None:
        """Add addresses or domains to a tenant's allow list."""
        for entry in entries:
            await allow_list.add_entry(self.product.console, ACTOR, tenant.id, entry)

    async def link(self, person: Person) -> str:
        """A one-time link for a user."""
        secret = await self.door.links.create(ACTOR, person.tenant.id, person.id)
        return f"{self.url}/sign-in/link?code={secret.reveal()}"

    async def client(self, tenant: Tenant, *redirect_uris: str, name: str = "Test client") -> Client:
        """A public client that an administrator has registered."""
        asked = NewClient(name=name, redirect_uris=redirect_uris)
        client, _ = await self.clients.create(ACTOR, tenant.id, asked)
        return client


@contextlib.asynccontextmanager
async def identity_on(
    product: Product,
    *,
    providers: bool = True,
    metadata: MetadataClients | None = None,
    server: Mapping[str, Any] | None = None,
    **settings: Any,
) -> AsyncIterator[Identity]:
    """Serve until the block is left. `metadata` finds clients by their documents; `server` are settings of the
    authorization server, `settings` those of the product."""
    async with contextlib.AsyncExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        callback = f"{url}/sign-in/callback/{PROVIDER}"
        company = None
        if providers:
            company = await stack.enter_async_context(oauth_provider(product.deployment.home, redirect_uris=[callback]))
        identity = IdentitySettings.model_validate(
            {"providers": [_provider(company)] if company else [], "authorization_server": dict(server or {})}
        )
        node = await stack.enter_async_context(product.gateway(public_url=url, **settings))
        database = await stack.enter_async_context(connected(product.deployment, BROKER, most=5))
        chosen = Settings(home=product.deployment.home, public_url=url, **settings)
        parts = web_parts(chosen, identity, product.clock)
        made = await _made(product, node, database, parts, metadata, company)
        await stack.enter_async_context(served(_front(node.gateway.app, made[1]), listener))
        yield made[0]


def _provider(company: OauthProvider) -> Mapping[str, Any]:
    return {
        "id": PROVIDER,
        "kind": "oidc",
        "label": "Company",
        "issuer": company.issuer,
        "client_id": company.client_id,
        "client_secret": company.client_secret,
    }


def _front(gateway: Any, identity: ASGIApp) -> ASGIApp:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        target = gateway if scope.get("path", "").startswith(GATEWAY_PATHS) else identity
        await target(scope, receive, send)

    return app


async def _made(
    product: Product,
    node: Node,
    database: Database,
    parts: WebParts,
    metadata: MetadataClients | None,
    company: OauthProvider | None,
) -> tuple[Identity, ASGIApp]:
    clock, settings = product.clock, parts.identity.authorization_server
    keys = LocalKeys.from_file(product.deployment.home / KEYS / VAULT_KEYS)
    await open_vault(database, keys, clock=clock)
    signing, _ = await open_signing_keys(database, keys, clock=clock)
    peppers = load_or_create(product.deployment.peppers)
    door = front_door(database, parts.identity.providers, parts.issuer, clock=clock)
    grants = Grants(
        database, clock=clock, refresh_token_days=settings.refresh_token_days, grant_days=settings.grant_days
    )
    clients = Clients(database, metadata, clock=clock, dynamic=settings.dynamic_registration)
    found = _Server(parts, database, signing, peppers, clients, grants, door)
    routes = [
        *sign_in.routes(parts, door),
        *account.routes(parts, door, grants),
        *oauth.routes(parts, found.assembled(clock)),
    ]
    made = Identity(
        product, node, parts.issuer, parts, door, RegisteredClients(database, peppers, clock=clock), grants, company
    )
    return made, identity_app(parts, routes)


@dataclass(frozen=True, slots=True)
class _Server:
    parts: WebParts
    database: Database
    signing: SigningKeys
    peppers: Peppers
    clients: Clients
    grants: Grants
    door: FrontDoor

    def assembled(self, clock: Any) -> oauth.AuthorizationServer:
        resource = self.parts.url("/mcp")
        lifetime = timedelta(minutes=self.parts.identity.authorization_server.access_token_minutes)
        tokens = AccessTokens(
            self.signing, self.database, issuer=self.parts.issuer, resource=resource, lifetime=lifetime, clock=clock
        )
        authentication = ClientAuthentication(
            self.clients,
            self.peppers,
            SingleUse(self.database, clock=clock),
            cast("Any", None),  # keys by URL: no client of these tests has any
            issuer=self.parts.issuer,
            token_endpoint=self.parts.url("/oauth/token"),
            clock=clock,
        )
        endpoint = TokenEndpoint(
            authentication=authentication,
            clients=self.clients,
            grants=self.grants,
            access_tokens=tokens,
            assertions=_NoAssertions(),
            resource=resource,
            clock=clock,
        )
        return oauth.AuthorizationServer(
            Authorization(self.clients, resource),
            endpoint,
            Revocation(authentication, self.grants, tokens),
            self.door.sessions,
            Consents(self.database, clock=clock),
            self.grants,
            self.signing,
        )


class _NoAssertions:
    async def verify(self, assertion: str, client: Client) -> Any:
        raise OAuthError("invalid_grant")
