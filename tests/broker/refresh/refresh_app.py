"""A broker's vault with linked accounts, and everything that a refresh works with, on a real database."""

import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from broker.connections.account_repository import AccountGrant, insert_account, insert_client
from broker.connections.account_snapshot import AccessToken, TokenUnavailable
from broker.oauth_client.token_endpoint_client import HttpTokenEndpointClient
from broker.oauth_client.types import OAuthClientConfig, TokenEndpointClient, TokenSet
from broker.oauth_client.vendor_http import VendorHttpClient
from broker.providers.schema import Provider
from broker.refresh.decision import RefreshTiming
from broker.refresh.outcome import Boottime, boottime
from broker.refresh.outcome_writer import OutcomeWriter
from broker.refresh.refresher import RefreshDependencies
from broker.refresh.spool import Spool
from broker.refresh.token_service import AccountTokenService
from broker.vault.credential_store import CredentialOwner
from broker.vault.key_wrapping import InMemoryKeyProvider
from broker.vault.vault import Vault, open_vault
from core.db import Database, UnitOfWork
from core.http.outbound_addresses import AllowedAddresses
from tests.broker.refresh.vendor import Vendor
from tests.support.postgres import MadeTenant, ScratchDatabase, add_tenant

KEY = b"vk-0001-for-the-refresh-tests-32"


class FixedProviders:
    """The providers of a test."""

    def __init__(self, providers: Iterable[Provider]) -> None:
        self._providers = {one.id: one for one in providers}

    async def find(self, work: UnitOfWork, provider: str) -> Provider | None:
        return self._providers.get(provider)


def now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class RefreshApp:
    """One broker process, here, and the hands of a test on its database."""

    scratch: ScratchDatabase
    database: Database
    vault: Vault
    tenant: MadeTenant
    tools: RefreshDependencies
    accounts: AccountTokenService
    http: VendorHttpClient
    spool: Path
    keys: InMemoryKeyProvider
    clients: dict[str, UUID] = field(default_factory=dict)

    async def connect(self, vendor: Vendor, person: str = "ada", *, user: int = 0) -> UUID:
        """A person connects an account; its id."""
        return await self.link(vendor.provider, vendor.client, await vendor.grant(person), user=user)

    async def link(self, provider: Provider, client: OAuthClientConfig, tokens: TokenSet, *, user: int = 0) -> UUID:
        """Store a grant."""
        assert provider.oauth is not None
        owner = CredentialOwner("personal", self.tenant.users[user])
        async with self.database.tenant(self.tenant.id) as work:
            if provider.id not in self.clients:
                self.clients[provider.id] = await insert_client(work, self.vault, provider.id, client)
            grant = AccountGrant(provider.id, self.clients[provider.id], owner, tokens, provider.oauth.refresh)
            return await insert_account(work, self.vault, grant)

    async def fresh(self, account: UUID, **options: Any) -> AccessToken | TokenUnavailable:
        return await self.accounts.get_access_token(self.tenant.id, account, **options)

    async def token(self, account: UUID, **options: Any) -> AccessToken:
        """A fresh token; there must be one."""
        answer = await self.fresh(account, **options)
        assert isinstance(answer, AccessToken), answer
        return answer

    async def row(self, account: UUID) -> Mapping[str, Any]:
        async with self.scratch.admin_connection() as admin:
            return dict(await admin.fetchrow("SELECT * FROM vault.accounts WHERE id = $1", account))

    async def client_row(self, provider: str) -> Mapping[str, Any]:
        async with self.scratch.admin_connection() as admin:
            return dict(await admin.fetchrow("SELECT * FROM vault.oauth_clients WHERE provider = $1", provider))

    async def events(self, account: UUID) -> list[tuple[str, str]]:
        async with self.scratch.admin_connection() as admin:
            sql = "SELECT kind, class FROM vault.account_events WHERE account_id = $1 ORDER BY id"
            return [(row["kind"], row["class"]) for row in await admin.fetch(sql, account)]

    async def count(self, table: str) -> int:
        async with self.scratch.admin_connection() as admin:
            return await admin.fetchval(f"SELECT count(*) FROM {table}")

    async def execute(self, sql: str, *args: object) -> None:
        async with self.scratch.admin_connection() as admin:
            await admin.execute(sql, *args)

    async def ahead(self, seconds: float) -> None:
        """Shift the clock of the refresh protocol, for every process on this database."""
        await self.execute(
            "CREATE OR REPLACE FUNCTION vault.clock() RETURNS timestamptz LANGUAGE sql VOLATILE "
            f"RETURN clock_timestamp() + interval '{seconds} seconds'"
        )

    def another(self, **changes: Any) -> AccountTokenService:
        """A second broker process, as far as its database goes; `changes` are of its tools."""
        return AccountTokenService(replace(self.tools, **changes))

    def settler(self, timing: RefreshTiming, clock: Boottime = boottime, *, spool: bool = True) -> OutcomeWriter:
        return OutcomeWriter(self.database, self.vault, Spool(self.spool) if spool else None, timing, clock)

    def with_endpoint(
        self, endpoint: TokenEndpointClient, timing: RefreshTiming | None = None, clock: Boottime = boottime
    ) -> AccountTokenService:
        timing = timing or self.tools.timing
        settler = self.settler(timing, clock)
        return self.another(endpoint=endpoint, timing=timing, outcome_writer=settler, boottime=clock)


@contextlib.asynccontextmanager
async def app_on(
    scratch: ScratchDatabase,
    folder: Path,
    providers: Iterable[Provider],
    hosts: Iterable[str] = (),
    *,
    database: Database | None = None,
    timing: RefreshTiming | None = None,
    users: int = 1,
) -> AsyncIterator[RefreshApp]:
    """An app whose vendors are `providers`, on these hosts; `database` is another way to the same rows."""
    timing = timing or RefreshTiming()
    async with contextlib.AsyncExitStack() as stack:
        broker = database or await stack.enter_async_context(scratch.open("mcpist_broker"))
        keys = InMemoryKeyProvider("k1", {"k1": KEY})
        vault = await open_vault(broker, keys, clock=now)
        http = VendorHttpClient(AllowedAddresses.from_hosts(hosts))
        await http.open()
        stack.push_async_callback(http.close)
        spool = Spool(folder / "spool")
        spool.open()
        settler = OutcomeWriter(broker, vault, spool, timing, boottime)
        tools = RefreshDependencies(
            broker, vault, FixedProviders(providers), HttpTokenEndpointClient(http), settler, timing
        )
        tenant = await add_tenant(scratch, users=users)
        accounts = AccountTokenService(tools)
        yield RefreshApp(scratch, broker, vault, tenant, tools, accounts, http, folder / "spool", keys)
        await accounts.drain()
