"""The rows that grants are kept in: begun, locked, ended, listed, each within its caller's transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, LiteralString
from uuid import UUID

from broker.authorization_server.consents import withdraw_consents
from broker.authorization_server.errors import OAuthError
from core.audit.event import AuditEventKind
from core.db import Row, UnitOfWork
from core.directory.audit_trail import Actor, audit_change
from core.scopes import format_scopes
from core.word_search import build_word_filter, match_words

GrantSortKey = Literal["created_at", "last_used_at"]

MAX_GRANTS = 50
"""Limit of live grants per person and client; a new one revokes the one that was unused for longest."""
BROKER_ACTOR_NAME = "broker"


@dataclass(frozen=True, slots=True)
class GrantSearch:
    """All words of `text` stand in client or address."""

    text: str = ""
    sort: GrantSortKey = "created_at"
    descending: bool = True


@dataclass(frozen=True, slots=True)
class ClientGrant:
    """Delegation of a person's or machine's access to a client.

    `scopes` are those of the access token at hand. `issuer` is the issuer of the assertion that the grant is based on;
    empty where a person consented or a machine authenticated itself. `authenticated_at` is the time of the person's
    sign-in, where it is known.
    """

    tenant_id: UUID
    user_id: UUID
    id: UUID
    kind: str
    client_id: str
    client_name: str
    scopes: frozenset[str]
    resource: str
    issuer: str = ""
    authenticated_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class GrantEntry:
    """A live grant in a list. `user_email` says whose it is."""

    id: UUID
    user_email: str
    kind: str
    client_id: str
    client_name: str
    scopes: tuple[str, ...]
    created_at: datetime
    last_used_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class ActiveUser:
    """An active user of an active tenant."""

    id: UUID
    email: str
    system_role: str

    def build_actor(self, grant_id: UUID) -> Actor:
        """Build the audit actor of a request that a client makes for its user."""
        return Actor(self.email, self.id, str(grant_id))


async def load_active_user(work: UnitOfWork, user_id: UUID) -> ActiveUser:
    """The user, if they may use MCPist now.

    Raises:
        OAuthError: invalid_grant.
    """
    row = await work.fetchrow(_HOLDER, user_id)
    if row is None:
        raise OAuthError("invalid_grant", "the user or the organisation is suspended; ask an administrator")
    return ActiveUser(user_id, row["email"], row["system_role"])


async def insert_grant(
    work: UnitOfWork,
    holder: ActiveUser,
    grant: ClientGrant,
    now: datetime,
    expires_at: datetime,
    session_id: UUID | None = None,
) -> None:
    """Begin a grant; one of a browser session ends with that."""
    scopes = sorted(grant.scopes)
    client = (grant.client_id, grant.client_name)
    whose = (holder.id, grant.kind, *client)
    because = (grant.resource, grant.issuer, grant.authenticated_at)
    await work.execute(_INSERT, grant.id, now, expires_at, *whose, scopes, *because, session_id)
    detail = {"client": grant.client_id, "by": grant.kind, "scopes": format_scopes(grant.scopes)}
    await audit_change(work, holder.build_actor(grant.id), AuditEventKind.GRANT_CREATED, grant=str(grant.id), **detail)


async def revoke_excess(work: UnitOfWork, holder: ActiveUser, client_id: str, now: datetime) -> None:
    """Make room for one more grant of this person and client."""
    for row in await work.fetch(_CROWDED, holder.id, client_id, now, MAX_GRANTS - 1):
        detail = {"grant": str(row["id"]), "cause": "superseded"}
        await audit_change(work, holder.build_actor(row["id"]), AuditEventKind.GRANT_REVOKED, **detail)


async def lock_grant(
    work: UnitOfWork, grant_id: UUID, client_id: str, now: datetime
) -> tuple[ClientGrant, datetime] | None:
    """A grant of that client which counts now, locked until the transaction ends, and when it expires."""
    row = await work.fetchrow(_LOCK, grant_id, client_id, now)
    return None if row is None else (_build_grant(work.tenant_id, row), row["expires_at"])


async def find_reusable(work: UnitOfWork, grant: ClientGrant, now: datetime, until: datetime) -> UUID | None:
    """A live grant for the same that lives beyond `until`; its use is noted."""
    same = (grant.user_id, grant.kind, grant.client_id, grant.client_name, sorted(grant.scopes))
    grant_id: UUID | None = await work.fetchval(_ALIKE, until, *same, grant.resource, grant.issuer)
    if grant_id is not None:
        await record_use(work, grant_id, now)
    return grant_id


async def record_use(work: UnitOfWork, grant_id: UUID, now: datetime) -> None:
    """Note that a grant is used."""
    await work.execute(_TOUCH, grant_id, now)


async def revoke_grant(
    work: UnitOfWork,
    grant_id: UUID,
    cause: str,
    now: datetime,
    *,
    actor: Actor | None = None,
    user_id: UUID | None = None,
    client_id: str | None = None,
) -> bool:
    """End a grant, if it is live, and if it is that user's and that client's; the client has to ask for consent again.

    Where the client itself asked for it, what the person has agreed to stays.
    """
    row = await work.fetchrow(_END, grant_id, now, cause, user_id, client_id)
    if row is None:
        return False
    if cause != "client":
        await withdraw_consents(work, row["user_id"], row["client_id"])
    by = actor or Actor(BROKER_ACTOR_NAME, row["user_id"], str(grant_id))
    await audit_change(
        work, by, AuditEventKind.GRANT_REVOKED, grant=str(grant_id), cause=cause, client=row["client_id"]
    )
    return True


async def list_grants(work: UnitOfWork, user_id: UUID | None, now: datetime) -> list[GrantEntry]:
    """The live grants of a user, or of the whole tenant, the one used last first; at most 1,000. Those of browser
    sessions are in no list: the session is."""
    return [_build_entry(row) for row in await work.fetch(_LIST, user_id, now)]


async def list_grants_page(
    work: UnitOfWork,
    user_id: UUID | None,
    now: datetime,
    search: GrantSearch,
    after: tuple[datetime, UUID] | None,
    limit: int,
) -> list[GrantEntry]:
    """The live grants of a user, or of all, after the one of that time and id."""
    statement = _PAGES[search.sort, search.descending]
    words = build_word_filter(search.text)
    rows = await work.fetch(statement, user_id, now, *(after or (None, None)), limit, *words)
    return [_build_entry(row) for row in rows]


def _build_grant(tenant_id: UUID, row: Row) -> ClientGrant:
    client, because = (row["client_id"], row["client_name"]), (row["resource"], row["issuer"], row["authenticated_at"])
    return ClientGrant(tenant_id, row["user_id"], row["id"], row["kind"], *client, frozenset(row["scopes"]), *because)


def _build_entry(row: Row) -> GrantEntry:
    grant_id, email, kind, client_id, client_name, scopes, *times = row.values()
    return GrantEntry(grant_id, email, kind, client_id, client_name, tuple(scopes), *times)


_HOLDER = """SELECT u.email, u.system_role FROM core.users u JOIN core.tenants t ON t.tenant_id = u.tenant_id
    WHERE u.tenant_id = $1 AND u.id = $2 AND u.status = 'active' AND t.status = 'active'"""
_INSERT = """INSERT INTO auth.grants (tenant_id, id, created_at, last_used_at, expires_at, user_id, kind, client_id,
    client_name, scopes, resource, issuer, authenticated_at, session_id)
    VALUES ($1, $2, $3, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"""
_CROWDED = """UPDATE auth.grants SET revoked_at = $4, cause = 'superseded' WHERE tenant_id = $1 AND id IN (
    SELECT id FROM auth.grants WHERE tenant_id = $1 AND user_id = $2 AND client_id = $3 AND kind = 'code'
    AND revoked_at IS NULL AND expires_at > $4 ORDER BY last_used_at DESC, id OFFSET $5) RETURNING id"""
_LOCK = """SELECT id, user_id, kind, client_id, client_name, scopes, resource, issuer, authenticated_at,
    expires_at FROM auth.grants
    WHERE tenant_id = $1 AND id = $2 AND client_id = $3 AND revoked_at IS NULL AND expires_at > $4 FOR UPDATE"""
_ALIKE = """SELECT id FROM auth.grants WHERE tenant_id = $1 AND revoked_at IS NULL AND expires_at > $2
    AND user_id = $3 AND kind = $4 AND client_id = $5 AND client_name = $6 AND scopes = $7 AND resource = $8
    AND issuer = $9 ORDER BY expires_at DESC LIMIT 1"""
_TOUCH = """UPDATE auth.grants SET last_used_at = $3::timestamptz WHERE tenant_id = $1 AND id = $2
    AND last_used_at < $3::timestamptz - interval '1 minute'"""
_END = """UPDATE auth.grants SET revoked_at = $3, cause = $4 WHERE tenant_id = $1 AND id = $2 AND revoked_at IS NULL
    AND ($5::uuid IS NULL OR user_id = $5) AND ($6::text IS NULL OR client_id = $6) RETURNING user_id, client_id"""
_LIST = """SELECT g.id, u.email, g.kind, g.client_id, g.client_name, g.scopes, g.created_at, g.last_used_at,
    g.expires_at FROM auth.grants g JOIN core.users u ON u.tenant_id = g.tenant_id AND u.id = g.user_id
    WHERE g.tenant_id = $1 AND ($2::uuid IS NULL OR g.user_id = $2) AND g.revoked_at IS NULL AND g.expires_at > $3
    AND g.session_id IS NULL
    ORDER BY g.last_used_at DESC, g.id LIMIT 1000"""


def _build_page(key: LiteralString, descending: bool) -> LiteralString:
    beyond: LiteralString = "<" if descending else ">"
    direction: LiteralString = "DESC" if descending else "ASC"
    words = match_words("g.client_name || ' ' || g.client_id || ' ' || u.email", "$7", "$8")
    return f"""SELECT g.id, u.email, g.kind, g.client_id, g.client_name, g.scopes, g.created_at, g.last_used_at,
        g.expires_at FROM auth.grants g JOIN core.users u ON u.tenant_id = g.tenant_id AND u.id = g.user_id
        WHERE g.tenant_id = $1 AND ($2::uuid IS NULL OR g.user_id = $2) AND g.revoked_at IS NULL AND g.expires_at > $3
        AND g.session_id IS NULL AND ($4::timestamptz IS NULL OR (g.{key}, g.id) {beyond} ($4, $5::uuid)) AND {words}
        ORDER BY g.{key} {direction}, g.id {direction} LIMIT $6"""  # noqa: S608 our own words


_SORT_KEYS: Sequence[GrantSortKey] = ("created_at", "last_used_at")
_PAGES: Mapping[tuple[GrantSortKey, bool], LiteralString] = {
    (key, descending): _build_page(key, descending) for key in _SORT_KEYS for descending in (False, True)
}
