"""`mcpist role`: named sets of tool permissions."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.model_view_output import print_model_view
from cli.options import TOOL_EXPOSURE_HELP, JsonOption, TenantOption, create_group
from cli.output import print_line, print_result, print_table
from cli.revocation_output import print_remaining_accounts
from cli.runner import run_api_command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cli.client.admin_api import AdminApiClient
    from core.directory.account_revocation import RevocationResult
    from core.directory.roles import RoleRecord

app = create_group("Roles: what their members may use.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The role's name.")]
Permission = Annotated[
    str,
    typer.Argument(
        metavar="PERMISSION", help="module.tool, module.*, module:read (its tools that only read), or * for everything."
    ),
]


AllowUnknown = Annotated[
    bool,
    typer.Option("--allow-unknown", help="Take a permission that matches nothing: what it names is installed later."),
]


@app.command("create", epilog="Example: mcpist role create reader --priority 10")
def create(
    name: Name,
    priority: Annotated[
        int, typer.Option("--priority", help="Whose shared credential counts first; the highest.", show_default=True)
    ] = 0,
    tool_exposure: Annotated[
        str | None, typer.Option("--tool-exposure", metavar="EXPOSURE", help=f"{TOOL_EXPOSURE_HELP}; default meta.")
    ] = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a role. It permits nothing until you allow it something."""

    def call_api(api: "AdminApiClient") -> None:
        from cli.client.roles import create_role

        create_role(api, name, priority, tool_exposure)

    run_api_command(call_api, tenant=tenant)

    def print_text() -> None:
        print_line(f"Made role {name}.")
        from cli.lookup import format_tenant_option

        print_line(f"Allow it something: mcpist role allow {name} PERMISSION{format_tenant_option(tenant)}")

    document = {"name": name, "priority": priority, "tool_exposure": tool_exposure}
    print_result(as_json, document, print_text)


