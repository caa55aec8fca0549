"""Services: the modules that a tenant has switched on."""

from dataclasses import dataclass
from uuid import UUID

from core.audit.event import Kind
from core.db import Database
from core.directory.actor import Actor, recorded


@dataclass(frozen=True, slots=True)
class Service:
    """A module as a tenant has it."""

    module: str
    enabled: bool


async def set_service(console: Database, actor: Actor, tenant_id: UUID, module: str, *, enabled: bool) -> None:
    """Switch a module on or off for a tenant. The caller has made sure that the module exists."""
    async with console.tenant(tenant_id) as work:
        await work.execute(_SET, module, enabled)
        kind = Kind.SERVICE_ENABLED if enabled else Kind.SERVICE_DISABLED
        await recorded(work, actor, kind, module=module)


async def list_services(console: Database, tenant_id: UUID) -> list[Service]:
    """The tenant's services by name, switched on or off."""
    async with console.tenant(tenant_id) as work:
        rows = await work.fetch("SELECT module, enabled FROM core.services WHERE tenant_id = $1 ORDER BY module")
        return [Service(*row.values()) for row in rows]


_SET = """INSERT INTO core.services (tenant_id, module, enabled) VALUES ($1, $2, $3)
    ON CONFLICT (tenant_id, module) DO UPDATE SET enabled = excluded.enabled"""
