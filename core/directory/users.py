"""Users: the people of a tenant, and the roles that they have. A tenant's last active administrator stays one."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import asyncpg

from core.audit.event import AuditEventKind
from core.db import Database, Row, UnitOfWork
from core.directory.account_revocation import AccountRevoker, RevocationResult, revoke_nothing
from core.directory.allow_list import insert_entry
from core.directory.audit_trail import Actor, audit_change
from core.directory.versions import lock_version, record_change
from core.email_address import normalize_address
from core.errors import Conflict, Invalid, NotFound

SYSTEM_ROLES = ("admin", "user")
STATUSES = ("active", "suspended")
_STATUS_KINDS = {"active": AuditEventKind.USER_RESUMED, "suspended": AuditEventKind.USER_SUSPENDED}


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
    """List the tenant's users by e-mail address, after the address `after`."""
    async with console.tenant(tenant_id) as work:
        return [_to_user(row) for row in await work.fetch(_LIST, after, limit)]


async def fetch_users(work: UnitOfWork, user_ids: Sequence[UUID]) -> list[User]:
    """Return those of these users that the tenant has, in this order."""
    return [_to_user(row) for row in await work.fetch(_BY_IDS, user_ids)]


async def find_user(console: Database, tenant_id: UUID, email: str) -> User:
    """Find the user of that e-mail address.

    Raises:
        NotFound: the tenant has none.
    """
    async with console.tenant(tenant_id) as work:
        row = await work.fetchrow(_FIND, normalize_email(email))
    if row is None:
        raise NotFound(f"there is no user {email}; `mcpist user list` shows them")
    return _to_user(row)


async def get_user(console: Database, tenant_id: UUID, user_id: UUID) -> User:
    """Return the user of that id.

    Raises:
        NotFound: the tenant has none.
    """
    async with console.tenant(tenant_id) as work:
        return await _fetch_user(work, user_id)


async def change_user(
    console: Database,
    actor: Actor,
    tenant_id: UUID,
    user_id: UUID,
    *,
    name: str | None = None,
    system_role: str | None = None,
    status: str | None = None,
    expected_version: int | None = None,
) -> User:
    """Change what is not None; the user as they are now. Whoever is suspended loses all access within a second.

    Raises:
        NotFound: the tenant has no such user.
        Invalid: a value has the wrong form.
        Conflict: the tenant would be left without an active administrator.
        VersionConflict: the user's version is not the expected one.
    """
    _validate_changes(name, system_role, status)
    async with console.tenant(tenant_id) as work:
        await _fetch_user(work, user_id)
        await lock_version(work, "user", str(user_id), expected_version)
        administrators = await _lock_administrators(work)
        before = await _fetch_user(work, user_id)
        requested = (before.name if name is None else name, system_role or before.system_role, status or before.status)
        if user_id in administrators and requested[1:] != ("admin", "active"):
            _check_administrator_remains(administrators)
        if requested != (before.name, before.system_role, before.status):
            await record_change(work, actor, "user", str(user_id))
        await work.execute(_CHANGE, user_id, *requested)
        await _audit_user_change(work, actor, before, *requested)
        return await _fetch_user(work, user_id)


async def remove_user(
    console: Database, actor: Actor, tenant_id: UUID, user_id: UUID, revoke_accounts: AccountRevoker = revoke_nothing
) -> Sequence[RevocationResult]:
    """Delete a user and all that is theirs: roles, tokens, sessions, connected accounts, notes. The audit log stays.
    `revoke_accounts` runs first; its results are returned.

    Their own entry of the allow list is deleted too, or they could sign in again; one of their whole domain stays.

    Raises:
        NotFound: the tenant has no such user.
        Conflict: they are the tenant's last active administrator.
    """
    async with console.tenant(tenant_id) as work:
        await _check_removable(work, user_id)
    results = await revoke_accounts(actor, tenant_id, user_id=user_id)
    async with console.tenant(tenant_id) as work:
        user = await _check_removable(work, user_id)
        await work.execute("DELETE FROM core.users WHERE tenant_id = $1 AND id = $2", user_id)
        await work.execute("DELETE FROM core.allow_list WHERE tenant_id = $1 AND entry = $2", user.email)
        await audit_change(work, actor, AuditEventKind.USER_REMOVED, user=str(user_id), email=user.email)
    return results


async def assign_role(console: Database, actor: Actor, tenant_id: UUID, user_id: UUID, role_id: UUID) -> None:
    """Give a user a role by hand; one that they have already stays, and a sign-in takes it away no more.

    Raises:
        NotFound: the tenant has no such user, or no such role.
    """
    async with console.tenant(tenant_id) as work:
        await assign_role_in_transaction(work, actor, user_id, role_id)


async def assign_role_in_transaction(work: UnitOfWork, actor: Actor, user_id: UUID, role_id: UUID) -> None:
    """Do what :func:`assign_role` does, together with other changes."""
    user, role = await _fetch_user(work, user_id), await _fetch_role_name(work, role_id)
    if await work.execute(_ASSIGN, user_id, role_id):
        await record_change(work, actor, "user", str(user_id))
        await audit_change(work, actor, AuditEventKind.ROLE_ASSIGNED, email=user.email, role=role)


