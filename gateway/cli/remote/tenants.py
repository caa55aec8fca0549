"""Tenants at a server, for whoever operates it; and one's own tenant, for its administrators."""

from collections.abc import Sequence

from core.directory.farewell import Goodbye
from core.directory.tenants import Tenant
from core.errors import Conflict, NotFound
from gateway.cli.remote.api import Api
from gateway.cli.remote.me import me
from gateway.cli.remote.removed import left


def tenants(api: Api) -> list[Tenant]:
    """All of them, by slug."""
    return list(api.all("/tenants", Tenant))


def create_tenant(api: Api, slug: str, name: str, administrator: str) -> Tenant:
    """Make a tenant with its first administrator.

    Raises:
        Conflict: the slug is taken.
    """
    made, new = api.make("/tenants", Tenant, {"slug": slug, "name": name, "administrator": administrator})
    if not new:
        raise Conflict(f"there is a tenant {slug!r} already")
    return made


def set_status(api: Api, slug: str, status: str) -> None:
    """Suspend a tenant, or let it in again."""
    api.change("PATCH", "/tenants/{}", {"status": status}, str(_of(api, slug).id))


def remove_tenant(api: Api, slug: str, confirmation: str) -> Sequence[Goodbye]:
    """Delete a tenant with all that is its people's; which of their accounts live on at vendors."""
    return left(api.delete("/tenants/{}", str(_of(api, slug).id), confirm=confirmation))


def set_recording(api: Api, slug: str | None, arguments: bool) -> str:
    """Keep the arguments of calls, or only a digest; the tenant's slug."""
    mine, change = me(api).tenant.slug, {"record_arguments": arguments}
    if slug in (None, mine):
        api.change("PATCH", "/tenant", change)
        return mine
    api.change("PATCH", "/tenants/{}", change, str(_of(api, slug or "").id))
    return slug or mine


def _of(api: Api, slug: str) -> Tenant:
    for one in tenants(api):
        if one.slug == slug:
            return one
    raise NotFound(f"there is no tenant {slug[:100]!r}; `mcpist tenant list` shows them")
