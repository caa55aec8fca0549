"""Roles: named sets of tool permissions."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import asyncpg

from core.audit.event import AuditEventKind
from core.db import Database, Row, UnitOfWork
from core.directory.account_revocation import AccountRevoker, RevocationResult, revoke_nothing
from core.directory.audit_trail import Actor, audit_change
from core.errors import Conflict, Invalid, NotFound
from core.permissions import parse_permission

_GRANTED = {"allow": AuditEventKind.PERMISSION_ALLOWED, "deny": AuditEventKind.PERMISSION_DENIED}


@dataclass(frozen=True, slots=True)
class RoleEntry:
    """A role as an administrator sees it."""

    name: str
    priority: int
    allow: tuple[str, ...]
    deny: tuple[str, ...]
    members: int


async def create_role(console: Database, actor: Actor, tenant_id: UUID, name: str, priority: int = 0) -> None:
    """Make a role without permissions.

    Raises:
        Invalid: the name or the priority has the wrong form.
        Conflict: the tenant has a role of that name.
    """
    validate_role(name, priority)
    try:
        async with console.tenant(tenant_id) as work:
            await work.execute("INSERT INTO core.roles (tenant_id, name, priority) VALUES ($1, $2, $3)", name, priority)
            await audit_change(work, actor, AuditEventKind.ROLE_CREATED, role=name, priority=priority)
    except asyncpg.UniqueViolationError:
        raise Conflict(f"there is a role {name!r} already") from None


def validate_role(name: str, priority: int) -> None:
    """Check the form of a role's name and priority.

    Raises:
        Invalid: one of them is wrong; the text says which.
    """
    if not 1 <= len(name) <= 100 or not name.isprintable():
        raise Invalid("a role's name has 1 to 100 printable characters")
    if abs(priority) > 1_000_000:
        raise Invalid("a role's priority lies between -1000000 and 1000000")


async def delete_role(
    console: Database, actor: Actor, tenant_id: UUID, name: str, farewell: AccountRevoker = revoke_nothing
) -> Sequence[RevocationResult]:
    """Delete a role with its permissions, its assignments and its shared credentials. What has become of the accounts
    that it shared, to whose vendors `farewell` is said first."""
    async with console.tenant(tenant_id) as work:
        role_id: UUID | None = await work.fetchval("SELECT id FROM core.roles WHERE tenant_id = $1 AND name = $2", name)
    if role_id is None:
        raise _build_not_found(name)
    said = await farewell(actor, tenant_id, role_id=role_id)
    async with console.tenant(tenant_id) as work:
        if not await work.execute("DELETE FROM core.roles WHERE tenant_id = $1 AND id = $2", role_id):
            raise _build_not_found(name)
        await audit_change(work, actor, AuditEventKind.ROLE_REMOVED, role=name)
    return said


async def list_roles(console: Database, tenant_id: UUID) -> list[RoleEntry]:
    """The tenant's roles, the highest priority first."""
    async with console.tenant(tenant_id) as work:
        return [_to_role_entry(row) for row in await work.fetch(_LIST)]


async def grant(console: Database, actor: Actor, tenant_id: UUID, role: str, effect: str, permission: str) -> None:
    """Add a permission to what a role allows or denies; one that is there already stays.

    Raises:
        Invalid: the permission has the wrong form.
        NotFound: there is no such role.
    """
    permission = parse_permission(permission)
    async with console.tenant(tenant_id) as work:
        await work.execute(_GRANT, await _role_id(work, role), effect, permission)
        await audit_change(work, actor, _GRANTED[effect], role=role, permission=permission)


async def revoke(console: Database, actor: Actor, tenant_id: UUID, role: str, permission: str) -> None:
    """Take a permission out of what a role allows and denies.

    Raises:
        NotFound: there is no such role, or it has no such permission.
    """
    permission = parse_permission(permission)
    async with console.tenant(tenant_id) as work:
        if not await work.execute(_REVOKE, await _role_id(work, role), permission):
            raise NotFound(f"role {role!r} has no permission {permission}")
        await audit_change(work, actor, AuditEventKind.PERMISSION_REMOVED, role=role, permission=permission)


async def _role_id(work: UnitOfWork, name: str) -> UUID:
    role_id: UUID | None = await work.fetchval("SELECT id FROM core.roles WHERE tenant_id = $1 AND name = $2", name)
    if role_id is None:
        raise _build_not_found(name)
    return role_id


def _build_not_found(name: str) -> NotFound:
    return NotFound(f"there is no role {name[:100]!r}; `mcpist role list` shows them")


def _to_role_entry(row: Row) -> RoleEntry:
    return RoleEntry(row["name"], row["priority"], tuple(row["allow"]), tuple(row["deny"]), row["members"])


_LIST = """SELECT r.name, r.priority,
    array(SELECT permission FROM core.permissions p
          WHERE p.tenant_id = r.tenant_id AND p.role_id = r.id AND effect = 'allow' ORDER BY 1) AS allow,
    array(SELECT permission FROM core.permissions p
          WHERE p.tenant_id = r.tenant_id AND p.role_id = r.id AND effect = 'deny' ORDER BY 1) AS deny,
    (SELECT count(*) FROM core.role_assignments a WHERE a.tenant_id = r.tenant_id AND a.role_id = r.id) AS members
    FROM core.roles r WHERE r.tenant_id = $1 ORDER BY r.priority DESC, r.name"""
_GRANT = """INSERT INTO core.permissions (tenant_id, role_id, effect, permission) VALUES ($1, $2, $3, $4)
    ON CONFLICT DO NOTHING"""
_REVOKE = "DELETE FROM core.permissions WHERE tenant_id = $1 AND role_id = $2 AND permission = $3"
