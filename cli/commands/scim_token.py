"""`mcpist scim-token`: tokens by which an identity provider provisions people and groups."""

from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import JsonOption, TenantOption, create_group
from cli.output import print_line, print_note, print_result, print_table
from cli.runner import run_api_command

if TYPE_CHECKING:
    from uuid import UUID

    from cli.client.admin_api import AdminApiClient
    from cli.client.scim_tokens import ScimTokenEntry
    from core.secret import Secret

app = create_group("Tokens by which an identity provider provisions people and groups (SCIM).")


@app.command("create", epilog="Example: mcpist scim-token create --name 'Entra ID'")
def create(
    name: Annotated[str, typer.Option("--name", metavar="TEXT", help="Which provider it is for.")],
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a token for an identity provider, and show it: this once and never again."""

    def call_api(api: "AdminApiClient") -> "tuple[UUID, Secret]":
        from cli.client.scim_tokens import create_scim_token

        return create_scim_token(api, name)

    token_id, token = run_api_command(call_api, tenant=tenant)

    def print_text() -> None:
        print_line(token.reveal())
        print_note(
            "It is shown this once: give it to the identity provider, with the address of this MCPist + /scim/v2"
        )

    print_result(as_json, {"id": str(token_id), "token": token.reveal(), "name": name}, print_text)


@app.command("list", epilog="Example: mcpist scim-token list --json")
def list_(tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show the tokens, newest first."""

    def call_api(api: "AdminApiClient") -> "list[ScimTokenEntry]":
        from cli.client.scim_tokens import fetch_scim_tokens

        return fetch_scim_tokens(api)

    from msgspec import to_builtins

    tokens = run_api_command(call_api, tenant=tenant)
    rows = [(str(one.id), one.name, one.created_at, one.last_used_at) for one in tokens]
    empty = "No SCIM token yet: `mcpist scim-token create` makes one."
    columns = ("Token", "Name", "Since", "Last used")
    print_result(as_json, to_builtins(tokens), lambda: print_table(columns, rows, empty=empty))


@app.command("remove", epilog="Example: mcpist scim-token remove 4b2f…")
def remove(
    token: Annotated[str, typer.Argument(metavar="TOKEN", help="As `mcpist scim-token list` shows it.")],
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """End a token at once; people and groups stay as they are."""

    def call_api(api: "AdminApiClient") -> None:
        from cli.client.scim_tokens import remove_scim_token

        remove_scim_token(api, token)

    run_api_command(call_api, tenant=tenant)
    print_result(as_json, {"id": token, "removed": True}, lambda: print_line("The token is removed."))
