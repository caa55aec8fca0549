"""The admin API whole, on a real database: tenants, people with every kind of credential, and what is theirs."""

import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx2

from admin_ui.api.admin_dependencies import AdminDependencies
from admin_ui.api.app import build_admin_api
from admin_ui.api.app import build_directory_section as admin_section
from admin_ui.api.event_streams import EventStreams, StreamTiming
from admin_ui.api.installed_modules import InstalledModule
from admin_ui.api.schedule_creator import ScheduleCreation
from broker.api.app import build_identity_section as identity_section
from broker.api.authentication import ApiAuthenticator
from broker.api.deployment_dependencies import DeploymentDependencies
from broker.api.deployment_section import build_deployment_section
from broker.api.identity_dependencies import IdentityDependencies
from broker.api.job_retries import LocalJobRetries
from broker.api.routers import build_connect_section as connections_section
from broker.authorization_server.authorization_codes import Approval, CodeProof, compute_code_challenge
from broker.authorization_server.client_trust import ClientTrustAdministration
from broker.authorization_server.grants import Grants
from broker.authorization_server.registered_clients import NewClient, RegisteredClients
from broker.authorization_server.trusted_issuers import TrustedIssuers
from broker.connect.connect_services import ConnectServices
from broker.connections.oauth_client_store import OAuthClientRegistration
from broker.connections.user_connections import UserConnections
from broker.disconnect.tenant_contents import TenantContentsCounter
from broker.identity.api_tokens import ApiTokens
from broker.identity.browser_sessions import Sessions
from broker.identity.identities import Identities
from broker.identity.one_time_links import OneTimeLinks
from broker.identity.peppers import Peppers
from broker.identity.provider_registry import IdentityProviderRegistry, StoredProviders
from broker.identity.provider_trial import ProviderTrial
from broker.identity.providers.identity_provider import VerifiedAccount
from broker.identity.scim_tokens import ScimTokens
from broker.identity.settings import ProviderSettings
from broker.identity.stored_providers import ProviderAdministration
from broker.interface import CredentialRefusal, RefusalReason
from broker.mandates.mandate_service import MandateService
from broker.mandates.mandates import Mandates
from broker.notifications.mail_connection import MailAddressGuard
from broker.notifications.preferences import NotificationPreferences
from broker.notifications.sender_trial import SenderTrial
from broker.notifications.settings import NotificationSettings
from broker.notifications.stored_senders import SenderAdministration
from broker.oauth_client.vendor_http import VendorHttpClient
from broker.tenant_keys.key_kinds import TenantKeyKinds
from broker.vault.credential_store import CredentialOwner
from broker.vault.deployment_settings import DeploymentSettingsStore
from broker.vault.key_wrapping import InMemoryKeyProvider
from broker.vault.vault import open_vault
from broker.web.cookies import Cookies
from core.api.app import ApiSection, build_fastapi_app
from core.api.security import ApiSecurity
from core.audit.change_feed import ChangeFeed
from core.audit.sealer import seal_pending_events
from core.caller import Credential
from core.concurrency.rate_limits import AttemptLimits, CallerLimits
from core.database_url import DatabaseAddress
from core.db import Database
from core.directory import allow_list, services, users
from core.directory.access_requests import create_request
from core.directory.audit_trail import Actor
from core.directory.role_mappings import add_role_mapping
from core.directory.roles import find_role
from core.errors import Invalid, InvalidFields
from core.http.json_documents import JsonDocumentFetcher
from core.http.outbound_addresses import AllowedAddresses
from core.scopes import ALL_SCOPES, MCP_SCOPES
from core.secret import Secret
from jobs.events import JobEvents
from server.tool_catalogue import InstalledToolCatalogue
from server.wiring.connect import build_connect_services
from tests.admin_ui.toy_catalogue import toy_catalogue, toy_vendors
from tests.support import directory
from tests.support.directory import create_tenant
from tests.support.postgres import ScratchDatabase

URL = "https://mcp.test"
COOKIE = "__Host-mcpist-session"
ACTOR = Actor("tests")
OPERATORS = "operators"
KG_TOOLS = {"search": True, "write": False, "delete": False}
OWN_CLIENT = "mcpist-command-line"
VERIFIER = "v" * 43
BRIEF = StreamTiming(0.1, 0.2, 0.2)
GITHUB_OF_THE_FILE = {"id": "of-the-file", "kind": "github", "client_id": "Iv1", "client_secret": "of-the-file"}
PROOF = CodeProof(OWN_CLIENT, "http://127.0.0.1/", VERIFIER)


