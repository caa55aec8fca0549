"""Requests of people for tools that they may not use, and what administrators decide about them."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from core.audit.event import AuditEventKind
from core.db import Database, Row, UnitOfWork
from core.directory.audit_trail import Actor, audit_change
from core.directory.roles import allow_permission
from core.directory.users import assign_role_in_transaction
from core.errors import Conflict, Invalid, NotFound
from core.permissions import Role
from core.policy_loader import load_roles
from core.word_search import build_word_filter, match_words

MAX_OPEN_REQUESTS = 20
"""Of one person at a time."""
MAX_KEPT_REQUESTS = 200
"""Of one person, open and decided; the oldest decided ones go."""
MAX_TEXT_LENGTH = 500
STATES = ("open", "approved", "declined", "withdrawn")
PageKey = tuple[datetime, UUID]


@dataclass(frozen=True, slots=True)
class AccessRequest:
    """A person asks for a tool, or with an empty `tool` for a whole module. `role` is the name of the one that it was
    approved into; `decided_by` names the administrator.
    """

    id: UUID
    user_id: UUID
    email: str
    module: str
    tool: str
    message: str
    state: str
    created_at: datetime
    decided_at: datetime | None
    decided_by: str
    role: str
    reason: str

    @property
    def permission(self) -> str:
        """The permission that covers exactly what is asked for."""
        return f"{self.module}.{self.tool or '*'}"


async def create_request(
    console: Database, actor: Actor, tenant_id: UUID, user_id: UUID, module: str, tool: str, message: str
) -> tuple[AccessRequest, bool]:
    """Ask for a tool; the request, and whether it is new: one that is open already stays as it is. The caller has made
    sure that the tool exists and that the tenant accepts requests.

    Raises:
        Invalid: the message is too long.
        NotFound: there is no such user.
        Conflict: the person has too many open requests.
    """
    if len(message) > MAX_TEXT_LENGTH:
        raise Invalid(f"a message has at most {MAX_TEXT_LENGTH} characters")
    async with console.tenant(tenant_id) as work:
        if await work.fetchrow(_LOCK_USER, user_id) is None:
            raise NotFound("there is no user of this id")
        if (existing := await work.fetchrow(_FIND_OPEN, user_id, module, tool)) is not None:
            return _build_request(existing), False
        if await work.fetchval(_COUNT_OPEN, user_id) >= MAX_OPEN_REQUESTS:
            raise Conflict(f"you have {MAX_OPEN_REQUESTS} open requests; withdraw one, or wait for an answer")
        await work.execute(_FORGET_OLDEST, user_id, MAX_KEPT_REQUESTS - 1)
        request_id: UUID = await work.fetchval(_INSERT, user_id, module, tool, message)
        await audit_change(
            work, actor, AuditEventKind.ACCESS_REQUESTED, request=str(request_id), module=module, tool=tool
        )
        return await _fetch_request(work, request_id), True


async def list_requests(
    console: Database,
    tenant_id: UUID,
    *,
    user_id: UUID | None = None,
    state: str | None = None,
    words: str = "",
    oldest_first: bool = False,
    after: PageKey | None = None,
    limit: int = 50,
) -> list[AccessRequest]:
    """List requests, of one user or all, newest first or oldest first, after the one of that time and id. `words` are
    in the person's name or address, or in what is asked for."""
    page = _OLDEST_PAGE if oldest_first else _NEWEST_PAGE
    async with console.tenant(tenant_id) as work:
        rows = await work.fetch(page, user_id, state, *(after or (None, None)), limit, *build_word_filter(words))
    return [_build_request(row) for row in rows]


async def get_request(
    console: Database, tenant_id: UUID, request_id: UUID, *, user_id: UUID | None = None
) -> AccessRequest:
    """Return a request; with `user_id` only one of that user.

    Raises:
        NotFound: there is none.
    """
    async with console.tenant(tenant_id) as work:
        request = await _fetch_request(work, request_id)
    if user_id not in (None, request.user_id):
        raise NotFound("there is no request of this id")
    return request


