"""What the broker's tests live in: tenants with the same names, people with tokens and a vault, on a real database."""

import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from broker.connect.account_writer import AccountWriter
from broker.connections.account_repository import AccountGrant, insert_account, insert_client
from broker.connections.account_snapshot import AccessToken
from broker.connections.stored_credentials import StoredCredential
from broker.identity.api_tokens import ApiTokens
from broker.identity.peppers import Peppers
from broker.interface import LeaseRequest
from broker.lease_service import LeaseService
from broker.local import LocalBroker
from broker.mandates.mandate_service import MandateService
from broker.mandates.mandates import Mandates
from broker.oauth_client.types import OAuthClientConfig, TokenSet
from broker.oauth_client.vendor_http import VendorHttpClient
from broker.providers.schema import RefreshRules
from broker.refresh.token_service import AccountTokenService
from broker.tenant_keys.key_kinds import TenantKeyKind, TenantKeyKinds
from broker.tenant_keys.key_leases import TenantKeyLeases
from broker.tenant_keys.key_store import TenantKeyStore
from broker.tenant_keys.key_trial import TenantKeyTrial
from broker.vault.credential_store import CredentialOwner, CredentialStore
from broker.vault.key_wrapping import InMemoryKeyProvider
from broker.vault.vault import Vault, open_vault
from core.audit.event import AuditEvent
from core.audit.truncation import unpack
from core.db import Database
from core.directory.audit_trail import Actor
from core.directory.users import create_user
from core.http.outbound_addresses import AllowedAddresses
from core.secret import Secret
from tests.support.directory import assign_role, create_role, create_tenant, enable_services, grant
from tests.support.postgres import ScratchDatabase
from tests.support.stored_credentials import list_stored

ACTOR = Actor("tests")
# Two modules with a vendor; "notes" has none, so the broker has never heard of it.
TOOL_HINTS: Mapping[tuple[str, str], bool] = {
    ("github", "list_repositories"): True,
    ("github", "create_issue"): False,
    ("notion", "search"): True,
}
ALL_TOOLS: Mapping[tuple[str, str], bool] = {**TOOL_HINTS, ("notes", "write"): False}
BASE_URLS = {"github": "https://api.github.test", "notion": "https://api.notion.test"}
MODULES = ("github", "notion", "notes")
UNTRIED_KINDS = TenantKeyKinds(
    TenantKeyKind(name, name.title(), (), (f"https://{name}.test",), f"https://{name}.test/keys")
    for name in ("voyage", "openai")
)
"""Kinds of tenant keys of which none is tried at its vendor."""
READ, WRITE = "list_repositories", "create_issue"


@dataclass(slots=True)
class Clock:
    """The broker's clock: real time, and what a test adds to it."""

    ahead: timedelta = field(default_factory=timedelta)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@dataclass(frozen=True, slots=True)
class Person:
    """A user with a token of theirs."""

    tenant_id: UUID
    id: UUID
    email: str
    token_id: str
    token: Secret

    def asks(self, tool: str = READ, *, module: str = "github", rejected: int | None = None) -> LeaseRequest:
        """A request for a lease with this person's token."""
        return LeaseRequest(self.token, module, tool, rejected)

    @property
    def own(self) -> CredentialOwner:
        return CredentialOwner("personal", self.id)


class FreshAccounts(AccountTokenService):
    """Every account's token is good."""

    def __init__(self) -> None:
        pass

    async def get_access_token(self, tenant_id: UUID, account_id: UUID, **_: object) -> AccessToken:
        return AccessToken(Secret("oauth-0a9f3c"), 7, None)

    async def find_provider(self, *_: object) -> None:
        return None