@dataclass(slots=True)
class Clock:
    """Real time, and what a test adds to it."""

    ahead: timedelta = field(default_factory=timedelta)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


class Verifier:
    """API tokens as they are; access tokens as a test says, since what makes them is tested elsewhere."""

    def __init__(self, tokens: ApiTokens) -> None:
        self._tokens = tokens
        self.access_tokens: dict[str, Credential] = {}

    async def verify(self, token: Secret) -> Credential | CredentialRefusal:
        known = self.access_tokens.get(token.reveal())
        return known if known is not None else await self._tokens.verify(token)

    async def verify_again(self, tenant_id: UUID, tokens: Sequence[Secret]) -> Sequence[Credential | None]:
        return await self._tokens.verify_again(tenant_id, tokens)


class Checks:
    """Finds one thing everywhere, and remembers whom it was asked about."""

    def __init__(self) -> None:
        self.asked: list[tuple[UUID, UUID | None]] = []

    async def check_keys(self) -> object:
        key = {"kek_id": "k1", "active": True, "in_use": True, "available": True, "usable": True, "message": "fine"}
        counts = {"tenants": 1, "data_keys": 2, "signing_keys": 3}
        more = {"error": "", "to_rewrap": 0, "to_reencrypt": 4}
        return {"healthy": True, "file": "/keys", "key_providers": ["file"], "keys": [key | counts], **more}

    async def check_deployment(self) -> Sequence[object]:
        return [{"check": "clock", "state": "error", "message": "it is late", "message_ja": "遅れています"}]

    async def check_tenant(self, tenant_id: UUID, user_id: UUID | None) -> Sequence[object]:
        self.asked.append((tenant_id, user_id))
        return [{"check": "credential", "state": "warning", "message": "one waits", "message_ja": "待機中です"}]


SETTINGS_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"timeout": {"type": "number", "title": "Time limit", "description": "Seconds", "default": 30}},
}


def _changed(stored: Mapping[str, Any], changes: Mapping[str, Any]) -> Mapping[str, Any]:
    if unknown := {*changes} - {"timeout"}:
        raise InvalidFields(dict.fromkeys(unknown, "there is no such setting"))
    return {name: value for name, value in {**stored, **changes}.items() if value is not None}


class Refusals:
    """Limits attempts, and remembers what was refused."""

    def __init__(self) -> None:
        self.seen: list[RefusalReason | None] = []
        self.attempts = AttemptLimits(1000, 1000, clock=lambda: 0.0)

    def admit(self, client: str) -> None:
        self.attempts.check(client)

    def record_malformed(self, client: str) -> None:
        self.attempts.record_failure(client)
        self.seen.append(None)

    async def record_refused(self, client: str, refusal: CredentialRefusal) -> None:
        self.attempts.record_failure(client)
        self.seen.append(refusal.reason)


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with a session and an API token of every scope that they may have."""

    tenant_id: UUID
    id: UUID
    email: str
    session: Secret
    session_id: UUID
    token: Secret
    token_id: str
    grant_id: UUID
    identity_id: UUID
    mandate_id: UUID


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant with an administrator, a user, a role, a client and an entry on the allow list."""

    id: UUID
    slug: str
    admin: Person
    user: Person
    role_id: UUID
    client_id: str
    entry: str
    credential_id: UUID
    """The administrator's own."""
    oauth_client_id: UUID
    connect_session_id: UUID
    provider_id: str
    request_id: UUID
    """The administrator's own."""
    mapping_id: UUID
    scim_token_id: UUID
    job_id: UUID
    """The administrator's own."""
    schedule_id: UUID
    """The administrator's own."""


async def refuse_schedule(credential: Secret, client_address: str, wanted: Mapping[str, Any]) -> ScheduleCreation:
    """Stand for a gateway to whose callers the tool does not exist."""
    raise Invalid("there is no such tool")


