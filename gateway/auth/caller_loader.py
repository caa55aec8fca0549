"""Read what a verified credential's user may do: roles, permissions, the tenant's services."""

from collections import defaultdict
from collections.abc import Sequence

from core.caller import Caller, Credential
from core.db import Database, Row
from core.permissions import Policy, Role, build_role

_USER = """SELECT u.email, u.system_role, t.record_arguments, g.value AS generation
    FROM core.users u JOIN core.tenants t USING (tenant_id) JOIN core.generations g USING (tenant_id)
    WHERE u.tenant_id = $1 AND u.id = $2 AND u.status = 'active' AND t.status = 'active'"""
_ROLES = """SELECT r.name, r.priority, p.effect, p.permission
    FROM core.role_assignments a
    JOIN core.roles r ON r.tenant_id = a.tenant_id AND r.id = a.role_id
    LEFT JOIN core.permissions p ON p.tenant_id = a.tenant_id AND p.role_id = a.role_id
    WHERE a.tenant_id = $1 AND a.user_id = $2"""
_SERVICES = "SELECT module FROM core.services WHERE tenant_id = $1 AND enabled"


async def load_caller(database: Database, credential: Credential) -> tuple[Caller, int] | None:
    """The caller that `credential` speaks for and the generation it was read at; None when the user is gone.

    The generation is read first: what changes meanwhile makes it old, so that the next look asks again.
    """
    async with database.tenant(credential.tenant_id) as work:
        user = await work.fetchrow(_USER, credential.user_id)
        if user is None:
            return None
        roles = await work.fetch(_ROLES, credential.user_id)
        services = await work.fetch(_SERVICES)
    policy = Policy(_group_roles(roles), frozenset(row["module"] for row in services))
    caller = Caller(credential, user["email"], user["system_role"], policy, user["record_arguments"])
    return caller, min(user["generation"], credential.generation)


def _group_roles(rows: Sequence[Row]) -> tuple[Role, ...]:
    permissions: dict[tuple[int, str], list[tuple[str, str]]] = defaultdict(list)
    for row in rows:
        of_role = permissions[-row["priority"], row["name"]]
        if row["permission"] is not None:
            of_role.append((row["effect"], row["permission"]))
    return tuple(build_role(name, granted, -order) for (order, name), granted in sorted(permissions.items()))
