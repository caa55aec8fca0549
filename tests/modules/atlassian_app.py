"""The whole product with the modules jira and confluence as they are, in front of one Atlassian: its token server, and
the doubles of both sites, which know the tokens that it has granted.

async with open_atlassian(database, tmp_path) as app:
    await app.connect(app.ada, "jira")
    answer = await app.call(app.ada, "confluence", "list_spaces")
"""

import contextlib
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2

from broker.connections.oauth_client_store import OAuthClientRegistration, OAuthClientStore
from broker.providers.catalogue import ProviderRegistry, load_builtin_providers
from core.directory.tenants import Tenant
from gateway.catalogue import build_catalogue
from modules import confluence, jira
from modules.kit import Module
from tests.broker.connect.connect_app import Browser, parameters, shown
from tests.support.confluence_double import ConfluenceDouble, confluence_double
from tests.support.identity import Identity, identity_on
from tests.support.jira_double import JiraDouble, jira_double
from tests.support.mcp_client import Answer
from tests.support.postgres import ScratchDatabase
from tests.support.product import ACTOR, Node, Person, product_on
from tests.support.vendor_double import VendorDouble
from tests.support.vendor_tokens import STYLES, VendorTokens, vendor_tokens
from tests.support.vendor_tokens.state import State

STYLE, PROVIDER = "atlassian", "atlassian_here"
SITE = "c2"
"""The second of two that a grant covers."""
SITE_NAME = "beta"
SITES = [
    {"id": identity, "name": name, "url": f"https://{name}.atlassian.example", "scopes": scopes}
    for identity, name in (("c1", "acme"), (SITE, SITE_NAME))
    for scopes in (["read:jira-work"], ["read:page:confluence"])
]
"""As Atlassian lists them: an entry for each product of a site, with one id."""


class GrantedTokens(Mapping[str, set[str]]):
    """The access tokens that a vendor has granted and not revoked, with what each may."""

    def __init__(self, state: State) -> None:
        self._state = state

    def __getitem__(self, token: str) -> set[str]:
        return next(set(one.scopes) for one in self._state.grants if token in one.access)

    def __contains__(self, token: object) -> bool:
        return any(token in one.access for one in self._state.grants)

    def __iter__(self) -> Iterator[str]:
        return (token for one in self._state.grants for token in one.access)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@dataclass(frozen=True, slots=True)
class AtlassianApp:
    """`ada` and her colleague `bob` are of one tenant, `eve` of another; nobody is connected at first."""

    identity: Identity
    vendor: VendorTokens
    jira: JiraDouble
    confluence: ConfluenceDouble
    ada: Person
    bob: Person
    eve: Person

    async def connect(self, person: Person, module: str, **fields: str) -> tuple[list[str], str]:
        """The whole way in a browser, to the second site where there are two; the scopes that were asked for, and the
        page at its end."""
        async with self.browser(person) as browser:
            url = await browser.start(module, PROVIDER, **fields)
            page = await browser.get(self.vendor.state.agree(url))
            if "Which site" in shown(page):
                page = await browser.follow(str(page.url), decision="connect", site=SITE)
        return parameters(url)["scope"].split(), shown(page)

    async def disconnect(self, person: Person, module: str) -> str:
        """End a connection on its page; what the page says then."""
        async with self.browser(person) as browser:
            return shown(await browser.follow(f"/connect/{module}/disconnect"))

    @contextlib.asynccontextmanager
    async def browser(self, person: Person) -> AsyncIterator[Browser]:
        async with httpx2.AsyncClient(timeout=20) as http:
            browser = Browser(http, self.identity.url)
            await browser.sign_in(self.identity, person)
            yield browser

    async def call(self, person: Person, module: str, tool: str, **params: Any) -> Answer:
        """Call a tool through `/mcp`."""
        return await Node(self.identity.gateway).call(person.token, module, tool, params)

    async def list_states(self, person: Person) -> dict[str, str]:
        """How `get_module_schema` says that each service stands."""
        node = Node(self.identity.gateway)
        answers = {
            module: await node.tool(person.token, "get_module_schema", {"module": module})
            for module in ("jira", "confluence")
        }
        return {module: answer.value["modules"][0]["connection"] for module, answer in answers.items()}

    async def list_accounts(self, person: Person) -> list[dict[str, Any]]:
        """The stored accounts of a person's tenant."""
        async with self.identity.product.database.admin_connection() as admin:
            rows = await admin.fetch("SELECT * FROM vault.accounts WHERE tenant_id = $1", person.tenant.id)
        return [dict(row) for row in rows]


def place(module: Module, double: VendorDouble) -> Module:
    """The module as it is, but for the host of its vendor."""
    assert module.vendor is not None
    path = urlsplit(module.vendor.base_url).path
    double.prefix = path.format(site=SITE)
    return replace(module, vendor=replace(module.vendor, base_url=double.url + path))


@contextlib.asynccontextmanager
async def open_atlassian(database: ScratchDatabase, folder: Path) -> AsyncIterator[AtlassianApp]:
    """The app until the block is left."""
    async with contextlib.AsyncExitStack() as stack:
        vendor = await stack.enter_async_context(vendor_tokens(STYLES[STYLE]))
        vendor.resources["/oauth/token/accessible-resources"] = SITES
        issues = await stack.enter_async_context(jira_double())
        pages = await stack.enter_async_context(confluence_double())
        issues.tokens = pages.tokens = GrantedTokens(vendor.state)  # pyright: ignore[reportAttributeAccessIssue]
        catalogue = build_catalogue([place(jira.MODULE, issues), place(confluence.MODULE, pages)])
        product = await stack.enter_async_context(product_on(database, folder / "home", catalogue=catalogue))
        hosts = [urlsplit(one.url).netloc for one in (vendor, issues, pages)]
        identity = await stack.enter_async_context(identity_on(product, providers=False, allowed_private_hosts=hosts))
        acme, globex = await product.tenant("acme"), await product.tenant("globex")
        for tenant in (acme, globex):
            await _register(identity, tenant, vendor, [issues.url, pages.url])
        ada, bob = [await product.person(acme, f"{name}@acme.test", allow=["*"]) for name in ("ada", "bob")]
        eve = await product.person(globex, "eve@globex.test", allow=["*"])
        yield AtlassianApp(identity, vendor, issues, pages, ada, bob, eve)


async def _register(identity: Identity, tenant: Tenant, vendor: VendorTokens, api: list[str]) -> None:
    """Give a tenant the vendor, where the product's own document has Atlassian's hosts, and an OAuth client at it."""
    document = vendor.provider.model_dump(mode="json", by_alias=True, exclude_unset=True) | {"api": api}
    document.pop("id", None)
    async with identity.product.database.admin_connection() as admin:
        await admin.execute(
            "INSERT INTO vault.providers (tenant_id, id, document) VALUES ($1, $2, $3::jsonb)",
            tenant.id, PROVIDER, json.dumps(document),
        )  # fmt: skip
    zone, client = identity.zone, vendor.client
    clients = OAuthClientStore(zone.database, zone.vault, ProviderRegistry(load_builtin_providers()))
    await clients.register(
        ACTOR, tenant.id, OAuthClientRegistration(PROVIDER, client.client_id, client.secret, None, settings={})
    )
