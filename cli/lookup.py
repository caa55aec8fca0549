"""Which tenant and which user a command means."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cli.runner import read_settings
from core.errors import Invalid, NotFound

if TYPE_CHECKING:
    from core.directory.tenants import Tenant
    from core.directory.users import User
    from server.operator_context import OperatorContext

MAX_LISTED_SLUGS = 20
"""Of the tenants in an error that asks to choose one."""


async def resolve_tenant(context: "OperatorContext", slug: str | None) -> "Tenant":
    """Resolve the named tenant, else that of the setting MCPIST_TENANT, else the only one.

    Raises:
        NotFound: there is none, or none of that name.
        Invalid: there are several, and none was named.
    """
    from core.directory.tenants import find_tenant, list_tenants

    if slug is not None:
        return await find_tenant(context.console, slug)
    tenants = {tenant.slug: tenant for tenant in await list_tenants(context.console)}
    return tenants[choose_tenant(list(tenants), read_settings().tenant)]


def choose_tenant(slugs: Sequence[str], default: str) -> str:
    """Return the slug of the tenant that a command means that names none: `default` (the setting MCPIST_TENANT), else
    the only one of `slugs`.

    Raises:
        NotFound: there is none, or none that is called `default`.
        Invalid: there are several.
    """
    if default and default not in slugs:
        raise NotFound(
            f"MCPIST_TENANT names the tenant {default}, and there is none; there are: {_join_slugs(slugs) or 'none'}"
        )
    if default or len(slugs) == 1:
        return default or slugs[0]
    if not slugs:
        raise NotFound("there is no tenant yet: `mcpist up` makes the first one, or `mcpist tenant create`")
    raise Invalid(
        f"there are {len(slugs)} tenants ({_join_slugs(slugs)}); choose one with --tenant SLUG, or with "
        "MCPIST_TENANT=SLUG for all commands"
    )


def _join_slugs(slugs: Sequence[str]) -> str:
    omitted = len(slugs) - MAX_LISTED_SLUGS
    return ", ".join([*slugs[:MAX_LISTED_SLUGS], *([f"and {omitted} more"] if omitted > 0 else [])])


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
