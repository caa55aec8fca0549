"""Roles: named sets of tool permissions."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

import asyncpg

from core.audit.event import AuditEventKind
from core.db import Database, Row, UnitOfWork
from core.directory.account_revocation import AccountRevoker, RevocationResult, revoke_nothing
from core.directory.audit_trail import Actor, audit_change, audit_list_change
from core.directory.versions import lock_version, record_change
from core.errors import Conflict, Invalid, NotFound
from core.permissions import parse_permission
from core.tool_exposure import normalize_exposure_setting

MAX_PERMISSIONS = 500
_FIRST = (2**31 - 1, "")
_GRANTED = {"allow": AuditEventKind.PERMISSION_ALLOWED, "deny": AuditEventKind.PERMISSION_DENIED}
PermissionGrants = frozenset[tuple[str, str]]
"""Pairs of an effect (allow, deny) and a permission."""
NO_GRANTS: PermissionGrants = frozenset()


@dataclass(frozen=True, slots=True)
class RoleRecord:
    """A role with all its permissions, and how many have it."""

    id: UUID
    name: str
    priority: int
    allow: tuple[str, ...]
    deny: tuple[str, ...]
    members: int
    tool_exposure: str | None = None


async def create_role(
    console: Database,
    actor: Actor,
    tenant_id: UUID,
    name: str,
    priority: int = 0,
    grants: PermissionGrants = NO_GRANTS,
    tool_exposure: str | None = None,
) -> RoleRecord:
    """Create a role with its permissions, and how tools are shown to its members.

    Raises:
        Invalid: the name, the priority, a permission or the exposure has the wrong form.
        Conflict: the tenant has a role of that name.
    """
    validate_role(name, priority)
    permissions, tool_exposure = validate_permissions(grants), normalize_exposure_setting(tool_exposure)
    shown = {} if tool_exposure is None else {"tool_exposure": tool_exposure}
    try:
        async with console.tenant(tenant_id) as work:
            role_id: UUID = await work.fetchval(_INSERT, name, priority, tool_exposure)
            await audit_change(work, actor, AuditEventKind.ROLE_CREATED, role=name, priority=priority, **shown)
            await _insert_permissions(work, actor, role_id, name, permissions)
            return await _fetch_role(work, role_id)
    except asyncpg.UniqueViolationError:
        raise Conflict(f"there is a role {name!r} already") from None


async def get_role(console: Database, tenant_id: UUID, role_id: UUID) -> RoleRecord:
    """Return the role of that id.

    Raises:
        NotFound: the tenant has none.
    """
    async with console.tenant(tenant_id) as work:
        return await _fetch_role(work, role_id)


async def find_role(console: Database, tenant_id: UUID, name: str) -> RoleRecord:
    """Find the role of that name.

    Raises:
        NotFound: the tenant has none.
    """
    async with console.tenant(tenant_id) as work:
        row = await work.fetchrow(_BY_NAME, name)
    if row is None:
        raise NotFound("there is no role of this name")
    return _to_role_record(row)


async def fetch_roles(work: UnitOfWork, role_ids: Sequence[UUID]) -> list[RoleRecord]:
    """Return those of these roles that the tenant has, in this order."""
    return [_to_role_record(row) for row in await work.fetch(_BY_IDS, role_ids)]


async def list_roles(console: Database, tenant_id: UUID, after: tuple[int, str] | None, limit: int) -> list[RoleRecord]:
    """List the tenant's roles, the highest priority first, after the one of that priority and name."""
    async with console.tenant(tenant_id) as work:
        return [_to_role_record(row) for row in await work.fetch(_PAGE, *(after or _FIRST), limit)]


async def list_user_roles(
    console: Database, tenant_id: UUID, user_id: UUID, after: tuple[int, str] | None = None, limit: int = 1000
) -> list[RoleRecord]:
    """List the roles that a user has, the highest priority first, after the one of that priority and name.

    Raises:
        NotFound: the tenant has no such user.
    """
    async with console.tenant(tenant_id) as work:
        if not await work.fetchval(_USER_EXISTS, user_id):
            raise NotFound("there is no user of this id")
        return [_to_role_record(row) for row in await work.fetch(_OF_USER, *(after or _FIRST), limit, user_id)]


