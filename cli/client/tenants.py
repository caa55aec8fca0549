"""Tenants at a server, for its operator; and the caller's own tenant, for its administrators."""

from collections.abc import Mapping, Sequence

from cli.client.admin_api import AdminApiClient, parse_remaining_accounts
from cli.client.me import fetch_profile
from cli.lookup import choose_tenant
from core.directory.account_revocation import RevocationResult
from core.directory.tenants import Tenant
from core.errors import Conflict, NotFound


def fetch_tenants(api: AdminApiClient) -> list[Tenant]:
    """Fetch all of them, by slug."""
    return list(api.iterate("/tenants", Tenant))


def create_tenant(api: AdminApiClient, slug: str, name: str, administrator: str) -> Tenant:
    """Make a tenant with its first administrator.

    Raises:
        Conflict: the slug is taken.
    """
    tenant, new = api.create("/tenants", Tenant, {"slug": slug, "name": name, "administrator": administrator})
    if not new:
        raise Conflict(f"there is a tenant {slug!r} already")
    return tenant


def set_status(api: AdminApiClient, slug: str, status: str) -> None:
    """Suspend a tenant, or let it in again."""
    api.change("PATCH", "/tenants/{}", {"status": status}, str(_fetch_tenant(api, slug).id))


def count_contents(api: AdminApiClient, slug: str) -> Mapping[str, int]:
    """Count what ends when a tenant is removed, by kind."""
    return api.get("/tenants/{}/contents", dict[str, int], str(_fetch_tenant(api, slug).id))


def remove_tenant(api: AdminApiClient, slug: str, confirmation: str) -> Sequence[RevocationResult]:
    """Delete a tenant with all its users' data; return the accounts that stay active at vendors."""
    return parse_remaining_accounts(api.delete("/tenants/{}", str(_fetch_tenant(api, slug).id), confirm=confirmation))


def change_tenant(api: AdminApiClient, slug: str | None, default: str, change: Mapping[str, str | int | None]) -> str:
    """Change fields of a tenant; its slug. `default` is the operator's where none is named."""
    if api.is_operator:
        selected = select_tenant(api, slug, default)
        api.change("PATCH", "/tenants/{}", change, str(_fetch_tenant(api, selected).id))
        return selected
    mine = fetch_profile(api).tenant.slug
    if slug in (None, mine):
        api.change("PATCH", "/tenant", change)
        return mine
    api.change("PATCH", "/tenants/{}", change, str(_fetch_tenant(api, slug or "").id))
    return slug or mine


def _fetch_tenant(api: AdminApiClient, slug: str) -> Tenant:
    for tenant in fetch_tenants(api):
        if tenant.slug == slug:
            return tenant
    raise NotFound(f"there is no tenant {slug[:100]!r}; `mcpist tenant list` shows them")


def select_tenant(api: AdminApiClient, slug: str | None, default: str) -> str:
    """Return the slug of the tenant that an operator's command is about: the named one, else `default` (the setting
    MCPIST_TENANT), else the only one.

    Raises:
        NotFound: there is none, or none of that name.
        Invalid: there are several, and none was named.
    """
    if slug is not None:
        return _fetch_tenant(api, slug).slug
    return choose_tenant([tenant.slug for tenant in fetch_tenants(api)], default)
