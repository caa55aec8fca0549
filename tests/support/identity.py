"""A whole product on one loopback port, as `mcpist up` puts it together, on a test's own database.

    async with product_on(database, tmp_path) as product, identity_on(product) as identity:
        acme = await product.tenant("acme")
        await identity.let_in(acme, "@acme.test")
        await identity.company.sign_in_as("ada@acme.test")
        client = await identity.client(acme, "http://127.0.0.1/callback")
        # identity.url in a browser, or with any HTTP client

`company` is the one identity provider, a real one (tests/support/oauth_provider); `providers=False` is a deployment
without any, where people sign in by one-time links: `await identity.link(person)`. Access tokens are good at
``identity.url + "/mcp"``, and the admin API is there.
"""

import contextlib
import json
import socket
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from broker.authorization_server.client_registry import Client
from broker.authorization_server.registered_clients import NewClient, RegisteredClients
from core.config.settings import Settings
from core.directory import allow_list
from core.directory.tenants import Tenant
from core.http_server.server import HttpServer, run_http_server
from core.secret import Secret
from gateway.module_manifests import build_module_manifests
from gateway.observability.call_log import CallLog
from server.wiring.broker import BrokerRuntime, open_broker_runtime
from server.wiring.control_plane import ControlPlane
from server.wiring.gateway import Gateway, open_gateway
from server.wiring.schedule_requests import InProcessGateway, create_schedule_creator
from server.wiring.web import open_web_application as identity_of
from tests.support.oauth_provider import OauthProvider, oauth_provider
from tests.support.product import ACTOR, Person, Product

PROVIDER = "company"


@dataclass(frozen=True, slots=True)
class Identity:
    """A running product at `url`, and its administrators' hands."""

    product: Product
    url: str
    gateway: Gateway
    zone: BrokerRuntime
    _company: OauthProvider | None

    @property
    def company(self) -> OauthProvider:
        """The identity provider."""
        assert self._company is not None, "this deployment has no provider"
        return self._company

    @property
    def origins(self) -> tuple[str, ...]:
        """Where a browser may be sent that signs in here."""
        return (self.url,) if self._company is None else (self.url, self._company.issuer)

    async def let_in(self, tenant: Tenant, *entries: str) -> None:
        """Add addresses or domains to a tenant's allow list."""
        for entry in entries:
            await allow_list.add_entry(self.product.console, ACTOR, tenant.id, entry)

    async def link(self, person: Person, next_path: str = "") -> str:
        """A one-time link for a user, to the console where there is one or to `next_path`."""
        secret = await self.zone.identity_services.links.create(ACTOR, person.tenant.id, person.id)
        return f"{self.url}/sign-in/link?code={secret.reveal()}" + (
            f"&next={quote(next_path, safe='')}" if next_path else ""
        )

    async def session(self, person: Person) -> str:
        """The cookie header of a fresh browser session of theirs."""
        secret = await self.zone.identity_services.sessions.begin(person.tenant.id, person.id, "link")
        return f"mcpist-session={secret.reveal()}"

    async def client(self, tenant: Tenant, *redirect_uris: str, name: str = "Test client", **more: Any) -> Client:
        """A client that an administrator has registered, public unless `more` (of NewClient) says otherwise."""
        return (await self.client_with_secret(tenant, *redirect_uris, name=name, **more))[0]

    async def client_with_secret(
        self, tenant: Tenant, *redirect_uris: str, name: str = "Test client", **more: Any
    ) -> tuple[Client, Secret | None]:
        """The same, with the secret that its `auth_method` asks for."""
        clients = RegisteredClients(self.zone.database, self.zone.peppers, clock=self.product.clock)
        return await clients.create(ACTOR, tenant.id, NewClient(name=name, redirect_uris=redirect_uris, **more))


@contextlib.asynccontextmanager
async def identity_on(
    product: Product,
    *,
    providers: bool = True,
    in_file: bool = True,
    server: Mapping[str, Any] | None = None,
    private_hosts: Sequence[str] = (),
    listen_port: int = 0,
    **settings: Any,
) -> AsyncIterator[Identity]:
    """Serve until the block is left; `server` is the authorization server's settings, `settings` the product's. Without
    `in_file` the provider runs and MCPist does not know it, but may ask it. It listens at `listen_port` where that is
    free, as it is after another product has ended."""
    deployment, catalogue = product.deployment, product.catalogue
    async with contextlib.AsyncExitStack() as stack:
        listener = stack.enter_context(_open_listener(listen_port))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        company = None
        if providers:
            callback = f"{url}/sign-in/callback/{PROVIDER}"
            company = await stack.enter_async_context(oauth_provider(deployment.home, redirect_uris=[callback]))
            if not in_file:
                private_hosts = (*private_hosts, urlsplit(company.issuer).netloc)
        file = _identity_file(
            deployment.home / f"identity-{listener.getsockname()[1]}.toml", company if in_file else None, server or {}
        )
        chosen = Settings(
            home=deployment.home,
            identity_file=file,
            **{"public_url": url, "allowed_private_hosts": tuple(private_hosts), **settings},
        )
        call_log = CallLog(lambda block: product.canary.hear("call log", block), clock=time.time)
        stack.callback(call_log.close)
        manifests = build_module_manifests(catalogue)
        zone = await stack.enter_async_context(open_broker_runtime(deployment, chosen, manifests, clock=product.clock))
        running = await stack.enter_async_context(
            open_gateway(chosen, deployment, contextlib.nullcontext(zone.broker), catalogue, call_log)
        )
        running.app.otherwise = await stack.enter_async_context(
            identity_of(
                zone,
                chosen,
                running.refusals,
                manifests,
                ControlPlane(
                    chosen,
                    product.console,
                    catalogue,
                    deployment,
                    create_schedule=create_schedule_creator(InProcessGateway(lambda: running.app), chosen),
                ),
            )
        )
        await stack.enter_async_context(run_http_server(HttpServer(running.app), listener))
        yield Identity(product, url, running, zone, company)


def _open_listener(port: int) -> socket.socket:
    with contextlib.suppress(OSError):
        return socket.create_server(("127.0.0.1", port))
    return socket.create_server(("127.0.0.1", 0))


def _identity_file(path: Path, company: OauthProvider | None, server: Mapping[str, Any]) -> Path:
    """The file that an operator would write: what JSON says of these values, TOML says in the same words."""
    lines = ["[authorization_server]", *(f"{name} = {json.dumps(value)}" for name, value in server.items())]
    if company is not None:
        lines += ["[[providers]]", f'id = "{PROVIDER}"', 'kind = "oidc"', 'label = "Company"']
        lines += [f'issuer = "{company.issuer}"', f'client_id = "{company.client_id}"']
        lines += [f'client_secret = "{company.client_secret}"']
    path.touch(mode=0o600)
    path.write_text("\n".join(lines))
    return path
