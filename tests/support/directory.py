"""Roles, users and switches of tenants as a test names them: by name and address. Each function finds the ids."""

import time
from collections.abc import Iterable
from uuid import UUID, uuid4

from core.audit.event import AuditEvent, AuditEventKind
from core.audit.truncation import pack
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


async def enable_services(console: Database, actor: Actor, tenant_id: UUID, modules: Iterable[str]) -> None:
    """Switch modules of a new tenant on: in one transaction what :func:`core.directory.services.set_service` does of
    each, which takes six times as long."""
    names = list(modules)
    async with console.tenant(tenant_id) as work:
        await work.execute(_ADD_VERSIONS, names, actor.name)
        await work.execute(_ADD_SERVICES, names)
        events = [pack(_build_event(tenant_id, actor, name)) for name in names]
        await work.execute(_APPEND, [tenant_id] * len(events), events)


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


def _build_event(tenant_id: UUID, actor: Actor, module: str) -> AuditEvent:
    return AuditEvent(
        at=time.time_ns(),
        kind=AuditEventKind.SERVICE_ENABLED,
        tenant_id=tenant_id,
        user_id=actor.user_id,
        outcome="ok",
        actor=actor.name,
        detail={"module": module},
    )


def _get_grants(role: roles.RoleRecord) -> frozenset[tuple[str, str]]:
    return frozenset({*(("allow", one) for one in role.allow), *(("deny", one) for one in role.deny)})


_ADD_VERSIONS = """INSERT INTO core.versions (tenant_id, kind, object_id, version, changed_at, changed_by)
    SELECT $1, 'service', module, 2, now(), $3 FROM unnest($2::text[]) AS module"""
_ADD_SERVICES = """INSERT INTO core.services (tenant_id, module, enabled)
    SELECT $1, module, true FROM unnest($2::text[]) AS module"""
_APPEND = "SELECT audit.append($2::uuid[], $3::bytea[]) WHERE $1::uuid IS NOT NULL"
