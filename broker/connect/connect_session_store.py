"""Connect sessions: services that somebody shall connect, with a link and a progress that can be followed."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID, uuid4

import orjson

from broker.connections.available_services import AvailableService, AvailableServices, ConnectSubject, resolve_subject
from broker.connections.connect_methods import ConnectPrincipal
from broker.connections.connection_status import HealthState
from broker.connections.stored_credentials import StoredCredential
from broker.identity.browser_sessions import Session
from broker.identity.random_secrets import hash_of
from broker.vault.credential_store import CredentialOwner
from core.audit.event import AuditEventKind
from core.db import Database, Row, UnitOfWork
from core.directory.audit_trail import Actor, audit_change
from core.errors import Conflict, Invalid, NotFound
from core.secret import Secret

ServiceProgressState = Literal["waiting", "done", "failed"]
ConnectSessionState = Literal["open", "done", "failed", "cancelled", "expired"]


@dataclass(frozen=True, slots=True)
class ConnectSessionRequest:
    """What shall be connected: these modules, or with None all that the person has and that need it. `role_id` is whom
    it is shared with; `again` wants a new connection where there is a good one; `return_path` is a path of ours."""

    modules: Sequence[str] | None = None
    role_id: UUID | None = None
    again: bool = False
    return_path: str = ""


@dataclass(frozen=True, slots=True)
class ServiceProgress:
    """How one module stands. `cause` is a fixed word; `account` is "" until it is done."""

    module: str
    state: ServiceProgressState
    cause: str
    account: str


@dataclass(frozen=True, slots=True)
class ConnectSession:
    """A session and how far it is. It is `failed` when nothing waits and something was tried in vain."""

    id: UUID
    role_id: UUID | None
    role: str
    state: ConnectSessionState
    services: tuple[ServiceProgress, ...]
    return_path: str
    created_at: datetime
    expires_at: datetime

    @property
    def queue(self) -> tuple[ServiceProgress, ...]:
        """The services that the person is led through: those that are set up, or all where none is."""
        ready = tuple(service for service in self.services if service.cause != NOT_SET_UP)
        return ready or self.services

    @property
    def waiting(self) -> tuple[str, ...]:
        """The modules of the queue that are not connected yet, the failed ones too: a person may try once more."""
        return tuple(service.module for service in self.queue if service.state != "done")


def build_progress(
    name: str, credential: StoredCredential | None, before: Mapping[str, int], failures: Mapping[str, str]
) -> ServiceProgress:
    """How far one module is. A refused OAuth client is no progress either: whoever connects now is refused too."""
    if credential is not None and not credential.broken and credential.version != before.get(name):
        if credential.state is HealthState.SERVICE_MISCONFIGURED:
            return ServiceProgress(name, "failed", credential.cause, "")
        return ServiceProgress(name, "done", "", credential.account)
    return ServiceProgress(name, "failed" if name in failures else "waiting", failures.get(name, ""), "")


def derive_session_state(row: Row, services: Sequence[ServiceProgress], now: datetime) -> ConnectSessionState:
    states = {service.state for service in services}
    if states <= {"done"}:
        return "done"
    if row["cancelled_at"] is not None:
        return "cancelled"
    if row["expires_at"] <= now:
        return "expired"
    return "open" if "waiting" in states else "failed"


SESSION_LIFETIME = timedelta(hours=1)
MAX_SESSION_MODULES = 50
MAX_SESSIONS_PER_USER = 50
"""Of one user; of more, the oldest end."""

NOT_SET_UP = "not_set_up"


class ConnectSessionStore:
    """The sessions of all tenants, behind the broker's own database role."""

    def __init__(self, database: Database, services: AvailableServices, *, clock: Callable[[], datetime]) -> None:
        self._database = database
        self._services = services
        self._clock = clock

    async def start(
        self,
        actor: Actor,
        person: ConnectPrincipal,
        session_request: ConnectSessionRequest,
        request_key: str | None = None,
    ) -> tuple[ConnectSession, bool]:
        """Begin one for the person; it, and whether it is new: the same `request_key` gives the same session.

        Raises:
            NotFound: a module, or the role, is none that they could connect.
            Invalid: modules that are to be shared are not named.
            Conflict: that key has begun a session for something else.
        """
        if session_request.modules is None and session_request.role_id is not None:
            raise Invalid("name the services that the role shall share")
        session_id, now = _derive_session_id(person, request_key), self._clock()
        names = (
            await self._list_unconnected_modules(person)
            if session_request.modules is None
            else [*dict.fromkeys(session_request.modules)]
        )
        async with self._database.tenant(person.tenant_id) as work:
            await work.execute(_LOCK, str(session_id))
            if await work.fetchval(_THERE, session_id) is not None:
                return await self._check_same_request(work, person, session_id, session_request), False
            whom = await resolve_subject(work, person, session_request.role_id)
            if whom is None:
                raise NotFound("there is no such service for you")
            failures = await self._find_not_set_up(work, whom, names)
            credentials = await self._services.list_owner_credentials(work, names, whom.owner)
            before = {credential.module: credential.version for credential in credentials if session_request.again}
            await work.execute(_CROWDED, person.user_id, MAX_SESSIONS_PER_USER - 1)
            columns = (
                session_id,
                person.user_id,
                session_request.role_id,
                names,
                _encode_json(before),
                _encode_json(failures),
            )
            await work.execute(_INSERT, *columns, session_request.return_path, now, now + SESSION_LIFETIME)
            whose = (
                {"user": str(person.user_id)}
                if session_request.role_id is None
                else {"role": str(session_request.role_id)}
            )
            detail = {"session": str(session_id), "modules": " ".join(names)[:500], **whose}
            await audit_change(work, actor, AuditEventKind.CONNECT_STARTED, **detail)
            return await self._load_session(work, person.user_id, session_id), True

    async def find(self, tenant_id: UUID, user_id: UUID, session_id: UUID) -> ConnectSession:
        """One of a user's own.

        Raises:
            NotFound: they have none of that id.
        """
        async with self._database.tenant(tenant_id) as work:
            return await self._load_session(work, user_id, session_id)

    async def list_page(
        self, tenant_id: UUID, user_id: UUID, after: tuple[datetime, UUID] | None, limit: int
    ) -> list[ConnectSession]:
        """A user's own, the newest first, behind `after`."""
        async with self._database.tenant(tenant_id) as work:
            rows = await work.fetch(_LIST, user_id, *(after or (None, None)), limit)
            return [await self._build_session(work, row) for row in rows]

    async def cancel(self, actor: Actor, tenant_id: UUID, user_id: UUID, session_id: UUID) -> None:
        """End one of a user's own; what was connected by then stays. One that is over already is no error.

        Raises:
            NotFound: they have none of that id.
        """
        async with self._database.tenant(tenant_id) as work:
            if await work.execute(_CANCEL, session_id, user_id, self._clock()):
                await audit_change(
                    work, actor, AuditEventKind.CONNECT_CANCELLED, session=str(session_id), user=str(user_id)
                )
            else:
                await self._load_session(work, user_id, session_id)

    async def record_failure(
        self, session: Session, cause: str, *, state: str | None = None, flow_id: UUID | None = None
    ) -> None:
        """Note for the person's open sessions that a flow of this browser, named by its state or its id, has brought
        nothing."""
        hashed = None if state is None else hash_of(Secret(state))
        async with self._database.tenant(session.tenant_id) as work:
            await work.execute(_NOTE, session.user_id, session.id, hashed, flow_id, cause[:40], self._clock())

    async def _check_same_request(
        self, work: UnitOfWork, person: ConnectPrincipal, session_id: UUID, session_request: ConnectSessionRequest
    ) -> ConnectSession:
        connect_session = await self._load_session(work, person.user_id, session_id)
        modules = None if session_request.modules is None else list(dict.fromkeys(session_request.modules))
        there = [service.module for service in connect_session.services]
        if (connect_session.role_id, connect_session.return_path) != (
            session_request.role_id,
            session_request.return_path,
        ) or modules not in (None, there):
            raise Conflict("this Idempotency-Key has begun a connect session for something else; choose a new one")
        return connect_session

    async def _list_unconnected_modules(self, person: ConnectPrincipal) -> list[str]:
        """The person's modules that nothing counts for, or something broken."""
        services = await self._services.list_for_person(person)
        needing = (
            service.required_tools.module.name
            for service in services
            if service.effective is None or service.effective.broken
        )
        return list(needing)[:MAX_SESSION_MODULES]

    async def _find_not_set_up(self, work: UnitOfWork, whom: ConnectSubject, names: Sequence[str]) -> dict[str, str]:
        """Those of the modules that nobody can connect, because no OAuth client is registered.

        Raises:
            NotFound: one does not exist for them.
        """
        reasons: dict[str, str] = {}
        for name in names:
            service: AvailableService | None = await self._services.find_for_subject(work, whom, name)
            if service is None:
                raise NotFound("there is no such service for you")
            if not service.methods:
                reasons[name] = NOT_SET_UP
        return reasons

    async def _load_session(self, work: UnitOfWork, user_id: UUID, session_id: UUID) -> ConnectSession:
        row = await work.fetchrow(_FIND, session_id, user_id)
        if row is None:
            raise NotFound("there is no such connect session")
        return await self._build_session(work, row)

    async def _build_session(self, work: UnitOfWork, row: Row) -> ConnectSession:
        shared = row["role_id"] is not None
        owner = CredentialOwner("shared", row["role_id"]) if shared else CredentialOwner("personal", row["user_id"])
        credentials = await self._services.list_owner_credentials(work, row["modules"], owner)
        by_module = {credential.module: credential for credential in credentials}
        before, failures = orjson.loads(row["before"]), orjson.loads(row["failures"])
        services = tuple(build_progress(name, by_module.get(name), before, failures) for name in row["modules"])
        return ConnectSession(
            id=row["id"],
            role_id=row["role_id"],
            role=row["role"],
            state=derive_session_state(row, services, self._clock()),
            services=services,
            return_path=row["return_path"],
            created_at=row["created_at"],
            expires_at=row["expires_at"],
        )


