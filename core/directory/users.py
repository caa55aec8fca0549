"""Users: the people of a tenant, and the roles that they have."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg

from core.audit.event import AuditEventKind
from core.db import Database, Row, UnitOfWork
from core.directory.allow_list import insert_entry
from core.directory.audit_trail import Actor, audit_change
from core.email_address import normalize_address
from core.errors import Conflict, Invalid, NotFound

SYSTEM_ROLES = ("admin", "user")
_STATUS = {"active": AuditEventKind.USER_RESUMED, "suspended": AuditEventKind.USER_SUSPENDED}


@dataclass(frozen=True, slots=True)
class User:
    """A person in a tenant."""

    id: UUID
    email: str
    name: str
    system_role: str
    status: str
    created_at: datetime
    roles: tuple[str, ...]


async def create_user(
    console: Database,
    actor: Actor,
    tenant_id: UUID,
    email: str,
    *,
    name: str = "",
    system_role: str = "user",
    roles: tuple[str, ...] = (),
) -> UUID:
    """Make a user with roles, whom the allow list lets in; the new id.

    Raises:
        Invalid: the e-mail address or the system role has the wrong form.
        NotFound: a role does not exist.
        Conflict: the tenant has this user already.
    """
    email = normalize_email(email)
    if system_role not in SYSTEM_ROLES:
        raise Invalid("a user's system role is admin or user")
    if len(name) > 200:
        raise Invalid("a user's name has at most 200 characters")
    try:
        async with console.tenant(tenant_id) as work:
            user_id: UUID = await work.fetchval(_INSERT, email, name, system_role)
            for role in roles:
                await _insert_assignment(work, user_id, role)
            await insert_entry(work, email)
            await audit_change(
                work, actor, AuditEventKind.USER_CREATED, email=email, system_role=system_role, roles=", ".join(roles)
            )
    except asyncpg.UniqueViolationError:
        raise Conflict(f"there is a user {email} already") from None
    return user_id


async def list_users(console: Database, tenant_id: UUID, *, after: str = "", limit: int = 1000) -> list[User]:
    """The tenant's users by e-mail address, after the address `after`."""
    async with console.tenant(tenant_id) as work:
        return [_to_user(row) for row in await work.fetch(_LIST, after, limit)]


async def find_user(console: Database, tenant_id: UUID, email: str) -> User:
    """The user of that e-mail address.

    Raises:
        NotFound: the tenant has none.
    """
    async with console.tenant(tenant_id) as work:
        row = await work.fetchrow(_FIND, normalize_email(email))
    if row is None:
        raise NotFound(f"there is no user {email}; `mcpist user list` shows them")
    return _to_user(row)


async def set_status(console: Database, actor: Actor, tenant_id: UUID, email: str, status: str) -> None:
    """Suspend a user, who loses all access within a second, or let them in again."""
    if status not in _STATUS:
        raise Invalid("a user's status is active or suspended")
    async with console.tenant(tenant_id) as work:
        sql = "UPDATE core.users SET status = $3 WHERE tenant_id = $1 AND email = $2"
        if not await work.execute(sql, normalize_email(email), status):
            raise NotFound(f"there is no user {email}; `mcpist user list` shows them")
        await audit_change(work, actor, _STATUS[status], email=email)


async def assign_role(console: Database, actor: Actor, tenant_id: UUID, email: str, role: str) -> None:
    """Give a user a role; one that they have already stays."""
    async with console.tenant(tenant_id) as work:
        await _insert_assignment(work, await _find_user_id(work, email), role)
        await audit_change(work, actor, AuditEventKind.ROLE_ASSIGNED, email=email, role=role)


async def unassign_role(console: Database, actor: Actor, tenant_id: UUID, email: str, role: str) -> None:
    """Take a role from a user; one that they do not have is no error."""
    async with console.tenant(tenant_id) as work:
        await work.execute(_UNASSIGN, await _find_user_id(work, email), role)
        await audit_change(work, actor, AuditEventKind.ROLE_UNASSIGNED, email=email, role=role)


def normalize_email(email: str) -> str:
    """The address in the one form that is stored.

    Raises:
        Invalid: it is no address.
    """
    return normalize_address(email)


async def _insert_assignment(work: UnitOfWork, user_id: UUID, role: str) -> None:
    role_id = await work.fetchval("SELECT id FROM core.roles WHERE tenant_id = $1 AND name = $2", role)
    if role_id is None:
        raise NotFound(f"there is no role {role!r}; `mcpist role list` shows them")
    await work.execute(_ASSIGN, user_id, role_id)


async def _find_user_id(work: UnitOfWork, email: str) -> UUID:
    sql = "SELECT id FROM core.users WHERE tenant_id = $1 AND email = $2"
    user_id: UUID | None = await work.fetchval(sql, normalize_email(email))
    if user_id is None:
        raise NotFound(f"there is no user {email}; `mcpist user list` shows them")
    return user_id


def _to_user(row: Row) -> User:
    *columns, roles = row.values()
    return User(*columns, roles=tuple(roles))


_INSERT = "INSERT INTO core.users (tenant_id, email, name, system_role) VALUES ($1, $2, $3, $4) RETURNING id"
_ASSIGN = """INSERT INTO core.role_assignments (tenant_id, user_id, role_id) VALUES ($1, $2, $3)
    ON CONFLICT DO NOTHING"""
_UNASSIGN = """DELETE FROM core.role_assignments a USING core.roles r WHERE a.tenant_id = $1 AND a.user_id = $2
    AND r.tenant_id = a.tenant_id AND r.id = a.role_id AND r.name = $3"""
_FIND = """SELECT u.id, u.email, u.name, u.system_role, u.status, u.created_at,
    array(SELECT r.name FROM core.role_assignments a JOIN core.roles r ON r.tenant_id = a.tenant_id AND r.id = a.role_id
          WHERE a.tenant_id = u.tenant_id AND a.user_id = u.id ORDER BY r.priority DESC, r.name) AS roles
    FROM core.users u WHERE u.tenant_id = $1 AND u.email = $2"""
_LIST = """SELECT u.id, u.email, u.name, u.system_role, u.status, u.created_at,
    array(SELECT r.name FROM core.role_assignments a JOIN core.roles r ON r.tenant_id = a.tenant_id AND r.id = a.role_id
          WHERE a.tenant_id = u.tenant_id AND a.user_id = u.id ORDER BY r.priority DESC, r.name) AS roles
    FROM core.users u WHERE u.tenant_id = $1 AND u.email > $2 ORDER BY u.email LIMIT $3"""
