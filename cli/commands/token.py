"""`mcpist token`: API tokens. A token is shown once, when it is made, and never read from the command line."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from cli.options import (
    RESULT_TOKENS_HELP,
    TOOL_EXPOSURE_HELP,
    TOOL_RESULT_FORMAT_HELP,
    JsonOption,
    TenantOption,
    create_group,
)
from cli.output import print_line, print_note, print_result, print_table
from cli.runner import run_api_command
from core.known_clients import ToolResultFormat

if TYPE_CHECKING:
    from datetime import datetime

    from broker.identity.api_tokens import ApiToken
    from cli.client.admin_api import AdminApiClient
    from core.secret import Secret

app = create_group("API tokens for clients and scripts.")


@app.command("create", epilog="Example: mcpist token create --user ada@acme.example --name laptop --expires 90d")
def create(
    user: Annotated[
        str | None, typer.Option("--user", metavar="EMAIL", help="For whom; default the only administrator.")
    ] = None,
    name: Annotated[
        str, typer.Option("--name", help="What it is for, so that you know which one to revoke.")
    ] = "token",
    read_only: Annotated[bool, typer.Option("--read-only", help="Tools that write do not exist for it.")] = False,
    scope: Annotated[
        list[str] | None, typer.Option("--scope", metavar="SCOPE", help="mcp:read or mcp:write; default both.")
    ] = None,
    expires: Annotated[
        str | None, typer.Option("--expires", metavar="WHEN", help="30d, 12h or a date; default never.")
    ] = None,
    tool_result_format: Annotated[
        ToolResultFormat | None, typer.Option("--tool-result-format", help=TOOL_RESULT_FORMAT_HELP, show_choices=True)
    ] = None,
    result_tokens: Annotated[int | None, typer.Option("--result-tokens", metavar="N", help=RESULT_TOKENS_HELP)] = None,
    tool_exposure: Annotated[
        str | None, typer.Option("--tool-exposure", metavar="EXPOSURE", help=f"{TOOL_EXPOSURE_HELP}; default by role.")
    ] = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a token for a user, and show it: this once and never again."""

    def call_api(api: "AdminApiClient") -> "tuple[str, Secret, str, datetime | None]":
        from broker.identity.api_tokens import DEFAULT_SCOPES
        from cli.client.api_tokens import create_token
        from cli.time_arguments import parse_future_time
        from server.role_database import get_utc_now

        expires_at = parse_future_time(expires, get_utc_now())
        return *create_token(
            api,
            user,
            name,
            scope or [*DEFAULT_SCOPES],
            read_only,
            expires_at,
            tool_result_format,
            result_tokens,
            tool_exposure,
        ), expires_at

    token_id, token, email, expires_at = run_api_command(call_api, tenant=tenant)

    def print_text() -> None:
        print_line(token.reveal())
        print_note(f"Token {token_id} for {email}. It is shown this once: keep it where you keep passwords.")

    document = {
        "token": token.reveal(),
        "id": token_id,
        "user": email,
        "name": name,
        "read_only": read_only,
        "expires_at": expires_at,
        "tool_result_format": tool_result_format,
        "result_tokens": result_tokens,
        "tool_exposure": tool_exposure,
    }
    print_result(as_json, document, print_text)


@app.command("list", epilog="Example: mcpist token list --user ada@acme.example")
def list_(
    user: Annotated[str | None, typer.Option("--user", metavar="EMAIL", help="Only this person's.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Revoked and expired ones too.")] = False,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a tenant's live tokens: whose, what for, when used; never the tokens themselves."""

    def call_api(api: "AdminApiClient") -> "list[ApiToken]":
        from cli.client.api_tokens import fetch_tokens
        from server.role_database import get_utc_now

        return [token for token in fetch_tokens(api, user) if everything or _is_live(token, get_utc_now())]

    tokens = [replace(token, scopes=tuple(sorted(token.scopes))) for token in run_api_command(call_api, tenant=tenant)]
    columns = ("Id", "User", "Name", "Read-only", "Created", "Expires", "Last used", "Revoked")
    rows = [
        (
            token.id,
            token.user_email,
            token.name,
            token.read_only,
            token.created_at,
            token.expires_at or "never",
            token.last_used_at,
            token.revoked_at,
        )
        for token in tokens
    ]
    print_result(
        as_json, tokens, lambda: print_table(columns, rows, empty="No live token: `mcpist token create` makes one.")
    )


@app.command("revoke", epilog="Example: mcpist token revoke 3kTq0ZbW81xY")
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="The token's id, as `mcpist token list` shows it.")],
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """End a token: on every process within a second."""

    def call_api(api: "AdminApiClient") -> None:
        from cli.client.api_tokens import revoke_token

        revoke_token(api, token_id)

    _refuse_whole_token(token_id)
    run_api_command(call_api, tenant=tenant)
    print_result(as_json, {"id": token_id, "revoked": True}, lambda: print_line(f"Token {token_id} is revoked."))


def _refuse_whole_token(text: str) -> None:
    """Refuse a whole token on the command line, where it stays in the shell's history."""
    from core.errors import Invalid
    from core.token_format import TOKEN_PREFIX, parse_token

    if not text.startswith(TOKEN_PREFIX):
        return
    token = parse_token(text)
    hint = f"its id is {token.id}" if token else "`mcpist token list` shows the ids"
    raise Invalid(f"that is a whole token, and your shell may remember it now; give only the id ({hint})")


def _is_live(token: "ApiToken", now: "datetime") -> bool:
    return token.revoked_at is None and (token.expires_at is None or token.expires_at > now)
