"""API tokens: made, verified, listed, revoked. Only an HMAC of each is stored (threat-model.md §3.8)."""

import hashlib
import hmac
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, LiteralString
from uuid import UUID

from broker.identity.peppers import Peppers
from broker.interface import CredentialRefusal, RefusalReason
from core.audit.event import AuditEventKind
from core.caller import Credential
from core.db import Database, Row, UnitOfWork
from core.directory.audit_trail import Actor, audit_change
from core.errors import Conflict, Invalid, NotFound
from core.known_clients import ToolResultFormat
from core.scopes import ADMIN_SCOPES, ALL_SCOPES, MCP_SCOPES
from core.secret import Secret
from core.token_format import TokenParts, derive_id, generate_token, parse_token
from core.tool_exposure import normalize_exposure_setting
from core.word_search import build_word_filter, match_words

DEFAULT_SCOPES = MCP_SCOPES
"""Default scopes of a token."""
MAX_TOKENS = 200
NIL_UUID = UUID(int=0)

TokenSortKey = Literal["created_at", "name"]


@dataclass(frozen=True, slots=True)
class TokenSearch:
    """All words of `text` stand in the name or the owner's address; `revoked` has revoked tokens too."""

    text: str = ""
    sort: TokenSortKey = "created_at"
    descending: bool = True
    revoked: bool = True


@dataclass(frozen=True, slots=True)
class ApiToken:
    """Public description of an API token, without the token itself."""

    id: str
    user_id: UUID
    user_email: str
    name: str
    scopes: tuple[str, ...]
    read_only: bool
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    tool_result_format: ToolResultFormat | None = None
    result_tokens: int | None = None
    tool_exposure: str | None = None