async def withdraw_request(console: Database, actor: Actor, tenant_id: UUID, request_id: UUID, user_id: UUID) -> None:
    """Withdraw an open request of the user's own.

    Raises:
        NotFound: the user has none of that id.
        Conflict: it is decided already.
    """
    async with console.tenant(tenant_id) as work:
        request = await _lock_open_request(work, request_id, user_id)
        await work.execute(_DECIDE, request.id, "withdrawn", actor.name, "", "")
        await audit_change(work, actor, AuditEventKind.ACCESS_REQUEST_WITHDRAWN, request=str(request_id))


async def approve_request(
    console: Database,
    actor: Actor,
    tenant_id: UUID,
    request_id: UUID,
    role_id: UUID,
    *,
    permits: Callable[[Role, AccessRequest], bool],
    allow: bool = False,
) -> AccessRequest:
    """Give the person the role, all or nothing; with `allow` the role is allowed what was asked for first, if it is
    not yet. `permits` tells whether a role permits it.

    Raises:
        NotFound: there is no such request, or no such role.
        Conflict: it is decided already, or the role does not permit what was asked for.
    """
    async with console.tenant(tenant_id) as work:
        request = await _lock_open_request(work, request_id, None)
        role = await _load_role(work, role_id)
        if not permits(role, request) and allow:
            await allow_permission(work, actor, role_id, request.permission)
            role = await _load_role(work, role_id)
        if not permits(role, request):
            raise Conflict(
                "this role does not permit what is asked for; choose another one, or send allow to change the role"
            )
        await assign_role_in_transaction(work, actor, request.user_id, role_id)
        await work.execute(_DECIDE, request_id, "approved", actor.name, role.name, "")
        await audit_change(
            work,
            actor,
            AuditEventKind.ACCESS_REQUEST_APPROVED,
            request=str(request_id),
            email=request.email,
            permission=request.permission,
            role=role.name,
        )
        return await _fetch_request(work, request_id)


async def decline_request(
    console: Database, actor: Actor, tenant_id: UUID, request_id: UUID, reason: str
) -> AccessRequest:
    """Decline an open request, for a reason that the person reads.

    Raises:
        NotFound: there is no such request.
        Conflict: it is decided already.
        Invalid: the reason is too long.
    """
    if len(reason) > MAX_TEXT_LENGTH:
        raise Invalid(f"a reason has at most {MAX_TEXT_LENGTH} characters")
    async with console.tenant(tenant_id) as work:
        request = await _lock_open_request(work, request_id, None)
        await work.execute(_DECIDE, request_id, "declined", actor.name, "", reason)
        await audit_change(
            work,
            actor,
            AuditEventKind.ACCESS_REQUEST_DECLINED,
            request=str(request_id),
            email=request.email,
            permission=request.permission,
            reason=reason,
        )
        return await _fetch_request(work, request_id)


async def reopen_request(console: Database, actor: Actor, tenant_id: UUID, request_id: UUID) -> AccessRequest:
    """Take back the decision of an administrator: the request is open again. A role that the person got stays theirs.

    Raises:
        NotFound: there is no such request.
        Conflict: it is open or withdrawn, or the person has asked for the same again.
    """
    async with console.tenant(tenant_id) as work:
        request = await _fetch_request(work, request_id)
        await work.fetchrow(_LOCK_USER, request.user_id)  # as whoever asks does
        request = await _fetch_request(work, request_id)
        if request.state not in ("approved", "declined"):
            raise Conflict(f"this request is {request.state}; only a decision of an administrator is taken back")
        if await work.fetchrow(_FIND_OPEN, request.user_id, request.module, request.tool) is not None:
            raise Conflict("the person has asked for the same again; decide that request")
        await work.execute(_REOPEN, request_id)
        await audit_change(
            work,
            actor,
            AuditEventKind.ACCESS_REQUEST_REOPENED,
            request=str(request_id),
            email=request.email,
            permission=request.permission,
        )
        return await _fetch_request(work, request_id)


