"""`mcpist connection`: how the accounts stand that calls use."""

from typing import TYPE_CHECKING

from cli.options import AllOwnersOption, JsonOption, OwnerOption, TenantOption, create_group
from cli.output import print_result, print_table
from cli.runner import run_api_command

if TYPE_CHECKING:
    from cli.client.admin_api import AdminApiClient
    from cli.client.connections import ConnectionCountEntry, ConnectionEntry

app = create_group("How the accounts stand that calls use.")


@app.command("list", epilog="Example: mcpist connection list --user ada@acme.example")
def list_(
    user: OwnerOption = None,
    all_owners: AllOwnersOption = False,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show connections by module: your own and your roles', unless you say whose. Never what is secret of them."""

    def call_api(api: "AdminApiClient") -> "list[ConnectionEntry]":
        from cli.client.connections import fetch_connections

        return fetch_connections(api, user, all_owners=all_owners)

    from msgspec import to_builtins

    connections = run_api_command(call_api, tenant=tenant)
    columns = ("Module", "Whose", "Account", "State", "Why", "Next try", "Credential")
    rows = [
        (one.module, one.owner, one.account, one.state, one.message, one.next_retry_at, one.credential_id)
        for one in connections
    ]
    empty = "No service that is on needs an account."
    print_result(as_json, to_builtins(connections), lambda: print_table(columns, rows, empty=empty))


@app.command("count", epilog="Example: mcpist connection count --tenant acme")
def count(tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Count a tenant's connections by service and state."""

    def call_api(api: "AdminApiClient") -> "list[ConnectionCountEntry]":
        from cli.client.connections import fetch_connection_counts

        return fetch_connection_counts(api)

    from msgspec import to_builtins

    counts = run_api_command(call_api, tenant=tenant)
    rows = [(one.module, one.state, one.count) for one in counts]
    empty = "No account is connected."
    print_result(
        as_json, to_builtins(counts), lambda: print_table(("Module", "State", "Connections"), rows, empty=empty)
    )
