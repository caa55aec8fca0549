"""``/services``: the modules, which of them a tenant has switched on, and their settings."""

from collections.abc import Callable
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import Path, Query, Response
from pydantic import Field, JsonValue, StringConstraints

from admin_ui.api.admin_dependencies import AdminDependencies, AdminDeps
from admin_ui.api.installed_modules import InstalledModule, InstalledModules, ModuleSettingValues
from core.api.app import create_router
from core.api.dependencies import AdminRead, AdminWrite
from core.api.pagination import Cursor, PageLimit
from core.api.principal import Principal
from core.api.schemas import PageOf, RequestModel, ResponseModel, ShortText
from core.api.sorted_lists import SortedList, SortKey, fold_key
from core.api.versions import ExpectedVersion, describe_conflict, set_etag
from core.bilingual_text import BilingualText, to_japanese
from core.db import Database
from core.directory import services
from core.directory.services import TenantService
from core.errors import Invalid, InvalidFields, NotFound
from core.module_manifest import accepts_keys
from core.names import MODULE_NAME_FIELD

routes = create_router("services")

ModulePath = Annotated[str, Path(pattern=MODULE_NAME_FIELD, description="Name of the module, such as `github`.")]
ServiceSort = Literal["module", "-module", "title", "-title", "enabled", "-enabled"]
SettingName = Annotated[str, StringConstraints(pattern=MODULE_NAME_FIELD)]
SettingChanges = Annotated[dict[SettingName, JsonValue], Field(max_length=50)]


class TenantServiceView(ResponseModel):
    """A module as a service of the tenant."""

    module: str = Field(description="Name of the module, such as `github`.")
    title: str = Field(description="Display name of the module.")
    title_ja: str = Field(description="Japanese display name; without a translation the English one.")
    description: str = Field(description="Purpose of the module.")
    description_ja: str = Field(description="Japanese text of `description`; without a translation the English one.")
    installed: bool = Field(description="False if the module is not installed.")
    enabled: bool = Field(description="True if the tenant has enabled the module.")
    tool_count: int = Field(description="Number of tools of the module.")
    settings: dict[str, Any] = Field(description="Values of the settings, by name; none is a secret.")
    has_vendor: bool = Field(description="True if the module uses accounts at a vendor.")
    accepts_keys: bool = Field(
        description="True if an account can be an API key, where the provider has keys: not as long as the base URL "
        "names a site, which a key does not tell; the setting `base_url` changes that."
    )


_SERVICES = SortedList[TenantServiceView](
    lambda service: f"{service.module} {service.title} {service.title_ja}",
    lambda service: service.module,
    {
        "module": SortKey(lambda service: service.module),
        "title": SortKey(lambda service: fold_key(service.title)),
        "enabled": SortKey(lambda service: service.enabled, bool),
    },
)


class TenantServiceDetails(TenantServiceView):
    """A service with the form of its settings."""

    settings_schema: dict[str, Any] = Field(
        description="JSON Schema of the settings: an object whose properties have a `title`, a `description`, a "
        "`default` unless unset means none, their limits, and `x-translations` with title and description by language."
    )


class ServiceChange(RequestModel):
    """Changes to a service; omitted fields stay unchanged."""

    enabled: bool | None = Field(default=None, description="Enable or disable the module; null keeps it.")
    settings: SettingChanges | None = Field(
        default=None, description="New values by name; a null value restores the default."
    )


@routes.get("/services")
async def list_services(
    caller: AdminRead,
    dependencies: AdminDeps,
    q: Annotated[ShortText, Query(description="Words that the name or the title contains.")] = "",
    sort: Annotated[ServiceSort, Query(description="Field to order by; with `-` the other way round.")] = "module",
    limit: PageLimit = 50,
    cursor: Cursor = None,
) -> PageOf[TenantServiceView]:
    """List services.

    Returns all modules: installed ones, and those that the tenant had before. Ordered by name, unless `sort` says
    otherwise. Width, case and kana do not count in `q`.
    """
    enabled_services = {
        service.module: service for service in await services.list_services(dependencies.console, caller.tenant_id)
    }
    names = {*enabled_services, *dependencies.installed}
    views = [_build_view(name, enabled_services.get(name), dependencies.installed) for name in names]
    items, next_cursor = _SERVICES.select_page(views, q, sort, limit, cursor)
    return PageOf(items=list(items), next_cursor=next_cursor)


