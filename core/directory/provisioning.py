"""A new tenant as it is usable from the first moment: modules switched on, and an administrator who may use them."""

from collections.abc import Sequence
from uuid import UUID, uuid4

import asyncpg

from core.audit.event import AuditEventKind
from core.db import Database, UnitOfWork
from core.directory.allow_list import insert_entry
from core.directory.audit_trail import Actor, audit_change, audit_deployment_change
from core.directory.tenants import Tenant, get_tenant, validate_tenant
from core.directory.users import normalize_email
from core.errors import Conflict

ADMINISTRATOR_ROLE = "administrator"


async def provision_tenant(
    console: Database, actor: Actor, slug: str, name: str, administrator: str, modules: Sequence[str]
) -> Tenant:
    """Make a tenant with these modules and an administrator of that e-mail address, whom the allow list lets in; all
    or nothing.

    Raises:
        Conflict: the slug is taken.
        Invalid: the slug, the name or the address has the wrong form.
    """
    name = name or slug
    validate_tenant(slug, name)
    administrator = normalize_email(administrator)
    tenant_id = uuid4()
    try:
        async with console.tenant(tenant_id) as work:
            await work.execute("INSERT INTO core.tenants (tenant_id, slug, name) VALUES ($1, $2, $3)", slug, name)
            await audit_change(work, actor, AuditEventKind.TENANT_CREATED, slug=slug)
            await audit_deployment_change(
                work, actor, AuditEventKind.TENANT_CREATED, tenant=str(work.tenant_id), slug=slug
            )
            await _enable_modules(work, actor, modules)
            await _create_administrator(work, actor, administrator)
    except asyncpg.UniqueViolationError:
        raise Conflict(f"there is a tenant {slug!r} already") from None
    return await get_tenant(console, tenant_id)


async def _enable_modules(work: UnitOfWork, actor: Actor, modules: Sequence[str]) -> None:
    for module in modules:
        await work.execute("INSERT INTO core.services (tenant_id, module) VALUES ($1, $2)", module)
        await audit_change(work, actor, AuditEventKind.SERVICE_ENABLED, module=module)


async def _create_administrator(work: UnitOfWork, actor: Actor, email: str) -> None:
    role: UUID = await work.fetchval(_ROLE, ADMINISTRATOR_ROLE)
    await audit_change(work, actor, AuditEventKind.ROLE_CREATED, role=ADMINISTRATOR_ROLE, priority=0)
    await work.execute(_ALLOW_ALL, role)
    await audit_change(work, actor, AuditEventKind.PERMISSION_ALLOWED, role=ADMINISTRATOR_ROLE, permission="*")
    user: UUID = await work.fetchval(_USER, email)
    await work.execute(_ASSIGN, user, role)
    await insert_entry(work, email)
    await audit_change(
        work, actor, AuditEventKind.USER_CREATED, email=email, system_role="admin", roles=ADMINISTRATOR_ROLE
    )


_ROLE = "INSERT INTO core.roles (tenant_id, name) VALUES ($1, $2) RETURNING id"
_ALLOW_ALL = "INSERT INTO core.permissions (tenant_id, role_id, effect, permission) VALUES ($1, $2, 'allow', '*')"
_USER = """INSERT INTO core.users (tenant_id, email, system_role, guided_start) VALUES ($1, $2, 'admin', true)
    RETURNING id"""
_ASSIGN = "INSERT INTO core.role_assignments (tenant_id, user_id, role_id) VALUES ($1, $2, $3)"