async def _load_role(work: UnitOfWork, role_id: UUID) -> Role:
    for _, role in await load_roles(work, role_id):
        return role
    raise NotFound("there is no role of this id")


async def _lock_open_request(work: UnitOfWork, request_id: UUID, user_id: UUID | None) -> AccessRequest:
    row = await work.fetchrow(_LOCK, request_id)
    if row is None or user_id not in (None, row["user_id"]):
        raise NotFound("there is no request of this id")
    if row["state"] != "open":
        raise Conflict(f"this request is {row['state']} already")
    return _build_request(row)


async def _fetch_request(work: UnitOfWork, request_id: UUID) -> AccessRequest:
    row = await work.fetchrow(_GET, request_id)
    if row is None:
        raise NotFound("there is no request of this id")
    return _build_request(row)


def _build_request(row: Row) -> AccessRequest:
    return AccessRequest(*row.values())


_COLUMNS = """SELECT r.id, r.user_id, u.email, r.module, r.tool, r.message, r.state, r.created_at, r.decided_at,
    r.decided_by, r.role, r.reason
    FROM core.access_requests r JOIN core.users u ON u.tenant_id = r.tenant_id AND u.id = r.user_id """
_GET = _COLUMNS + "WHERE r.tenant_id = $1 AND r.id = $2"
_LOCK = _GET + " FOR UPDATE OF r"
_FIND_OPEN = (
    _COLUMNS + "WHERE r.tenant_id = $1 AND r.user_id = $2 AND r.module = $3 AND r.tool = $4 AND r.state = 'open'"
)
_MATCHING = (
    _COLUMNS
    + """WHERE r.tenant_id = $1 AND ($2::uuid IS NULL OR r.user_id = $2) AND ($3::text IS NULL OR r.state = $3)
    AND """
    + match_words("concat_ws(' ', u.name, u.email, r.module, r.tool)", "$7", "$8")
)
_NEWEST_PAGE = (
    _MATCHING
    + """ AND ($4::timestamptz IS NULL OR (r.created_at, r.id) < ($4, $5::uuid))
    ORDER BY r.created_at DESC, r.id DESC LIMIT $6"""
)
_OLDEST_PAGE = (
    _MATCHING
    + """ AND ($4::timestamptz IS NULL OR (r.created_at, r.id) > ($4, $5::uuid))
    ORDER BY r.created_at, r.id LIMIT $6"""
)
_LOCK_USER = "SELECT id FROM core.users WHERE tenant_id = $1 AND id = $2 FOR UPDATE"
_COUNT_OPEN = "SELECT count(*) FROM core.access_requests WHERE tenant_id = $1 AND user_id = $2 AND state = 'open'"
_FORGET_OLDEST = """DELETE FROM core.access_requests WHERE tenant_id = $1 AND user_id = $2 AND state <> 'open'
    AND id NOT IN (SELECT k.id FROM core.access_requests k WHERE k.tenant_id = $1 AND k.user_id = $2
        ORDER BY k.state <> 'open', k.created_at DESC, k.id LIMIT $3)"""
_INSERT = """INSERT INTO core.access_requests (tenant_id, user_id, module, tool, message) VALUES ($1, $2, $3, $4, $5)
    RETURNING id"""
_REOPEN = """UPDATE core.access_requests
    SET state = 'open', decided_at = NULL, decided_by = '', role = '', reason = ''
    WHERE tenant_id = $1 AND id = $2 AND state <> 'open'"""
_DECIDE = """UPDATE core.access_requests
    SET state = $3, decided_at = now(), decided_by = $4, role = $5, reason = $6 WHERE tenant_id = $1 AND id = $2"""
