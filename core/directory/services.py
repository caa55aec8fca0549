"""Services: the modules that a tenant has switched on, and their settings."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson

from core.audit.event import AuditEventKind
from core.db import Database, UnitOfWork
from core.directory.audit_trail import Actor, audit_change
from core.directory.versions import lock_version, record_change

MAX_SERVICES = 10_000
ServiceSettingValues = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TenantService:
    """A module as a tenant has it. `settings` are those that an administrator has set, none of them a secret."""

    module: str
    enabled: bool
    settings: ServiceSettingValues


async def set_service(
    console: Database,
    actor: Actor,
    tenant_id: UUID,
    module: str,
    *,
    enabled: bool,
    expected_version: int | None = None,
) -> None:
    """Switch a module on or off for a tenant. The caller has made sure that the module exists.

    Raises:
        VersionConflict: the service's version is not the expected one.
    """
    async with console.tenant(tenant_id) as work:
        await lock_version(work, "service", module, expected_version)
        await record_change(work, actor, "service", module)
        await _set_enabled(work, actor, module, enabled)


async def set_settings(
    console: Database,
    actor: Actor,
    tenant_id: UUID,
    module: str,
    change: Callable[[ServiceSettingValues], ServiceSettingValues],
    *,
    enabled: bool | None = None,
    expected_version: int | None = None,
) -> TenantService:
    """Give a tenant's service the settings that `change` makes of its present ones; the service as it is now.

    `change` checks what it makes, and whatever it raises leaves everything as it was. A service that was never switched
    on stays off, unless `enabled` says otherwise. The caller has made sure that the module exists.

    Raises:
        VersionConflict: the service's version is not the expected one.
    """
    async with console.tenant(tenant_id) as work:
        await lock_version(work, "service", module, expected_version)
        await record_change(work, actor, "service", module)
        await work.execute(_ADD, module)
        row = await work.fetchrow(_LOCK, module)
        assert row is not None
        before: ServiceSettingValues = orjson.loads(row["settings"])
        after = change(before)
        if after != before:
            await work.execute(_CHANGE, module, orjson.dumps(after).decode())
            difference = orjson.dumps(_compute_difference(before, after)).decode()
            await audit_change(work, actor, AuditEventKind.SERVICE_CHANGED, module=module, settings=difference)
        if enabled is not None:
            await _set_enabled(work, actor, module, enabled)
        return TenantService(module, row["enabled"] if enabled is None else enabled, after)


async def list_services(
    console: Database, tenant_id: UUID, *, after: str = "", limit: int = MAX_SERVICES
) -> list[TenantService]:
    """List the tenant's services by the name of their module, switched on or off, after the module `after`."""
    async with console.tenant(tenant_id) as work:
        rows = await work.fetch(_LIST, after, limit)
        return [TenantService(row["module"], row["enabled"], orjson.loads(row["settings"])) for row in rows]


async def _set_enabled(work: UnitOfWork, actor: Actor, module: str, enabled: bool) -> None:
    await work.execute(_SET, module, enabled)
    kind = AuditEventKind.SERVICE_ENABLED if enabled else AuditEventKind.SERVICE_DISABLED
    await audit_change(work, actor, kind, module=module)


def _compute_difference(before: ServiceSettingValues, after: ServiceSettingValues) -> dict[str, Any]:
    """Return the settings that changed, with None for removed ones."""
    names = sorted(before.keys() | after.keys())
    return {name: after.get(name) for name in names if before.get(name) != after.get(name)}


_LIST = """SELECT module, enabled, settings FROM core.services WHERE tenant_id = $1 AND module > $2
    ORDER BY module LIMIT $3"""
_SET = """INSERT INTO core.services (tenant_id, module, enabled) VALUES ($1, $2, $3)
    ON CONFLICT (tenant_id, module) DO UPDATE SET enabled = excluded.enabled"""
_ADD = """INSERT INTO core.services (tenant_id, module, enabled) VALUES ($1, $2, false)
    ON CONFLICT (tenant_id, module) DO NOTHING"""
_LOCK = "SELECT enabled, settings FROM core.services WHERE tenant_id = $1 AND module = $2 FOR UPDATE"
_CHANGE = "UPDATE core.services SET settings = $3::jsonb WHERE tenant_id = $1 AND module = $2"
