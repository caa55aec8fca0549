"""`mcpist issuer`: identity providers whose word a tenant takes for its people (enterprise-managed authorization)."""

from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import JsonOption, TenantOption, create_group
from cli.output import print_line, print_result, print_table
from cli.runner import run_api_command

if TYPE_CHECKING:
    from broker.authorization_server.trusted_issuers import TrustedIssuer
    from cli.client.admin_api import AdminApiClient

app = create_group("Identity providers whose assertions a tenant accepts (enterprise-managed authorization).")

Issuer = Annotated[str, typer.Argument(metavar="ISSUER", help="Exactly as its tokens have it in iss.")]


@app.command("trust", epilog="Example: mcpist issuer trust https://acme.okta.com")
def trust(
    issuer: Issuer,
    jwks_uri: Annotated[
        str, typer.Option("--jwks-uri", metavar="URL", help="Where its keys are; default is what its metadata says.")
    ] = "",
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Accept the assertions of an identity provider. Who gets in by them is the allow list's matter, as at sign-in.

    Programs that may bring assertions are registered by `mcpist client add NAME --enterprise`.
    """

    def call_api(api: "AdminApiClient") -> "TrustedIssuer":
        from cli.client.registered_clients import trust_issuer

        return trust_issuer(api, issuer, jwks_uri)

    trusted_issuer = run_api_command(call_api, tenant=tenant)
    print_result(
        as_json,
        trusted_issuer,
        lambda: print_line(f"{trusted_issuer.issuer} is trusted; its keys are at {trusted_issuer.jwks_uri}"),
    )


@app.command("list", epilog="Example: mcpist issuer list --json")
def list_(tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show whose assertions a tenant accepts."""

    def call_api(api: "AdminApiClient") -> "list[TrustedIssuer]":
        from cli.client.registered_clients import fetch_issuers

        return fetch_issuers(api)

    issuers = run_api_command(call_api, tenant=tenant)
    rows = [(trusted_issuer.issuer, trusted_issuer.jwks_uri, trusted_issuer.created_at) for trusted_issuer in issuers]
    empty = "No issuer is trusted: `mcpist issuer trust` begins."
    print_result(as_json, issuers, lambda: print_table(("Issuer", "Keys", "Since"), rows, empty=empty))


@app.command("remove", epilog="Example: mcpist issuer remove https://acme.okta.com")
def remove(issuer: Issuer, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Accept an identity provider's assertions no more: what was granted by its own ends within a second."""

    def call_api(api: "AdminApiClient") -> None:
        from cli.client.registered_clients import remove_issuer

        remove_issuer(api, issuer)

    run_api_command(call_api, tenant=tenant)
    print_result(as_json, {"issuer": issuer, "trusted": False}, lambda: print_line(f"{issuer} is trusted no more."))
