"""The first start: one tenant, one administrator who may use everything, one link to sign in by, one token. Goes on
where a kill stopped it."""

import contextlib
from dataclasses import dataclass
from uuid import UUID

from broker.identity.api_tokens import ApiTokens
from broker.identity.one_time_links import OneTimeLinks
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
    """How to get in. `token` and `sign_in_link` are there at the first start only, and never again."""

    admin_email: str
    token: Secret | None = None
    sign_in_link: Secret | None = None


async def first_access(
    console: Database, tokens: ApiTokens, links: OneTimeLinks, catalogue: Catalogue, public_url: str
) -> FirstAccess:
    """Make the first tenant, its administrator and their ways in, unless the deployment has had them already."""
    slugs = [tenant.slug for tenant in await list_tenants(console)]
    if slugs and FIRST_TENANT not in slugs:
        return FirstAccess("")
    if not slugs:
        await add_tenant(console, OPERATOR, catalogue, FIRST_TENANT, "", FIRST_ADMIN)
    tenant = await find_tenant(console, FIRST_TENANT)
    if await tokens.list(tenant.id):
        return FirstAccess(FIRST_ADMIN)
    await _furnish(console, OPERATOR, catalogue, tenant, FIRST_ADMIN)
    admin = await find_user(console, tenant.id, FIRST_ADMIN)
    link = await link_for(links, OPERATOR, public_url, tenant.id, admin.id)
    _, token = await tokens.create(OPERATOR, tenant.id, admin.id, "first start")  # last: by it a start is no first one
    return FirstAccess(FIRST_ADMIN, token, link)


async def link_for(links: OneTimeLinks, actor: Actor, public_url: str, tenant_id: UUID, user_id: UUID) -> Secret:
    """The URL that signs a user in, once and within 15 minutes.

    Raises:
        core.errors.NotFound: the tenant has no such user.
        core.errors.Invalid: the user or the tenant is suspended.
    """
    code = await links.create(actor, tenant_id, user_id)
    return Secret(f"{public_url}/sign-in/link?code={code.reveal()}")


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