async def change_role(
    console: Database,
    actor: Actor,
    tenant_id: UUID,
    role_id: UUID,
    *,
    name: str | None = None,
    priority: int | None = None,
    tool_exposure: str | None = "",
    grants: PermissionGrants | None = None,
    added: PermissionGrants = NO_GRANTS,
    removed: PermissionGrants = NO_GRANTS,
    expected_version: int | None = None,
) -> RoleRecord:
    """Change what is not None, where `grants` replaces all permissions at once; then `removed` ones go and `added` ones
    come. An empty `tool_exposure` keeps it, and with None the role decides no longer. Return the changed role.

    Raises:
        NotFound: the tenant has no such role.
        Invalid: a value has the wrong form.
        Conflict: the tenant has another role of that name.
        VersionConflict: the role's version is not the expected one.
    """
    permissions = None if grants is None else validate_permissions(grants)
    added, removed = validate_permissions(added), validate_permissions(removed)
    shown = "" if tool_exposure == "" else normalize_exposure_setting(tool_exposure)
    try:
        async with console.tenant(tenant_id) as work:
            await _fetch_role(work, role_id)
            await lock_version(work, "role", str(role_id), expected_version)
            await _lock_role(work, role_id)
            before = await _fetch_role(work, role_id)
            await _update_name_and_priority(
                work, actor, before, name or before.name, before.priority if priority is None else priority
            )
            if shown != "":
                await _update_tool_exposure(work, actor, before, shown)
            if added or removed:
                permissions = validate_permissions(((permissions or _collect_grants(before)) - removed) | added)
            if permissions is not None:
                await _replace_permissions(work, actor, before, permissions)
            after = await _fetch_role(work, role_id)
            if after != before:
                await record_change(work, actor, "role", str(role_id))
            return after
    except asyncpg.UniqueViolationError:
        raise Conflict("there is another role of this name") from None


async def allow_permission(work: UnitOfWork, actor: Actor, role_id: UUID, permission: str) -> None:
    """Add one permission to what a role allows, together with other changes.

    Raises:
        NotFound: the tenant has no such role.
        Invalid: the role would have too many permissions.
    """
    await _fetch_role(work, role_id)
    await lock_version(work, "role", str(role_id))
    await _lock_role(work, role_id)
    role = await _fetch_role(work, role_id)
    current = _collect_grants(role)
    requested = validate_permissions({*current, ("allow", permission)})
    if requested != current:
        await record_change(work, actor, "role", str(role_id))
        await _insert_permissions(work, actor, role.id, role.name, requested - current)


async def remove_role(
    console: Database, actor: Actor, tenant_id: UUID, role_id: UUID, revoke_accounts: AccountRevoker = revoke_nothing
) -> Sequence[RevocationResult]:
    """Delete a role with its permissions, its assignments and its shared credentials. `revoke_accounts` runs first; its
    results are returned.

    Raises:
        NotFound: the tenant has no such role.
    """
    async with console.tenant(tenant_id) as work:
        await _fetch_role(work, role_id)
    results = await revoke_accounts(actor, tenant_id, role_id=role_id)
    async with console.tenant(tenant_id) as work:
        role = await _fetch_role(work, role_id)
        await work.execute("DELETE FROM core.roles WHERE tenant_id = $1 AND id = $2", role_id)
        await audit_change(work, actor, AuditEventKind.ROLE_REMOVED, role=role.name)
    return results


def validate_role(name: str, priority: int) -> None:
    """Check the form of a role's name and priority.

    Raises:
        Invalid: one of them is wrong; the text says which.
    """
    if not 1 <= len(name) <= 100 or not name.isprintable():
        raise Invalid("a role's name has 1 to 100 printable characters")
    if abs(priority) > 1_000_000:
        raise Invalid("a role's priority lies between -1000000 and 1000000")


def validate_permissions(grants: Iterable[tuple[str, str]]) -> PermissionGrants:
    """Return the pairs with normalized permissions, if each is well-formed.

    Raises:
        Invalid: one is not, or there are more than 500.
    """
    permissions = frozenset((effect, parse_permission(permission)) for effect, permission in grants)
    if len(permissions) > MAX_PERMISSIONS:
        raise Invalid(f"a role has at most {MAX_PERMISSIONS} permissions")
    return permissions


async def _update_name_and_priority(
    work: UnitOfWork, actor: Actor, before: RoleRecord, name: str, priority: int
) -> None:
    validate_role(name, priority)
    if (name, priority) != (before.name, before.priority):
        await work.execute(_CHANGE, before.id, name, priority)
        await audit_change(work, actor, AuditEventKind.ROLE_CHANGED, role=before.name, name=name, priority=priority)


async def _update_tool_exposure(work: UnitOfWork, actor: Actor, before: RoleRecord, tool_exposure: str | None) -> None:
    if tool_exposure != before.tool_exposure:
        await work.execute(_SET_TOOL_EXPOSURE, before.id, tool_exposure)
        await audit_change(
            work, actor, AuditEventKind.ROLE_CHANGED, role=before.name, tool_exposure=tool_exposure or "default"
        )