@app.command("see-as", epilog="Example: mcpist role see-as reader")
def see_as(name: Name, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show what a model sees for somebody who has this role alone, and how many tokens it costs (an estimate)."""

    def call_api(api: "AdminApiClient") -> "dict[str, Any]":
        from cli.client.roles import fetch_model_view

        return fetch_model_view(api, name)

    print_model_view(run_api_command(call_api, tenant=tenant), as_json)


@app.command("list", epilog="Example: mcpist role list --json")
def list_(tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show the roles of a tenant with what they allow and deny."""

    def call_api(api: "AdminApiClient") -> "list[RoleRecord]":
        from cli.client.roles import fetch_roles

        return fetch_roles(api)

    roles = run_api_command(call_api, tenant=tenant)
    document = [
        {
            "name": role.name,
            "priority": role.priority,
            "allow": role.allow,
            "deny": role.deny,
            "members": role.members,
            "tool_exposure": role.tool_exposure,
        }
        for role in roles
    ]
    columns = ("Name", "Priority", "Allows", "Denies", "Members")
    rows = [(role.name, role.priority, role.allow, role.deny, role.members) for role in roles]
    print_result(
        as_json, document, lambda: print_table(columns, rows, empty="No role yet: `mcpist role create` makes one.")
    )


@app.command("show", epilog="Example: mcpist role show reader")
def show(name: Name, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show one role: what it allows and denies, and who has it."""

    def call_api(api: "AdminApiClient") -> "tuple[RoleRecord, list[str]]":
        from cli.client.roles import fetch_role, fetch_role_members

        role = fetch_role(api, name)
        return role, fetch_role_members(api, role)

    role, having = run_api_command(call_api, tenant=tenant)
    document = {
        "name": role.name,
        "priority": role.priority,
        "allow": role.allow,
        "deny": role.deny,
        "members": having,
        "tool_exposure": role.tool_exposure,
    }

    def print_text() -> None:
        print_line(f"{role.name}, priority {role.priority}")
        print_line(f"Allows:  {', '.join(role.allow) or 'nothing'}")
        print_line(f"Denies:  {', '.join(role.deny) or 'nothing'}")
        print_line(f"Members: {', '.join(having) or 'none'}")
        print_line(f"Shows:   {role.tool_exposure or 'meta, by default'}")

    print_result(as_json, document, print_text)


@app.command("change", epilog="Example: mcpist role change reader --name readers --priority 20")
def change(
    name: Name,
    new_name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="The new name.")] = None,
    priority: Annotated[int | None, typer.Option("--priority", help="The new priority.")] = None,
    tool_exposure: Annotated[
        str | None,
        typer.Option("--tool-exposure", metavar="EXPOSURE", help=f"{TOOL_EXPOSURE_HELP}; default: unset."),
    ] = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change a role's name, priority or exposure of tools. All else of the role stays."""
    changes: dict[str, str | int | None] = {} if new_name is None else {"name": new_name}
    if priority is not None:
        changes["priority"] = priority
    if tool_exposure is not None:
        changes["tool_exposure"] = None if tool_exposure == "default" else tool_exposure
    if not changes:
        raise typer.BadParameter("say what is to change: --name, --priority, --tool-exposure")

    def call_api(api: "AdminApiClient") -> "RoleRecord":
        from cli.client.roles import change_role

        return change_role(api, name, changes)

    role = run_api_command(call_api, tenant=tenant)
    shown = "" if role.tool_exposure is None else f", shows {role.tool_exposure}"
    document = {"name": role.name, "priority": role.priority, "tool_exposure": role.tool_exposure}
    print_result(as_json, document, lambda: print_line(f"The role is {role.name}, priority {role.priority}{shown}."))


@app.command("delete", epilog="Example: mcpist role delete reader")
def delete(name: Name, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Delete a role with its permissions; its members lose what it gave them within a second."""

    def call_api(api: "AdminApiClient") -> "Sequence[RevocationResult]":
        from cli.client.roles import delete_role

        return delete_role(api, name)

    print_remaining_accounts(run_api_command(call_api, tenant=tenant))
    print_result(as_json, {"name": name, "deleted": True}, lambda: print_line(f"Deleted role {name}."))


@app.command("allow", epilog="Example: mcpist role allow reader knowledge_graph:read")
def allow(
    name: Name,
    permission: Permission,
    allow_unknown: AllowUnknown = False,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a role's members use something."""
    _grant(tenant, name, "allow", permission, allow_unknown=allow_unknown)
    document = {"role": name, "effect": "allow", "permission": permission}
    print_result(as_json, document, lambda: print_line(f"{name} allows {permission}."))


@app.command("deny", epilog="Example: mcpist role deny editor knowledge_graph.delete_entities")
def deny(
    name: Name,
    permission: Permission,
    allow_unknown: AllowUnknown = False,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take something out of what a role allows; other roles of a member are not touched."""
    _grant(tenant, name, "deny", permission, allow_unknown=allow_unknown)
    document = {"role": name, "effect": "deny", "permission": permission}
    print_result(as_json, document, lambda: print_line(f"{name} denies {permission}."))


@app.command("revoke", epilog="Example: mcpist role revoke reader knowledge_graph:read")
def revoke(name: Name, permission: Permission, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Remove a permission from what a role allows and denies."""

    def call_api(api: "AdminApiClient") -> None:
        from cli.client.roles import revoke

        revoke(api, name, permission)

    run_api_command(call_api, tenant=tenant)
    document = {"role": name, "permission": permission, "revoked": True}
    print_result(as_json, document, lambda: print_line(f"{name} no longer allows or denies {permission}."))


def _grant(tenant: str | None, name: str, effect: str, permission: str, *, allow_unknown: bool) -> None:
    def call_api(api: "AdminApiClient") -> None:
        from cli.client.roles import grant

        grant(api, name, effect, permission, allow_unknown=allow_unknown)

    run_api_command(call_api, tenant=tenant)
