"""`mcpist service`: the modules that a tenant has switched on, and their settings."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from cli.modules import ModuleName, find_installed_module, get_vendor_api
from cli.options import JsonOption, TenantOption, create_group
from cli.output import print_line, print_note, print_result, print_table
from cli.runner import run_admin_command, run_local, run_local_or_remote
from core.errors import Invalid

if TYPE_CHECKING:
    from cli.client.admin_api import AdminApiClient
    from cli.progress import Report
    from core.config.settings import Settings
    from core.directory.services import TenantService
    from gateway.catalogue import Catalogue
    from modules.kit import VendorApi
    from server.operator_context import OperatorContext

app = create_group("Modules that a tenant has switched on, and their settings.")


@app.command("list", epilog="Example: mcpist service list")
def list_(tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show all modules, which of them a tenant has switched on, and what is set for them."""

    async def work(operating: "OperatorContext") -> list[dict[str, Any]]:
        from cli.lookup import resolve_tenant
        from core.directory.services import list_services

        services = await list_services(operating.console, (await resolve_tenant(operating, tenant)).id)
        return _build_documents(operating.catalogue, {service.module: service for service in services})

    def call_api(api: "AdminApiClient") -> list[dict[str, Any]]:
        from cli.client.services import fetch_services

        return fetch_services(api)

    found = run_admin_command(work, call_api, tenant=tenant)
    rows = [
        (one["module"], one["enabled"], one["tool_count"], _format_settings(one["settings"]), one["description"])
        for one in found
    ]
    columns = ("Module", "Enabled", "Tools", "Settings", "What for")
    print_result(as_json, found, lambda: print_table(columns, rows, empty="No module is installed."))


