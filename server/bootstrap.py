"""The first start: one tenant, one administrator who may use everything, one link to sign in by, one token. Goes on
where a kill stopped it."""

from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from admin_ui.console_files import is_console_built
from broker.identity.one_time_links import OneTimeLinks
from core.directory.audit_trail import Actor
from core.directory.provisioning import provision_tenant
from core.directory.tenants import find_tenant, list_tenants
from core.directory.users import find_user
from core.secret import Secret
from gateway.catalogue import Catalogue
from server.operator_context import OperatorContext

FIRST_TENANT_SLUG = "default"
FIRST_ADMIN_EMAIL = "admin@localhost"
GUIDED_START_PATH = "/console?start=next"
OPERATOR_ACTOR = Actor("operator")


@dataclass(frozen=True, slots=True)
class FirstAccess:
    """First access to a deployment. `token` and `sign_in_link` are set at the first start only. `tenant` is the
    administrator's where commands have to name it, because there are several."""

    admin_email: str
    token: Secret | None = None
    sign_in_link: Secret | None = None
    tenant: str = ""


async def create_first_access(context: OperatorContext, public_url: str) -> FirstAccess:
    """Make the first tenant, its administrator and their ways in, unless the deployment has had them already."""
    console, tokens = context.console, context.tokens
    slugs = [tenant.slug for tenant in await list_tenants(console)]
    if slugs and FIRST_TENANT_SLUG not in slugs:
        return FirstAccess("")
    if not slugs:
        await provision_tenant(
            console, OPERATOR_ACTOR, FIRST_TENANT_SLUG, "", FIRST_ADMIN_EMAIL, list_module_names(context.catalogue)
        )
    tenant = await find_tenant(console, FIRST_TENANT_SLUG)
    if await tokens.list(tenant.id):
        return FirstAccess(FIRST_ADMIN_EMAIL, tenant=FIRST_TENANT_SLUG if len(slugs) > 1 else "")
    admin = await find_user(console, tenant.id, FIRST_ADMIN_EMAIL)
    next_path = GUIDED_START_PATH if is_console_built() else ""
    link = await create_sign_in_link(
        context.links, OPERATOR_ACTOR, public_url, tenant.id, admin.id, next_path=next_path
    )
    # Last: by it a start is no first one.
    _, token = await tokens.create(OPERATOR_ACTOR, tenant.id, admin.id, "first start")
    return FirstAccess(FIRST_ADMIN_EMAIL, token, link)


async def create_sign_in_link(
    links: OneTimeLinks, actor: Actor, public_url: str, tenant_id: UUID, user_id: UUID, *, next_path: str = ""
) -> Secret:
    """Create the URL that signs a user in, once and within 15 minutes, and leads to `next_path`.

    Raises:
        core.errors.NotFound: the tenant has no such user.
        core.errors.Invalid: the user or the tenant is suspended.
    """
    code = await links.create(actor, tenant_id, user_id)
    query = {"code": code.reveal(), **({"next": next_path} if next_path else {})}
    return Secret(f"{public_url}/sign-in/link?{urlencode(query)}")


def list_module_names(catalogue: Catalogue) -> tuple[str, ...]:
    """List the modules that are enabled in a new tenant: all."""
    return tuple(module.name for module in catalogue.modules)
