"""`mcpist allow`: which e-mail addresses and domains may sign in to a tenant."""

from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import JsonOption, TenantOption, create_group
from cli.output import print_line, print_result, print_table
from cli.runner import run_api_command

if TYPE_CHECKING:
    from cli.client.admin_api import AdminApiClient
    from core.directory.allow_list import AllowListEntry

app = create_group("Who may sign in: e-mail addresses and domains.")

Entry = Annotated[str, typer.Argument(metavar="ENTRY", help="An e-mail address, or @ and a domain.")]


@app.command("add", epilog="Example: mcpist allow add @acme.example")
def add(entry: Entry, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Let an address, or everybody of a domain, sign in.

    A user whom `mcpist user create` makes is on the list already.
    """

    def call_api(api: "AdminApiClient") -> str:
        from cli.client.users import add_entry

        return add_entry(api, entry)

    allowed = run_api_command(call_api, tenant=tenant)
    print_result(as_json, {"entry": allowed, "allowed": True}, lambda: print_line(f"{allowed} may sign in."))


@app.command("remove", epilog="Example: mcpist allow remove eve@acme.example")
def remove(entry: Entry, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Take an address or a domain off the list: it no longer lets anyone sign in.

    Sessions and tokens stay valid: `mcpist user suspend` ends both.
    """

    def call_api(api: "AdminApiClient") -> str:
        from cli.client.users import remove_entry

        return remove_entry(api, entry)

    disallowed = run_api_command(call_api, tenant=tenant)
    print_result(
        as_json, {"entry": disallowed, "allowed": False}, lambda: print_line(f"{disallowed} may sign in no more.")
    )


@app.command("list", epilog="Example: mcpist allow list --json")
def list_(tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show who may sign in."""

    def call_api(api: "AdminApiClient") -> "list[AllowListEntry]":
        from cli.client.users import fetch_allow_list

        return fetch_allow_list(api)

    entries = run_api_command(call_api, tenant=tenant)
    rows = [(item.entry, item.created_at) for item in entries]
    print_result(
        as_json,
        entries,
        lambda: print_table(("Entry", "Since"), rows, empty="Nobody yet: `mcpist allow add` lets people in."),
    )
