"""What the tests of sign-in live in: one database, the services of identity on it, and a clock that can be moved."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

from broker.identity.browser_sessions import Sessions
from broker.identity.identity_services import IdentityServices, build_identity_services
from broker.identity.providers.identity_provider import VerifiedAccount
from core.audit.event import DEPLOYMENT_CHAIN, AuditEvent
from core.audit.truncation import unpack
from core.db import Database
from core.directory import allow_list, users
from core.directory.audit_trail import Actor
from core.http.json_documents import JsonDocumentFetcher
from core.http.outbound_addresses import AllowedAddresses
from tests.support.directory import create_tenant
from tests.support.postgres import ScratchDatabase

ACTOR = Actor("tests")


@dataclass(slots=True)
class Clock:
    now: datetime = field(default_factory=lambda: datetime(2026, 11, 22, 12, 0, tzinfo=UTC))

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **by: float) -> None:
        self.now += timedelta(**by)


@dataclass(slots=True)
class People:
    """A deployment without anybody in it, and the hands of its administrators."""

    database: ScratchDatabase
    console: Database
    broker: Database
    clock: Clock
    door: IdentityServices

    @property
    def sessions(self) -> Sessions:
        return self.door.sessions

    async def tenant(self, slug: str, *entries: str) -> UUID:
        """A tenant with these entries on its allow list."""
        tenant = await create_tenant(self.console, ACTOR, slug, slug.capitalize())
        for entry in entries:
            await allow_list.add_entry(self.console, ACTOR, tenant.id, entry)
        return tenant.id

    async def user(self, tenant_id: UUID, email: str, **options: str) -> UUID:
        """A user, who is on the allow list too."""
        return await users.create_user(self.console, ACTOR, tenant_id, email, **options)  # type: ignore[arg-type]

    async def execute(self, sql: str, *args: object) -> None:
        """Change something behind the product's back."""
        async with self.database.admin_connection() as admin:
            await admin.execute(sql, *args)

    async def value(self, sql: str, *args: object) -> object:
        """One value, seen by nobody's role."""
        async with self.database.admin_connection() as admin:
            return await admin.fetchval(sql, *args)

    async def events(self, kind: str, tenant_id: UUID = DEPLOYMENT_CHAIN) -> list[AuditEvent]:
        """The audit events of one kind, in order; those of the deployment where no tenant is named."""
        async with self.database.admin_connection() as admin:
            rows = await admin.fetch("SELECT record FROM audit.incoming WHERE tenant_id = $1 ORDER BY id", tenant_id)
        return [event for event in (unpack(row["record"]) for row in rows) if event.kind == kind]


@contextlib.asynccontextmanager
async def people_on(database: ScratchDatabase) -> AsyncIterator[People]:
    clock = Clock()
    async with (
        database.open("mcpist_broker", max_connections=25) as broker,
        database.open("mcpist_console") as console,
    ):
        yield People(
            database,
            console,
            broker,
            clock,
            build_identity_services(
                broker, (), "https://mcpist.test", clock=clock, http=JsonDocumentFetcher(AllowedAddresses())
            ),
        )


def account(email: str, subject: str = "", issuer: str = "https://idp.test") -> VerifiedAccount:
    """An account that a provider has vouched for."""
    return VerifiedAccount(issuer, subject or email, email, bool(email), "A Name")
