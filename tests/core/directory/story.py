"""The story of a tenant, told by every statement of the directory, the tokens, the policies and the audit log; always
with the same names, beside all the tenants of earlier stories."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from broker.identity.api_tokens import ApiTokens
from broker.identity.peppers import Peppers
from broker.interface import CredentialRefusal
from core.audit import query
from core.audit.event import DEPLOYMENT_CHAIN
from core.audit.sealer import AuditSealer
from core.caller import Credential
from core.db import Database
from core.directory import roles, services, tenants, users
from core.directory.audit_trail import Actor
from core.errors import MCPistError
from core.secret import Secret
from gateway.auth.caller_loader import load_caller
from gateway.service_settings import ServiceSettingsReader
from modules.kit import Module, ModuleSettings
from tests.core.directory.story_by_id import told_by_id
from tests.support import directory
from tests.support.directory import create_tenant
from tests.support.postgres import ScratchDatabase

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


class StrangeSettings(ModuleSettings):
    concurrency: int = 1


STRANGE = Module(
    "strange", "Strange", "A service that others have settings of.", frozenset(), (), settings=StrangeSettings
)
ACTOR = Actor("tester")
TABLES = (
    "core.tenants",
    "core.users",
    "core.roles",
    "core.role_assignments",
    "core.permissions",
    "core.services",
    "core.generations",
    "core.allow_list",
    "auth.api_tokens",
    "audit.incoming",
    "audit.events",
    "audit.heads",
)


@dataclass(frozen=True, slots=True)
class StoryApp:
    """The same database as each process's role, or as one that row-level security does not bind."""

    console: Database
    gateway: Database
    broker: Database
    tokens: ApiTokens


@dataclass(slots=True)
class Stranger:
    """A user of another tenant, and their token's id."""

    id: UUID
    token_id: str


@dataclass(slots=True)
class Made:
    """A tenant of a story; every one has the same names."""

    id: UUID
    ada: UUID
    token_id: str
    token: Secret
    stranger: Stranger


Story = Callable[[StoryApp, Made], Awaitable[list[Any]]]


def app(console: Database, gateway: Database, broker: Database) -> StoryApp:
    return StoryApp(console, gateway, broker, ApiTokens(broker, Peppers("k", {"k": b"p" * 32}), clock=lambda: NOW))


class Stories:
    """Tells the story of a new tenant beside all the earlier ones, which must stay as they are, in these tables."""

    def __init__(self, database: ScratchDatabase, story: Story | None = None, tables: Sequence[str] = TABLES) -> None:
        self._database = database
        self._story = story or the_story
        self._tables = tables
        self._number = 0
        self._stranger: Stranger | None = None

    async def tell(self, app: StoryApp, sealing: Database) -> tuple[list[Any], bool]:
        """What was told, without what is new each time; and whether the others were left alone."""
        self._stranger = self._stranger or await stranger(app)
        self._number += 1
        made = await begin(app, f"tenant{self._number}", self._stranger)
        await AuditSealer(sealing, lambda: datetime.now(UTC)).seal_all()
        before = await self._others(made.id)
        told = await self._story(app, made)
        return told, await self._others(made.id) == before

    async def _others(self, tenant_id: UUID) -> list[Any]:
        async with self._database.admin_connection() as admin:
            return [
                [
                    tuple(row)
                    for row in await admin.fetch(
                        f"SELECT * FROM {table} WHERE tenant_id <> $1 AND tenant_id <> $2 ORDER BY 1, 2, 3",
                        tenant_id,
                        DEPLOYMENT_CHAIN,  # which is told of tenants, and is none
                    )
                ]
                for table in self._tables
            ]


async def stranger(app: StoryApp) -> Stranger:
    """A tenant with names that no other has; the ids that somebody could have got hold of."""
    tenant = await create_tenant(app.console, ACTOR, "stranger")
    await directory.create_role(app.console, ACTOR, tenant.id, "strange")
    eve = await users.create_user(app.console, ACTOR, tenant.id, "eve@mail.test", roles=("strange",))
    await services.set_service(app.console, ACTOR, tenant.id, "strange", enabled=True)
    token_id, _ = await app.tokens.create(ACTOR, tenant.id, eve, "hers")
    return Stranger(eve, token_id)


async def begin(app: StoryApp, slug: str, stranger: Stranger) -> Made:
    """Ada with two roles and a token, Bob without any, one service."""
    tenant = await create_tenant(app.console, ACTOR, slug, "The same name")
    for name, permission in (("first", "kg.read"), ("second", "kg.*")):
        await directory.create_role(app.console, ACTOR, tenant.id, name, priority=1)
        await directory.grant(app.console, ACTOR, tenant.id, name, "allow", permission)
    ada = await users.create_user(app.console, ACTOR, tenant.id, "ada@mail.test", roles=("first", "second"))
    await users.create_user(app.console, ACTOR, tenant.id, "bob@mail.test")
    await services.set_service(app.console, ACTOR, tenant.id, "kg", enabled=True)
    token_id, token = await app.tokens.create(ACTOR, tenant.id, ada, "first")
    return Made(tenant.id, ada, token_id, token, stranger)