@dataclass(slots=True)
class AdminApp:
    """Everything that the tests of the API touch."""

    database: ScratchDatabase
    console: Database
    broker: Database
    clock: Clock
    parts: IdentityDependencies
    verifier: Verifier
    refusals: Refusals
    door: ApiSecurity
    connect: ConnectServices
    deployment: DeploymentDependencies
    checks: "Checks" = field(default_factory=lambda: Checks())
    served: Any = None
    prepared: "dict[str, Tenant]" = field(default_factory=lambda: {})
    """Tenants that are in the database already, by slug."""
    timing: StreamTiming = BRIEF
    """Of event streams: a client in this process reads one to its end."""
    feed_address: DatabaseAddress | None = None
    audit_keep_months: int = 0

    def settings_store(self) -> DeploymentSettingsStore:
        """The deployment's settings as another process reads them."""
        return DeploymentSettingsStore(self.broker, InMemoryKeyProvider("k", {"k": b"k" * 32}), clock=self.clock)

    def sections(self) -> tuple[ApiSection, ...]:
        kg = InstalledModule("kg", "Graph", "A graph.", KG_TOOLS, _changed, SETTINGS_SCHEMA)
        notes = InstalledModule("notes", "Notes", "Notes.", {"note": True, "sum_up": True})
        mute = InstalledModule("mute", "Mute", "It only writes.", {"write": False})
        statuses = UserConnections(self.broker, self.connect.connection_health, self.connect.available_services, URL)
        admin = admin_section(
            AdminDependencies(
                self.console,
                InstalledToolCatalogue(toy_catalogue),
                EventStreams(
                    self.console,
                    ChangeFeed(self.console, self.feed_address, poll_seconds=0.2),
                    self.timing,
                    None if self.feed_address is None else JobEvents(self.feed_address),
                ),
                ("kg",),
                {"kg": kg, "mute": mute, "notes": notes},
                self.checks,
                connections=statuses,
                create_schedule=refuse_schedule,
                retries=LocalJobRetries(
                    self.door.authenticate,
                    MandateService(
                        self.verifier,
                        self.broker,
                        {("kg", name): only_reads for name, only_reads in KG_TOOLS.items()},
                        clock=self.clock,
                    ),
                ),
                audit_keep_months=self.audit_keep_months,
            )
        )
        others = identity_section(self.parts), connections_section(self.connect)
        return admin, *others, build_deployment_section(self.deployment)

    def app(self, **door: Any) -> Any:
        """The application; `door` are fields of its door that a test wants otherwise."""
        admin, *others = self.sections()
        parts: AdminDependencies = admin.state["admin"]  # type: ignore[assignment]
        return build_admin_api(replace(self.door, **door), parts, *others, version="test")

    def openapi(self) -> dict[str, Any]:
        return build_fastapi_app(self.door, self.sections(), "test").state.openapi.read()

    def caller(self, **headers: str) -> httpx2.AsyncClient:
        """A client of the API without a credential, unless the headers hold one."""
        self.served = self.served or self.app()
        return self.client(self.served, headers)

    def client(self, app: Any, headers: Mapping[str, str]) -> httpx2.AsyncClient:
        transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
        return httpx2.AsyncClient(transport=transport, base_url=f"{URL}/api/v1", headers=dict(headers))

    def browser(self, person: Person) -> httpx2.AsyncClient:
        """A client with a person's session, on a page of ours."""
        return self.caller(Cookie=f"{COOKIE}={person.session.reveal()}", Origin=URL)

    def script(self, token: Secret) -> httpx2.AsyncClient:
        """A client with an API token or an access token."""
        return self.caller(Authorization=f"Bearer {token.reveal()}")

    def access_token(self, person: Person, client_id: str, scopes: frozenset[str] = MCP_SCOPES) -> Secret:
        """An access token of a person's grant."""
        token = Secret(f"eyJ{person.id.hex}.{client_id}.c2lnbmVk")
        credential = Credential(str(person.grant_id), "oauth", person.tenant_id, person.id, scopes, client=client_id)
        self.verifier.access_tokens[token.reveal()] = credential
        return token

    async def tenant(self, slug: str) -> Tenant:
        """Make a tenant with all that can be somebody's, or give the one that the database was made with."""
        if slug in self.prepared:
            return self.prepared.pop(slug)
        tenant = await create_tenant(self.console, ACTOR, slug, f"Name of {slug}")
        await directory.create_role(self.console, ACTOR, tenant.id, f"{slug}-readers", 7)
        await directory.grant(self.console, ACTOR, tenant.id, f"{slug}-readers", "allow", "kg:read")
        await services.set_service(self.console, ACTOR, tenant.id, f"module_of_{slug}", enabled=True)
        await allow_list.add_entry(self.console, ACTOR, tenant.id, f"@{slug}.example")
        admin = await self.person(tenant.id, f"admin@{slug}.example", "admin")
        user = await self.person(tenant.id, f"user@{slug}.example", "user")
        asked = NewClient(name=f"Client of {slug}", redirect_uris=("https://client.example/back",))
        client, _ = await self.parts.clients.create(ACTOR, tenant.id, asked)
        role = await find_role(self.console, tenant.id, f"{slug}-readers")
        credential = await self.connect.credentials.put(
            ACTOR,
            tenant.id,
            "kg",
            CredentialOwner("personal", admin.id),
            Secret(f"key of {slug}"),
            f"Account of {slug}",
        )
        registration = OAuthClientRegistration("google", f"Google client of {slug}", Secret(f"secret of {slug}"))
        vendor_client = await self.connect.oauth_clients.register(ACTOR, tenant.id, registration)
        domain = f"{slug}.example"
        mapping, _ = await add_role_mapping(self.console, ACTOR, tenant.id, "domain", "", domain, role.id)
        scim_token, _ = await self.parts.scim_tokens.create(ACTOR, tenant.id, f"Provider of {slug}")
        provider = f"vendor_of_{slug}"
        await self.connect.custom_providers.put(ACTOR, tenant.id, provider, provider_document(slug), None)
        connect_session = uuid4()
        await self.execute(_CONNECT_SESSION, tenant.id, connect_session, admin.id)
        return Tenant(
            tenant.id,
            slug,
            admin,
            user,
            role.id,
            client.id,
            f"@{slug}.example",
            credential,
            vendor_client,
            connect_session,
            provider,
            (await create_request(self.console, ACTOR, tenant.id, admin.id, "kg", "delete", f"Of {slug}"))[0].id,
            mapping.id,
            scim_token.id,
            await self.job(admin),
            await self.schedule(admin),
        )

    async def person(self, tenant_id: UUID, email: str, system_role: str) -> Person:
        """Make a user who is signed in, has a token and has let a client in."""
        user_id = await users.create_user(self.console, ACTOR, tenant_id, email, system_role=system_role)
        session = await self.parts.sessions.begin(tenant_id, user_id, "test", "192.0.2.1", "a browser")
        (entry,) = await self.parts.sessions.list(tenant_id, user_id)
        scopes = ALL_SCOPES if system_role == "admin" else MCP_SCOPES
        token_id, token = await self.parts.tokens.create(ACTOR, tenant_id, user_id, f"of {email}", scopes=scopes)
        code = await self.parts.grants.create_code(self.approval(tenant_id, user_id))
        issued = await self.parts.grants.redeem_code(code, PROOF)
        ids = (issued.grant.id, await self.account(tenant_id, user_id, email), await self.mandate(tenant_id, user_id))
        return Person(tenant_id, user_id, email, session, entry.id, token, token_id, *ids)

    async def mandate(self, tenant_id: UUID, user_id: UUID) -> UUID:
        """Something that works in a user's absence."""
        mandate_id = uuid4()
        async with self.broker.tenant(tenant_id) as work:
            assert await work.execute(_MANDATE, mandate_id, user_id, self.clock())
        return mandate_id

    def approval(self, tenant_id: UUID, user_id: UUID) -> Approval:
        """What lets the client in."""
        asked = (OWN_CLIENT, "Client", "http://127.0.0.1/", MCP_SCOPES, f"{URL}/mcp", compute_code_challenge(VERIFIER))
        return Approval(tenant_id, user_id, *asked, self.clock())

    async def account(self, tenant_id: UUID, user_id: UUID, email: str) -> UUID:
        """Tie one more account at an identity provider to a user."""
        account = VerifiedAccount("https://idp.example", f"{email} {uuid4()}", email, True, "")
        await self.parts.identities.link(ACTOR, tenant_id, user_id, account)
        return (await self.parts.identities.list_page(tenant_id, user_id, None, 1))[0].id

    async def job(self, person: Person, state: str = "failed", message: str = "") -> UUID:
        """A job of a person's, as a worker has left it."""
        job_id = uuid4()
        await self.execute(_JOB, person.tenant_id, job_id, person.id, state, message)
        return job_id

    async def schedule(self, person: Person) -> UUID:
        """A schedule of a person's, as a gateway has left it; it has no mandate, and waits for consent."""
        schedule_id = uuid4()
        await self.execute(_SCHEDULE, person.tenant_id, schedule_id, person.id)
        return schedule_id

    async def seal(self) -> None:
        """Make the audit log show what was appended."""
        await seal_pending_events(self.console, self.clock)  # waits for a sealer that is at work

    async def execute(self, sql: str, *args: object) -> None:
        """Change something behind the product's back."""
        async with self.database.admin_connection() as admin:
            await admin.execute(sql, *args)

    async def value(self, sql: str, *args: object) -> Any:
        """One value, seen by nobody's role."""
        async with self.database.admin_connection() as admin:
            return await admin.fetchval(sql, *args)


