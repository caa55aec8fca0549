"""A product with a shop as its vendor, and two people with the same address in two tenants."""

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from broker.vault.credential_store import CredentialStore
from broker.vault.key_wrapping import InMemoryKeyProvider
from broker.vault.vault import open_vault
from core.db import Database
from core.secret import Secret
from gateway.catalogue import build_catalogue, load_installed_modules
from modules.kit import Module
from server.deployment import KEYS_FOLDER
from server.role_database import BROKER_ROLE, get_utc_now, open_role_database
from server.vault_keys import VAULT_KEYS_FILE
from tests.support.postgres import ScratchDatabase
from tests.support.product import ACTOR, Node, Person, Product, product_on
from tests.support.toy_vendor import Shop, shop, shop_module


@dataclass
class ShopApp:
    """A product with a shop as its vendor."""

    product: Product
    shop: Shop
    node: Node
    credentials: CredentialStore
    broker: Database

    async def add(self, person: Person, token: str, *, role: str = "", origins: Sequence[str] = ()) -> None:
        """Store a token, of the person or of a role; `origins` are where it may be sent."""
        self.shop.tokens.setdefault(token, f"account of {token[:5]}")
        owner = await self.credentials.resolve_owner(person.tenant.id, email="" if role else person.email, role=role)
        await self.credentials.put(ACTOR, person.tenant.id, "shop", owner, Secret(token), "an account", origins=origins)

    async def call(self, person: Person, tool: str, **params: Any) -> Any:
        return (await self.node.call(person.token, "shop", tool, params)).result

    async def state(self, person: Person) -> dict[str, Any]:
        return (await self.node.tool(person.token, "get_module_schema", {"module": "shop"})).value["modules"][0]


@contextlib.asynccontextmanager
async def open_shop_app(
    database: ScratchDatabase,
    tmp_path: Path,
    *,
    make_module: Callable[[str], Module] = shop_module,
    others: Sequence[Shop] = (),
) -> AsyncIterator[ShopApp]:
    """A product whose module ``shop`` is `make_module`'s; it may reach the `others` too."""
    async with contextlib.AsyncExitStack() as stack:
        vendor = await stack.enter_async_context(shop())
        hosts = tuple(one.host for one in (vendor, *others))
        catalogue = build_catalogue([*load_installed_modules().modules, make_module(vendor.url)])
        product = await stack.enter_async_context(product_on(database, tmp_path / "home", catalogue=catalogue))
        node = await stack.enter_async_context(product.gateway(allowed_private_hosts=hosts))
        broker = await stack.enter_async_context(open_role_database(product.deployment, BROKER_ROLE, max_connections=2))
        vault = await open_vault(
            broker,
            InMemoryKeyProvider.from_file(product.deployment.home / KEYS_FOLDER / VAULT_KEYS_FILE),
            clock=get_utc_now,
        )
        yield ShopApp(product, vendor, node, CredentialStore(broker, vault, clock=get_utc_now), broker)


async def people(app: ShopApp) -> tuple[Person, Person]:
    acme, globex = await app.product.tenant("acme"), await app.product.tenant("globex")
    ada = await app.product.person(acme, "ada@acme.test", allow=["*"])
    eve = await app.product.person(globex, "ada@globex.test", allow=["*"])
    return ada, eve