@app.command("enable", epilog="Example: mcpist service enable knowledge_graph")
def enable(module: ModuleName, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Switch a module on for a tenant."""
    _set_service_enabled(module, tenant, as_json, enabled=True)


@app.command("disable", epilog="Example: mcpist service disable knowledge_graph")
def disable(module: ModuleName, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Switch a module off for a tenant: within a second it does not exist for anybody there."""
    _set_service_enabled(module, tenant, as_json, enabled=False)


@app.command("set", epilog="Example: mcpist service set github base_url=https://github.acme.example/api/v3 timeout=60")
def set_(
    module: ModuleName,
    given: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME=VALUE", help="A setting, such as timeout=60; several may be set."),
    ] = None,
    unset: Annotated[
        list[str] | None, typer.Option("--unset", metavar="NAME", help="Back to the default; may be repeated.")
    ] = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set how a tenant's service reaches its vendor: base URL, time-out and what else the module has.

    Within a second it counts for everybody there. Settings are shown and recorded: they hold no secrets.
    """

    async def work(settings: "Settings", report: "Report") -> "tuple[TenantService, str | None]":
        from server.operator_context import open_operator_context

        async with open_operator_context(settings, report) as operating:
            api = get_vendor_api(find_installed_module(operating.catalogue, module))
            values = _parse_pairs(given or (), unset or (), _list_settings(api))
            doubt = await _find_unreachable_reason(settings, values.get("base_url"))
            return await _change_settings(operating, tenant, module, api, values, unset or ()), doubt

    def call_api(api: "AdminApiClient") -> "tuple[TenantService, str | None]":
        from cli.client.services import fetch_available_settings, set_settings
        from gateway.service_settings import parse_typed_value

        values = _parse_pairs(given or (), unset or (), () if given or unset else fetch_available_settings(api, module))
        typed = {name: parse_typed_value(value) for name, value in values.items()}
        return set_settings(api, module, typed, unset or ()), None

    service, doubt = run_local_or_remote(lambda: run_local(work), call_api, tenant=tenant)
    if doubt:
        print_note(f"Note: {doubt}.")
    if not service.enabled:
        print_note(f"Note: {module} is off for this tenant: mcpist service enable {module}")
    document = {"module": module, "enabled": service.enabled, "settings": service.settings}
    print_result(
        as_json, document, lambda: print_line(f"{module}: {_format_settings(service.settings) or 'nothing set'}.")
    )


def _list_settings(api: "VendorApi") -> list[tuple[str, str]]:
    return [(name, field.description or "") for name, field in api.settings.model_fields.items()]


def _parse_pairs(given: Sequence[str], unset: Sequence[str], forms: Sequence[tuple[str, str]]) -> dict[str, str]:
    if not given and not unset:
        told = ", ".join(f"{name} ({description})" for name, description in forms)
        raise Invalid(f"nothing to set; write NAME=VALUE or --unset NAME. There are: {told}")
    values: dict[str, str] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise Invalid("a setting is written NAME=VALUE, such as timeout=60")
        if name in values or name in unset:
            raise Invalid(f"{name[:63]} is given twice")
        values[name] = value
    return values


async def _find_unreachable_reason(settings: "Settings", base_url: str | None) -> str | None:
    """Why this base URL will not be reached. The server may have another list than this command: so it is no error."""
    if base_url is None:
        return None
    from core.http.outbound_addresses import AllowedAddresses, SystemLookup
    from gateway.vendor_session.reachability import find_unreachable_reason

    lookup = SystemLookup()
    try:
        return await find_unreachable_reason(
            base_url, AllowedAddresses.from_hosts(settings.allowed_private_hosts), lookup
        )
    finally:
        lookup.close()


async def _change_settings(
    operating: "OperatorContext",
    tenant: str | None,
    module: str,
    api: "VendorApi",
    values: dict[str, str],
    unset: Sequence[str],
) -> "TenantService":
    from cli.lookup import resolve_tenant
    from core.directory.services import set_settings
    from gateway.service_settings import apply_text_changes
    from server.bootstrap import OPERATOR_ACTOR

    def change(stored: Mapping[str, Any]) -> Mapping[str, Any]:
        return apply_text_changes(api.settings, stored, values, unset)

    found = await resolve_tenant(operating, tenant)
    return await set_settings(operating.console, OPERATOR_ACTOR, found.id, module, change)


def _set_service_enabled(module: str, tenant: str | None, as_json: bool, *, enabled: bool) -> None:
    async def work(operating: "OperatorContext") -> None:
        from cli.lookup import resolve_tenant
        from core.directory.services import set_service
        from server.bootstrap import OPERATOR_ACTOR

        found = await resolve_tenant(operating, tenant)
        find_installed_module(operating.catalogue, module)
        await set_service(operating.console, OPERATOR_ACTOR, found.id, module, enabled=enabled)

    def call_api(api: "AdminApiClient") -> None:
        from cli.client.services import set_service_enabled

        set_service_enabled(api, module, enabled)

    run_admin_command(work, call_api, tenant=tenant)
    print_result(
        as_json,
        {"module": module, "enabled": enabled},
        lambda: print_line(f"{module} is {'on' if enabled else 'off'}."),
    )


def _format_settings(settings: Mapping[str, Any]) -> str:
    """Settings in the form in which they are given."""
    return ", ".join(
        f"{name}={value if isinstance(value, str) else orjson.dumps(value).decode()}"
        for name, value in sorted(settings.items())
    )


def _build_documents(catalogue: "Catalogue", services: "Mapping[str, TenantService]") -> list[dict[str, Any]]:
    known: list[dict[str, Any]] = [
        {
            "module": one.name,
            "enabled": one.name in services and services[one.name].enabled,
            "installed": True,
            "tool_count": len(one.tools),
            "settings": services[one.name].settings if one.name in services else {},
            "description": one.description,
        }
        for one in catalogue.modules
    ]
    gone = [services[name] for name in sorted(services.keys() - catalogue.tools.keys())]
    return known + [
        {
            "module": one.module,
            "enabled": one.enabled,
            "installed": False,
            "tool_count": 0,
            "settings": one.settings,
            "description": "not installed",
        }
        for one in gone
    ]
