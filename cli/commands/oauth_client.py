"""`mcpist oauth-client`: our own clients at vendors. Secrets go in, and never come out."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.failures import CommandExit
from cli.options import JsonOption, TenantOption, create_group
from cli.output import print_line, print_result, print_table
from cli.revocation_output import print_remaining_accounts
from cli.runner import run_api_command
from cli.secret_input import read_secret, refuse_on_command_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker.connections.oauth_client_store import OAuthClient
    from cli.client.admin_api import AdminApiClient
    from cli.client.oauth_clients import OAuthClientTestResult
    from core.directory.account_revocation import RevocationResult

app = create_group("The OAuth apps that are registered at vendors; secrets go in and never come out.")

ProviderName = Annotated[str, typer.Argument(metavar="PROVIDER", help="As `mcpist provider list` shows it.")]
RoleOption = Annotated[
    str | None, typer.Option("--role", metavar="NAME", help="For this role's members alone, for whom it wins.")
]


@app.command(
    "set",
    context_settings={"allow_extra_args": True},
    epilog="Example: mcpist oauth-client set github --client-id Iv23liXyz --stdin < secret.txt",
)
def set_(
    context: typer.Context,
    provider: ProviderName,
    client_id: Annotated[str, typer.Option("--client-id", metavar="ID", help="The client id that the vendor gave.")],
    role: RoleOption = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--setting", metavar="NAME=VALUE", help="A setting of the provider, such as tenant."),
    ] = None,
    auth_method: Annotated[
        str,
        typer.Option(
            "--auth-method",
            metavar="METHOD",
            help="basic, basic_raw, post, private_key_jwt or none; else the vendor's.",
        ),
    ] = "",
    public: Annotated[bool, typer.Option("--no-secret", help="It has no secret, or the stored one stays.")] = False,
    from_file: Annotated[
        Path | None,
        typer.Option("--from-file", metavar="FILE", help="Read the secret, or key and certificate (PEM), from a file."),
    ] = None,
    stdin: Annotated[bool, typer.Option("--stdin", help="Read the secret from standard input.")] = False,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Register an OAuth app that you have made at a vendor, for the whole tenant or for one role.

    The secret is read at a prompt, from --stdin or from a file, never from the command line. With --auth-method
    private_key_jwt it is a private key and its certificate, as PEM in one file. What it prints is the redirect URI that
    the app has to have at the vendor.
    """
    refuse_on_command_line(context.args)
    settings = _parse_settings(setting)
    secret = None if public else read_secret(f"Client secret for {provider}", from_file, stdin)

    def call_api(api: "AdminApiClient") -> str:
        from cli.client.oauth_clients import register_oauth_client

        return register_oauth_client(api, provider, role, client_id, secret, auth_method, settings)

    uri = run_api_command(call_api, tenant=tenant)
    document = {"provider": provider, "role": role, "client_id": client_id, "redirect_uri": uri}
    print_result(as_json, document, lambda: print_line(f"Stored. Redirect URI to register at the vendor: {uri}"))


@app.command("list", epilog="Example: mcpist oauth-client list --json")
def list_(tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show the registered OAuth apps and how many accounts were connected by each; never their secrets."""

    def call_api(api: "AdminApiClient") -> "list[OAuthClient]":
        from cli.client.oauth_clients import fetch_oauth_clients

        return fetch_oauth_clients(api)

    clients = run_api_command(call_api, tenant=tenant)
    columns = ("Provider", "For", "Client id", "Secret", "Settings", "State", "Cause", "Accounts", "Since")
    rows = [
        (
            client.provider,
            f"role {client.role}" if client.role else "everybody",
            client.client_id,
            "stored" if client.has_secret else "none",
            [f"{name}={value}" for name, value in client.settings.items()],
            client.state,
            client.cause,
            client.accounts,
            client.updated_at,
        )
        for client in clients
    ]
    empty = "No OAuth app yet: `mcpist oauth-client set` registers one, `mcpist provider list` shows for which vendors."
    print_result(as_json, [asdict(client) for client in clients], lambda: print_table(columns, rows, empty=empty))


@app.command("test", epilog="Example: mcpist oauth-client test github")
def check(
    provider: ProviderName, role: RoleOption = None, tenant: TenantOption = None, as_json: JsonOption = False
) -> None:
    """Ask the vendor whether it takes an OAuth app and its secret, without connecting an account.

    Exit code 1 if it refuses them.
    """

    def call_api(api: "AdminApiClient") -> "OAuthClientTestResult":
        from cli.client.oauth_clients import check_oauth_client

        return check_oauth_client(api, provider, role)

    result = run_api_command(call_api, tenant=tenant)
    document = {"outcome": result.outcome, "cause": result.cause, "message": result.message}
    print_result(as_json, document, lambda: print_line(f"{result.outcome}: {result.message}"))
    if result.outcome == "failed":
        raise CommandExit(1)


@app.command("remove", epilog="Example: mcpist oauth-client remove github")
def remove(
    provider: ProviderName, role: RoleOption = None, tenant: TenantOption = None, as_json: JsonOption = False
) -> None:
    """Remove an OAuth app, with every account that was connected by it.

    These are revoked at the vendor and have to be connected again by another app.
    """

    def call_api(api: "AdminApiClient") -> "Sequence[RevocationResult]":
        from cli.client import oauth_clients

        return oauth_clients.remove_oauth_client(api, provider, role)

    print_remaining_accounts(run_api_command(call_api, tenant=tenant))
    document = {"provider": provider, "role": role, "removed": True}
    print_result(as_json, document, lambda: print_line(f"The OAuth app for {provider} is removed."))


def _parse_settings(assignments: list[str] | None) -> dict[str, str] | None:
    from core.errors import Invalid

    if assignments is None:
        return None
    pairs = [text.partition("=") for text in assignments]
    if not all(name and sign for name, sign, _ in pairs):
        raise Invalid("write a setting as NAME=VALUE")
    return {name: value for name, _, value in pairs}
