"""A started product with one module and the double of its vendor: tools are called through `/mcp`, as a client does.

@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def app(database_server, tmp_path_factory):
    async with (
        serve_double(JiraDouble(...)) as jira,
        open_module_app(database_server, tmp_path_factory.mktemp("jira"), MODULE, jira.url) as app,
    ):
        await app.connect(app.ada, "adas-token")
        yield app

answer = await app.call("get_issue", key="A-1")     # .value, .failed, .text
"""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from broker.vault.credential_store import CredentialStore
from broker.vault.key_wrapping import InMemoryKeyProvider
from broker.vault.vault import open_vault
from core.directory.services import set_settings
from core.http.credential_headers import BEARER, CredentialScheme
from core.http.origins import get_origin
from core.secret import Secret
from gateway.catalogue import build_catalogue
from modules.kit import Module
from server.deployment import KEYS_FOLDER
from server.role_database import BROKER_ROLE, get_utc_now, open_role_database
from server.vault_keys import VAULT_KEYS_FILE
from tests.support.mcp_client import Answer
from tests.support.postgres import DatabaseServer
from tests.support.product import ACTOR, Node, Person, Product, product_on


@dataclass
class ModuleApp:
    """`ada` and `eve` may use every tool, each in a tenant of her own; neither is connected at first."""

    module: Module
    product: Product
    node: Node
    ada: Person
    eve: Person
    credentials: CredentialStore
    origin: str

    async def connect(self, person: Person, secret: str, *, scheme: CredentialScheme = BEARER) -> None:
        """Store a key of the vendor's for somebody, to be sent to the double in the way of `scheme`."""
        owner = await self.credentials.resolve_owner(person.tenant.id, email=person.email)
        await self.credentials.put(
            ACTOR, person.tenant.id, self.module.name, owner, Secret(secret), "an account",
            origins=[self.origin], scheme=scheme,
        )  # fmt: skip

    async def reconnect(self, person: Person, secret: str, tool_name: str, secrets: list[str]) -> None:
        """Replace somebody's key, and call a tool without parameters until the double has seen the new one in
        `secrets`: the product learns of a change by a notification, a little later."""
        await self.connect(person, secret)
        for _ in range(1_000):
            await self.call_as(person, tool_name)
            if secrets and secrets[-1] == secret:
                return
        raise AssertionError("the new key was not used")

    async def call(self, tool_name: str, /, **params: Any) -> Answer:
        """Call a tool as ada."""
        return await self.call_as(self.ada, tool_name, **params)

    async def call_as(self, person: Person, tool_name: str, /, **params: Any) -> Answer:
        """Call a tool as somebody."""
        return await self.node.call(person.token, self.module.name, tool_name, params)


@contextlib.asynccontextmanager
async def open_module_app(
    server: DatabaseServer, folder: Path, module: Module, base_url: str, **settings: Any
) -> AsyncIterator[ModuleApp]:
    """Start a product whose only module is `module`, and whose service has the double's address as its `base_url`.
    `settings` are further ones of the service."""
    async with contextlib.AsyncExitStack() as stack:
        database = await stack.enter_async_context(server.database())
        catalogue = build_catalogue([module])
        product = await stack.enter_async_context(product_on(database, folder / "home", catalogue=catalogue))
        node = await stack.enter_async_context(product.gateway(allowed_private_hosts=(urlsplit(base_url).netloc,)))
        broker = await stack.enter_async_context(open_role_database(product.deployment, BROKER_ROLE, max_connections=2))
        keys = InMemoryKeyProvider.from_file(product.deployment.home / KEYS_FOLDER / VAULT_KEYS_FILE)
        vault = await open_vault(broker, keys, clock=get_utc_now)
        people: list[Person] = []
        for slug, email in (("acme", "ada@acme.test"), ("globex", "eve@globex.test")):
            tenant = await product.tenant(slug)
            values = {"base_url": base_url, **settings}
            await set_settings(
                product.console, ACTOR, tenant.id, module.name, lambda before, new=values: {**before, **new}
            )
            people.append(await product.person(tenant, email, allow=["*"]))
        store = CredentialStore(broker, vault, clock=get_utc_now)
        yield ModuleApp(module, product, node, people[0], people[1], store, get_origin(base_url))
