"""Which tenant and which user a command means."""

from typing import TYPE_CHECKING

from cli.runner import read_settings
from core.errors import Invalid, NotFound

if TYPE_CHECKING:
    from core.directory.tenants import Tenant
    from core.directory.users import User
    from server.operator_context import OperatorContext


async def resolve_tenant(context: "OperatorContext", slug: str | None) -> "Tenant":
    """Resolve the named tenant, else that of the setting MCPIST_TENANT, else the only one.

    Raises:
        NotFound: there is none, or none of that name.
        Invalid: there are several, and none was named.
    """
    from core.directory.tenants import find_tenant, list_tenants

    if slug is not None:
        return await find_tenant(context.console, slug)
    tenants, default = await list_tenants(context.console), read_settings().tenant
    if default:
        return _find_default_tenant(tenants, default)
    if len(tenants) == 1:
        return tenants[0]
    if not tenants:
        raise NotFound("there is no tenant yet: `mcpist up` makes the first one, or `mcpist tenant create`")
    raise Invalid(
        f"there are {len(tenants)} tenants ({_join_slugs(tenants)}); choose one with --tenant SLUG, or with "
        "MCPIST_TENANT=SLUG for all commands"
    )


def _find_default_tenant(tenants: "list[Tenant]", slug: str) -> "Tenant":
    tenant = next((tenant for tenant in tenants if tenant.slug == slug), None)
    if tenant is None:
        raise NotFound(
            f"MCPIST_TENANT names the tenant {slug}, and there is none; there are: {_join_slugs(tenants) or 'none'}"
        )
    return tenant


def _join_slugs(tenants: "list[Tenant]") -> str:
    return ", ".join(tenant.slug for tenant in tenants[:20])


def format_tenant_option(tenant: str | None) -> str:
    """Format the option for commands that are printed after one that has named a tenant."""
    return f" --tenant {tenant}" if tenant else ""


async def list_all_users(context: "OperatorContext", tenant: "Tenant") -> "list[User]":
    """List all users of a tenant."""
    from core.directory.users import list_users

    users = await list_users(context.console, tenant.id)
    while page := await list_users(context.console, tenant.id, after=users[-1].email) if users else []:
        users += page
    return users


async def resolve_user(context: "OperatorContext", tenant: "Tenant", email: str | None) -> "User":
    """Resolve the named user, or the tenant's only administrator.

    Raises:
        NotFound: the tenant has no such user.
        Invalid: none was named, and there is not exactly one administrator; or the user is suspended.
    """
    from core.directory.users import find_user

    if email is not None:
        user = await find_user(context.console, tenant.id, email)
    else:
        user = _get_only_administrator(
            [candidate for candidate in await list_all_users(context, tenant) if candidate.system_role == "admin"]
        )
    if user.status != "active":
        raise Invalid(f"{user.email} is suspended; `mcpist user resume {user.email}` lets them in again")
    return user


def _get_only_administrator(admins: "list[User]") -> "User":
    if len(admins) == 1:
        return admins[0]
    emails = ", ".join(admin.email for admin in admins[:10]) or "none"
    raise Invalid(f"the tenant has not exactly one administrator ({emails}); choose a user with --user EMAIL")
