"""Browser sessions: begun at sign-in with a new id, looked up at every request, ended on the server.

A session lives for as long as its user and its tenant are active, at most 12 hours, and 30 minutes after its last use
(threat-model.md §2 row 35).
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from broker.identity.browser_names import get_browser_name
from broker.identity.random_secrets import hash_of, new_secret
from core.audit.event import AuditEventKind
from core.db import Database, Row, UnitOfWork
from core.directory.audit_trail import Actor, audit_change
from core.errors import NotFound
from core.secret import Secret

IDLE_TIMEOUT = timedelta(minutes=30)
ABSOLUTE_TIMEOUT = timedelta(hours=12)
RECENT_SIGN_IN = timedelta(minutes=10)
"""How young a sign-in must be for what only the person themselves may do."""
MAX_SESSIONS = 50
MAX_ADDRESS_LENGTH, MAX_USER_AGENT_LENGTH = 100, 300


@dataclass(frozen=True, slots=True)
class Session:
    """A signed-in browser. `system_role` is what the user is now, not what they were at sign-in."""

    id: UUID
    tenant_id: UUID
    tenant_name: str
    user_id: UUID
    email: str
    name: str
    system_role: str
    method: str
    created_at: datetime
    authenticated_at: datetime
    expires_at: datetime

    def is_fresh(self, now: datetime) -> bool:
        """Check whether the person has signed in within the last ten minutes."""
        return now - self.authenticated_at < RECENT_SIGN_IN

    @property
    def actor(self) -> Actor:
        """Build the audit actor of administrative actions in this session."""
        return Actor(self.email, self.user_id, str(self.id))


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """A live session in its user's own list."""

    id: UUID
    method: str
    address: str
    user_agent: str
    created_at: datetime
    last_seen_at: datetime
    expires_at: datetime

    @property
    def browser(self) -> str:
        """Browser and system by name, such as ``Firefox, Windows``; empty where it does not say."""
        return get_browser_name(self.user_agent)

    @property
    def idle_expires_at(self) -> datetime:
        """When it ends if it is not used any more."""
        return min(self.last_seen_at + IDLE_TIMEOUT, self.expires_at)