class ApiTokens:
    """The tokens of all tenants, behind the broker's own database role."""

    def __init__(self, database: Database, peppers: Peppers, *, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._peppers = peppers
        self._clock = clock

    async def verify(self, token: Secret) -> Credential | CredentialRefusal:
        """Check a token. An unknown id takes the same steps as a known one.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        parts = parse_token(token.reveal())
        if parts is None:
            return CredentialRefusal(RefusalReason.UNKNOWN)
        rows = await self._database.lookup("lookup_token_id", parts.id, "SELECT tenant_id FROM auth.api_tokens")
        async with self._database.tenant(rows[0]["tenant_id"] if rows else NIL_UUID) as work:
            # One statement, so one snapshot: the generation is never newer than what stands beside it.
            row = await work.fetchrow(_STORED, [parts.id])
            verdict = self._judge(parts, row)
            if isinstance(verdict, Credential):
                await work.execute(_USED, [parts.id], self._clock())
        return verdict

    async def verify_again(self, tenant_id: UUID, tokens: Sequence[Secret]) -> Sequence[Credential | None]:
        """See :class:`broker.interface.Verifier`. All of them take one statement."""
        asked = [parse_token(token.reveal()) for token in tokens]
        async with self._database.tenant(tenant_id) as work:
            rows = await work.fetch(_STORED, [parts.id for parts in asked if parts is not None])
            stored = {row["id"]: row for row in rows}
            verdicts = [None if parts is None else self._judge(parts, stored.get(parts.id)) for parts in asked]
            found = [verdict if isinstance(verdict, Credential) else None for verdict in verdicts]
            await work.execute(_USED, [credential.id for credential in found if credential], self._clock())
        return found

    async def create(
        self,
        actor: Actor,
        tenant_id: UUID,
        user_id: UUID,
        name: str,
        *,
        scopes: Iterable[str] = DEFAULT_SCOPES,
        read_only: bool = False,
        expires_at: datetime | None = None,
        tool_result_format: ToolResultFormat | None = None,
        result_tokens: int | None = None,
        tool_exposure: str | None = None,
        request_key: str | None = None,
    ) -> tuple[str, Secret]:
        """Make a token for a user: its id, and the token, which nobody can be shown again. Whoever asks again after a
        lost answer, with the same `request_key`, gets no second token. Without `tool_result_format` and `result_tokens`
        what is known of the client decides (core.known_clients); without `tool_exposure` the user's roles do.

        Raises:
            NotFound: the tenant has no such user.
            Invalid: an unknown scope, one that the user has not, a name that is empty or over 100 characters, an expiry
                in the past or beyond the tenant's longest life, an unknown exposure, or more than 200 live tokens.
            Conflict: this user has made a token with this `request_key`; the text names its id.
        """
        request = _check_request(name, frozenset(scopes), expires_at, self._clock())
        tool_exposure = normalize_exposure_setting(tool_exposure)
        parts, token = generate_token(None if request_key is None else _derive_id(tenant_id, user_id, request_key))
        async with self._database.tenant(tenant_id) as work:
            await _check_rights(work, user_id, request, expires_at, self._clock())
            if await work.fetchval(_LIVE, user_id, self._clock()) >= MAX_TOKENS:
                raise Invalid(f"limit of {MAX_TOKENS} tokens per user reached; revoke some first")
            hashed = _hash_secret(self._peppers.keys[self._peppers.active], parts)
            stored = (parts.id, user_id, name, self._peppers.active, hashed, sorted(request), read_only, expires_at)
            if not await work.execute(_INSERT, *stored, tool_result_format, result_tokens, tool_exposure):
                raise Conflict(
                    f"this request already created the token {parts.id}; revoke it if you did not receive it"
                )
            await audit_change(
                work, actor, AuditEventKind.TOKEN_CREATED, token=parts.id, user=str(user_id), read_only=int(read_only)
            )
        return parts.id, token

    async def list(self, tenant_id: UUID, user_id: UUID | None = None) -> list[ApiToken]:
        """The tenant's tokens, or one user's, newest first; revoked and expired ones too. At most 1,000."""
        return [*await self.list_page(tenant_id, user_id, TokenSearch(), None, 1000)]

    async def list_page(
        self,
        tenant_id: UUID,
        user_id: UUID | None,
        search: TokenSearch,
        after: tuple[datetime | str, str] | None,
        limit: int,
    ) -> Sequence[ApiToken]:
        """The tokens of the tenant, or of one user, after the one with that value of the sort key and that id."""
        statement, words = _PAGES[search.sort, search.descending], build_word_filter(search.text)
        async with self._database.tenant(tenant_id) as work:
            rows = await work.fetch(statement, user_id, *(after or (None, None)), limit, search.revoked, *words)
            return [ApiToken(**_read_columns(row)) for row in rows]

    async def list_live(self, tenant_id: UUID, user_id: UUID) -> Sequence[ApiToken]:
        """A user's tokens that work, newest first; there are 200 at most."""
        async with self._database.tenant(tenant_id) as work:
            rows = await work.fetch(_LIST_LIVE, user_id, self._clock(), MAX_TOKENS)
            return [ApiToken(**_read_columns(row)) for row in rows]

    async def revoke(self, actor: Actor, tenant_id: UUID, token_id: str, *, user_id: UUID | None = None) -> None:
        """End a token at once, on every process within a second; with `user_id`, only one of that user's.

        Raises:
            NotFound: there is no such live token.
        """
        async with self._database.tenant(tenant_id) as work:
            if not await work.execute(_REVOKE, token_id, self._clock(), user_id):
                raise NotFound(f"no active token {token_id[:40]!r}; `mcpist token list` shows them")
            await audit_change(work, actor, AuditEventKind.TOKEN_REVOKED, token=token_id)

    async def revoke_leaked(self, actor: Actor, token: Secret) -> bool:
        """End a token that somebody has found where it does not belong; whether it was live. To have it is to prove it:
        nobody can end a token that they do not hold whole.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        parts = parse_token(token.reveal())
        if parts is None:
            return False
        rows = await self._database.lookup("lookup_token_id", parts.id, "SELECT tenant_id FROM auth.api_tokens")
        async with self._database.tenant(rows[0]["tenant_id"] if rows else NIL_UUID) as work:
            row = await work.fetchrow(_STORED, [parts.id])
            if not hmac.compare_digest(*self._compute_hashes(parts, row)):
                return False
            if not await work.execute(_REVOKE, parts.id, self._clock(), None):
                return False
            await audit_change(work, actor, AuditEventKind.TOKEN_REVOKED, token=parts.id, cause="leaked")
        return True

    def _judge(self, parts: TokenParts, row: Row | None) -> Credential | CredentialRefusal:
        """Judge a token by what is stored of its id."""
        right = hmac.compare_digest(*self._compute_hashes(parts, row))
        if row is None:
            return CredentialRefusal(RefusalReason.UNKNOWN)
        reason = _find_refusal(right, row, self._clock())
        if reason is not None:
            return CredentialRefusal(reason, row["tenant_id"], row["user_id"], parts.id)
        return _build_credential(row)

    def _compute_hashes(self, parts: TokenParts, row: Row | None) -> tuple[bytes, bytes]:
        """Return the stored and the presented hash; for an unknown id, two values that differ."""
        key = self._peppers.keys.get(row["pepper_kid"]) if row else None
        presented = _hash_secret(key or self._peppers.keys[self._peppers.active], parts)
        return (row["secret_hmac"] if row and key else bytes(32)), presented


_STORED = """SELECT a.tenant_id, a.id, a.user_id, a.pepper_kid, a.secret_hmac, a.scopes, a.read_only, a.expires_at,
    a.revoked_at, a.result_text, a.result_tokens, a.tool_exposure, u.status AS user_status, t.status AS tenant_status,
    g.value AS generation
    FROM auth.api_tokens a
    JOIN core.users u ON u.tenant_id = a.tenant_id AND u.id = a.user_id
    JOIN core.tenants t ON t.tenant_id = a.tenant_id
    JOIN core.generations g ON g.tenant_id = a.tenant_id
    WHERE a.tenant_id = $1 AND a.id = ANY($2::text[])"""
# Rows that another process updates now are left to it: two that waited for each other's would never end.
_USED = """UPDATE auth.api_tokens SET last_used_at = $3::timestamptz WHERE tenant_id = $1 AND id = ANY(ARRAY(
    SELECT a.id FROM auth.api_tokens a WHERE a.tenant_id = $1 AND a.id = ANY($2::text[])
    AND (a.last_used_at IS NULL OR a.last_used_at < $3::timestamptz - interval '1 minute')
    FOR UPDATE SKIP LOCKED))"""
_RIGHTS = """SELECT u.system_role, t.longest_token_days
    FROM core.users u JOIN core.tenants t ON t.tenant_id = u.tenant_id WHERE u.tenant_id = $1 AND u.id = $2"""
_LIVE = """SELECT count(*) FROM auth.api_tokens WHERE tenant_id = $1 AND user_id = $2
    AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $3)"""
_INSERT = """INSERT INTO auth.api_tokens
    (tenant_id, id, user_id, name, pepper_kid, secret_hmac, scopes, read_only, expires_at, result_text,
    result_tokens, tool_exposure)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT (id) DO NOTHING"""
_LIST_LIVE = """SELECT a.id, a.user_id, u.email AS user_email, a.name, a.scopes, a.read_only, a.created_at,
    a.expires_at, a.revoked_at, a.last_used_at
    FROM auth.api_tokens a JOIN core.users u ON u.tenant_id = a.tenant_id AND u.id = a.user_id
    WHERE a.tenant_id = $1 AND a.user_id = $2 AND a.revoked_at IS NULL AND (a.expires_at IS NULL OR a.expires_at > $3)
    ORDER BY a.created_at DESC, a.id DESC LIMIT $4"""
_REVOKE = """UPDATE auth.api_tokens SET revoked_at = $3 WHERE tenant_id = $1 AND id = $2 AND revoked_at IS NULL
    AND ($4::uuid IS NULL OR user_id = $4)"""


def _hash_secret(key: bytes, parts: TokenParts) -> bytes:
    return hmac.digest(key, f"{parts.id}.{parts.secret.reveal()}".encode(), hashlib.sha256)


def _derive_id(tenant_id: UUID, user_id: UUID, request_key: str) -> str:
    """Nobody but this user can have a token of this id."""
    return derive_id(hashlib.sha256(f"{tenant_id} {user_id} {request_key}".encode()).digest())


def _find_refusal(right: bool, row: Row, now: datetime) -> RefusalReason | None:
    if not right:
        return RefusalReason.WRONG_SECRET
    if row["revoked_at"] is not None:
        return RefusalReason.REVOKED
    if row["expires_at"] is not None and row["expires_at"] <= now:
        return RefusalReason.EXPIRED
    if row["tenant_status"] != "active":
        return RefusalReason.TENANT_SUSPENDED
    return RefusalReason.USER_SUSPENDED if row["user_status"] != "active" else None


def _build_credential(row: Row) -> Credential:
    return Credential(
        id=row["id"],
        kind="api_token",
        tenant_id=row["tenant_id"],
        user_id=row["user_id"],
        scopes=frozenset(row["scopes"]),
        read_only=row["read_only"],
        expires_at=row["expires_at"],
        generation=row["generation"],
        tool_result_format=row["result_text"] or "",
        result_tokens=row["result_tokens"] or 0,
        tool_exposure=row["tool_exposure"] or "",
    )


def _read_columns(row: Row) -> dict[str, Any]:
    return {**{key: row[key] for key in row.keys()}, "scopes": tuple(row["scopes"])}  # noqa: SIM118 a Record, not a dict


def _check_request(name: str, scopes: frozenset[str], expires_at: datetime | None, now: datetime) -> frozenset[str]:
    if not 1 <= len(name) <= 100:
        raise Invalid("a token's name must have 1 to 100 characters")
    if not scopes or scopes - ALL_SCOPES:
        raise Invalid(f"scopes must be among {', '.join(sorted(ALL_SCOPES))}")
    if expires_at is not None and expires_at <= now:
        raise Invalid("the expiry must be in the future")
    return scopes


async def _check_rights(
    work: UnitOfWork, user_id: UUID, scopes: frozenset[str], expires_at: datetime | None, now: datetime
) -> None:
    row = await work.fetchrow(_RIGHTS, user_id)
    if row is None:
        raise NotFound("there is no such user; `mcpist user list` shows them")
    if scopes & ADMIN_SCOPES and row["system_role"] != "admin":
        raise Invalid("admin scopes require an administrator")
    days: int | None = row["longest_token_days"]
    if days is not None and (expires_at is None or expires_at > now + timedelta(days=days)):
        raise Invalid(f"this tenant's API tokens live for at most {days} days: choose an expiry within them")


def _build_page(key: LiteralString, kind: LiteralString, descending: bool) -> LiteralString:
    beyond: LiteralString = "<" if descending else ">"
    direction: LiteralString = "DESC" if descending else "ASC"
    return f"""SELECT a.id, a.user_id, u.email AS user_email, a.name, a.scopes, a.read_only, a.created_at, a.expires_at,
        a.revoked_at, a.last_used_at, a.result_text AS tool_result_format,
        a.result_tokens, a.tool_exposure
        FROM auth.api_tokens a JOIN core.users u ON u.tenant_id = a.tenant_id AND u.id = a.user_id
        WHERE a.tenant_id = $1 AND ($2::uuid IS NULL OR a.user_id = $2)
        AND ($3::{kind} IS NULL OR (a.{key}, a.id) {beyond} ($3, $4))
        AND ($6 OR a.revoked_at IS NULL) AND {match_words("a.name || ' ' || u.email", "$7", "$8")}
        ORDER BY a.{key} {direction}, a.id {direction} LIMIT $5"""  # noqa: S608 our own words


_SORT_KEYS: Mapping[TokenSortKey, LiteralString] = {"created_at": "timestamptz", "name": "text"}
_PAGES: Mapping[tuple[TokenSortKey, bool], LiteralString] = {
    (key, descending): _build_page(key, kind, descending)
    for key, kind in _SORT_KEYS.items()
    for descending in (False, True)
}
