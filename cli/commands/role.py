"""`mcpist role`: named sets of tool permissions."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.options import JsonOption, TenantOption, create_group
from cli.output import print_line, print_result, print_table
from cli.revocation_output import print_remaining_accounts
from cli.runner import read_settings, run_admin_command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cli.client.admin_api import AdminApiClient
    from core.directory.account_revocation import RevocationResult
    from core.directory.roles import RoleEntry
    from core.directory.roles_by_id import RoleRecord
    from server.operator_context import OperatorContext

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
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a role. It permits nothing until you allow it something."""
    _change("create_role", tenant, name, priority)

    def print_text() -> None:
        print_line(f"Made role {name}.")
        from cli.lookup import format_tenant_option

        print_line(f"Allow it something: mcpist role allow {name} PERMISSION{format_tenant_option(tenant)}")

    print_result(as_json, {"name": name, "priority": priority}, print_text)


@app.command("list", epilog="Example: mcpist role list --json")
def list_(tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show the roles of a tenant with what they allow and deny."""

    async def work(operating: "OperatorContext") -> "list[RoleEntry]":
        from cli.lookup import resolve_tenant
        from core.directory.roles import list_roles

        return await list_roles(operating.console, (await resolve_tenant(operating, tenant)).id)

    def call_api(api: "AdminApiClient") -> "list[RoleEntry]":
        from cli.client.roles import fetch_roles

        return fetch_roles(api)

    found = run_admin_command(work, call_api, tenant=tenant)
    columns = ("Name", "Priority", "Allows", "Denies", "Members")
    rows = [(one.name, one.priority, one.allow, one.deny, one.members) for one in found]
    print_result(
        as_json, found, lambda: print_table(columns, rows, empty="No role yet: `mcpist role create` makes one.")
    )


@app.command("show", epilog="Example: mcpist role show reader")
def show(name: Name, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show one role: what it allows and denies, and who has it."""

    async def work(operating: "OperatorContext") -> "tuple[RoleRecord, list[str]]":
        from cli.lookup import resolve_tenant
        from core.directory.roles_by_id import find_role
        from core.directory.users_by_id import list_role_members

        found = await resolve_tenant(operating, tenant)
        role, having = await find_role(operating.console, found.id, name), list[str]()
        while page := await list_role_members(operating.console, found.id, role.id, after=having[-1] if having else ""):
            having += [one.email for one in page]
        return role, having

    def call_api(api: "AdminApiClient") -> "tuple[RoleRecord, list[str]]":
        from cli.client.roles import fetch_role, fetch_role_members

        role = fetch_role(api, name)
        return role, fetch_role_members(api, role)

    role, having = run_admin_command(work, call_api, tenant=tenant)
    document = {"name": role.name, "priority": role.priority, "allow": role.allow, "deny": role.deny, "members": having}

    def print_text() -> None:
        print_line(f"{role.name}, priority {role.priority}")
        print_line(f"Allows:  {', '.join(role.allow) or 'nothing'}")
        print_line(f"Denies:  {', '.join(role.deny) or 'nothing'}")
        print_line(f"Members: {', '.join(having) or 'nobody'}")

    print_result(as_json, document, print_text)


@app.command("delete", epilog="Example: mcpist role delete reader")
def delete(name: Name, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Delete a role with its permissions; its members lose what it gave them within a second."""

    async def work(operating: "OperatorContext") -> "Sequence[RevocationResult]":
        from cli.lookup import resolve_tenant
        from core.directory.roles import delete_role
        from server.bootstrap import OPERATOR_ACTOR
        from server.wiring.disconnect import open_disconnect_services

        found = await resolve_tenant(operating, tenant)
        async with open_disconnect_services(operating.deployment, read_settings()) as ends:
            return await delete_role(operating.console, OPERATOR_ACTOR, found.id, name, ends.account_revoker)

    def call_api(api: "AdminApiClient") -> "Sequence[RevocationResult]":
        from cli.client.roles import delete_role

        return delete_role(api, name)

    print_remaining_accounts(run_admin_command(work, call_api, tenant=tenant))
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
    _change("revoke", tenant, name, permission)
    document = {"role": name, "permission": permission, "revoked": True}
    print_result(as_json, document, lambda: print_line(f"{name} says nothing of {permission} any more."))


def _grant(tenant: str | None, name: str, effect: str, permission: str, *, allow_unknown: bool) -> None:
    async def work(operating: "OperatorContext") -> None:
        from cli.lookup import resolve_tenant
        from core.directory.roles import grant
        from core.permissions import check_permissions_installed, parse_permission
        from server.bootstrap import OPERATOR_ACTOR
        from server.diagnostics.server_checks import list_tools_by_module

        found = await resolve_tenant(operating, tenant)
        if not allow_unknown:
            check_permissions_installed({parse_permission(permission)}, list_tools_by_module(operating.catalogue))
        await grant(operating.console, OPERATOR_ACTOR, found.id, name, effect, permission)

    def call_api(api: "AdminApiClient") -> None:
        from cli.client.roles import grant

        grant(api, name, effect, permission, allow_unknown=allow_unknown)

    run_admin_command(work, call_api, tenant=tenant)


def _change(change: str, tenant: str | None, *given: Any) -> None:
    async def work(operating: "OperatorContext") -> None:
        from cli.lookup import resolve_tenant
        from core.directory import roles
        from server.bootstrap import OPERATOR_ACTOR

        found = await resolve_tenant(operating, tenant)
        await getattr(roles, change)(operating.console, OPERATOR_ACTOR, found.id, *given)

    def call_api(api: "AdminApiClient") -> None:
        from cli.client import roles

        getattr(roles, change)(api, *given)

    run_admin_command(work, call_api, tenant=tenant)
