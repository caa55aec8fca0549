"""Read what a verified credential's user may do: roles, permissions, the tenant's services."""

from core.caller import Caller, Credential
from core.db import Database
from core.permissions import Policy
from core.policy_loader import load_user_roles

_USER = """SELECT u.email, u.system_role, t.record_arguments, g.value AS generation
    FROM core.users u JOIN core.tenants t USING (tenant_id) JOIN core.generations g USING (tenant_id)
    WHERE u.tenant_id = $1 AND u.id = $2 AND u.status = 'active' AND t.status = 'active'"""
_SERVICES = "SELECT module FROM core.services WHERE tenant_id = $1 AND enabled"


async def load_caller(database: Database, credential: Credential) -> tuple[Caller, int] | None:
    """Load the caller that `credential` speaks for and the generation it was read at; None when the user was removed.

    The generation is read first: what changes meanwhile makes it old, so that the next look asks again.
    """
    async with database.tenant(credential.tenant_id) as work:
        user = await work.fetchrow(_USER, credential.user_id)
        if user is None:
            return None
        roles = await load_user_roles(work, credential.user_id)
        services = await work.fetch(_SERVICES)
    policy = Policy(tuple(role for _, role in roles), frozenset(row["module"] for row in services))
    caller = Caller(credential, user["email"], user["system_role"], policy, user["record_arguments"])
    return caller, min(user["generation"], credential.generation)
