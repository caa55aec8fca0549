"""Deletion of a tenant. Its users lose all access first; then their data is deleted, some users at a time, and the
tenant last: no statement is as long as the tenant is large, and an interrupted deletion can be repeated.
"""

from collections.abc import Sequence
from uuid import UUID

from core.audit.event import AuditEventKind
from core.db import Database, UnitOfWork
from core.directory.account_revocation import AccountRevoker, RevocationResult, revoke_nothing
from core.directory.audit_trail import Actor, audit_change, audit_deployment_change
from core.errors import Invalid, NotFound

USERS_PER_BATCH = 20


async def remove_tenant(
    console: Database,
    actor: Actor,
    tenant_id: UUID,
    confirmation: str,
    revoke_accounts: AccountRevoker = revoke_nothing,
) -> Sequence[RevocationResult]:
    """Delete a tenant and everything of it: users, roles, tokens, sessions, credentials, what modules keep. The audit
    log stays, and the deployment's own records the deletion too. `revoke_accounts` runs first; its results are
    returned.

    Its tokens and sessions are invalid within a second on every process, however long the rest takes.

    Raises:
        NotFound: there is no tenant of that id.
        Invalid: `confirmation` is not its slug.
    """
    async with console.tenant(tenant_id) as work:
        slug = await _check_confirmation(work, confirmation)
        if await work.execute(_SUSPEND):
            await audit_change(work, actor, AuditEventKind.TENANT_SUSPENDED)
    results = await revoke_accounts(actor, tenant_id)
    while await _delete_user_batch(console, tenant_id):
        pass
    async with console.tenant(tenant_id) as work:
        if not await work.execute("DELETE FROM core.tenants WHERE tenant_id = $1"):
            raise NotFound("the tenant was removed meanwhile")
        await audit_change(work, actor, AuditEventKind.TENANT_REMOVED, slug=slug)
        await audit_deployment_change(work, actor, AuditEventKind.TENANT_REMOVED, tenant=str(tenant_id), slug=slug)
    return results


async def _check_confirmation(work: UnitOfWork, confirmation: str) -> str:
    slug: str | None = await work.fetchval("SELECT slug FROM core.tenants WHERE tenant_id = $1")
    if slug is None:
        raise NotFound("there is no tenant of this id")
    if confirmation != slug:
        raise Invalid("to remove a tenant, repeat its slug as the confirmation; what goes does not come back")
    return slug


async def _delete_user_batch(console: Database, tenant_id: UUID) -> int:
    async with console.tenant(tenant_id) as work:
        return await work.execute(_DELETE_USERS, USERS_PER_BATCH)


_SUSPEND = "UPDATE core.tenants SET status = 'suspended' WHERE tenant_id = $1 AND status <> 'suspended'"
_DELETE_USERS = """DELETE FROM core.users WHERE tenant_id = $1
    AND id IN (SELECT id FROM core.users WHERE tenant_id = $1 LIMIT $2)"""
