"""`mcpist role`: named sets of tool permissions."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.goodbyes import tell
from gateway.cli.options import JsonOption, TenantOption, group
from gateway.cli.output import emit, say, table
from gateway.cli.session import administer, read_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from core.directory.farewell import Goodbye
    from core.directory.roles import RoleEntry
    from core.directory.roles_by_id import RoleRecord
    from gateway.cli.remote.api import Api
    from gateway.single.operator import Operator

app = group("Roles: what their members may use.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The role's name.")]
Permission = Annotated[
    str,
    typer.Argument(
        metavar="PERMISSION", help="module.tool, module.*, module:read (its tools that only read), or * for everything."
    ),
]


UnknownOk = Annotated[
    bool, typer.Option("--unknown-ok", help="Take a permission that matches nothing: what it names is installed later.")
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

    def human() -> None:
        say(f"Made role {name}.")
        from gateway.cli.tenancy import named

        say(f"Allow it something: mcpist role allow {name} PERMISSION{named(tenant)}")

    emit(as_json, {"name": name, "priority": priority}, human)


@app.command("list", epilog="Example: mcpist role list --json")
def list_(tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show the roles of a tenant with what they allow and deny."""

    async def work(operating: "Operator") -> "list[RoleEntry]":
        from core.directory.roles import list_roles
        from gateway.cli.tenancy import the_tenant

        return await list_roles(operating.console, (await the_tenant(operating, tenant)).id)

    def at_server(api: "Api") -> "list[RoleEntry]":
        from gateway.cli.remote.roles import roles

        return roles(api)

    found = administer(work, at_server, tenant=tenant)
    columns = ("Name", "Priority", "Allows", "Denies", "Members")
    rows = [(one.name, one.priority, one.allow, one.deny, one.members) for one in found]
    emit(as_json, found, lambda: table(columns, rows, empty="No role yet: `mcpist role create` makes one."))


@app.command("show", epilog="Example: mcpist role show reader")
def show(name: Name, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show one role: what it allows and denies, and who has it."""

    async def work(operating: "Operator") -> "tuple[RoleRecord, list[str]]":
        from core.directory.roles_by_id import find_role
        from core.directory.users_by_id import members
        from gateway.cli.tenancy import the_tenant

        found = await the_tenant(operating, tenant)
        role, having = await find_role(operating.console, found.id, name), list[str]()
        while page := await members(operating.console, found.id, role.id, after=having[-1] if having else ""):
            having += [one.email for one in page]
        return role, having

    def at_server(api: "Api") -> "tuple[RoleRecord, list[str]]":
        from gateway.cli.remote.roles import members_of, role_of

        role = role_of(api, name)
        return role, members_of(api, role)

    role, having = administer(work, at_server, tenant=tenant)
    document = {"name": role.name, "priority": role.priority, "allow": role.allow, "deny": role.deny, "members": having}

    def human() -> None:
        say(f"{role.name}, priority {role.priority}")
        say(f"Allows:  {', '.join(role.allow) or 'nothing'}")
        say(f"Denies:  {', '.join(role.deny) or 'nothing'}")
        say(f"Members: {', '.join(having) or 'nobody'}")

    emit(as_json, document, human)


@app.command("delete", epilog="Example: mcpist role delete reader")
def delete(name: Name, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Delete a role with its permissions; its members lose what it gave them within a second."""

    async def work(operating: "Operator") -> "Sequence[Goodbye]":
        from core.directory.roles import delete_role
        from gateway.cli.tenancy import the_tenant
        from gateway.single.bootstrap import OPERATOR
        from gateway.single.disconnecting import opened_ends

        found = await the_tenant(operating, tenant)
        async with opened_ends(operating.deployment, read_settings()) as ends:
            return await delete_role(operating.console, OPERATOR, found.id, name, ends.farewell)

    def at_server(api: "Api") -> "Sequence[Goodbye]":
        from gateway.cli.remote.roles import delete_role

        return delete_role(api, name)

    tell(administer(work, at_server, tenant=tenant))
    emit(as_json, {"name": name, "deleted": True}, lambda: say(f"Deleted role {name}."))


@app.command("allow", epilog="Example: mcpist role allow reader knowledge_graph:read")
def allow(
    name: Name,
    permission: Permission,
    unknown_ok: UnknownOk = False,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a role's members use something."""
    _grant(tenant, name, "allow", permission, unknown_ok=unknown_ok)
    document = {"role": name, "effect": "allow", "permission": permission}
    emit(as_json, document, lambda: say(f"{name} allows {permission}."))


@app.command("deny", epilog="Example: mcpist role deny editor knowledge_graph.delete_entities")
def deny(
    name: Name,
    permission: Permission,
    unknown_ok: UnknownOk = False,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take something out of what a role allows; other roles of a member are not touched."""
    _grant(tenant, name, "deny", permission, unknown_ok=unknown_ok)
    document = {"role": name, "effect": "deny", "permission": permission}
    emit(as_json, document, lambda: say(f"{name} denies {permission}."))


@app.command("revoke", epilog="Example: mcpist role revoke reader knowledge_graph:read")
def revoke(name: Name, permission: Permission, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Remove a permission from what a role allows and denies."""
    _change("revoke", tenant, name, permission)
    document = {"role": name, "permission": permission, "revoked": True}
    emit(as_json, document, lambda: say(f"{name} says nothing of {permission} any more."))


def _grant(tenant: str | None, name: str, effect: str, permission: str, *, unknown_ok: bool) -> None:
    async def work(operating: "Operator") -> None:
        from core.directory.roles import grant
        from core.permissions import check_known, parse_permission
        from gateway.cli.tenancy import the_tenant
        from gateway.single.api_checks import tools_of
        from gateway.single.bootstrap import OPERATOR

        found = await the_tenant(operating, tenant)
        if not unknown_ok:
            check_known({parse_permission(permission)}, tools_of(operating.catalogue))
        await grant(operating.console, OPERATOR, found.id, name, effect, permission)

    def at_server(api: "Api") -> None:
        from gateway.cli.remote.roles import grant

        grant(api, name, effect, permission, unknown_ok=unknown_ok)

    administer(work, at_server, tenant=tenant)


def _change(change: str, tenant: str | None, *given: Any) -> None:
    async def work(operating: "Operator") -> None:
        from core.directory import roles
        from gateway.cli.tenancy import the_tenant
        from gateway.single.bootstrap import OPERATOR

        found = await the_tenant(operating, tenant)
        await getattr(roles, change)(operating.console, OPERATOR, found.id, *given)

    def at_server(api: "Api") -> None:
        from gateway.cli.remote import roles

        getattr(roles, change)(api, *given)

    administer(work, at_server, tenant=tenant)
