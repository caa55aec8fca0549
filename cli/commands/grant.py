"""`mcpist grant`: the applications that people have let in by OAuth."""

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from cli.options import AllOwnersOption, JsonOption, OwnerOption, TenantOption, create_group
from cli.output import print_line, print_result, print_table
from cli.runner import run_api_command

if TYPE_CHECKING:
    from cli.client.admin_api import AdminApiClient
    from cli.client.grants import GrantRow

app = create_group("Applications that people have let in.")


@app.command("list", epilog="Example: mcpist grant list --user ada@acme.example")
def list_(
    user: OwnerOption = None,
    all_owners: AllOwnersOption = False,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show live grants, newest first: your own unless you say whose."""

    def call_api(api: "AdminApiClient") -> "list[GrantRow]":
        from cli.client.grants import fetch_grants

        return fetch_grants(api, user, all_owners=all_owners)

    from msgspec import to_builtins

    grants = run_api_command(call_api, tenant=tenant)
    columns = ("Id", "User", "Client", "Kind", "Scopes", "Since", "Last used", "Until")
    rows = [
        (
            grant.id,
            grant.user_email,
            grant.client_name or grant.client_id,
            grant.kind,
            grant.scopes,
            grant.created_at,
            grant.last_used_at,
            grant.expires_at,
        )
        for grant in grants
    ]
    print_result(as_json, to_builtins(grants), lambda: print_table(columns, rows, empty="No application is let in."))


@app.command("revoke", epilog="Example: mcpist grant revoke 0b8e4f9c-5c1d-4f0e-9a53-2f6d1f6f7a10")
def revoke(
    grant_id: Annotated[UUID, typer.Argument(metavar="ID", help="The grant's id, as `mcpist grant list` shows it.")],
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """End a grant: the application's tokens stop working within a second."""

    def call_api(api: "AdminApiClient") -> None:
        from cli.client.grants import revoke_grant

        revoke_grant(api, grant_id)

    run_api_command(call_api, tenant=tenant)
    print_result(as_json, {"id": grant_id, "revoked": True}, lambda: print_line(f"Grant {grant_id} is revoked."))
