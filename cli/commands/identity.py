"""`mcpist identity`: the accounts at identity providers that people sign in with."""

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from cli.options import JsonOption, OwnerOption, TenantOption, create_group
from cli.output import print_line, print_result, print_table
from cli.runner import run_api_command

if TYPE_CHECKING:
    from cli.client.admin_api import AdminApiClient
    from cli.client.identities import IdentityEntry

app = create_group("Accounts at identity providers that people sign in with, at a server where you are signed in.")


@app.command("list", epilog="Example: mcpist identity list --user ada@acme.example")
def list_(user: OwnerOption = None, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show the linked accounts, newest first: your own unless you say whose."""

    def call_api(api: "AdminApiClient") -> "list[IdentityEntry]":
        from cli.client.identities import fetch_identities

        return fetch_identities(api, user)

    from msgspec import to_builtins

    identities = run_api_command(call_api, tenant=tenant)
    columns = ("Id", "Provider", "Account", "Since", "Last sign-in")
    rows = [(one.id, one.issuer, one.email or one.subject, one.created_at, one.last_sign_in_at) for one in identities]
    print_result(as_json, to_builtins(identities), lambda: print_table(columns, rows, empty="No account is linked."))


@app.command("unlink", epilog="Example: mcpist identity unlink 0b8e4f9c-5c1d-4f0e-9a53-2f6d1f6f7a10")
def unlink(
    identity_id: Annotated[UUID, typer.Argument(metavar="ID", help="As `mcpist identity list` shows it.")],
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Unlink an account: nobody signs in with it any more. Your own last one stays."""

    def call_api(api: "AdminApiClient") -> None:
        from cli.client.identities import unlink_identity

        unlink_identity(api, identity_id)

    run_api_command(call_api, tenant=tenant)
    print_result(as_json, {"id": identity_id, "unlinked": True}, lambda: print_line("The account is unlinked."))
