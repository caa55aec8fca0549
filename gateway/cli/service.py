"""`mcpist service`: the modules that a tenant has switched on."""

from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.options import JsonOption, TenantOption, group
from gateway.cli.output import emit, say, table
from gateway.cli.session import administer

if TYPE_CHECKING:
    from gateway.catalogue import Catalogue
    from gateway.single.operator import Operator

app = group("Modules that a tenant has switched on.")

ModuleName = Annotated[str, typer.Argument(metavar="MODULE", help="The module's name.")]


@app.command("list", epilog="Example: mcpist service list")
def list_(tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show all modules, and which of them a tenant has switched on."""

    async def work(operating: "Operator") -> list[dict[str, object]]:
        from core.directory.services import list_services
        from gateway.cli.tenancy import the_tenant

        services = await list_services(operating.console, (await the_tenant(operating, tenant)).id)
        enabled = {service.module: service.enabled for service in services}
        return _shown(operating.catalogue, enabled)

    found = administer(work)
    rows = [(one["module"], one["enabled"], one["tools"], one["description"]) for one in found]
    columns = ("Module", "Enabled", "Tools", "What for")
    emit(as_json, found, lambda: table(columns, rows, empty="No module is installed."))


@app.command("enable", epilog="Example: mcpist service enable knowledge_graph")
def enable(module: ModuleName, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Switch a module on for a tenant."""
    _switch(module, tenant, as_json, enabled=True)


@app.command("disable", epilog="Example: mcpist service disable knowledge_graph")
def disable(module: ModuleName, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Switch a module off for a tenant: within a second it does not exist for anybody there."""
    _switch(module, tenant, as_json, enabled=False)


def _switch(module: str, tenant: str | None, as_json: bool, *, enabled: bool) -> None:
    async def work(operating: "Operator") -> None:
        from core.directory.services import set_service
        from gateway.cli.tenancy import the_tenant
        from gateway.single.bootstrap import OPERATOR

        found = await the_tenant(operating, tenant)
        _check(operating.catalogue, module)
        await set_service(operating.console, OPERATOR, found.id, module, enabled=enabled)

    administer(work)
    emit(as_json, {"module": module, "enabled": enabled}, lambda: say(f"{module} is {'on' if enabled else 'off'}."))


def _check(catalogue: "Catalogue", module: str) -> None:
    from core.errors import NotFound
    from gateway.arguments import nearest

    if module in catalogue.tools:
        return
    near = nearest(module, list(catalogue.tools))
    hint = f"did you mean {near}?" if near else f"there are: {', '.join(catalogue.tools) or 'none'}"
    raise NotFound(f"there is no module {module[:100]!r}; {hint}")


def _shown(catalogue: "Catalogue", enabled: dict[str, bool]) -> list[dict[str, object]]:
    known: list[dict[str, object]] = [
        {
            "module": one.name,
            "enabled": enabled.get(one.name, False),
            "installed": True,
            "tools": len(one.tools),
            "description": one.description,
        }
        for one in catalogue.modules
    ]
    gone = sorted(enabled.keys() - catalogue.tools.keys())
    return known + [
        {"module": name, "enabled": enabled[name], "installed": False, "tools": 0, "description": "not installed"}
        for name in gone
    ]
