"""`mcpist mandate`: what works in people's absence."""

from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from cli.options import AllOwnersOption, JsonOption, OwnerOption, TenantOption, create_group
from cli.output import print_line, print_result, print_table
from cli.runner import run_api_command

if TYPE_CHECKING:
    from cli.client.admin_api import AdminApiClient
    from cli.client.mandates import MandateRow

app = create_group("What works in people's absence: jobs, schedules, syncs.")


@app.command("list", epilog="Example: mcpist mandate list --user ada@acme.example")
def list_(
    user: OwnerOption = None,
    all_owners: AllOwnersOption = False,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show live mandates, newest first: your own unless you say whose."""

    def call_api(api: "AdminApiClient") -> "list[MandateRow]":
        from cli.client.mandates import fetch_mandates

        return fetch_mandates(api, user, all_owners=all_owners)

    from msgspec import to_builtins

    mandates = run_api_command(call_api, tenant=tenant)
    columns = ("Id", "User", "For", "Work", "Tools", "Client", "Since", "Last used", "Until", "Agreed")
    rows = [
        (
            one.id,
            one.user_email,
            one.purpose,
            one.title,
            one.tools,
            one.client,
            one.created_at,
            one.last_used_at,
            one.expires_at,
            one.consented_at is not None,
        )
        for one in mandates
    ]
    print_result(as_json, to_builtins(mandates), lambda: print_table(columns, rows, empty="Nothing works in absence."))


@app.command("revoke", epilog="Example: mcpist mandate revoke 0b8e4f9c-5c1d-4f0e-9a53-2f6d1f6f7a10")
def revoke(
    mandate_id: Annotated[UUID, typer.Argument(metavar="ID", help="As `mcpist mandate list` shows it.")],
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Revoke a mandate: what works by it can use no tool any more within a second."""

    def call_api(api: "AdminApiClient") -> None:
        from cli.client.mandates import revoke_mandate

        revoke_mandate(api, mandate_id)

    run_api_command(call_api, tenant=tenant)
    print_result(as_json, {"id": mandate_id, "revoked": True}, lambda: print_line(f"Mandate {mandate_id} is revoked."))
