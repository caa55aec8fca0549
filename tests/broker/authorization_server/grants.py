"""Grants as the tests need them: a row of auth.grants, made without the flow that leads to one."""

from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID, uuid4

from core.db import Database
from tests.broker.broker_harness import Clock

CLIENT = "https://client.example.com/metadata.json"
RESOURCE = "https://mcp.example.com/mcp"


@dataclass(frozen=True, slots=True)
class Grant:
    """What a token is minted for."""

    tenant_id: UUID
    user_id: UUID
    id: UUID
    client_id: str
    scopes: frozenset[str]
    resource: str

    def with_scopes(self, *scopes: str) -> "Grant":
        return replace(self, scopes=frozenset(scopes))


async def add_grant(
    broker: Database,
    clock: Clock,
    tenant_id: UUID,
    user_id: UUID,
    *scopes: str,
    resource: str = RESOURCE,
    client_id: str = CLIENT,
    days: int = 30,
) -> Grant:
    """A live grant for a user."""
    grant = Grant(tenant_id, user_id, uuid4(), client_id, frozenset(scopes or ("mcp:read", "mcp:write")), resource)
    now = clock()
    async with broker.tenant(tenant_id) as work:
        await work.execute(
            _INSERT, grant.id, user_id, client_id, sorted(grant.scopes), resource, now, now + timedelta(days=days)
        )
    return grant


async def revoke(broker: Database, clock: Clock, grant: Grant) -> None:
    """End a grant, as its user or an administrator does."""
    async with broker.tenant(grant.tenant_id) as work:
        assert await work.execute(_REVOKE, grant.id, clock()) == 1


_INSERT = """INSERT INTO auth.grants
    (tenant_id, id, user_id, kind, client_id, client_name, scopes, resource, created_at, last_used_at, expires_at)
    VALUES ($1, $2, $3, 'code', $4, 'Example client', $5, $6, $7, $7, $8)"""
_REVOKE = "UPDATE auth.grants SET revoked_at = $3, cause = 'test' WHERE tenant_id = $1 AND id = $2"