@routes.get("/services/{module}")
async def show_service(
    module: ModulePath, caller: AdminRead, dependencies: AdminDeps, response: Response
) -> TenantServiceDetails:
    """Get a service.

    Returns its settings with the schema by which a page can draw them.
    """
    await set_etag(response, dependencies.console, caller.tenant_id, "service", module)
    service = await _find_service(dependencies.console, caller.tenant_id, module)
    if service is None and module not in dependencies.installed:
        raise NotFound("there is no such service")
    return _build_details(module, service, dependencies.installed)


@routes.patch("/services/{module}")
async def change_service(
    module: ModulePath,
    body: ServiceChange,
    caller: AdminWrite,
    dependencies: AdminDeps,
    response: Response,
    expected_version: ExpectedVersion,
) -> TenantServiceView:
    """Enable or disable a service, or change its settings.

    The change applies to all users of the tenant within a second.
    """
    installed_module = dependencies.installed.get(module)
    if installed_module is None:
        raise NotFound("there is no such service")

    async def load_state() -> TenantServiceDetails:
        service = await _find_service(dependencies.console, caller.tenant_id, module)
        return _build_details(module, service, dependencies.installed)

    await describe_conflict(_apply_change(installed_module, body, caller, dependencies, expected_version), load_state)
    await set_etag(response, dependencies.console, caller.tenant_id, "service", module)
    service = await _find_service(dependencies.console, caller.tenant_id, module)
    return _build_view(module, service, dependencies.installed)


async def _apply_change(
    module: InstalledModule,
    body: ServiceChange,
    caller: Principal,
    dependencies: AdminDependencies,
    expected_version: int | None,
) -> None:
    changes, whose = body.settings or {}, (dependencies.console, caller.actor, caller.tenant_id, module.name)
    if changes:
        change = _get_apply_change(module)
        try:
            await services.set_settings(
                *whose, lambda stored: change(stored, changes), enabled=body.enabled, expected_version=expected_version
            )
        except InvalidFields as error:
            raise error.locate("body.settings") from None
    elif body.enabled is not None:
        await services.set_service(*whose, enabled=body.enabled, expected_version=expected_version)


def _get_apply_change(
    module: InstalledModule,
) -> Callable[[ModuleSettingValues, ModuleSettingValues], ModuleSettingValues]:
    if module.apply_change is None:
        raise Invalid(f"{module.name} has nothing to set")
    return module.apply_change


async def _find_service(console: Database, tenant_id: UUID, module: str) -> TenantService | None:
    tenant_services = await services.list_services(console, tenant_id)
    return next((service for service in tenant_services if service.module == module), None)


_NOT_INSTALLED = BilingualText("not installed", "インストールされていません")


def _build_details(module: str, service: TenantService | None, installed: InstalledModules) -> TenantServiceDetails:
    installed_module = installed.get(module)
    schema = dict(installed_module.settings_schema) if installed_module else {}
    return TenantServiceDetails(**dict(_build_view(module, service, installed)), settings_schema=schema)


def _build_view(module: str, service: TenantService | None, installed: InstalledModules) -> TenantServiceView:
    installed_module = installed.get(module)
    title = installed_module.title if installed_module else module
    description = installed_module.description if installed_module else _NOT_INSTALLED
    return TenantServiceView(
        module=module,
        title=title,
        title_ja=str(to_japanese(title)),
        description=description,
        description_ja=str(to_japanese(description)),
        installed=installed_module is not None,
        enabled=service is not None and service.enabled,
        tool_count=len(installed_module.tools) if installed_module else 0,
        settings={} if service is None else dict(service.settings),
        has_vendor=installed_module is not None and installed_module.has_vendor,
        accepts_keys=installed_module is not None and _accepts_keys(installed_module, service),
    )


def _accepts_keys(module: InstalledModule, service: TenantService | None) -> bool:
    base_url = service.settings.get("base_url") if service is not None else None
    return module.has_vendor and accepts_keys(str(base_url or module.base_url))
