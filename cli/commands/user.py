"""`mcpist user`: the people of a tenant, and the roles that they have."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.model_view_output import print_model_view
from cli.options import JsonOption, TenantOption, create_group
from cli.output import print_line, print_note, print_result, print_table
from cli.revocation_output import print_remaining_accounts
from cli.runner import run_api_command
from core.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cli.client.admin_api import AdminApiClient
    from core.directory.account_revocation import RevocationResult
    from core.directory.users import User
    from core.secret import Secret

app = create_group("People of a tenant, and their roles.")

Email = Annotated[str, typer.Argument(metavar="EMAIL", help="The person's e-mail address.")]


class SystemRole(StrEnum):
    """What somebody may do in the tenant beside their roles."""

    ADMIN = "admin"
    USER = "user"


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

    def call_api(api: "AdminApiClient") -> "User":
        from cli.client.users import create_user

        return create_user(api, email, name, "admin" if admin else "user", tuple(dict.fromkeys(role or ())))

    created = run_api_command(call_api, tenant=tenant)

    def print_text() -> None:
        print_line(
            f"Made user {created.email}"
            + (f" with {', '.join(created.roles)}." if created.roles else " without a role.")
        )
        if not created.roles:
            from cli.lookup import format_tenant_option

            print_line(f"Give them one: mcpist user assign {created.email} ROLE{format_tenant_option(tenant)}")

    print_result(as_json, created, print_text)


@app.command("list", epilog="Example: mcpist user list --tenant acme --json")
def list_(tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show all users of a tenant."""

    def call_api(api: "AdminApiClient") -> "list[User]":
        from cli.client.users import fetch_users

        return fetch_users(api)

    users = run_api_command(call_api, tenant=tenant)
    columns = ("E-mail", "Name", "System role", "Status", "Roles", "Since")
    rows = [
        (listed.email, listed.name, listed.system_role, listed.status, listed.roles, listed.created_at)
        for listed in users
    ]
    print_result(
        as_json, users, lambda: print_table(columns, rows, empty="No user yet: `mcpist user create` makes one.")
    )


@app.command("change", epilog="Example: mcpist user change ada@acme.example --name 'Ada Lovelace' --system-role admin")
def change(
    email: Email,
    name: Annotated[str | None, typer.Option("--name", help="The new name.")] = None,
    system_role: Annotated[
        SystemRole | None, typer.Option("--system-role", help="May administer the tenant (admin), or not (user).")
    ] = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change a user's name or system role. What is not named stays; the last active administrator stays one."""
    changes = {} if name is None else {"name": name}
    if system_role is not None:
        changes["system_role"] = system_role.value
    if not changes:
        raise typer.BadParameter("say what is to change: --name, --system-role")

    def call_api(api: "AdminApiClient") -> "User":
        from cli.client.users import change_user

        return change_user(api, email, changes)

    changed = run_api_command(call_api, tenant=tenant)
    print_result(as_json, changed, lambda: print_line(f"{changed.email}: {changed.name}, {changed.system_role}."))


@app.command("see-as", epilog="Example: mcpist user see-as ada@acme.example")
def see_as(email: Email, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show what a model sees for somebody, by all of their roles, and how many tokens it costs (an estimate)."""

    def call_api(api: "AdminApiClient") -> "dict[str, Any]":
        from cli.client.users import fetch_model_view_of_user

        return fetch_model_view_of_user(api, email)

    print_model_view(run_api_command(call_api, tenant=tenant), as_json)


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

    Roles, tokens, sessions, connected accounts and notes are deleted, and so is their own entry of the allow list; the
    accounts are revoked at their vendors. A tenant's last active administrator stays. `mcpist user suspend` may be
    enough.
    """
    from core.directory.users import normalize_email

    address = normalize_email(email)
    if normalize_email(confirm) != address:
        raise Invalid("to remove a user, repeat their address as the confirmation; what goes does not come back")

    def call_api(api: "AdminApiClient") -> "Sequence[RevocationResult]":
        from cli.client.users import remove_user

        return remove_user(api, address)

    print_remaining_accounts(run_api_command(call_api, tenant=tenant))
    print_result(as_json, {"email": address, "removed": True}, lambda: print_line(f"Removed the user {address}."))


@app.command("link", epilog="Example: mcpist user link ada@acme.example")
def link(email: Email, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Make a link that signs a user in without an identity provider: once, within 15 minutes.

    Anyone who opens it signs in as that person: give it to no one else. Earlier links stop working.
    """

    def call_api(api: "AdminApiClient") -> "tuple[str, Secret]":
        from cli.client.users import request_sign_in_link

        return request_sign_in_link(api, email)

    address, sign_in_link = run_api_command(call_api, tenant=tenant)

    def print_text() -> None:
        print_line(sign_in_link.reveal())
        print_note(f"This signs {address} in, once and within 15 minutes, where MCPist runs. Give it to no one else.")

    print_result(as_json, {"user": address, "sign_in_link": sign_in_link.reveal(), "expires_in": 900}, print_text)


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


def _change(change: str, tenant: str | None, *arguments: Any) -> None:
    def call_api(api: "AdminApiClient") -> None:
        from cli.client import users

        getattr(users, change)(api, *arguments)

    run_api_command(call_api, tenant=tenant)