class Sessions:
    """The sessions of all tenants, behind the broker's own database role."""

    def __init__(self, database: Database, *, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._clock = clock

    async def begin(
        self, tenant_id: UUID, user_id: UUID, method: str, address: str = "", user_agent: str = ""
    ) -> Secret:
        """Begin a session for a user who has just proved who they are; what the cookie holds. Recorded as a sign-in.

        `method` is a provider's id, or "link". Of more than 50 sessions of one user, the oldest end.

        Raises:
            NotFound: the user is not, or not any more, an active one of an active tenant.
        """
        async with self._database.tenant(tenant_id) as work:
            return await self.begin_in_transaction(work, user_id, method, address, user_agent)

    async def begin_in_transaction(
        self, work: UnitOfWork, user_id: UUID, method: str, address: str = "", user_agent: str = ""
    ) -> Secret:
        """Like :meth:`begin`, in the transaction that uses up what the person proved themselves with."""
        secret, now = new_secret(), self._clock()
        email = await work.fetchval(_ACTIVE, user_id)
        if email is None:
            raise NotFound("this user is suspended or was deleted; ask an administrator")
        await work.execute(_CROWDED, user_id, now, MAX_SESSIONS - 1)
        session_id = await work.fetchval(
            _INSERT,
            user_id,
            hash_of(secret),
            method,
            now,
            now + ABSOLUTE_TIMEOUT,
            _truncate(address, MAX_ADDRESS_LENGTH),
            _truncate(user_agent, MAX_USER_AGENT_LENGTH),
        )
        await audit_change(
            work, Actor(email, user_id, str(session_id)), AuditEventKind.SIGN_IN, method=method, address=address
        )
        return secret

    async def find(self, secret: Secret, *, is_use: bool = True) -> Session | None:
        """The live session that a cookie names; its last use is noted, to the minute, if this `is_use`.

        Raises:
            core.errors.Unavailable: the database is away.
        """
        hashed = hash_of(secret)
        if hashed is None:
            return None
        now = self._clock()
        rows = await self._database.lookup("lookup_session", hashed.hex(), "SELECT tenant_id FROM auth.sessions")
        if not rows:
            return None
        async with self._database.tenant(rows[0]["tenant_id"]) as work:
            row = await work.fetchrow(_LIVE, hashed, now, now - IDLE_TIMEOUT)
            if row is None:
                return None
            if is_use and row["last_seen_at"] < now - timedelta(minutes=1):
                await work.execute(_SEEN, row["id"], now)
            return _build_session(row)

    async def list(self, tenant_id: UUID, user_id: UUID) -> list[SessionEntry]:
        """A user's live sessions, the one used last first."""
        now = self._clock()
        async with self._database.tenant(tenant_id) as work:
            return [SessionEntry(*row.values()) for row in await work.fetch(_LIST, user_id, now, now - IDLE_TIMEOUT)]

    async def list_page(
        self, tenant_id: UUID, user_id: UUID, after: tuple[datetime, UUID] | None, limit: int
    ) -> "list[SessionEntry]":
        """A user's live sessions, the newest first, after the one of that time and id."""
        now = self._clock()
        async with self._database.tenant(tenant_id) as work:
            rows = await work.fetch(_PAGE, user_id, now, now - IDLE_TIMEOUT, *(after or (None, None)), limit)
            return [SessionEntry(*row.values()) for row in rows]

    async def end(self, actor: Actor, tenant_id: UUID, session_id: UUID, *, user_id: UUID | None = None) -> None:
        """End a session at once; with `user_id`, only one of that user's.

        Raises:
            NotFound: there is no such live session.
        """
        async with self._database.tenant(tenant_id) as work:
            if not await self._end(work, actor, user_id, session_id, None):
                raise NotFound("this session does not exist or has ended")

    async def end_all(self, actor: Actor, tenant_id: UUID, user_id: UUID, *, but: UUID | None = None) -> int:
        """End all of a user's sessions, but one if that is named; how many there were."""
        async with self._database.tenant(tenant_id) as work:
            return await self._end(work, actor, user_id, None, but)

    async def _end(
        self, work: UnitOfWork, actor: Actor, user_id: UUID | None, session_id: UUID | None, but: UUID | None
    ) -> int:
        ended = await work.fetch(_END, self._clock(), user_id, session_id, but)
        for row in ended:
            detail = {"session": str(row["id"]), "user": str(row["user_id"])}
            await audit_change(work, actor, AuditEventKind.SESSION_ENDED, **detail)
        return len(ended)


_ACTIVE = """SELECT u.email FROM core.users u JOIN core.tenants t ON t.tenant_id = u.tenant_id
    WHERE u.tenant_id = $1 AND u.id = $2 AND u.status = 'active' AND t.status = 'active'"""
_INSERT = """INSERT INTO auth.sessions (tenant_id, user_id, secret_hash, method, created_at, authenticated_at,
    last_seen_at, expires_at, address, user_agent) VALUES ($1, $2, $3, $4, $5, $5, $5, $6, $7, $8) RETURNING id"""
_CROWDED = """UPDATE auth.sessions SET ended_at = $3 WHERE tenant_id = $1 AND ended_at IS NULL AND id IN (
    SELECT id FROM auth.sessions WHERE tenant_id = $1 AND user_id = $2 AND ended_at IS NULL AND expires_at > $3
    ORDER BY created_at DESC OFFSET $4)"""
_LIVE = """SELECT s.id, s.tenant_id, t.name AS tenant_name, s.user_id, u.email, u.name, u.system_role, s.method,
    s.created_at, s.authenticated_at, s.expires_at, s.last_seen_at
    FROM auth.sessions s
    JOIN core.users u ON u.tenant_id = s.tenant_id AND u.id = s.user_id
    JOIN core.tenants t ON t.tenant_id = s.tenant_id
    WHERE s.tenant_id = $1 AND s.secret_hash = $2 AND s.ended_at IS NULL AND s.expires_at > $3 AND s.last_seen_at > $4
    AND u.status = 'active' AND t.status = 'active'"""
_SEEN = "UPDATE auth.sessions SET last_seen_at = $3 WHERE tenant_id = $1 AND id = $2"
_LIST = """SELECT id, method, address, user_agent, created_at, last_seen_at, expires_at FROM auth.sessions
    WHERE tenant_id = $1 AND user_id = $2 AND ended_at IS NULL AND expires_at > $3 AND last_seen_at > $4
    ORDER BY last_seen_at DESC, id"""
_PAGE = """SELECT id, method, address, user_agent, created_at, last_seen_at, expires_at FROM auth.sessions
    WHERE tenant_id = $1 AND user_id = $2 AND ended_at IS NULL AND expires_at > $3 AND last_seen_at > $4
    AND ($5::timestamptz IS NULL OR (created_at, id) < ($5, $6::uuid)) ORDER BY created_at DESC, id DESC LIMIT $7"""
_END = """UPDATE auth.sessions SET ended_at = $2 WHERE tenant_id = $1 AND ended_at IS NULL AND expires_at > $2
    AND ($3::uuid IS NULL OR user_id = $3) AND ($4::uuid IS NULL OR id = $4) AND ($5::uuid IS NULL OR id <> $5)
    RETURNING id, user_id"""


def _build_session(row: Row) -> Session:
    *columns, _ = row.values()
    return Session(*columns)  # unit-of-work: a browser's session, not a database's


def _truncate(text: str, most: int) -> str:
    """At most `most` characters, and none that PostgreSQL or a terminal cannot show."""
    return "".join(sign if sign.isprintable() else " " for sign in text[:most])
