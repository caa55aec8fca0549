"""`mcpist tenant-key`: keys of vendors that everybody of a tenant works with. Keys go in, and never come out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import JsonOption, TenantOption, create_group
from cli.output import print_line, print_note, print_result, print_table
from cli.runner import run_api_command
from cli.secret_input import read_secret, refuse_on_command_line

if TYPE_CHECKING:
    from cli.client.admin_api import AdminApiClient
    from cli.client.tenant_keys import SavedTenantKey, TenantKeyEntry

app = create_group("Keys of vendors that a tenant has for all of its people, such as those of embedding services.")

KindName = Annotated[str, typer.Argument(metavar="KIND", help="As `mcpist tenant-key list` shows it, such as voyage.")]


@app.command("list", epilog="Example: mcpist tenant-key list --json")
def list_(tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show the kinds of keys, of which the tenant has one, and where it is sent."""

    def call_api(api: "AdminApiClient") -> "list[TenantKeyEntry]":
        from cli.client.tenant_keys import fetch_tenant_keys

        return fetch_tenant_keys(api)

    from msgspec import to_builtins

    keys = run_api_command(call_api, tenant=tenant)
    columns = ("Kind", "Vendor", "Stored", "Since", "Last used", "Sent to")
    rows = [(key.kind, key.title, key.stored, key.updated_at, key.last_used_at, ", ".join(key.hosts)) for key in keys]
    print_result(as_json, to_builtins(keys), lambda: print_table(columns, rows, empty=""))


@app.command(
    "set",
    context_settings={"allow_extra_args": True},
    epilog="Example: mcpist tenant-key set voyage --stdin < key.txt",
)
def set_(
    context: typer.Context,
    kind: KindName,
    from_file: Annotated[
        Path | None, typer.Option("--from-file", metavar="FILE", help="Read the key from a file.")
    ] = None,
    stdin: Annotated[bool, typer.Option("--stdin", help="Read the key from standard input.")] = False,
    despite_failures: Annotated[
        bool, typer.Option("--despite-failures", help="Store it although the trial fails.")
    ] = False,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Store a key, once its vendor has taken it in a trial: it embeds one letter.

    It is read at a prompt, from --stdin or from a file, never from the command line. One that is there already is
    replaced. Texts of collections that use a model of this vendor are sent to the vendor.
    """
    refuse_on_command_line(context.args)
    secret = read_secret(f"Key of {kind}", from_file, stdin)

    def call_api(api: "AdminApiClient") -> "SavedTenantKey":
        from cli.client.tenant_keys import put_tenant_key

        return put_tenant_key(api, kind, secret, despite_failures=despite_failures)

    from msgspec import to_builtins

    saved = run_api_command(call_api, tenant=tenant)
    if saved.trial.outcome != "ok":
        print_note(f"Note: {saved.trial.message}.")
    print_result(as_json, to_builtins(saved), lambda: print_line(f"The key of {saved.key.title} is stored."))


@app.command("remove", epilog="Example: mcpist tenant-key remove voyage")
def remove(kind: KindName, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Delete a key: nothing uses it from now on. It stays valid at its vendor until it is revoked there."""

    def call_api(api: "AdminApiClient") -> None:
        from cli.client.tenant_keys import remove_tenant_key

        remove_tenant_key(api, kind)

    run_api_command(call_api, tenant=tenant)
    print_result(as_json, {"kind": kind, "removed": True}, lambda: print_line("The key is removed."))
