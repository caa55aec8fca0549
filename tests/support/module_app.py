"""A started product with one module and the double of its vendor: tools are called through `/mcp`, as a client does.

vendor, app = make_app_fixtures(MODULE, jira_double)

issue = await app.read("get_issue", issue="A-1")        # its value; an error fails the test
answer = await app.call("get_issue", issue="A-1")       # .value, .failed, .text
"""

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import pytest
import pytest_asyncio

from broker.vault.credential_store import CredentialStore
from broker.vault.key_wrapping import InMemoryKeyProvider
from broker.vault.vault import open_vault
from core.directory.services import set_settings
from core.http.credential_headers import BEARER, CredentialScheme
from core.http.origins import get_origin
from core.secret import Secret
from gateway.catalogue import build_catalogue
from modules.kit import Module, Tool
from server.deployment import KEYS_FOLDER
from server.role_database import BROKER_ROLE, get_utc_now, open_role_database
from server.vault_keys import VAULT_KEYS_FILE
from tests.support.job_worker import run_jobs
from tests.support.mcp_client import Answer
from tests.support.postgres import DatabaseServer
from tests.support.product import ACTOR, Node, Person, Product, product_on
from tests.support.vendor_double import VendorDouble, VendorRefusal, VendorReply

FULL_KEY = "full"
"""A key of the first account that may do everything, which each double knows."""


class KeyObserver(Protocol):
    """A double that has kept the credentials that came to it."""

    secrets: list[str]


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
    scheme: CredentialScheme = BEARER
    """How keys are sent that are stored without saying it."""
    further_origins: Mapping[str, str] = field(default_factory=dict[str, str])
    """Where the vendors of the modules beside are."""

    async def connect(
        self, person: Person, secret: str, *, scheme: CredentialScheme | None = None, service: str = ""
    ) -> None:
        """Store a key of the vendor's for somebody, to be sent to the double in the way of `scheme`; of another
        `service` than the module's where one is named."""
        owner = await self.credentials.resolve_owner(person.tenant.id, email=person.email)
        await self.credentials.put(
            ACTOR, person.tenant.id, service or self.module.name, owner, Secret(secret), "an account",
            origins=[self.further_origins.get(service, self.origin)], scheme=scheme or self.scheme,
        )  # fmt: skip

    async def reconnect(self, person: Person, secret: str, vendor: "KeyObserver") -> None:
        """Replace somebody's key, and call a tool until the double has seen the new one: the product learns of a change
        by a notification, a little later."""
        await self.connect(person, secret)
        simple = next(one.name for one in self.module.tools if one.hints.read_only and not _list_required(one))
        for _ in range(1_000):
            await self.call_as(person, simple)
            if vendor.secrets and vendor.secrets[-1] == secret:
                return
        raise AssertionError("the new key was not used")

    async def call_refused(
        self, vendor: VendorDouble, refusal: VendorRefusal | VendorReply, tool_name: str, /, **params: Any
    ) -> Answer:
        """Call a tool as eve while the vendor answers so to whatever it is asked. She gets a new key that may do
        everything: a limit is remembered for its key, and would hold for the next test."""
        secret = f"made-up-token-{len(vendor.tokens)}"
        vendor.tokens[secret] = vendor.tokens[FULL_KEY]
        await self.reconnect(self.eve, secret, vendor)
        vendor.refusals[:] = [refusal] * 5  # a request that only reads is tried again
        answer = await self.call_as(self.eve, tool_name, **params)
        vendor.refusals.clear()
        return answer

    async def read(self, tool_name: str, /, **params: Any) -> Any:
        """Call a tool as ada, and return the value of its answer, which is no error."""
        answer = await self.call(tool_name, **params)
        assert not answer.failed, answer.text
        return answer.value

    async def call(self, tool_name: str, /, **params: Any) -> Answer:
        """Call a tool as ada."""
        return await self.call_as(self.ada, tool_name, **params)

    async def call_as(self, person: Person, tool_name: str, /, **params: Any) -> Answer:
        """Call a tool as somebody."""
        return await self.node.call(person.token, self.module.name, tool_name, params)


def _list_required(tool: Tool) -> list[str]:
    return [name for name, field in tool.arguments.model_fields.items() if field.is_required()]


@contextlib.asynccontextmanager
async def open_module_app(
    server: DatabaseServer,
    folder: Path,
    module: Module,
    base_url: str,
    beside: Sequence[Module] = (),
    further_urls: Mapping[str, str] | None = None,
    **settings: Any,
) -> AsyncIterator[ModuleApp]:
    """Start a product whose only modules are `module` and those `beside` it, and whose service has the double's address
    as its `base_url`. `settings` are further ones of the service; `further_urls` are the addresses of the services
    beside it, by name."""
    urls = {**(further_urls or {}), module.name: base_url}
    async with contextlib.AsyncExitStack() as stack:
        database = await stack.enter_async_context(server.database())
        catalogue = build_catalogue([module, *beside])
        product = await stack.enter_async_context(product_on(database, folder / "home", catalogue=catalogue))
        hosts = tuple(urlsplit(url).netloc for url in urls.values())
        node = await stack.enter_async_context(product.gateway(allowed_private_hosts=hosts))
        broker = await stack.enter_async_context(open_role_database(product.deployment, BROKER_ROLE, max_connections=2))
        keys = InMemoryKeyProvider.from_file(product.deployment.home / KEYS_FOLDER / VAULT_KEYS_FILE)
        vault = await open_vault(broker, keys, clock=get_utc_now)
        people: list[Person] = []
        for slug, email in (("acme", "ada@acme.test"), ("globex", "eve@globex.test")):
            tenant = await product.tenant(slug)
            for name, url in urls.items():
                values = {"base_url": url, **(settings if name == module.name else {})}
                await set_settings(product.console, ACTOR, tenant.id, name, lambda before, new=values: {**before, **new})
            people.append(await product.person(tenant, email, allow=["*"]))
        store = CredentialStore(broker, vault, clock=get_utc_now)
        await stack.enter_async_context(run_jobs(product, node, allowed_private_hosts=hosts))
        origins = {name: get_origin(url) for name, url in urls.items()}
        yield ModuleApp(
            module, product, node, people[0], people[1], store, get_origin(base_url), further_origins=origins
        )


def make_app_fixtures(
    module: Module,
    serve: Callable[[], contextlib.AbstractAsyncContextManager[VendorDouble]],
    *,
    adas: str = FULL_KEY,
    eves: str,
    scheme: CredentialScheme = BEARER,
    every_scheme: CredentialScheme = BEARER,
) -> tuple[Any, Any]:
    """Make the fixtures `vendor` and `app` of a file of tests: a double as `serve` opens it, and the product before it.
    `adas` and `eves` are their keys; `scheme` is the way in which ada's is sent, `every_scheme` that of all others."""

    @pytest_asyncio.fixture(scope="module", loop_scope="module", name="vendor")
    async def open_vendor() -> AsyncIterator[VendorDouble]:
        async with serve() as double:
            yield double

    @pytest_asyncio.fixture(scope="module", loop_scope="module", name="app")
    async def open_app(
        vendor: VendorDouble, database_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory
    ) -> AsyncIterator[ModuleApp]:
        folder = tmp_path_factory.mktemp(module.name)
        async with open_module_app(database_server, folder, module, vendor.url) as app:
            app.scheme = every_scheme
            await app.connect(app.ada, adas, scheme=every_scheme if scheme is BEARER else scheme)
            await app.connect(app.eve, eves)
            yield app

    return open_vendor, open_app