def provider_document(name: str) -> dict[str, Any]:
    """A provider as an administrator adds it."""
    oauth = {"authorize_url": f"https://{name}.example/authorize", "token_url": f"https://{name}.example/token"}
    return {"title": f"Vendor of {name}", "oauth": oauth}


@contextlib.asynccontextmanager
async def app_on(
    database: ScratchDatabase, *private_hosts: str, key_kinds: TenantKeyKinds | None = None
) -> AsyncIterator[AdminApp]:
    """The API on a database, with nobody in it."""
    clock, hosts = Clock(), AllowedAddresses.from_hosts(private_hosts)
    async with database.open("mcpist_console") as console, database.open("mcpist_broker") as broker:
        peppers = Peppers("k", {"k": b"p" * 32})
        tokens = ApiTokens(broker, peppers, clock=clock)
        sessions = Sessions(broker, clock=clock)
        documents = JsonDocumentFetcher(hosts)
        keys = InMemoryKeyProvider("k", {"k": b"k" * 32})
        settings = DeploymentSettingsStore(broker, keys, clock=clock)
        of_file = ProviderSettings.model_validate(GITHUB_OF_THE_FILE)
        stored = StoredProviders(settings, documents, clock=clock)
        parts = IdentityDependencies(
            tokens,
            sessions,
            Grants(broker, clock=clock),
            RegisteredClients(broker, peppers, clock=clock),
            OneTimeLinks(broker, sessions, clock=clock),
            Identities(broker, clock=clock),
            TrustedIssuers(broker, documents, clock=clock),
            NotificationPreferences(broker),
            ScimTokens(broker, clock=clock),
            Mandates(broker, clock=clock),
            IdentityProviderRegistry((of_file,), documents, stored, clock=clock).list,
        )
        verifier, refusals = Verifier(tokens), Refusals()
        authenticate = ApiAuthenticator(
            broker, verifier, sessions, Cookies(URL), refusals, lambda _: "192.0.2.7", OPERATORS
        )
        door = ApiSecurity(
            authenticate,
            URL,
            clock,
            lambda _: "192.0.2.7",
            own_clients=frozenset({OWN_CLIENT}),
            callers=CallerLimits(1e6, 1_000_000, 1000, clock=lambda: 0.0),
            anonymous=AttemptLimits(1e6, 1_000_000, clock=lambda: 0.0),
        )
        vault = await open_vault(broker, keys, clock=clock)
        http = VendorHttpClient(hosts)
        connect = build_connect_services(
            broker, vault, URL, toy_vendors(), http, documents, clock=clock, key_kinds=key_kinds
        )
        await documents.open()
        await http.open()
        providers = ProviderAdministration(settings, (of_file,), ProviderTrial(documents, URL))
        trial = SenderTrial(MailAddressGuard(private_hosts), http, clock=clock)
        deployment = DeploymentDependencies(
            providers,
            SenderAdministration(settings, NotificationSettings(), trial),
            TenantContentsCounter(broker, clock=clock),
            ClientTrustAdministration(settings, None),
            URL,
        )
        yield AdminApp(database, console, broker, clock, parts, verifier, refusals, door, connect, deployment)
        await documents.close()
        await http.close()


