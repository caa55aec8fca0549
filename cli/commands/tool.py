"""`mcpist tool`: the tools, resources and prompts that the signed-in person may use, and for administrators those of
all services."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.options import JsonOption, ModuleName, TenantOption, create_group
from cli.output import format_json, print_line, print_result, print_table
from cli.runner import run_api_command
from core.module_manifest import CapabilityKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cli.client.admin_api import AdminApiClient

app = create_group("Tools that you may use, at a server where you are signed in.")

Kind = Annotated[
    CapabilityKind | None, typer.Option("--kind", help="Only tools, resources or prompts; default all of them.")
]
Search = Annotated[str, typer.Option("--search", metavar="WORDS", help="Only what has these words.")]


@app.command("modules", epilog="Example: mcpist tool modules --search calendar")
def modules(search: Search = "", as_json: JsonOption = False) -> None:
    """Show the modules of your tools, with the connection that their calls use."""

    def call_api(api: "AdminApiClient") -> list[dict[str, Any]]:
        from cli.client.tools import fetch_tool_modules

        return fetch_tool_modules(api, search)

    found = run_api_command(call_api, needs_tenant=False)
    columns = ("Module", "Name", "Tools", "You may not use", "Connection", "Access ends")
    rows = [_build_module_row(one) for one in found]
    print_result(as_json, found, lambda: print_table(columns, rows, empty="No module has a tool for you."))


def _build_module_row(module: "Mapping[str, Any]") -> tuple[Any, ...]:
    connection: Mapping[str, Any] = module["connection"] or {"state": "", "token_expires_at": ""}
    counts = (module["tool_count"], module["hidden_tool_count"])
    return (module["module"], module["title"]["en"], *counts, connection["state"], connection["token_expires_at"] or "")


@app.command("list", epilog="Example: mcpist tool list github --search issue --kind resource")
def list_(
    module: ModuleName,
    search: Search = "",
    kind: Kind = None,
    hidden: Annotated[bool, typer.Option("--hidden", help="Those that you may not use, to ask for.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show your tools, resources and prompts of a module."""

    def call_api(api: "AdminApiClient") -> list[dict[str, Any]]:
        from cli.client.tools import fetch_tools

        return fetch_tools(api, module, search, permitted=not hidden, kind=kind)

    found = run_api_command(call_api, needs_tenant=False)
    rows = [(one["name"], one["kind"], one["title"]["en"], one["effect"] or "") for one in found]
    print_result(as_json, found, lambda: print_table(("Tool", "Kind", "Name", "Effect"), rows, empty="No such tool."))


@app.command("show", epilog="Example: mcpist tool show github search_issues")
def show(
    module: ModuleName,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The tool's name.")],
    as_json: JsonOption = False,
) -> None:
    """Show one of your tools, with the schemas of its parameters and its result."""

    def call_api(api: "AdminApiClient") -> dict[str, Any]:
        from cli.client.tools import fetch_tool

        return fetch_tool(api, module, tool)

    found = run_api_command(call_api, needs_tenant=False)
    print_result(as_json, found, lambda: print_line(format_json(found)))


@app.command("all", epilog="Example: mcpist tool all --module github --tenant acme")
def all_(
    module: Annotated[str | None, typer.Option("--module", metavar="MODULE", help="Only this module's.")] = None,
    kind: Kind = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the tools, resources and prompts of all installed modules, whoever may use them: what a role can allow."""

    def call_api(api: "AdminApiClient") -> list[dict[str, Any]]:
        from cli.client.tools import fetch_service_tools

        return fetch_service_tools(api, module, kind)

    found = run_api_command(call_api, tenant=tenant)
    rows = [(f"{one['module']}.{one['name']}", one["kind"], one["title"]["en"], one["effect"]) for one in found]
    columns = ("Permission", "Kind", "Name", "Effect")
    print_result(as_json, found, lambda: print_table(columns, rows, empty="No such tool."))