async def the_story(app: StoryApp, made: Made) -> list[Any]:
    """Every statement with a filter runs at least once."""
    told = [await all_that_can_be_read(app, made)]
    told.append(await told_by_id(app.console, app.tokens, made.id, made.stranger.id))
    console, tenant = app.console, made.id
    await directory.assign_role(console, ACTOR, tenant, "bob@mail.test", "first")
    await directory.unassign_role(console, ACTOR, tenant, "ada@mail.test", "first")
    await directory.set_status(console, ACTOR, tenant, "bob@mail.test", "suspended")
    await directory.grant(console, ACTOR, tenant, "first", "deny", "kg.write")
    await directory.revoke(console, ACTOR, tenant, "first", "kg.read")
    await directory.delete_role(console, ACTOR, tenant, "second")
    await services.set_service(console, ACTOR, tenant, "kg", enabled=False)
    for module in ("kg", "strange"):
        await services.set_settings(console, ACTOR, tenant, module, lambda before: {**before, "concurrency": 4})
    await services.set_settings(console, ACTOR, tenant, "kg", lambda before: {"timeout": 5})
    await directory.set_argument_recording(console, ACTOR, tenant, arguments=True)
    told.append(await all_that_can_be_read(app, made))
    spare, _ = await app.tokens.create(ACTOR, tenant, made.ada, "spare", expires_at=NOW + timedelta(days=1))
    await app.tokens.revoke(ACTOR, tenant, spare)
    await tenants.set_status(console, ACTOR, tenant, "suspended")
    told.append(await refusals(app, made))
    told.append(await all_that_can_be_read(app, made))
    return told


async def all_that_can_be_read(app: StoryApp, made: Made) -> list[Any]:
    console, tenant = app.console, made.id
    verdict = await app.tokens.verify(made.token)
    page = await query.fetch_audit_page(console, tenant, query.AuditFilter(), limit=500)
    done = await query.fetch_audit_page(console, tenant, query.AuditFilter(outcome="ok"), limit=500, search_seconds=60)
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    verified = [
        await query.verify_chain(console, tenant),
        await query.verify_chain(console, tenant, tomorrow),
        await query.verify_chain(console, UUID(int=9)),  # without a chain
    ]
    return [
        [(one.email, one.status, one.roles) for one in await users.list_users(console, tenant)],
        [(one.email, one.status, one.roles) for one in [await users.find_user(console, tenant, "ada@mail.test")]],
        [
            (one.name, one.priority, one.allow, one.deny, one.members)
            for one in await roles.list_roles(console, tenant, None, 100)
        ],
        [(one.module, one.enabled, one.settings) for one in await services.list_services(console, tenant)],
        [(one.user_email, one.name, one.revoked_at) for one in await app.tokens.list(tenant)],
        [(one.user_email, one.name, one.revoked_at) for one in await app.tokens.list(tenant, made.ada)],
        [
            (one.user_email, one.name)
            for user in (made.ada, made.stranger.id)
            for one in await app.tokens.list_live(tenant, user)
        ],
        verdict.reason.value
        if isinstance(verdict, CredentialRefusal)
        else (verdict.user_id == made.ada, verdict.tenant_id == tenant),
        [len(await app.tokens.list(tenant, made.stranger.id))],
        await caller(app, made, made.ada),
        await caller(app, made, made.stranger.id),
        [(item.kind, item.actor) for item in page.items],
        [(one.ok, one.checked) for one in verified],
        await settings_of(app, tenant),
        [(one.kind, one.outcome) for one in done.items],
    ]


async def settings_of(app: StoryApp, tenant: UUID) -> int:
    reader = ServiceSettingsReader(app.gateway, lambda _: None)
    return (await reader.get_settings(STRANGE, StrangeSettings, tenant)).concurrency


async def caller(app: StoryApp, made: Made, user_id: UUID) -> Any:
    credential = Credential(made.token_id, "api_token", made.id, user_id, frozenset(), generation=1)
    loaded = await load_caller(app.gateway, credential)
    if loaded is None:
        return None
    found, _ = loaded
    return found.email, found.policy, found.record_arguments


async def refusals(app: StoryApp, made: Made) -> list[str]:
    """What names something that only others have, or nobody has any more."""
    attempts = (
        users.find_user(app.console, made.id, "eve@mail.test"),
        directory.delete_role(app.console, ACTOR, made.id, "second"),
        directory.assign_role(app.console, ACTOR, made.id, "ada@mail.test", "second"),
        directory.set_status(app.console, ACTOR, made.id, "eve@mail.test", "active"),
        directory.revoke(app.console, ACTOR, made.id, "first", "kg.read"),
        app.tokens.revoke(ACTOR, made.id, made.stranger.token_id),
    )
    told: list[str] = []
    for attempt in attempts:
        try:
            told.append(str(await attempt))
        except MCPistError as error:
            told.append(str(error).replace(made.stranger.token_id, "hers"))
    return told