_MANDATE = """INSERT INTO auth.mandates (tenant_id, id, user_id, purpose, purpose_id, title, tools, credential_kind,
    credential_id, client, scopes, read_only, result_text, created_at, consented_at, expires_at)
    VALUES ($1, $2, $3, 'job', gen_random_uuid(), 'Count stars', '{kg.search}', 'operator', 'operator', 'Claude',
    '{mcp:read}', false, '', $4::timestamptz, $4, $4::timestamptz + interval '1 day')"""
_SCHEDULE = """INSERT INTO jobs.schedules (tenant_id, id, user_id, title, kind, module, tool, client, mandate_id,
    arguments, retries, lifetime, cron, every, time_zone, overlap, next_run_at)
    VALUES ($1, $2, $3, 'Search', 'call', 'kg', 'search', 'a client', gen_random_uuid(), '', 0, '7 days', '', '1 hour',
    'UTC', 'skip', jobs.clock() + interval '1 hour')"""
_JOB = """INSERT INTO jobs.jobs (tenant_id, id, user_id, kind, module, tool, title, client, arguments, is_repeatable,
        retries_left, lifetime, expires_at, state, message, lease_owner)
    VALUES ($1, $2, $3, 'call', 'kg', 'search', 'Search', 'a client', 'sealed', true, 0, interval '1 hour',
        now() + interval '1 hour', $4, $5, CASE WHEN $4 = 'running' THEN gen_random_uuid() END)"""
_CONNECT_SESSION = """INSERT INTO vault.connect_sessions (tenant_id, id, user_id, modules, created_at, expires_at)
    VALUES ($1, $2, $3, '{kg,hub}', now(), now() + interval '1 hour')"""
