"""``/services``: the modules, which of them a tenant has switched on, and their settings."""

from collections.abc import Callable
from typing import Annotated, Any
from uuid import UUID

from fastapi import Path
from pydantic import Field, JsonValue, StringConstraints

from admin_ui.api.installed import Installed, InstalledModule, Settings
from admin_ui.api.parts import Parts
from core.api.app import router
from core.api.callers import ChangingAdmin, ReadingAdmin
from core.api.paging import Cursor, Most, TextKey, key_of, paged
from core.api.shapes import Asked, PageOf, Told
from core.db import Database
from core.directory import services
from core.directory.services import Service
from core.errors import Invalid, NotFound

routes = router("services")

Module = Annotated[str, Path(pattern="^[a-z][a-z0-9_]{0,62}$")]
SettingName = Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9_]{0,62}$")]
Changes = Annotated[dict[SettingName, JsonValue], Field(max_length=50)]


class SettingView(Told):
    """A setting that the service may have."""

    name: str
    description: str


class ServiceView(Told):
    """A module as the tenant has it; no setting is a secret. `available` are the settings that there are. One that is
    not `installed` is only remembered."""

    module: str
    title: str
    description: str
    installed: bool
    enabled: bool
    tools: int
    settings: dict[str, Any]
    available: list[SettingView]


class ServiceChange(Asked):
    """What is left out stays as it is. A setting that is null goes back to its default."""

    enabled: bool | None = None
    settings: Changes | None = None


@routes.get("/services")
async def list_services(
    caller: ReadingAdmin, parts: Parts, limit: Most = 50, cursor: Cursor = None
) -> PageOf[ServiceView]:
    """All modules by name, installed ones and those that the tenant had before, switched on or off."""
    after: str = "" if cursor is None else key_of(cursor, TextKey)
    found = {one.module: one for one in await services.list_services(parts.console, caller.tenant_id)}
    names = [name for name in sorted({*found, *parts.installed}) if name > after]
    shown, following = paged(names[: limit + 1], limit, lambda name: name)
    items = [_view(name, found.get(name), parts.installed) for name in shown]
    return PageOf(items=items, next_cursor=following)


@routes.get("/services/{module}")
async def show_service(module: Module, caller: ReadingAdmin, parts: Parts) -> ServiceView:
    """One of them."""
    found = await _stored(parts.console, caller.tenant_id, module)
    if found is None and module not in parts.installed:
        raise NotFound("there is no such service")
    return _view(module, found, parts.installed)


@routes.patch("/services/{module}")
async def change_service(module: Module, asked: ServiceChange, caller: ChangingAdmin, parts: Parts) -> ServiceView:
    """Switch a module on or off, or change settings of it. Within a second it counts for everybody of the tenant."""
    known = parts.installed.get(module)
    if known is None:
        raise NotFound("there is no such service")
    changes = asked.settings or {}
    if changes:
        change = _change_of(known)
        await services.set_settings(
            parts.console, caller.actor, caller.tenant_id, module, lambda stored: change(stored, changes)
        )
    if asked.enabled is not None:
        await services.set_service(parts.console, caller.actor, caller.tenant_id, module, enabled=asked.enabled)
    return _view(module, await _stored(parts.console, caller.tenant_id, module), parts.installed)


def _change_of(known: InstalledModule) -> Callable[[Settings, Settings], Settings]:
    if known.change is None:
        raise Invalid(f"{known.name} has no vendor: there is nothing to set")
    return known.change


async def _stored(console: Database, tenant_id: UUID, module: str) -> Service | None:
    found = await services.list_services(console, tenant_id)
    return next((one for one in found if one.module == module), None)


def _view(module: str, found: Service | None, installed: Installed) -> ServiceView:
    known = installed.get(module)
    return ServiceView(
        module=module,
        title=known.title if known else module,
        description=known.description if known else "not installed",
        installed=known is not None,
        enabled=found is not None and found.enabled,
        tools=len(known.tools) if known else 0,
        settings={} if found is None else dict(found.settings),
        available=[SettingView(name=one.name, description=one.description) for one in known.settings] if known else [],
    )
