"""The whole product on loopback with one vendor of each style, as people, administrators and MCP clients see it.

async with doctor_app_on(database, tmp_path, "google") as app:
    case = await app.case("google")
    await case.connect()
    await app.ahead(HOUR)
    heard = await case.call()
    shown = await case.standing()
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import urlsplit
from uuid import UUID

import httpx2

from broker.connections.oauth_client_store import OAuthClientRegistration, OAuthClientStore
from broker.providers.catalogue import ProviderRegistry, load_builtin_providers
from broker.refresh.scheduler import RefreshScheduler
from broker.rejections.recheck import Rechecker
from core.directory.services import set_service
from core.directory.tenants import Tenant
from gateway.catalogue import build_catalogue
from modules.kit import Module, VendorApi
from server.diagnostics.vault_checks import check_credentials
from tests.broker.connect.connect_app import Browser, shown
from tests.support.identity import Identity, identity_on
from tests.support.postgres import ScratchDatabase
from tests.support.product import ACTOR, Node, Person, product_on
from tests.support.toy_vendor import shop_module
from tests.support.vendor_tokens import STYLES, VendorTokens, vendor_tokens
from tests.support.vendor_tokens.server import SECRET
from tests.support.vendor_tokens.state import State

SCOPE = "one"
LOOK = {"said": "tea"}
VENDOR_HEADERS = {"notion": {"Notion-Version": "2022-06-28"}}


@dataclass(frozen=True, slots=True)
class Heard:
    """What an MCP client got for a call, and after how many seconds."""

    failed: bool
    text: str
    seconds: float


@dataclass(slots=True)
class Case:
    """One person in a tenant of their own, and their vendor; `module` has a tool that asks it."""

    app: "DoctorApp"
    vendor: VendorTokens
    module: str
    tenant: Tenant
    person: Person
    provider: str

    async def page(self, path: str = "", *, person: Person | None = None) -> str:
        """A connect page as they see it."""
        async with self.browser(person) as browser:
            answer = await browser.get(path or f"/connect/{self.module}")
            assert answer.status_code == 200, answer.text
            return shown(answer)

    @contextlib.asynccontextmanager
    async def browser(self, person: Person | None = None) -> AsyncIterator[Browser]:
        async with httpx2.AsyncClient(timeout=20) as http:
            browser = Browser(http, self.app.identity.url)
            await browser.sign_in(self.app.identity, person or self.person)
            yield browser

    async def connect(self, **fields: str) -> str:
        """The whole way in a browser; the page at its end."""
        async with self.browser() as browser:
            url = await browser.start(self.module, self.provider, **fields)
            answer = await browser.get(self.vendor.state.agree(url))
            assert answer.status_code == 200, answer.text
            return shown(answer)

    async def call(self, tool: str = "look") -> Heard:
        """A call by a client that has no lease yet."""
        person = await self.app.identity.product.with_token(self.person)
        return await self.called_by(person, tool)

    async def called_by(self, person: Person, tool: str = "look") -> Heard:
        began = time.monotonic()
        answer = await self.app.node.call(person.token, self.module, tool, {"what": "tea"})
        return Heard(answer.failed, answer.text, time.monotonic() - began)

    async def schema(self) -> dict[str, Any]:
        """What get_module_schema says of the module."""
        answer = await self.app.node.tool(self.person.token, "get_module_schema", {"module": self.module})
        return answer.value["modules"][0]

    async def asked(self, path: str, *, person: Person | None = None, **params: Any) -> Any:
        """An answer of the admin API."""
        headers = {"Authorization": f"Bearer {(person or self.person).token}"}
        async with httpx2.AsyncClient(timeout=20) as http:
            url = f"{self.app.identity.url}/api/v1{path}"
            answer = await http.get(url, headers=headers, params=params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def standing(self) -> dict[str, Any]:
        """The module in the person's list."""
        (one,) = (one for one in (await self.asked("/connections"))["items"] if one["module"] == self.module)
        return one

    @property
    def title(self) -> str:
        """The display name of the module."""
        modules = self.app.identity.product.catalogue.modules
        return next(one.title for one in modules if one.name == self.module)

    async def history(self) -> list[dict[str, Any]]:
        """The events of its account, the newest first."""
        return (await self.asked(f"/connections/{(await self.standing())['credential_id']}"))["events"]

    async def doctor(self) -> list[str]:
        """What `mcpist doctor` says of credentials."""
        product, url = self.app.identity.product, self.app.identity.url
        found = await check_credentials(product.deployment, product.console, product.catalogue, url)
        return [one.message for one in found]

    async def told(self) -> str:
        """Its line about this one."""
        (one,) = (told for told in await self.doctor() if told.startswith(f"{self.tenant.slug}: {self.title} "))
        return one

    async def account(self) -> dict[str, Any]:
        rows = await self.app.rows("SELECT * FROM vault.accounts WHERE tenant_id = $1", self.tenant.id)
        (one,) = (row for row in rows if row["provider"] == self.provider)
        return one

    async def run_out(self) -> None:
        """The access token ends by the database's clock, which is every process's."""
        row = await self.app.rows(
            "SELECT extract(epoch FROM max(expires_at) - vault.clock())::float8 AS left FROM vault.accounts "
            "WHERE tenant_id = $1",
            self.tenant.id,
        )
        await self.app.later(max(0.0, row[0]["left"]) + 5)


