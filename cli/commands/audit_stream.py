"""`mcpist audit stream`: where a tenant's audit log goes as it grows."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.commands.identity_provider import print_checks
from cli.options import JsonOption, TenantOption, create_group
from cli.output import print_line, print_result, print_table
from cli.runner import run_api_command
from cli.secret_input import read_secret, refuse_on_command_line

if TYPE_CHECKING:
    from cli.client.admin_api import AdminApiClient
    from cli.client.audit_streams import AuditStreamEntry, SavedStream, StreamTrialResult

app = create_group("The log collector that gets a tenant's sealed audit log as it grows.")


@app.command("show", epilog="Example: mcpist audit stream show --json")
def show(tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show where the log goes, how far the collector has come, and why it does not take records."""

    def call_api(api: "AdminApiClient") -> "AuditStreamEntry":
        from cli.client.audit_streams import fetch_audit_stream

        return fetch_audit_stream(api)

    from msgspec import to_builtins

    stream = run_api_command(call_api, tenant=tenant)
    columns = ("URL", "On", "Taken until", "Wait", "Latest delivery", "Latest error", "Fails since", "Next attempt")
    row = (
        stream.url,
        stream.enabled,
        stream.position,
        stream.pending,
        stream.delivered_at,
        stream.last_error,
        stream.failing_since,
        stream.next_attempt_at,
    )
    print_result(as_json, to_builtins(stream), lambda: print_table(columns, [row], empty=""))


@app.command(
    "set",
    context_settings={"allow_extra_args": True},
    epilog="Example: mcpist audit stream set https://logs.example.com/mcpist --stdin < secret.txt",
)
def set_(
    context: typer.Context,
    url: Annotated[str, typer.Argument(metavar="URL", help="Where records are posted.")],
    keep_secret: Annotated[bool, typer.Option("--keep-secret", help="The stored secret stays.")] = False,
    from_file: Annotated[
        Path | None, typer.Option("--from-file", metavar="FILE", help="Read the secret from a file.")
    ] = None,
    stdin: Annotated[bool, typer.Option("--stdin", help="Read the secret from standard input.")] = False,
    enabled: Annotated[bool, typer.Option("--on/--off", help="Whether records are delivered.")] = True,
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning", help="A new stream begins with the oldest record that is kept.")
    ] = False,
    try_only: Annotated[bool, typer.Option("--try", help="Post the trial record only, and store nothing.")] = False,
    despite_failures: Annotated[
        bool, typer.Option("--despite-failures", help="Store it although the trial fails.")
    ] = False,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Post a trial record to a log collector, and store the collector if it takes the record.

    The signing secret (whsec_…) is read at a prompt, from --stdin or from a file, never from the command line.
    """
    refuse_on_command_line(context.args)
    secret = None if keep_secret else read_secret("Signing secret (whsec_…)", from_file, stdin).reveal()
    body = {"url": url, "secret": secret}
    stored = {
        **body,
        "enabled": enabled,
        "from_beginning": from_beginning,
        "despite_failures": despite_failures,
    }

    def call_api(api: "AdminApiClient") -> "StreamTrialResult | SavedStream":
        from cli.client.audit_streams import put_audit_stream, try_audit_stream

        return try_audit_stream(api, body) if try_only else put_audit_stream(api, stored)

    from msgspec import to_builtins

    result = run_api_command(call_api, tenant=tenant)

    def print_text() -> None:
        print_checks(result.checks)
        print_line("Nothing was stored." if try_only else "The stream of the audit log is stored.")

    print_result(as_json, to_builtins(result), print_text)


@app.command("remove", epilog="Example: mcpist audit stream remove")
def remove(tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Stop the stream, and forget its secret and how far it has come."""

    def call_api(api: "AdminApiClient") -> None:
        from cli.client.audit_streams import remove_audit_stream

        remove_audit_stream(api)

    run_api_command(call_api, tenant=tenant)
    print_result(as_json, {"removed": True}, lambda: print_line("The stream of the audit log is removed."))
