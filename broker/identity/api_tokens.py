"""API tokens: made, verified, listed, revoked. Only an HMAC of each is stored (broker-security.md §3.8)."""

import hashlib
import hmac
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from broker.identity.pepper import Peppers
from broker.interface import RefusalReason, Refused
from core.audit.event import Kind
from core.caller import Credential
from core.db import Database, Row
from core.directory.actor import Actor, recorded
from core.errors import Invalid, NotFound
from core.secret import Secret
from core.token_format import TokenParts, new_token, parse_token

SCOPES = frozenset({"mcp:read", "mcp:write"})
MOST_TOKENS = 200
NIL = UUID(int=0)


@dataclass(frozen=True, slots=True)
class ApiToken:
    """What may be shown of a token: everything but the token."""

    id: str
    user_email: str
    name: str
    scopes: tuple[str, ...]
    read_only: bool
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None


class ApiTokens:
    """The tokens of all tenants, behind the broker's own database role."""

    def __init__(self, database: Database, peppers: Peppers, *, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._peppers = peppers
        self._clock = clock

    async def verify(self, token: Secret) -> Credential | Refused:
        """Check a token. An unknown id takes the same steps as a known one.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        parts = parse_token(token.reveal())
        if parts is None:
            return Refused(RefusalReason.UNKNOWN)
        rows = await self._database.lookup("lookup_token_id", parts.id, "SELECT tenant_id FROM auth.api_tokens")
        async with self._database.tenant(rows[0]["tenant_id"] if rows else NIL) as work:
            # One statement, so one snapshot: the generation is never newer than what stands beside it.
            row = await work.fetchrow(_STORED, parts.id)
            right = hmac.compare_digest(*self._hashes(parts, row))
            if row is None:
                return Refused(RefusalReason.UNKNOWN)
            reason = _refusal(right, row, self._clock())
            if reason is not None:
                return Refused(reason, work.tenant_id, row["user_id"], parts.id)
            await work.execute(_USED, parts.id, self._clock())
        return _credential(row)

    async def create(
        self,
        actor: Actor,
        tenant_id: UUID,
        user_id: UUID,
        name: str,
        *,
        scopes: Iterable[str] = SCOPES,
        read_only: bool = False,
        expires_at: datetime | None = None,
    ) -> tuple[str, Secret]:
        """Make a token for a user: its id, and the token, which nobody can be shown again.

        Raises:
            NotFound: the tenant has no such user.
            Invalid: an unknown scope, a name that is empty or over 100 characters, an expiry in the past,
                or more than 200 live tokens.
        """
        wanted = _checked(name, frozenset(scopes), expires_at, self._clock())
        parts, token = new_token()
        async with self._database.tenant(tenant_id) as work:
            if not await work.fetchval(_EXISTS, user_id):
                raise NotFound("there is no such user; `mcpist user list` shows them")
            if await work.fetchval(_LIVE, user_id, self._clock()) >= MOST_TOKENS:
                raise Invalid(f"this user has {MOST_TOKENS} tokens; revoke some first")
            hashed = _hash(self._peppers.keys[self._peppers.active], parts)
            await work.execute(
                _INSERT, parts.id, user_id, name, self._peppers.active, hashed, sorted(wanted), read_only, expires_at
            )
            await recorded(work, actor, Kind.TOKEN_CREATED, token=parts.id, user=str(user_id), read_only=int(read_only))
        return parts.id, token

    async def list(self, tenant_id: UUID, user_id: UUID | None = None) -> list[ApiToken]:
        """The tenant's tokens, or one user's, newest first; revoked and expired ones too."""
        async with self._database.tenant(tenant_id) as work:
            return [ApiToken(**_shown(row)) for row in await work.fetch(_LIST, user_id)]

    async def revoke(self, actor: Actor, tenant_id: UUID, token_id: str) -> None:
        """End a token at once, on every process within a second.

        Raises:
            NotFound: the tenant has no live token of that id.
        """
        async with self._database.tenant(tenant_id) as work:
            if not await work.execute(_REVOKE, token_id, self._clock()):
                raise NotFound(f"there is no live token {token_id[:40]!r}; `mcpist token list` shows them")
            await recorded(work, actor, Kind.TOKEN_REVOKED, token=token_id)

    def _hashes(self, parts: TokenParts, row: Row | None) -> tuple[bytes, bytes]:
        """What is stored and what was presented, hashed alike; for an unknown id two values that differ."""
        key = self._peppers.keys.get(row["pepper_kid"]) if row else None
        presented = _hash(key or self._peppers.keys[self._peppers.active], parts)
        return (row["secret_hmac"] if row and key else bytes(32)), presented


_STORED = """SELECT a.tenant_id, a.id, a.user_id, a.pepper_kid, a.secret_hmac, a.scopes, a.read_only, a.expires_at,
    a.revoked_at, u.status AS user_status, t.status AS tenant_status, g.value AS generation
    FROM auth.api_tokens a
    JOIN core.users u ON u.tenant_id = a.tenant_id AND u.id = a.user_id
    JOIN core.tenants t ON t.tenant_id = a.tenant_id
    JOIN core.generations g ON g.tenant_id = a.tenant_id
    WHERE a.tenant_id = $1 AND a.id = $2"""
_USED = """UPDATE auth.api_tokens SET last_used_at = $3::timestamptz WHERE tenant_id = $1 AND id = $2
    AND (last_used_at IS NULL OR last_used_at < $3::timestamptz - interval '1 minute')"""
_EXISTS = "SELECT EXISTS (SELECT FROM core.users WHERE tenant_id = $1 AND id = $2)"
_LIVE = """SELECT count(*) FROM auth.api_tokens WHERE tenant_id = $1 AND user_id = $2
    AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $3)"""
_INSERT = """INSERT INTO auth.api_tokens
    (tenant_id, id, user_id, name, pepper_kid, secret_hmac, scopes, read_only, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"""
_LIST = """SELECT a.id, u.email AS user_email, a.name, a.scopes, a.read_only, a.created_at, a.expires_at, a.revoked_at,
    a.last_used_at FROM auth.api_tokens a JOIN core.users u ON u.tenant_id = a.tenant_id AND u.id = a.user_id
    WHERE a.tenant_id = $1 AND ($2::uuid IS NULL OR a.user_id = $2) ORDER BY a.created_at DESC, a.id LIMIT 1000"""
_REVOKE = """UPDATE auth.api_tokens SET revoked_at = $3 WHERE tenant_id = $1 AND id = $2 AND revoked_at IS NULL"""


def _hash(key: bytes, parts: TokenParts) -> bytes:
    return hmac.digest(key, f"{parts.id}.{parts.secret.reveal()}".encode(), hashlib.sha256)


def _refusal(right: bool, row: Row, now: datetime) -> RefusalReason | None:
    if not right:
        return RefusalReason.WRONG_SECRET
    if row["revoked_at"] is not None:
        return RefusalReason.REVOKED
    if row["expires_at"] is not None and row["expires_at"] <= now:
        return RefusalReason.EXPIRED
    if row["tenant_status"] != "active":
        return RefusalReason.TENANT_SUSPENDED
    return RefusalReason.USER_SUSPENDED if row["user_status"] != "active" else None


def _credential(row: Row) -> Credential:
    return Credential(
        id=row["id"],
        kind="api_token",
        tenant_id=row["tenant_id"],
        user_id=row["user_id"],
        scopes=frozenset(row["scopes"]),
        read_only=row["read_only"],
        expires_at=row["expires_at"],
        generation=row["generation"],
    )


def _shown(row: Row) -> dict[str, Any]:
    return {**{key: row[key] for key in row.keys()}, "scopes": tuple(row["scopes"])}  # noqa: SIM118 a Record, not a dict


def _checked(name: str, scopes: frozenset[str], expires_at: datetime | None, now: datetime) -> frozenset[str]:
    if not 1 <= len(name) <= 100:
        raise Invalid("a token's name has 1 to 100 characters")
    if not scopes or scopes - SCOPES:
        raise Invalid(f"scopes are any of {', '.join(sorted(SCOPES))}")
    if expires_at is not None and expires_at <= now:
        raise Invalid("the expiry lies in the past")
    return scopes
