"""`mcpist client-trust`: which clients come in that no administrator has registered, for the whole deployment."""

from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import JsonOption, create_group
from cli.output import print_line, print_result, print_table
from cli.runner import run_api_command

if TYPE_CHECKING:
    from cli.client.admin_api import AdminApiClient
    from cli.client.client_trust import ClientTrustEntry

app = create_group("Which clients come in that no administrator has registered, for the whole deployment.")


@app.command("show", epilog="Example: mcpist client-trust show")
def show(as_json: JsonOption = False) -> None:
    """Show what counts now, and where it is set: in identity.toml, in the database, or nowhere."""

    def call_api(api: "AdminApiClient") -> "ClientTrustEntry":
        from cli.client.client_trust import fetch_client_trust

        return fetch_client_trust(api)

    _print_trust(run_api_command(call_api, needs_tenant=False), as_json)


@app.command("set", epilog="Example: mcpist client-trust set --host claude.ai --host '*.example.com'")
def set_(
    host: Annotated[
        list[str] | None,
        typer.Option(
            "--host", metavar="HOST", help="A host whose client documents are accepted; may be given again, or never."
        ),
    ] = None,
    registration: Annotated[
        bool, typer.Option("--registration/--no-registration", help="Clients may register themselves.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Store which clients come in; it counts within a second, without a restart. All options are set anew."""

    def call_api(api: "AdminApiClient") -> "ClientTrustEntry":
        from cli.client.client_trust import put_client_trust

        return put_client_trust(api, dynamic_registration=registration, hosts=host or ())

    _print_trust(run_api_command(call_api, needs_tenant=False), as_json)


@app.command("reset", epilog="Example: mcpist client-trust reset")
def reset(as_json: JsonOption = False) -> None:
    """Go back to the default: documents of every host, and no client that registers itself."""

    def call_api(api: "AdminApiClient") -> None:
        from cli.client.client_trust import remove_client_trust

        remove_client_trust(api)

    run_api_command(call_api, needs_tenant=False)
    print_result(as_json, {"reset": True}, lambda: print_line("The default trust in clients counts again."))


def _print_trust(trust: "ClientTrustEntry", as_json: bool) -> None:
    from msgspec import to_builtins

    hosts = ", ".join(trust.client_metadata_hosts) or "none"
    rows = [(hosts, trust.dynamic_registration, trust.source, trust.in_effect)]
    columns = ("Hosts of client documents", "Clients register themselves", "From", "In effect")
    print_result(as_json, to_builtins(trust), lambda: print_table(columns, rows, empty=""))