async def unassign_role(console: Database, actor: Actor, tenant_id: UUID, user_id: UUID, role_id: UUID) -> None:
    """Take a role from a user, wherever they have it from; one that they do not have is no error. A mapping may give it
    again at the next sign-in.

    Raises:
        NotFound: the tenant has no such user, or no such role.
    """
    async with console.tenant(tenant_id) as work:
        user, role = await _fetch_user(work, user_id), await _fetch_role_name(work, role_id)
        if await work.execute(_UNASSIGN, user_id, role_id):
            await record_change(work, actor, "user", str(user_id))
            await audit_change(work, actor, AuditEventKind.ROLE_UNASSIGNED, email=user.email, role=role)


def normalize_email(email: str) -> str:
    """Normalize the address to the one form that is stored.

    Raises:
        Invalid: it is no address.
    """
    return normalize_address(email)


def _validate_changes(name: str | None, system_role: str | None, status: str | None) -> None:
    if name is not None and len(name) > 200:
        raise Invalid("a user's name has at most 200 characters")
    if system_role is not None and system_role not in SYSTEM_ROLES:
        raise Invalid("a user's system role is admin or user")
    if status is not None and status not in STATUSES:
        raise Invalid("a user's status is active or suspended")


async def _lock_administrators(work: UnitOfWork) -> set[UUID]:
    """Lock and return the active administrators: two who demote each other at the same time must not both succeed."""
    return {row["id"] for row in await work.fetch(_LOCK_ADMINISTRATORS)}


async def _check_removable(work: UnitOfWork, user_id: UUID) -> User:
    administrators = await _lock_administrators(work)
    user = await _fetch_user(work, user_id)
    if user_id in administrators:
        _check_administrator_remains(administrators)
    return user


def _check_administrator_remains(administrators: set[UUID]) -> None:
    if len(administrators) == 1:
        raise Conflict("this is the tenant's last active administrator; make another user an administrator first")


async def _audit_user_change(
    work: UnitOfWork, actor: Actor, before: User, name: str, system_role: str, status: str
) -> None:
    if status != before.status:
        await audit_change(work, actor, _STATUS_KINDS[status], email=before.email)
    fields = {"name": (before.name, name), "system_role": (before.system_role, system_role)}
    detail = {field: new for field, (old, new) in fields.items() if old != new}
    if detail:
        await audit_change(work, actor, AuditEventKind.USER_CHANGED, email=before.email, **detail)


async def _fetch_user(work: UnitOfWork, user_id: UUID) -> User:
    row = await work.fetchrow(_GET, user_id)
    if row is None:
        raise NotFound("there is no user of this id")
    return _to_user(row)


async def _fetch_role_name(work: UnitOfWork, role_id: UUID) -> str:
    name: str | None = await work.fetchval("SELECT name FROM core.roles WHERE tenant_id = $1 AND id = $2", role_id)
    if name is None:
        raise NotFound("there is no role of this id")
    return name


async def _insert_assignment(work: UnitOfWork, user_id: UUID, role: str) -> None:
    role_id = await work.fetchval("SELECT id FROM core.roles WHERE tenant_id = $1 AND name = $2", role)
    if role_id is None:
        raise NotFound(f"there is no role {role!r}; `mcpist role list` shows them")
    await work.execute(_ASSIGN, user_id, role_id)


def _to_user(row: Row) -> User:
    *columns, roles = row.values()
    return User(*columns, roles=tuple(roles))


_COLUMNS = """SELECT u.id, u.email, u.name, u.system_role, u.status, u.created_at,
    array(SELECT r.name FROM core.role_assignments a JOIN core.roles r ON r.tenant_id = a.tenant_id AND r.id = a.role_id
          WHERE a.tenant_id = u.tenant_id AND a.user_id = u.id ORDER BY r.priority DESC, r.name) AS roles
    FROM core.users u """
_INSERT = "INSERT INTO core.users (tenant_id, email, name, system_role) VALUES ($1, $2, $3, $4) RETURNING id"
_FIND = _COLUMNS + """WHERE u.tenant_id = $1 AND u.email = $2"""
_LIST = _COLUMNS + """WHERE u.tenant_id = $1 AND u.email > $2 ORDER BY u.email LIMIT $3"""
_BY_IDS = _COLUMNS + """WHERE u.tenant_id = $1 AND u.id = ANY($2::uuid[]) ORDER BY array_position($2::uuid[], u.id)"""
_LOCK_ADMINISTRATORS = """SELECT id FROM core.users
    WHERE tenant_id = $1 AND system_role = 'admin' AND status = 'active' ORDER BY id FOR UPDATE"""
_CHANGE = "UPDATE core.users SET name = $3, system_role = $4, status = $5 WHERE tenant_id = $1 AND id = $2"
_ASSIGN = """INSERT INTO core.role_assignments AS a (tenant_id, user_id, role_id) VALUES ($1, $2, $3)
    ON CONFLICT (tenant_id, user_id, role_id) DO UPDATE SET sources = array_append(a.sources, 'hand')
    WHERE NOT 'hand' = ANY (a.sources)"""
_UNASSIGN = "DELETE FROM core.role_assignments WHERE tenant_id = $1 AND user_id = $2 AND role_id = $3"
_GET = _COLUMNS + """WHERE u.tenant_id = $1 AND u.id = $2"""
