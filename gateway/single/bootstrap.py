"""The first start: one tenant, one administrator who may use everything, one token. Goes on where a kill stopped it."""

import contextlib
from dataclasses import dataclass

from broker.identity.api_tokens import ApiTokens
from core.db import Database
from core.directory.actor import Actor
from core.directory.roles import create_role, grant
from core.directory.services import set_service
from core.directory.tenants import Tenant, create_tenant, find_tenant, list_tenants
from core.directory.users import create_user, find_user
from core.errors import Conflict
from core.secret import Secret
from gateway.catalogue import Catalogue

FIRST_TENANT = "default"
FIRST_ADMIN = "admin@localhost"
ADMIN_ROLE = "administrator"
OPERATOR = Actor("operator")


@dataclass(frozen=True, slots=True)
class FirstAccess:
    """How to get in. `token` is there at the first start only, and never again."""

    admin_email: str
    token: Secret | None


async def first_access(console: Database, tokens: ApiTokens, catalogue: Catalogue) -> FirstAccess:
    """Make the first tenant, its administrator and a token, unless the deployment has had them already."""
    slugs = [tenant.slug for tenant in await list_tenants(console)]
    if slugs and FIRST_TENANT not in slugs:
        return FirstAccess("", None)
    if not slugs:
        await add_tenant(console, OPERATOR, catalogue, FIRST_TENANT, "", FIRST_ADMIN)
    tenant = await find_tenant(console, FIRST_TENANT)
    if await tokens.list(tenant.id):
        return FirstAccess(FIRST_ADMIN, None)
    await _furnish(console, OPERATOR, catalogue, tenant, FIRST_ADMIN)
    admin = await find_user(console, tenant.id, FIRST_ADMIN)
    _, token = await tokens.create(OPERATOR, tenant.id, admin.id, "first start")
    return FirstAccess(FIRST_ADMIN, token)


async def add_tenant(console: Database, actor: Actor, catalogue: Catalogue, slug: str, name: str, admin: str) -> Tenant:
    """Make a tenant with every module switched on, whose administrator may use them all.

    Raises:
        core.errors.Conflict: the slug is taken.
        core.errors.Invalid: the slug or the address has the wrong form.
    """
    tenant = await create_tenant(console, actor, slug, name)
    await _furnish(console, actor, catalogue, tenant, admin)
    return tenant


async def _furnish(console: Database, actor: Actor, catalogue: Catalogue, tenant: Tenant, admin: str) -> None:
    for module in catalogue.modules:
        await set_service(console, actor, tenant.id, module.name, enabled=True)
    with contextlib.suppress(Conflict):
        await create_role(console, actor, tenant.id, ADMIN_ROLE)
    await grant(console, actor, tenant.id, ADMIN_ROLE, "allow", "*")
    with contextlib.suppress(Conflict):
        await create_user(console, actor, tenant.id, admin, system_role="admin", roles=(ADMIN_ROLE,))
