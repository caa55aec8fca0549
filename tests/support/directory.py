"""Roles, users and switches of tenants as a test names them: by name and address. Each function finds the ids."""

from uuid import UUID, uuid4

from core.audit.event import AuditEventKind
from core.db import Database
from core.directory import roles, tenants, users
from core.directory.account_revocation import AccountRevoker, revoke_nothing
from core.directory.audit_trail import Actor, audit_change


async def create_tenant(console: Database, actor: Actor, slug: str, name: str = "") -> tenants.Tenant:
    """Make a tenant without an administrator, which the product does not
    (:func:`core.directory.provisioning.provision_tenant`)."""
    name = name or slug
    tenants.validate_tenant(slug, name)
    tenant_id = uuid4()
    async with console.tenant(tenant_id) as work:
        await work.execute("INSERT INTO core.tenants (tenant_id, slug, name) VALUES ($1, $2, $3)", slug, name)
        await audit_change(work, actor, AuditEventKind.TENANT_CREATED, slug=slug)
    return tenants.Tenant(tenant_id, slug, name, "active", False)


async def create_role(console: Database, actor: Actor, tenant_id: UUID, name: str, priority: int = 0) -> None:
    await roles.create_role(console, actor, tenant_id, name, priority)


async def delete_role(
    console: Database, actor: Actor, tenant_id: UUID, name: str, farewell: AccountRevoker = revoke_nothing
) -> None:
    found = await roles.find_role(console, tenant_id, name)
    await roles.remove_role(console, actor, tenant_id, found.id, farewell)


async def grant(console: Database, actor: Actor, tenant_id: UUID, role: str, effect: str, permission: str) -> None:
    found = await roles.find_role(console, tenant_id, role)
    granted = _get_grants(found) | {(effect, permission)}
    await roles.change_role(console, actor, tenant_id, found.id, grants=granted)


async def revoke(console: Database, actor: Actor, tenant_id: UUID, role: str, permission: str) -> None:
    found = await roles.find_role(console, tenant_id, role)
    granted = frozenset(pair for pair in _get_grants(found) if pair[1] != permission)
    await roles.change_role(console, actor, tenant_id, found.id, grants=granted)


async def assign_role(console: Database, actor: Actor, tenant_id: UUID, email: str, role: str) -> None:
    user, found = await users.find_user(console, tenant_id, email), await roles.find_role(console, tenant_id, role)
    await users.assign_role(console, actor, tenant_id, user.id, found.id)


async def unassign_role(console: Database, actor: Actor, tenant_id: UUID, email: str, role: str) -> None:
    user, found = await users.find_user(console, tenant_id, email), await roles.find_role(console, tenant_id, role)
    await users.unassign_role(console, actor, tenant_id, user.id, found.id)


async def set_status(console: Database, actor: Actor, tenant_id: UUID, email: str, status: str) -> None:
    user = await users.find_user(console, tenant_id, email)
    await users.change_user(console, actor, tenant_id, user.id, status=status)


async def set_argument_recording(console: Database, actor: Actor, tenant_id: UUID, *, arguments: bool) -> None:
    tenant = await tenants.get_tenant(console, tenant_id)
    await tenants.change_tenant(
        console,
        actor,
        tenant_id,
        name=tenant.name,
        record_arguments=arguments,
        max_token_lifetime_days=tenant.max_token_lifetime_days,
    )


def _get_grants(role: roles.RoleRecord) -> frozenset[tuple[str, str]]:
    return frozenset({*(("allow", one) for one in role.allow), *(("deny", one) for one in role.deny)})
