"""Read roles with what they permit: the input of every authorization decision, on both sides of the broker."""

from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from core.db import Row, UnitOfWork
from core.permissions import Policy, Role, build_role

RoleById = tuple[UUID, Role]

_ROLES_OF_USERS = """SELECT a.user_id, r.id, r.name, r.priority, r.tool_exposure, p.effect, p.permission
    FROM core.role_assignments a
    JOIN core.roles r ON r.tenant_id = a.tenant_id AND r.id = a.role_id
    LEFT JOIN core.permissions p ON p.tenant_id = a.tenant_id AND p.role_id = a.role_id
    WHERE a.tenant_id = $1 AND a.user_id = ANY($2::uuid[])"""
_ENABLED = "SELECT module FROM core.services WHERE tenant_id = $1 AND enabled"
_ROLES = """SELECT r.id, r.name, r.priority, r.tool_exposure, p.effect, p.permission
    FROM core.roles r
    LEFT JOIN core.permissions p ON p.tenant_id = r.tenant_id AND p.role_id = r.id
    WHERE r.tenant_id = $1 AND ($2::uuid IS NULL OR r.id = $2)"""


async def load_user_roles(work: UnitOfWork, user_id: UUID) -> tuple[RoleById, ...]:
    """Load a user's roles with their ids, the highest priority first."""
    return (await load_roles_of_users(work, [user_id]))[user_id]


async def load_roles_of_users(work: UnitOfWork, user_ids: Collection[UUID]) -> Mapping[UUID, tuple[RoleById, ...]]:
    """Load the roles of each of these users as :func:`load_user_roles` does, in one statement."""
    rows_by_user: dict[UUID, list[Row]] = {user_id: [] for user_id in user_ids}
    for row in await work.fetch(_ROLES_OF_USERS, list(rows_by_user)):
        rows_by_user[row["user_id"]].append(row)
    return {user_id: _group_permissions(rows) for user_id, rows in rows_by_user.items()}


async def load_roles(work: UnitOfWork, role_id: UUID | None) -> tuple[RoleById, ...]:
    """Load one role with its id, or all of the tenant, the highest priority first."""
    return _group_permissions(await work.fetch(_ROLES, role_id))


async def load_enabled_modules(work: UnitOfWork) -> frozenset[str]:
    """Load the names of the modules that the tenant has switched on."""
    return frozenset(row["module"] for row in await work.fetch(_ENABLED))


async def load_policy_of_user(work: UnitOfWork, user_id: UUID) -> Policy:
    """Load what decides which tools exist for a user."""
    roles = await load_user_roles(work, user_id)
    return Policy(tuple(role for _, role in roles), await load_enabled_modules(work))


async def load_policy_of_role(work: UnitOfWork, role_id: UUID) -> Policy:
    """Load what decides which tools exist for somebody who has this role alone; without it, no tool does."""
    roles = await load_roles(work, role_id)
    return Policy(tuple(role for _, role in roles), await load_enabled_modules(work))


def _group_permissions(rows: Sequence[Row]) -> tuple[RoleById, ...]:
    """Group rows by role, by priority and name. Names are unique in a tenant, so the order is the same on every server,
    whatever the database's collation."""
    permissions_by_role: dict[tuple[int, str, UUID, str], list[tuple[str, str]]] = {}
    for row in rows:
        key = (-row["priority"], row["name"], row["id"], row["tool_exposure"] or "")
        of_role = permissions_by_role.setdefault(key, [])
        if row["permission"] is not None:
            of_role.append((row["effect"], row["permission"]))
    return tuple(
        (id, build_role(name, permissions, -order, tool_exposure))
        for (order, name, id, tool_exposure), permissions in sorted(permissions_by_role.items())
    )
