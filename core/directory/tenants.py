"""Tenants: the companies that share one deployment."""

import re
from dataclasses import dataclass
from uuid import UUID, uuid4

import asyncpg

from core.audit.event import Kind
from core.db import Database
from core.directory.actor import Actor, recorded
from core.errors import Conflict, Invalid, NotFound

_STATUS = {"active": Kind.TENANT_RESUMED, "suspended": Kind.TENANT_SUSPENDED}
SLUG = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Tenant:
    """A company. `slug` is its short name at the command line; `record_arguments` keeps arguments in the audit log."""

    id: UUID
    slug: str
    name: str
    status: str
    record_arguments: bool


async def create_tenant(console: Database, actor: Actor, slug: str, name: str = "") -> Tenant:
    """Make a tenant.

    Raises:
        Invalid: the slug or the name has the wrong form.
        Conflict: the slug is taken.
    """
    if not SLUG.fullmatch(slug):
        raise Invalid("a tenant's slug has 1 to 63 of a-z, 0-9 and -, and no - at its ends")
    name = name or slug
    if len(name) > 200:
        raise Invalid("a tenant's name has at most 200 characters")
    tenant_id = uuid4()
    try:
        async with console.tenant(tenant_id) as work:
            await work.execute("INSERT INTO core.tenants (tenant_id, slug, name) VALUES ($1, $2, $3)", slug, name)
            await recorded(work, actor, Kind.TENANT_CREATED, slug=slug)
    except asyncpg.UniqueViolationError:
        raise Conflict(f"there is a tenant {slug!r} already") from None
    return Tenant(tenant_id, slug, name, "active", False)


async def list_tenants(console: Database) -> list[Tenant]:
    """All tenants of the deployment, by slug."""
    rows = await console.lookup("deployment", "list", _COLUMNS)
    return [Tenant(*row.values()) for row in rows]


async def find_tenant(console: Database, slug: str) -> Tenant:
    """The tenant of that slug.

    Raises:
        NotFound: there is none.
    """
    rows = await console.lookup("lookup_slug", slug, _COLUMNS)
    if not rows:
        raise NotFound(f"there is no tenant {slug!r}; `mcpist tenant list` shows them")
    return Tenant(*rows[0].values())


async def set_status(console: Database, actor: Actor, tenant_id: UUID, status: str) -> None:
    """Suspend a tenant, whose people lose all access within a second, or let them in again."""
    if status not in _STATUS:
        raise Invalid("a tenant's status is active or suspended")
    async with console.tenant(tenant_id) as work:
        await work.execute("UPDATE core.tenants SET status = $2 WHERE tenant_id = $1", status)
        await recorded(work, actor, _STATUS[status])


async def set_recording(console: Database, actor: Actor, tenant_id: UUID, *, arguments: bool) -> None:
    """Switch on or off that the audit log keeps the arguments of calls, not only a digest."""
    async with console.tenant(tenant_id) as work:
        await work.execute("UPDATE core.tenants SET record_arguments = $2 WHERE tenant_id = $1", arguments)
        await recorded(work, actor, Kind.TENANT_CHANGED, record_arguments=int(arguments))


_COLUMNS = "SELECT tenant_id, slug, name, status, record_arguments FROM core.tenants ORDER BY slug"
