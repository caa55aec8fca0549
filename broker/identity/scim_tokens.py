"""Bearer tokens by which an identity provider provisions a tenant's people (SCIM). They open nothing else."""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from core.audit.event import AuditEventKind
from core.db import Database
from core.directory.audit_trail import Actor, audit_change
from core.directory.scim import ScimCaller
from core.errors import Conflict, Invalid, NotFound
from core.secret import Secret
from core.token_format import generate_token

PREFIX = "mcpist_scim_"
_FORM = re.compile(rf"{PREFIX}[0-9A-Za-z]{{43}}")
MAX_TOKENS = 10
USE_RECORDED_AFTER = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class ScimToken:
    """A token without its secret."""

    id: UUID
    name: str
    created_at: datetime
    last_used_at: datetime | None


class ScimTokens:
    """The tokens of all tenants, behind the broker's own database role."""

    def __init__(self, database: Database, *, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    async def create(self, actor: Actor, tenant_id: UUID, name: str) -> tuple[ScimToken, Secret]:
        """Make a token; it and its text, which nobody can be told again.

        Raises:
            Invalid: the name has the wrong form.
            Conflict: there are ten already.
        """
        if not 1 <= len(name) <= 100 or not name.isprintable():
            raise Invalid("name: give one line of 1 to 100 characters")
        token = Secret(PREFIX + generate_token()[0].secret.reveal())
        async with self._database.tenant(tenant_id) as work:
            if await work.fetchval("SELECT count(*) FROM auth.scim_tokens WHERE tenant_id = $1") >= MAX_TOKENS:
                raise Conflict(f"there are {MAX_TOKENS} SCIM tokens already: remove one that is no longer used")
            row = await work.fetchrow(_INSERT, name, _hash(token), self._clock())
            assert row is not None, "an insert returns its row"
            await audit_change(
                work, actor, AuditEventKind.TOKEN_CREATED, purpose="scim", name=name, token=str(row["id"])
            )
        return ScimToken(*row.values()), token

    async def list_page(self, tenant_id: UUID, after: tuple[datetime, UUID] | None, limit: int) -> list[ScimToken]:
        """The tenant's tokens, newest first."""
        at, token_id = after or (None, None)
        async with self._database.tenant(tenant_id) as work:
            return [ScimToken(*row.values()) for row in await work.fetch(_LIST, at, token_id, limit)]

    async def remove(self, actor: Actor, tenant_id: UUID, token_id: UUID) -> None:
        """End a token at once.

        Raises:
            NotFound: the tenant has none of this id.
        """
        async with self._database.tenant(tenant_id) as work:
            row = await work.fetchrow(_REMOVE, token_id)
            if row is None:
                raise NotFound("there is no SCIM token of this id")
            detail = {"purpose": "scim", "name": row["name"], "token": str(token_id)}
            await audit_change(work, actor, AuditEventKind.TOKEN_REVOKED, **detail)

    async def verify(self, token: Secret) -> ScimCaller | None:
        """Return whom a token speaks for; None if it is none, or its tenant is suspended.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        if not _FORM.fullmatch(token.reveal()):
            return None
        hashed = _hash(token)
        rows = await self._database.lookup("lookup_scim_token", hashed.hex(), "SELECT tenant_id FROM auth.scim_tokens")
        if not rows:
            return None
        async with self._database.tenant(rows[0]["tenant_id"]) as work:
            row = await work.fetchrow(_VERIFY, hashed)
            if row is None:
                return None
            now = self._clock()
            if row["last_used_at"] is None or now - row["last_used_at"] > USE_RECORDED_AFTER:
                await work.execute(_USED, row["id"], now)
        return ScimCaller(rows[0]["tenant_id"], row["id"], row["name"])


def _hash(token: Secret) -> bytes:
    """SHA-256 needs no salt over 256 random bits."""
    return hashlib.sha256(token.reveal().encode()).digest()


_INSERT = """INSERT INTO auth.scim_tokens (tenant_id, name, secret_hash, created_at) VALUES ($1, $2, $3, $4)
    RETURNING id, name, created_at, last_used_at"""
_LIST = """SELECT id, name, created_at, last_used_at FROM auth.scim_tokens WHERE tenant_id = $1
    AND ($2::timestamptz IS NULL OR (created_at, id) < ($2, $3::uuid)) ORDER BY created_at DESC, id DESC LIMIT $4"""
_REMOVE = "DELETE FROM auth.scim_tokens WHERE tenant_id = $1 AND id = $2 RETURNING name"
_VERIFY = """SELECT s.id, s.name, s.last_used_at FROM auth.scim_tokens s
    JOIN core.tenants t ON t.tenant_id = s.tenant_id AND t.status = 'active'
    WHERE s.tenant_id = $1 AND s.secret_hash = $2"""
_USED = "UPDATE auth.scim_tokens SET last_used_at = $3 WHERE tenant_id = $1 AND id = $2"