def _derive_session_id(person: ConnectPrincipal, request_key: str | None) -> UUID:
    """Nobody but this person can have a session of this id."""
    if request_key is None:
        return uuid4()
    text = f"{person.tenant_id} {person.user_id} connect {request_key}"
    return UUID(bytes=hashlib.sha256(text.encode()).digest()[:16], version=4)


def _encode_json(value: Mapping[str, Any]) -> str:
    return orjson.dumps(value).decode()


_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('vault.connect_sessions ' || $1::uuid || $2, 0))"
_THERE = "SELECT true FROM vault.connect_sessions WHERE tenant_id = $1 AND id = $2"
_CROWDED = """DELETE FROM vault.connect_sessions WHERE tenant_id = $1 AND id IN (
    SELECT id FROM vault.connect_sessions WHERE tenant_id = $1 AND user_id = $2
    ORDER BY created_at DESC, id OFFSET $3)"""
_INSERT = """INSERT INTO vault.connect_sessions (tenant_id, id, user_id, role_id, modules, before, failures,
    return_path, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6::jsonb, $7::jsonb, $8, $9, $10)"""
_FIND = """SELECT s.id, s.user_id, s.role_id, coalesce(r.name, '') AS role, s.modules, s.before, s.failures,
    s.return_path, s.created_at, s.expires_at, s.cancelled_at
    FROM vault.connect_sessions s LEFT JOIN core.roles r ON r.tenant_id = s.tenant_id AND r.id = s.role_id
    WHERE s.tenant_id = $1 AND s.id = $2 AND s.user_id = $3"""