async def _replace_permissions(work: UnitOfWork, actor: Actor, before: RoleRecord, requested: PermissionGrants) -> None:
    current = _collect_grants(before)
    for effect, permissions in _group_by_effect(current - requested):
        await work.execute(_REVOKE, before.id, effect, permissions)
        await audit_list_change(
            work, actor, AuditEventKind.PERMISSION_REMOVED, "permission", permissions, role=before.name, effect=effect
        )
    await _insert_permissions(work, actor, before.id, before.name, requested - current)


async def _insert_permissions(
    work: UnitOfWork, actor: Actor, role_id: UUID, name: str, grants: PermissionGrants
) -> None:
    for effect, permissions in _group_by_effect(grants):
        await work.execute(_GRANT, role_id, effect, permissions)
        await audit_list_change(work, actor, _GRANTED[effect], "permission", permissions, role=name)


def _collect_grants(role: RoleRecord) -> PermissionGrants:
    return frozenset(
        {*(("allow", permission) for permission in role.allow), *(("deny", permission) for permission in role.deny)}
    )


def _group_by_effect(grants: PermissionGrants) -> Iterator[tuple[str, list[str]]]:
    """Group permissions by effect, in order; effects without any are left out."""
    for effect in ("allow", "deny"):
        if permissions := sorted(permission for granted_effect, permission in grants if granted_effect == effect):
            yield effect, permissions


async def _lock_role(work: UnitOfWork, role_id: UUID) -> None:
    await work.execute("SELECT FROM core.roles WHERE tenant_id = $1 AND id = $2 FOR UPDATE", role_id)


async def _fetch_role(work: UnitOfWork, role_id: UUID) -> RoleRecord:
    row = await work.fetchrow(_GET, role_id)
    if row is None:
        raise NotFound("there is no role of this id")
    return _to_role_record(row)


def _to_role_record(row: Row) -> RoleRecord:
    return RoleRecord(
        row["id"],
        row["name"],
        row["priority"],
        tuple(row["allow"]),
        tuple(row["deny"]),
        row["members"],
        row["tool_exposure"],
    )


_COLUMNS = """SELECT r.id, r.name, r.priority, r.tool_exposure,
    array(SELECT permission FROM core.permissions p
          WHERE p.tenant_id = r.tenant_id AND p.role_id = r.id AND effect = 'allow' ORDER BY 1) AS allow,
    array(SELECT permission FROM core.permissions p
          WHERE p.tenant_id = r.tenant_id AND p.role_id = r.id AND effect = 'deny' ORDER BY 1) AS deny,
    (SELECT count(*) FROM core.role_assignments a WHERE a.tenant_id = r.tenant_id AND a.role_id = r.id) AS members
    FROM core.roles r """
_GET = _COLUMNS + "WHERE r.tenant_id = $1 AND r.id = $2"
_BY_IDS = _COLUMNS + "WHERE r.tenant_id = $1 AND r.id = ANY($2::uuid[]) ORDER BY array_position($2::uuid[], r.id)"
_BY_NAME = _COLUMNS + "WHERE r.tenant_id = $1 AND r.name = $2"
_PAGE = (
    _COLUMNS
    + """WHERE r.tenant_id = $1 AND (r.priority < $2 OR (r.priority = $2 AND r.name > $3))
    ORDER BY r.priority DESC, r.name LIMIT $4"""
)
_OF_USER = (
    _COLUMNS
    + """JOIN core.role_assignments has ON has.tenant_id = r.tenant_id AND has.role_id = r.id
    WHERE r.tenant_id = $1 AND has.user_id = $5 AND (r.priority < $2 OR (r.priority = $2 AND r.name > $3))
    ORDER BY r.priority DESC, r.name LIMIT $4"""
)
_USER_EXISTS = "SELECT EXISTS (SELECT FROM core.users WHERE tenant_id = $1 AND id = $2)"
_INSERT = "INSERT INTO core.roles (tenant_id, name, priority, tool_exposure) VALUES ($1, $2, $3, $4) RETURNING id"
_CHANGE = "UPDATE core.roles SET name = $3, priority = $4 WHERE tenant_id = $1 AND id = $2"
_SET_TOOL_EXPOSURE = "UPDATE core.roles SET tool_exposure = $3 WHERE tenant_id = $1 AND id = $2"
_GRANT = """INSERT INTO core.permissions (tenant_id, role_id, effect, permission)
    SELECT $1, $2, $3, unnest($4::text[]) ON CONFLICT DO NOTHING"""
_REVOKE = """DELETE FROM core.permissions WHERE tenant_id = $1
    AND role_id = $2 AND effect = $3 AND permission = ANY ($4::text[])"""
