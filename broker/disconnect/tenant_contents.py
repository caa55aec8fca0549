"""Count what ends when a tenant is removed."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from core.db import Database
from core.errors import NotFound


@dataclass(frozen=True, slots=True)
class TenantContents:
    """How much a tenant has of what ends with it."""

    users: int
    roles: int
    sessions: int
    tokens: int
    grants: int
    accounts: int
    oauth_clients: int
    clients: int


class TenantContentsCounter:
    """Counts what tenants have; names and contents are not read."""

    def __init__(self, database: Database, *, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    async def count(self, tenant_id: UUID) -> TenantContents:
        """Count what a tenant has.

        Raises:
            NotFound: there is none of that id.
        """
        async with self._database.tenant(tenant_id) as work:
            row = await work.fetchrow(_COUNT, self._clock())
        if row is None:
            raise NotFound("there is no tenant of this id")
        return TenantContents(*row.values())


_COUNT = """SELECT
    (SELECT count(*) FROM core.users WHERE tenant_id = $1),
    (SELECT count(*) FROM core.roles WHERE tenant_id = $1),
    (SELECT count(*) FROM auth.sessions WHERE tenant_id = $1 AND ended_at IS NULL AND expires_at > $2),
    (SELECT count(*) FROM auth.api_tokens WHERE tenant_id = $1 AND revoked_at IS NULL
        AND (expires_at IS NULL OR expires_at > $2)),
    (SELECT count(*) FROM auth.grants WHERE tenant_id = $1 AND revoked_at IS NULL AND expires_at > $2),
    (SELECT count(*) FROM vault.credentials WHERE tenant_id = $1),
    (SELECT count(*) FROM vault.oauth_clients WHERE tenant_id = $1),
    (SELECT count(*) FROM auth.clients WHERE tenant_id = $1)
    FROM core.tenants WHERE tenant_id = $1"""