@dataclass(slots=True)
class BrokerHarness:
    """The services of one deployment, and the hands of its administrators."""

    database: ScratchDatabase
    trusted: Database
    console: Database
    keys: InMemoryKeyProvider
    vault: Vault
    tokens: ApiTokens
    credentials: CredentialStore
    leases: LeaseService
    mandate_service: MandateService
    mandates: Mandates
    clock: Clock

    @property
    def local(self) -> LocalBroker:
        """The broker in the gateway's own process."""
        keys = TenantKeyLeases(self.tokens, self.mandate_service, self.trusted, self.vault, UNTRIED_KINDS)
        return LocalBroker(self.tokens, self.leases, self.mandate_service, keys)

    @property
    def tenant_keys(self) -> TenantKeyStore:
        """The keys of tenants."""
        trial = TenantKeyTrial(VendorHttpClient(AllowedAddresses.from_hosts(())))
        return TenantKeyStore(self.trusted, self.vault, UNTRIED_KINDS, trial, clock=self.clock)

    async def tenant(self, slug: str) -> UUID:
        """A tenant with every module switched on."""
        tenant = await create_tenant(self.console, ACTOR, slug)
        await enable_services(self.console, ACTOR, tenant.id, MODULES)
        return tenant.id

    async def role(
        self, tenant_id: UUID, name: str, *, allow: Iterable[str] = (), deny: Iterable[str] = (), priority: int = 0
    ) -> CredentialOwner:
        """A role; as an owner of shared credentials."""
        await create_role(self.console, ACTOR, tenant_id, name, priority)
        for effect, permissions in (("allow", allow), ("deny", deny)):
            for permission in permissions:
                await grant(self.console, ACTOR, tenant_id, name, effect, permission)
        return await self.credentials.resolve_owner(tenant_id, role=name)

    async def person(self, tenant_id: UUID, email: str, *roles: str, **token: object) -> Person:
        """A user with these roles and a token; `token` are the options of ApiTokens.create."""
        user_id = await create_user(self.console, ACTOR, tenant_id, email, roles=roles)
        token_id, made = await self.tokens.create(ACTOR, tenant_id, user_id, "test", **token)  # type: ignore[arg-type]
        return Person(tenant_id, user_id, email, token_id, made)

    async def join(self, person: Person, role: str) -> None:
        """Give a person one more role."""
        await assign_role(self.console, ACTOR, person.tenant_id, person.email, role)

    async def put(
        self, tenant_id: UUID, owner: CredentialOwner, secret: str, *, module: str = "github", account: str = ""
    ) -> UUID:
        """Store a credential."""
        return await self.credentials.put(ACTOR, tenant_id, module, owner, Secret(secret), account)

    async def stored(
        self, tenant_id: UUID, module: str | None = None, owner: CredentialOwner | None = None
    ) -> list[StoredCredential]:
        """The tenant's credentials, or those for one module, or of one owner."""
        return await list_stored(self.trusted, tenant_id, module, owner, BASE_URLS)

    async def connect(self, person: Person, module: str, details: Mapping[str, object]) -> UUID:
        """An account that was connected by OAuth; the id."""
        async with self.trusted.tenant(person.tenant_id) as work:
            client = await insert_client(
                work, self.vault, "vendor", OAuthClientConfig("client", Secret("client-secret"))
            )
            tokens = TokenSet(Secret(f"access-of-{person.id}"), None, None, None)
            grant = AccountGrant("vendor", client, person.own, tokens, RefreshRules(), details=details)
            account = await insert_account(work, self.vault, grant)
            await AccountWriter(self.vault).link_credentials(
                work, {module: [BASE_URLS[module]]}, person.own, account, person.email
            )
            return account

    async def execute(self, sql: str, *args: object) -> None:
        """Change something behind the product's back."""
        async with self.database.admin_connection() as admin:
            await admin.execute(sql, *args)

    async def generation(self, tenant_id: UUID) -> int:
        """The tenant's generation."""
        async with self.database.admin_connection() as admin:
            return await admin.fetchval("SELECT value FROM core.generations WHERE tenant_id = $1", tenant_id)

    async def events(self, tenant_id: UUID, kind: str) -> list[AuditEvent]:
        """The tenant's audit events of one kind, in order. No sealer runs here."""
        async with self.database.admin_connection() as admin:
            rows = await admin.fetch("SELECT record FROM audit.incoming WHERE tenant_id = $1 ORDER BY id", tenant_id)
        return [event for event in (unpack(row["record"]) for row in rows) if event.kind == kind]


@contextlib.asynccontextmanager
async def broker_harness_on(database: ScratchDatabase, vaulted: Database | None = None) -> AsyncIterator[BrokerHarness]:
    """A deployment with one key-encryption key and nobody in it; `vaulted` is another way to the vault's tables."""
    clock, keys = Clock(), InMemoryKeyProvider("k1", {"k1": b"k" * 32})
    async with database.open("mcpist_broker") as broker, database.open("mcpist_console") as console:
        trusted = vaulted or broker
        vault = await open_vault(trusted, keys, clock=clock)
        tokens = ApiTokens(broker, Peppers("p", {"p": b"p" * 32}), clock=clock)
        credentials = CredentialStore(trusted, vault, clock=clock)
        service = MandateService(tokens, broker, ALL_TOOLS, clock=clock)
        leases = LeaseService(
            tokens,
            trusted,
            vault,
            TOOL_HINTS,
            base_urls=BASE_URLS,
            clock=clock,
            accounts=FreshAccounts(),
            mandates=service,
        )
        mandates = Mandates(broker, clock=clock)
        yield BrokerHarness(
            *(database, trusted, console, keys, vault, tokens, credentials, leases, service, mandates, clock)
        )
