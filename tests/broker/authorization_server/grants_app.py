"""What the tests of grants live in: people of a tenant, codes that they approved, and a clock that stands still."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from broker.authorization_server.authorization_codes import Approval, CodeProof, compute_code_challenge
from broker.authorization_server.consents import Consents
from broker.authorization_server.errors import OAuthError
from broker.authorization_server.grants import Grants, IssuedTokens
from core.audit.event import AuditEvent
from core.audit.truncation import unpack
from core.db import Database
from core.directory.audit_trail import Actor
from core.scopes import MCP_SCOPES
from core.secret import Secret
from tests.support.postgres import MadeTenant, ScratchDatabase

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
ACTOR = Actor("tests")
VERIFIER = "v" * 43
CLIENT = "https://client.example/metadata.json"
REDIRECT = "https://client.example/callback"
RESOURCE = "https://mcp.example.com/mcp"


@dataclass(slots=True)
class Clock:
    """Stands still until a test moves it."""

    now: datetime = NOW

    def __call__(self) -> datetime:
        return self.now

    def pass_by(self, **time: float) -> None:
        self.now += timedelta(**time)


@dataclass(slots=True)
class GrantsApp:
    """One tenant's people, and the grants of the deployment."""

    database: ScratchDatabase
    tenant: MadeTenant
    broker: Database
    grants: Grants
    consents: Consents
    clock: Clock

    @property
    def user(self) -> UUID:
        return self.tenant.users[0]

    def approval(self, **changes: object) -> Approval:
        """What the first user has agreed to."""
        whose, challenge = (self.tenant.id, self.user), compute_code_challenge(VERIFIER)
        plain = Approval(*whose, CLIENT, "Client", REDIRECT, MCP_SCOPES, RESOURCE, challenge, self.clock())
        return replace(plain, **changes)  # type: ignore[arg-type]

    async def code(self, **changes: object) -> Secret:
        return await self.grants.create_code(self.approval(**changes))

    async def redeem(self, code: Secret, **changes: object) -> IssuedTokens:
        proof = replace(CodeProof(CLIENT, REDIRECT, VERIFIER), **changes)  # type: ignore[arg-type]
        return await self.grants.redeem_code(code, proof)

    async def issued(self, **changes: object) -> IssuedTokens:
        """A new grant."""
        return await self.redeem(await self.code(**changes))

    async def refresh(
        self, token: Secret, scopes: frozenset[str] | None = None, *, client: str = CLIENT
    ) -> IssuedTokens:
        return await self.grants.refresh(token, client, scopes)

    async def refusal(self, token: Secret, scopes: frozenset[str] | None = None, *, client: str = CLIENT) -> str:
        """The error that a refresh is refused with."""
        try:
            await self.refresh(token, scopes, client=client)
        except OAuthError as error:
            return error.code
        return "none"

    async def execute(self, sql: str, *args: object) -> None:
        async with self.database.admin_connection() as admin:
            await admin.execute(sql, *args)

    async def value(self, sql: str, *args: object) -> object:
        async with self.database.admin_connection() as admin:
            return await admin.fetchval(sql, *args)

    async def states(self) -> dict[str, int]:
        """How many refresh tokens are in each state."""
        async with self.database.admin_connection() as admin:
            rows = await admin.fetch("SELECT state, count(*) FROM auth.refresh_tokens GROUP BY state")
        return {row["state"]: row["count"] for row in rows}

    async def cause(self, grant_id: UUID) -> str | None:
        """Why a grant has ended; None while it is live."""
        sql = "SELECT cause FROM auth.grants WHERE id = $1 AND revoked_at IS NOT NULL"
        found = await self.value(sql, grant_id)
        return None if found is None else str(found)

    async def events(self, kind: str) -> list[AuditEvent]:
        """The audit events of one kind, in order. No sealer runs here."""
        async with self.database.admin_connection() as admin:
            rows = await admin.fetch("SELECT record FROM audit.incoming ORDER BY id")
        return [event for event in (unpack(row["record"]) for row in rows) if event.kind == kind]


@contextlib.asynccontextmanager
async def grants_on(database: ScratchDatabase, tenant: MadeTenant) -> AsyncIterator[GrantsApp]:
    """Grants with enough connections for twenty requests at once."""
    clock = Clock()
    async with database.open("mcpist_broker", max_connections=25) as broker:
        yield GrantsApp(database, tenant, broker, Grants(broker, clock=clock), Consents(broker, clock=clock), clock)


async def gathered(*work: Awaitable[IssuedTokens]) -> tuple[list[IssuedTokens], list[str]]:
    """All at once: what was issued, and the errors of what was refused."""
    outcomes = await asyncio.gather(*work, return_exceptions=True)
    strange = [one for one in outcomes if not isinstance(one, IssuedTokens | OAuthError)]
    assert strange == []
    return (
        [one for one in outcomes if isinstance(one, IssuedTokens)],
        [one.code for one in outcomes if isinstance(one, OAuthError)],
    )
