"""Read what a verified credential's user may do: roles, permissions, the tenant's services."""

from collections.abc import Sequence
from uuid import UUID

from core.caller import Caller, Credential
from core.db import Database, Row
from core.permissions import Policy
from core.policy_loader import load_enabled_modules, load_roles_of_users

_USERS = """SELECT u.id, u.email, u.system_role, t.record_arguments, g.value AS generation
    FROM core.users u JOIN core.tenants t USING (tenant_id) JOIN core.generations g USING (tenant_id)
    WHERE u.tenant_id = $1 AND u.id = ANY($2::uuid[]) AND u.status = 'active' AND t.status = 'active'"""


async def load_caller(database: Database, credential: Credential) -> tuple[Caller, int] | None:
    """Load the caller that `credential` speaks for and the generation it was read at; None when the user was removed.

    The generation is read first: what changes meanwhile makes it old, so that the next look asks again.
    """
    (loaded,) = await load_callers(database, credential.tenant_id, [credential])
    return loaded


async def load_callers(
    database: Database, tenant_id: UUID, credentials: Sequence[Credential]
) -> Sequence[tuple[Caller, int] | None]:
    """Load the callers that credentials of one tenant speak for, each as :func:`load_caller` does, in that order.
    Whoever may do the same shares one policy."""
    async with database.tenant(tenant_id) as work:
        users = {row["id"]: row for row in await work.fetch(_USERS, list({one.user_id for one in credentials}))}
        roles = await load_roles_of_users(work, users)
        services = await load_enabled_modules(work)
    policies: dict[Policy, Policy] = {}
    policy_by_user: dict[UUID, Policy] = {}
    for user_id in users:
        policy = Policy(tuple(role for _, role in roles[user_id]), services)
        policy_by_user[user_id] = policies.setdefault(policy, policy)
    return [
        None if (user := users.get(one.user_id)) is None else _build_caller(one, user, policy_by_user[one.user_id])
        for one in credentials
    ]


def _build_caller(credential: Credential, user: Row, policy: Policy) -> tuple[Caller, int]:
    caller = Caller(credential, user["email"], user["system_role"], policy, user["record_arguments"])
    return caller, min(user["generation"], credential.generation)
