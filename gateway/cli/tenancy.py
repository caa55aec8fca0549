"""Which tenant and which user a command means."""

from typing import TYPE_CHECKING

from core.errors import Invalid, NotFound

if TYPE_CHECKING:
    from core.directory.tenants import Tenant
    from core.directory.users import User
    from gateway.single.operator import Operator


async def the_tenant(operating: "Operator", slug: str | None) -> "Tenant":
    """The named tenant, or the only one.

    Raises:
        NotFound: there is none, or none of that name.
        Invalid: there are several, and none was named.
    """
    from core.directory.tenants import find_tenant, list_tenants

    if slug is not None:
        return await find_tenant(operating.console, slug)
    tenants = await list_tenants(operating.console)
    if len(tenants) == 1:
        return tenants[0]
    if not tenants:
        raise NotFound("there is no tenant yet: `mcpist up` makes the first one, or `mcpist tenant create`")
    slugs = ", ".join(tenant.slug for tenant in tenants[:20])
    raise Invalid(f"there are {len(tenants)} tenants ({slugs}); choose one with --tenant SLUG")


async def everybody(operating: "Operator", tenant: "Tenant") -> "list[User]":
    """All users of a tenant."""
    from core.directory.users import list_users

    users = await list_users(operating.console, tenant.id)
    while more := await list_users(operating.console, tenant.id, after=users[-1].email) if users else []:
        users += more
    return users


async def the_user(operating: "Operator", tenant: "Tenant", email: str | None) -> "User":
    """The named user, or the tenant's only administrator.

    Raises:
        NotFound: the tenant has no such user.
        Invalid: none was named, and there is not exactly one administrator; or the user is suspended.
    """
    from core.directory.users import find_user

    if email is not None:
        user = await find_user(operating.console, tenant.id, email)
    else:
        user = _only([one for one in await everybody(operating, tenant) if one.system_role == "admin"])
    if user.status != "active":
        raise Invalid(f"{user.email} is suspended; `mcpist user resume {user.email}` lets them in again")
    return user


def _only(admins: "list[User]") -> "User":
    if len(admins) == 1:
        return admins[0]
    told = ", ".join(admin.email for admin in admins[:10]) or "none"
    raise Invalid(f"the tenant has not exactly one administrator ({told}); choose a user with --user EMAIL")
