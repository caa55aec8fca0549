"""`mcpist identity-provider`: where people sign in, as the operator keeps it in the database."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import JsonOption, create_group
from cli.output import print_line, print_result, print_table
from cli.runner import run_api_command
from cli.secret_input import read_secret, refuse_on_command_line

if TYPE_CHECKING:
    from cli.client.admin_api import AdminApiClient
    from cli.client.identity_providers import (
        IdentityProviderEntry,
        IdentityProviderTrialResult,
        SavedIdentityProvider,
        TrialCheck,
    )

app = create_group("Identity providers that people sign in at, for the whole deployment.")

ProviderId = Annotated[str, typer.Argument(metavar="ID", help="Its name, which is part of its redirect URI.")]


@app.command("list", epilog="Example: mcpist identity-provider list --json")
def list_(as_json: JsonOption = False) -> None:
    """Show the identity providers: those of identity.toml, which are changed there, and the stored ones."""

    def call_api(api: "AdminApiClient") -> "list[IdentityProviderEntry]":
        from cli.client.identity_providers import fetch_identity_providers

        return fetch_identity_providers(api)

    from msgspec import to_builtins

    providers = run_api_command(call_api, needs_tenant=False)
    columns = ("Provider", "Kind", "Label", "From", "In use", "Client id", "Redirect URI")
    rows = [(one.id, one.kind, one.label, one.source, one.in_use, one.client_id, one.redirect_uri) for one in providers]
    empty = "No identity provider yet: `mcpist identity-provider set` stores one."
    print_result(as_json, to_builtins(providers), lambda: print_table(columns, rows, empty=empty))


@app.command(
    "set",
    context_settings={"allow_extra_args": True},
    epilog="Example: mcpist identity-provider set acme --kind oidc --issuer https://login.acme.example "
    "--client-id mcpist --stdin < secret.txt",
)
def set_(
    context: typer.Context,
    provider: ProviderId,
    kind: Annotated[str, typer.Option("--kind", metavar="KIND", help="google, github, microsoft or oidc.")],
    client_id: Annotated[str, typer.Option("--client-id", metavar="ID", help="The client id that the provider gave.")],
    issuer: Annotated[str, typer.Option("--issuer", metavar="URL", help="For oidc: the provider's issuer.")] = "",
    directory: Annotated[
        str, typer.Option("--directory", metavar="ID", help="For microsoft: the id of the Entra tenant.")
    ] = "",
    base_url: Annotated[
        str, typer.Option("--base-url", metavar="URL", help="A GitHub Enterprise server, or a national cloud.")
    ] = "",
    api_url: Annotated[str, typer.Option("--api-url", metavar="URL", help="For github: the server's API.")] = "",
    groups_claim: Annotated[
        str, typer.Option("--groups-claim", metavar="NAME", help="The claim that names groups; default groups.")
    ] = "",
    label: Annotated[str, typer.Option("--label", metavar="TEXT", help="The text of the sign-in button.")] = "",
    keep_secret: Annotated[bool, typer.Option("--keep-secret", help="The stored secret stays.")] = False,
    from_file: Annotated[
        Path | None, typer.Option("--from-file", metavar="FILE", help="Read the secret from a file.")
    ] = None,
    stdin: Annotated[bool, typer.Option("--stdin", help="Read the secret from standard input.")] = False,
    try_only: Annotated[bool, typer.Option("--try", help="Make the checks only, and store nothing.")] = False,
    despite_failures: Annotated[
        bool, typer.Option("--despite-failures", help="Store it although a check fails.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Try an identity provider, and store it if no check fails; it counts at once, without a restart.

    The client secret is read at a prompt, from --stdin or from a file, never from the command line.
    """
    refuse_on_command_line(context.args)
    secret = None if keep_secret else read_secret(f"Client secret for {provider}", from_file, stdin)
    values = {"kind": kind, "label": label, "client_id": client_id, "issuer": issuer, "tenant": directory}
    settings = {**values, "base_url": base_url, "api_url": api_url, "groups_claim": groups_claim}

    def call_api(api: "AdminApiClient") -> "IdentityProviderTrialResult | SavedIdentityProvider":
        from cli.client.identity_providers import put_identity_provider, try_identity_provider

        if try_only:
            return try_identity_provider(api, provider, settings, secret)
        return put_identity_provider(api, provider, settings, secret, despite_failures=despite_failures)

    from msgspec import to_builtins

    result = run_api_command(call_api, needs_tenant=False)
    print_result(as_json, to_builtins(result), lambda: _print_outcome(provider, result))


@app.command("remove", epilog="Example: mcpist identity-provider remove acme")
def remove(provider: ProviderId, as_json: JsonOption = False) -> None:
    """Forget a stored identity provider: nobody signs in there any more; who is signed in stays so."""

    def call_api(api: "AdminApiClient") -> None:
        from cli.client.identity_providers import remove_identity_provider

        remove_identity_provider(api, provider)

    run_api_command(call_api, needs_tenant=False)
    print_result(as_json, {"id": provider, "removed": True}, lambda: print_line(f"{provider} is removed."))


def _print_outcome(provider: str, result: "IdentityProviderTrialResult | SavedIdentityProvider") -> None:
    from cli.client.identity_providers import IdentityProviderTrialResult

    print_checks(result.checks)
    if isinstance(result, IdentityProviderTrialResult):
        print_line(f"Nothing was stored. Redirect URI to register at the provider: {result.redirect_uri}")
    else:
        print_line(f"{provider} is stored. Redirect URI to register at the provider: {result.provider.redirect_uri}")


def print_checks(checks: "Sequence[TrialCheck]") -> None:
    """Print what a trial has found."""
    print_table(("Check", "Outcome", ""), [(one.check, one.outcome, one.message) for one in checks], empty="")