_LIST = """SELECT s.id, s.user_id, s.role_id, coalesce(r.name, '') AS role, s.modules, s.before, s.failures,
    s.return_path, s.created_at, s.expires_at, s.cancelled_at
    FROM vault.connect_sessions s LEFT JOIN core.roles r ON r.tenant_id = s.tenant_id AND r.id = s.role_id
    WHERE s.tenant_id = $1 AND s.user_id = $2
    AND ($3::timestamptz IS NULL OR (s.created_at, s.id) < ($3, $4::uuid))
    ORDER BY s.created_at DESC, s.id DESC LIMIT $5"""
_CANCEL = """UPDATE vault.connect_sessions SET cancelled_at = $4
    WHERE tenant_id = $1 AND id = $2 AND user_id = $3 AND cancelled_at IS NULL AND expires_at > $4"""
_NOTE = """UPDATE vault.connect_sessions s SET failures = failures || (
        SELECT jsonb_object_agg(m, $6::text) FROM unnest(s.modules) m WHERE m = ANY (f.modules))
    FROM vault.connect_flows f
    WHERE s.tenant_id = $1 AND f.tenant_id = $1 AND f.user_id = $2 AND f.session_id = $3
    AND (f.state_hash = $4 OR f.id = $5) AND s.user_id = f.user_id AND s.role_id IS NOT DISTINCT FROM f.role_id
    AND s.modules && f.modules AND s.cancelled_at IS NULL AND s.expires_at > $7"""
