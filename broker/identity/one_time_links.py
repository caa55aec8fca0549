"""One-time links: how somebody signs in whom no identity provider knows, the first administrator among them.

A link holds 256 random bits of which the hash is stored, works for 15 minutes and once, and voids the older ones of its
user. What uses it up is one statement, so of many at once one wins.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from broker.identity.browser_sessions import Sessions
from broker.identity.random_secrets import hash_of, new_secret
from core.audit.event import AuditEventKind
from core.db import Database
from core.directory.audit_trail import Actor, audit_change
from core.errors import Invalid, NotFound
from core.secret import Secret

LINK_LIFETIME = timedelta(minutes=15)
LINK_METHOD = "link"


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """User that a one-time link signs in."""

    tenant_id: UUID
    tenant_name: str
    user_id: UUID
    email: str


class OneTimeLinks:
    """The links of all tenants, behind the broker's own database role."""

    def __init__(self, database: Database, sessions: Sessions, *, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._sessions = sessions
        self._clock = clock

    async def create(self, actor: Actor, tenant_id: UUID, user_id: UUID) -> Secret:
        """Make a link for a user; the older ones that they have not used count no more.

        Raises:
            NotFound: the tenant has no such user.
            Invalid: the user or the tenant is suspended.
        """
        secret, now = new_secret(), self._clock()
        async with self._database.tenant(tenant_id) as work:
            row = await work.fetchrow(_USER, user_id)
            if row is None:
                raise NotFound("there is no such user; `mcpist user list` shows them")
            if not row["active"]:
                raise Invalid(f"{row['email']} is suspended; resume the user first: mcpist user resume")
            await work.execute(_VOID, user_id, now)
            await work.execute(_INSERT, user_id, hash_of(secret), now, now + LINK_LIFETIME)
            await audit_change(work, actor, AuditEventKind.LINK_CREATED, user=str(user_id), email=row["email"])
        return secret

    async def peek(self, secret: Secret) -> LinkTarget | None:
        """Return the user of a valid link without using it up."""
        tenant_id, hashed = await self._find(secret)
        if tenant_id is None:
            return None
        async with self._database.tenant(tenant_id) as work:
            row = await work.fetchrow(_PEEK, hashed, self._clock())
            return LinkTarget(*row.values()) if row is not None else None

    async def consume(
        self, secret: Secret, address: str = "", user_agent: str = ""
    ) -> tuple[LinkTarget, Secret] | None:
        """Use a link up and begin the session of its user; None if it does not count (any more)."""
        tenant_id, hashed = await self._find(secret)
        if tenant_id is None:
            return None
        async with self._database.tenant(tenant_id) as work:
            row = await work.fetchrow(_CONSUME, hashed, self._clock())
            if row is None:
                return None
            target = LinkTarget(*row.values())
            return target, await self._sessions.begin_in_transaction(
                work, target.user_id, LINK_METHOD, address, user_agent
            )

    async def _find(self, secret: Secret) -> tuple[UUID | None, bytes | None]:
        hashed = hash_of(secret)
        if hashed is None:
            return None, None
        rows = await self._database.lookup("lookup_link", hashed.hex(), "SELECT tenant_id FROM auth.one_time_links")
        return (rows[0]["tenant_id"] if rows else None), hashed


_USER = """SELECT u.email, u.status = 'active' AND t.status = 'active' AS active
    FROM core.users u JOIN core.tenants t ON t.tenant_id = u.tenant_id WHERE u.tenant_id = $1 AND u.id = $2"""
_VOID = """UPDATE auth.one_time_links SET consumed_at = $3
    WHERE tenant_id = $1 AND user_id = $2 AND consumed_at IS NULL"""
_INSERT = """INSERT INTO auth.one_time_links (tenant_id, user_id, secret_hash, created_at, expires_at)
    VALUES ($1, $2, $3, $4, $5)"""
_PEEK = """SELECT l.tenant_id, t.name, l.user_id, u.email FROM auth.one_time_links l
    JOIN core.users u ON u.tenant_id = l.tenant_id AND u.id = l.user_id
    JOIN core.tenants t ON t.tenant_id = l.tenant_id
    WHERE l.tenant_id = $1 AND l.secret_hash = $2 AND l.consumed_at IS NULL AND l.expires_at > $3
    AND u.status = 'active' AND t.status = 'active'"""
_CONSUME = """UPDATE auth.one_time_links l SET consumed_at = $3 FROM core.users u, core.tenants t
    WHERE l.tenant_id = $1 AND l.secret_hash = $2 AND l.consumed_at IS NULL AND l.expires_at > $3
    AND u.tenant_id = l.tenant_id AND u.id = l.user_id AND u.status = 'active'
    AND t.tenant_id = l.tenant_id AND t.status = 'active'
    RETURNING l.tenant_id, t.name, l.user_id, u.email"""
