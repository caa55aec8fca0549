"""`mcpist user`: the people of a tenant, and the roles that they have."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.options import JsonOption, TenantOption, create_group
from cli.output import print_line, print_note, print_result, print_table
from cli.revocation_output import print_remaining_accounts
from cli.runner import read_settings, run_admin_command, run_api_command
from core.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cli.client.admin_api import AdminApiClient
    from core.directory.account_revocation import RevocationResult
    from core.directory.users import User
    from core.secret import Secret
    from server.operator_context import OperatorContext

app = create_group("People of a tenant, and their roles.")

Email = Annotated[str, typer.Argument(metavar="EMAIL", help="The person's e-mail address.")]
RoleName = Annotated[str, typer.Argument(metavar="ROLE", help="The role's name.")]


@app.command("create", epilog="Example: mcpist user create ada@acme.example --role reader --role editor")
def create(
    email: Email,
    role: Annotated[list[str] | None, typer.Option("--role", metavar="NAME", help="A role; may be repeated.")] = None,
    admin: Annotated[bool, typer.Option("--admin", help="May administer the tenant.")] = False,
    name: Annotated[str, typer.Option("--name", help="The person's name.")] = "",
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a user with roles. Without a role they can use nothing yet."""

    async def work(operating: "OperatorContext") -> "User":
        from cli.lookup import resolve_tenant
        from core.directory.users import create_user, find_user
        from server.bootstrap import OPERATOR_ACTOR

        found = await resolve_tenant(operating, tenant)
        system_role, roles = "admin" if admin else "user", tuple(dict.fromkeys(role or ()))
        await create_user(
            operating.console, OPERATOR_ACTOR, found.id, email, name=name, system_role=system_role, roles=roles
        )
        return await find_user(operating.console, found.id, email)

    def call_api(api: "AdminApiClient") -> "User":
        from cli.client.users import create_user

        return create_user(api, email, name, "admin" if admin else "user", tuple(dict.fromkeys(role or ())))

    made = run_admin_command(work, call_api, tenant=tenant)

    def print_text() -> None:
        print_line(
            f"Made user {made.email}" + (f" with {', '.join(made.roles)}." if made.roles else " without a role.")
        )
        if not made.roles:
            from cli.lookup import format_tenant_option

            print_line(f"Give them one: mcpist user assign {made.email} ROLE{format_tenant_option(tenant)}")

    print_result(as_json, made, print_text)


@app.command("list", epilog="Example: mcpist user list --tenant acme --json")
def list_(tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show all users of a tenant."""

    async def work(operating: "OperatorContext") -> "list[User]":
        from cli.lookup import list_all_users, resolve_tenant

        return await list_all_users(operating, await resolve_tenant(operating, tenant))

    def call_api(api: "AdminApiClient") -> "list[User]":
        from cli.client.users import fetch_users

        return fetch_users(api)

    found = run_admin_command(work, call_api, tenant=tenant)
    columns = ("E-mail", "Name", "System role", "Status", "Roles", "Since")
    rows = [(one.email, one.name, one.system_role, one.status, one.roles, one.created_at) for one in found]
    print_result(
        as_json, found, lambda: print_table(columns, rows, empty="No user yet: `mcpist user create` makes one.")
    )


@app.command("suspend", epilog="Example: mcpist user suspend ada@acme.example")
def suspend(email: Email, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Shut a user out: their tokens stop working within a second."""
    _change("set_status", tenant, email, "suspended")
    print_result(as_json, {"email": email, "status": "suspended"}, lambda: print_line(f"{email} is suspended."))


@app.command("resume", epilog="Example: mcpist user resume ada@acme.example")
def resume(email: Email, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Let a suspended user in again."""
    _change("set_status", tenant, email, "active")
    print_result(as_json, {"email": email, "status": "active"}, lambda: print_line(f"{email} is active."))


@app.command("remove", epilog="Example: mcpist user remove ada@acme.example --confirm ada@acme.example")
def remove(
    email: Email,
    confirm: Annotated[
        str, typer.Option("--confirm", metavar="EMAIL", help="The address once more.", prompt="The address once more")
    ],
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete a user with all that is theirs; only the audit log stays. Their access ends within a second.

    Roles, tokens, sessions, connected accounts and notes go, and so does their own entry of the allow list; the vendors
    of their accounts are told. A tenant's last active administrator stays. `mcpist user suspend` may be enough.
    """
    from core.directory.users import normalize_email

    address = normalize_email(email)
    if normalize_email(confirm) != address:
        raise Invalid("to remove a user, repeat their address as the confirmation; what goes does not come back")

    async def work(operating: "OperatorContext") -> "Sequence[RevocationResult]":
        from cli.lookup import resolve_tenant
        from core.directory.users import find_user
        from core.directory.users_by_id import remove_user
        from server.bootstrap import OPERATOR_ACTOR
        from server.wiring.disconnect import open_disconnect_services

        found = await resolve_tenant(operating, tenant)
        person = await find_user(operating.console, found.id, address)
        async with open_disconnect_services(operating.deployment, read_settings()) as ends:
            return await remove_user(operating.console, OPERATOR_ACTOR, found.id, person.id, ends.account_revoker)

    def call_api(api: "AdminApiClient") -> "Sequence[RevocationResult]":
        from cli.client.users import remove_user

        return remove_user(api, address)

    print_remaining_accounts(run_admin_command(work, call_api, tenant=tenant))
    print_result(as_json, {"email": address, "removed": True}, lambda: print_line(f"{address} is gone."))


@app.command("link", epilog="Example: mcpist user link ada@acme.example")
def link(email: Email, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Make a link that signs a user in without an identity provider: once, within 15 minutes.

    Whoever opens it is that person: give it to nobody else. Earlier links stop working.
    """

    def call_api(api: "AdminApiClient") -> "tuple[str, Secret]":
        from cli.client.users import request_sign_in_link

        return request_sign_in_link(api, email)

    address, made = run_api_command(call_api, tenant=tenant)

    def print_text() -> None:
        print_line(made.reveal())
        print_note(f"This signs {address} in, once and within 15 minutes, where MCPist runs. Give it to nobody else.")

    print_result(as_json, {"user": address, "sign_in_link": made.reveal(), "expires_in": 900}, print_text)


@app.command("assign", epilog="Example: mcpist user assign ada@acme.example editor")
def assign(email: Email, role: RoleName, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Give a user a role."""
    _change("assign_role", tenant, email, role)
    print_result(
        as_json, {"email": email, "role": role, "assigned": True}, lambda: print_line(f"{email} has the role {role}.")
    )


@app.command("unassign", epilog="Example: mcpist user unassign ada@acme.example editor")
def unassign(email: Email, role: RoleName, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Take a role from a user."""
    _change("unassign_role", tenant, email, role)
    print_result(
        as_json,
        {"email": email, "role": role, "assigned": False},
        lambda: print_line(f"{email} has the role {role} no more."),
    )


def _change(change: str, tenant: str | None, *given: Any) -> None:
    async def work(operating: "OperatorContext") -> None:
        from cli.lookup import resolve_tenant
        from core.directory import users
        from server.bootstrap import OPERATOR_ACTOR

        found = await resolve_tenant(operating, tenant)
        await getattr(users, change)(operating.console, OPERATOR_ACTOR, found.id, *given)

    def call_api(api: "AdminApiClient") -> None:
        from cli.client import users

        getattr(users, change)(api, *given)

    run_admin_command(work, call_api, tenant=tenant)