@dataclass(slots=True)
class DoctorApp:
    """The product, and its vendors by style."""

    identity: Identity
    node: Node
    vendors: dict[str, VendorTokens]
    hosts: tuple[str, ...]
    shift: float = 0.0
    number: int = 0
    known: dict[str, Tenant] = field(default_factory=dict)

    async def case(self, style: str, *, tenant: Tenant | None = None, allow: str = "") -> Case:
        """Somebody new, in a new tenant that has the vendor, which has forgotten everything."""
        self.number += 1
        vendor = self.vendors[style]
        if tenant is None:
            tenant = await self.identity.product.tenant(f"tenant-{self.number}", services=[])
            await self.add_vendor(tenant, style)
        email = f"person-{self.number}@{tenant.slug}.test"
        person = await self.identity.product.person(tenant, email, allow=[allow or "*"])
        return Case(self, vendor, module_of(style), tenant, person, provider_of(style))

    async def administrator(self, tenant: Tenant) -> Person:
        """Somebody who administers the tenant."""
        self.number += 1
        person = await self.identity.product.person(tenant, f"boss-{self.number}@{tenant.slug}.test", allow=["*"])
        await self.execute("UPDATE core.users SET system_role = 'admin' WHERE id = $1", person.id)
        return await self.identity.product.with_token(person, scopes=("mcp:read", "admin:read", "admin:write"))

    async def later(self, seconds: float) -> None:
        """Shift the clock of the refresh protocol further."""
        self.shift += seconds
        await self.execute(
            "CREATE OR REPLACE FUNCTION vault.clock() RETURNS timestamptz LANGUAGE sql VOLATILE "
            f"RETURN clock_timestamp() + interval '{self.shift} seconds'"
        )

    async def execute(self, sql: str, *args: object) -> None:
        async with self.identity.product.database.admin_connection() as admin:
            await admin.execute(sql, *args)

    async def rows(self, sql: str, *args: object) -> list[dict[str, Any]]:
        async with self.identity.product.database.admin_connection() as admin:
            return [dict(row) for row in await admin.fetch(sql, *args)]

    async def client_id(self, tenant: Tenant, provider: str) -> UUID:
        (row,) = await self.rows(
            "SELECT id FROM vault.oauth_clients WHERE tenant_id = $1 AND provider = $2", tenant.id, provider
        )
        return row["id"]

    async def add_vendor(self, tenant: Tenant, style: str, *modules: str) -> None:
        """Give a tenant one more vendor, which has forgotten everything; `modules` besides its own are of it."""
        vendor = self.vendors[style]
        vendor.state, vendor.secret = State(vendor.style), SECRET
        vendor.faults.clear()
        vendor.overrides.clear()
        await set_service(self.identity.product.console, ACTOR, tenant.id, module_of(style), enabled=True)
        document = vendor.provider.model_dump(mode="json", by_alias=True, exclude_unset=True)
        document.pop("id", None)
        document.pop("api", None)  # the app's modules have another
        document["modules"] = {one: {"reading": [SCOPE], "writing": []} for one in (module_of(style), *modules)}
        await self.execute(
            "INSERT INTO vault.providers (tenant_id, id, document) VALUES ($1, $2, $3::jsonb)",
            tenant.id, provider_of(style), json_of(document),
        )  # fmt: skip
        await self.mend(tenant, vendor)

    async def mend(self, tenant: Tenant, vendor: VendorTokens) -> None:
        """An administrator stores the OAuth client as the vendor has it."""
        style = vendor.style.provider_id
        zone, client = self.identity.zone, vendor.client
        asked = OAuthClientRegistration(
            provider_of(style), client.client_id, client.secret, None, settings=client.settings
        )
        clients = OAuthClientStore(zone.database, zone.vault, ProviderRegistry(load_builtin_providers()))
        await clients.register(ACTOR, tenant.id, asked)


def module_of(style: str) -> str:
    return f"shop_{style}".replace("-", "_")


def provider_of(style: str) -> str:
    return f"replayed-{style}"


def json_of(document: Any) -> str:
    return httpx2.Request("POST", "http://x", json=document).content.decode()


def _module(style: str, url: str) -> Module:
    made = shop_module(url)
    assert made.vendor is not None
    api = VendorApi(base_url=url, account=made.vendor.account, headers=VENDOR_HEADERS.get(style, {}))
    return Module(module_of(style), f"Shop {style}", made.description, made.scopes, made.tools, vendor=api)


@contextlib.asynccontextmanager
async def doctor_app_on(
    database: ScratchDatabase, folder: Path, *styles: str, more: Sequence[Module] = (), hosts: Sequence[str] = ()
) -> AsyncIterator[DoctorApp]:
    """The app until the block is left; `more` modules come after those of the vendors, and `hosts` may be asked."""
    async with contextlib.AsyncExitStack() as stack:
        for task in (RefreshScheduler, Rechecker):
            stack.enter_context(mock.patch.object(task, "run", _never))  # nothing goes on while a test looks
        vendors: dict[str, VendorTokens] = {}
        for style in styles:
            vendors[style] = await stack.enter_async_context(vendor_tokens(STYLES[style]))
            vendors[style].resources["/look"] = LOOK
        _one_site(vendors)
        catalogue = build_catalogue([*(_module(style, vendor.url) for style, vendor in vendors.items()), *more])
        product = await stack.enter_async_context(product_on(database, folder / "home", catalogue=catalogue))
        asked = (*hosts, *(urlsplit(vendor.url).netloc for vendor in vendors.values()))
        identity = await stack.enter_async_context(identity_on(product, providers=False, allowed_private_hosts=asked))
        yield DoctorApp(identity, Node(identity.gateway), vendors, asked)


async def _never(_: object) -> None:
    await asyncio.Event().wait()


def _one_site(vendors: dict[str, VendorTokens]) -> None:
    """Nobody is asked which of Atlassian's sites to use."""
    if "atlassian" in vendors:
        sites = vendors["atlassian"].resources["/oauth/token/accessible-resources"]
        vendors["atlassian"].resources["/oauth/token/accessible-resources"] = sites[:1]
