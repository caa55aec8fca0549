"""`mcpist service`: the modules that a tenant has switched on, and their settings."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer

from cli.commands import service_check
from cli.options import JsonOption, ModuleName, TenantOption, create_group
from cli.output import print_line, print_note, print_result, print_table
from cli.runner import read_settings, run_api_command
from core.errors import Invalid

if TYPE_CHECKING:
    from cli.client.admin_api import AdminApiClient
    from core.directory.services import TenantService

app = create_group("Modules that a tenant has switched on, and their settings.")
service_check.register(app)


@app.command("list", epilog="Example: mcpist service list")
def list_(tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show all modules, which of them a tenant has switched on, and what is set for them."""

    def call_api(api: "AdminApiClient") -> list[dict[str, Any]]:
        from cli.client.services import fetch_services

        return fetch_services(api)

    services = run_api_command(call_api, tenant=tenant)
    rows = [
        (
            service["module"],
            service["enabled"],
            service["tool_count"],
            _format_settings(service["settings"]),
            service["description"],
        )
        for service in services
    ]
    columns = ("Module", "Enabled", "Tools", "Settings", "What for")
    print_result(as_json, services, lambda: print_table(columns, rows, empty="No module is installed."))


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
    assignments: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME=VALUE", help="A setting, such as timeout=60; several may be set."),
    ] = None,
    unset: Annotated[
        list[str] | None, typer.Option("--unset", metavar="NAME", help="Back to the default; may be repeated.")
    ] = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Set how a tenant's service reaches its vendor, such as base URL and time-out, and what else its module has.

    Without NAME=VALUE it tells which settings there are. Within a second it counts for everybody there. Settings are
    shown and recorded: they hold no secrets.
    """

    def call_api(api: "AdminApiClient") -> "tuple[TenantService, str | None]":
        from cli.client.services import describe_settings, set_settings
        from gateway.service_settings import parse_typed_value

        values = _parse_pairs(
            assignments or (), unset or (), () if assignments or unset else describe_settings(api, module)
        )
        changes = {name: parse_typed_value(value) for name, value in values.items()}
        service = set_settings(api, module, changes, unset or ())
        # The settings of this machine's product say which addresses it may ask; those of another server are not known.
        urls = [value for name, value in sorted(values.items()) if name.endswith("_url")]
        return service, _find_unreachable_reason(urls) if api.is_operator else None

    service, doubt = run_api_command(call_api, tenant=tenant)
    if doubt:
        print_note(f"Note: {doubt}.")
    if not service.enabled:
        print_note(f"Note: {module} is off for this tenant: mcpist service enable {module}")
    document = {"module": module, "enabled": service.enabled, "settings": service.settings}
    print_result(
        as_json, document, lambda: print_line(f"{module}: {_format_settings(service.settings) or 'nothing set'}.")
    )


def _parse_pairs(assignments: Sequence[str], unset: Sequence[str], known: Sequence[str]) -> dict[str, str]:
    if not assignments and not unset:
        there_are = f"There are: {', '.join(known)}" if known else "This module has none"
        raise Invalid(f"nothing to set; write NAME=VALUE or --unset NAME. {there_are}")
    values: dict[str, str] = {}
    for pair in assignments:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise Invalid("a setting is written NAME=VALUE, such as timeout=60")
        if name in values or name in unset:
            raise Invalid(f"{name[:63]} is given twice")
        values[name] = value
    return values


def _find_unreachable_reason(urls: Sequence[str]) -> str | None:
    """Why the first of these base URLs that will not be reached will not. A product that is started with other settings
    may reach it: so it is no error."""
    if not urls:
        return None
    from core.http.outbound_addresses import AllowedAddresses, SystemLookup
    from gateway.vendor_session.reachability import find_unreachable_reason

    addresses, lookup = AllowedAddresses.from_hosts(read_settings().allowed_private_hosts), SystemLookup()

    async def find_first() -> str | None:
        for url in urls:
            if (reason := await find_unreachable_reason(url, addresses, lookup)) is not None:
                return reason
        return None

    try:
        return asyncio.run(find_first())
    finally:
        lookup.close()


def _set_service_enabled(module: str, tenant: str | None, as_json: bool, *, enabled: bool) -> None:
    def call_api(api: "AdminApiClient") -> None:
        from cli.client.services import set_service_enabled

        set_service_enabled(api, module, enabled)

    run_api_command(call_api, tenant=tenant)
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
