"""`mcpist client`: programs that a tenant registers as OAuth clients. A secret is shown once, when it is made."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

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
    from uuid import UUID

    from broker.authorization_server.client_registry import Client
    from broker.authorization_server.registered_clients import ListedClient, NewClient
    from cli.client.admin_api import AdminApiClient
    from core.secret import Secret

app = create_group("Programs that are registered as OAuth clients.")

MAX_JWKS_BYTES = 65_536
GRANT_LABELS = {
    "authorization_code": "people",
    "client_credentials": "machine",
    "urn:ietf:params:oauth:grant-type:jwt-bearer": "identity provider",
}

ClientId = Annotated[str, typer.Argument(metavar="ID", help="The client's id, as `mcpist client list` shows it.")]


@dataclass(frozen=True, slots=True)
class _ClientOptions:
    """What was said on the command line."""

    name: str
    redirect_uris: tuple[str, ...]
    acts_as: str | None
    enterprise: bool
    secret: bool
    jwks: Path | None
    scopes: frozenset[str]
    tool_result_format: ToolResultFormat | None
    result_tokens: int | None
    tool_exposure: str | None


@app.command("add", epilog="Example: mcpist client add Claude --redirect-uri https://claude.ai/api/mcp/auth_callback")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What people read when it asks for their consent.")],
    redirect_uri: Annotated[
        list[str] | None,
        typer.Option("--redirect-uri", metavar="URI", help="Where answers go; with 127.0.0.1 any port is good."),
    ] = None,
    acts_as: Annotated[
        str | None,
        typer.Option("--acts-as", metavar="EMAIL", help="A machine: it works as this user, without a browser."),
    ] = None,
    enterprise: Annotated[
        bool, typer.Option("--enterprise", help="It may bring assertions of an issuer that `mcpist issuer` trusts.")
    ] = False,
    secret: Annotated[
        bool, typer.Option("--secret", help="It proves who it is by a secret; machines always do.")
    ] = False,
    jwks: Annotated[
        Path | None, typer.Option("--jwks", metavar="FILE", help="It signs instead: its public keys, as a JWK set.")
    ] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", metavar="SCOPE", help="What it may ask for; default mcp:read, mcp:write."),
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
    """Register a program, and show its id; and its secret, this once and never again."""
    uris, scopes = tuple(redirect_uri or ()), frozenset(scope or ("mcp:read", "mcp:write"))
    options = _ClientOptions(
        name, uris, acts_as, enterprise, secret, jwks, scopes, tool_result_format, result_tokens, tool_exposure
    )

    def call_api(api: "AdminApiClient") -> "tuple[Client, Secret | None]":
        from cli.client.registered_clients import create_client
        from cli.client.users import resolve_user

        return create_client(api, _build_new_client(options, resolve_user(api, acts_as).id if acts_as else None))

    client, secret_value = run_api_command(call_api, tenant=tenant)

    def print_text() -> None:
        print_line(f"client_id={client.id}")
        if secret_value is not None:
            print_line(f"client_secret={secret_value.reveal()}")
            print_note("The secret is shown this once: keep it where you keep passwords.")

    print_result(
        as_json,
        _build_document(client) | {"client_secret": secret_value.reveal() if secret_value else None},
        print_text,
    )


@app.command("list", epilog="Example: mcpist client list --json")
def list_(tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Show a tenant's registered clients; never their secrets."""

    def call_api(api: "AdminApiClient") -> "list[ListedClient]":
        from cli.client.registered_clients import fetch_clients

        return fetch_clients(api)

    clients = run_api_command(call_api, tenant=tenant)
    columns = ("Id", "Name", "For", "Proves itself by", "Redirect URIs", "Acts as", "Scopes", "Created", "Disabled")
    rows = [
        (
            listed.client.id,
            listed.client.name,
            [shown for grant, shown in GRANT_LABELS.items() if grant in listed.client.grant_types],
            listed.client.auth_method,
            listed.client.redirect_uris,
            listed.user_email,
            sorted(listed.client.scopes),
            listed.created_at,
            listed.disabled_at,
        )
        for listed in clients
    ]
    documents = [
        _build_document(listed.client)
        | {"acts_as": listed.user_email or None, "created_at": listed.created_at, "disabled_at": listed.disabled_at}
        for listed in clients
    ]
    print_result(
        as_json,
        documents,
        lambda: print_table(columns, rows, empty="No client yet: `mcpist client add` registers one."),
    )


@app.command("disable", epilog="Example: mcpist client disable client_3kTq0ZbW81xY3kTq0ZbW81")
def disable(client_id: ClientId, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Switch a client off: all its tokens end within a second, on every process."""
    _set_client_enabled(client_id, tenant, enabled=False)
    print_result(
        as_json, {"client_id": client_id, "enabled": False}, lambda: print_line(f"Client {client_id} is switched off.")
    )


@app.command("enable", epilog="Example: mcpist client enable client_3kTq0ZbW81xY3kTq0ZbW81")
def enable(client_id: ClientId, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Switch a client on again. Tokens that it had stay ended: it asks for new ones."""
    _set_client_enabled(client_id, tenant, enabled=True)
    print_result(
        as_json, {"client_id": client_id, "enabled": True}, lambda: print_line(f"Client {client_id} is switched on.")
    )


@app.command("set", epilog="Example: mcpist client set client_3kTq0ZbW81xY3kTq0ZbW81 --tool-result-format short")
def set_(
    client_id: ClientId,
    tool_result_format: Annotated[
        Literal["short", "full", "default"] | None,
        typer.Option("--tool-result-format", help=TOOL_RESULT_FORMAT_HELP, show_choices=True),
    ] = None,
    result_tokens: Annotated[
        int | None, typer.Option("--result-tokens", metavar="N", help=f"{RESULT_TOKENS_HELP} 0: by default.")
    ] = None,
    tool_exposure: Annotated[
        str | None, typer.Option("--tool-exposure", metavar="EXPOSURE", help=f"{TOOL_EXPOSURE_HELP}; default: by role.")
    ] = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change what a client is sent; it holds within a second, on every process."""
    change: dict[str, Any] = {}
    if tool_result_format is not None:
        change["tool_result_format"] = None if tool_result_format == "default" else tool_result_format
    if result_tokens is not None:
        change["result_tokens"] = result_tokens or None
    if tool_exposure is not None:
        change["tool_exposure"] = None if tool_exposure == "default" else tool_exposure

    def call_api(api: "AdminApiClient") -> None:
        from cli.client.registered_clients import change_client
        from core.errors import Invalid

        if not change:
            raise Invalid("say what to change: --tool-result-format, --result-tokens or --tool-exposure")
        change_client(api, client_id, change)

    run_api_command(call_api, tenant=tenant)
    changed = ", ".join(f"{name} {value or 'default'}" for name, value in change.items())
    print_result(
        as_json, {"client_id": client_id, **change}, lambda: print_line(f"Client {client_id} is changed: {changed}.")
    )


@app.command("remove", epilog="Example: mcpist client remove client_3kTq0ZbW81xY3kTq0ZbW81")
def remove(client_id: ClientId, tenant: TenantOption = None, as_json: JsonOption = False) -> None:
    """Forget a client and what people have agreed to for it: all its tokens end within a second."""

    def call_api(api: "AdminApiClient") -> None:
        from cli.client.registered_clients import remove_client

        remove_client(api, client_id)

    run_api_command(call_api, tenant=tenant)
    print_result(
        as_json, {"client_id": client_id, "removed": True}, lambda: print_line(f"Client {client_id} is removed.")
    )


def _set_client_enabled(client_id: str, tenant: str | None, *, enabled: bool) -> None:
    def call_api(api: "AdminApiClient") -> None:
        from cli.client.registered_clients import set_client_enabled

        set_client_enabled(api, client_id, enabled)

    run_api_command(call_api, tenant=tenant)


def _build_new_client(options: _ClientOptions, acts_as: "UUID | None") -> "NewClient":
    from broker.authorization_server.client_registry import BROWSER_GRANTS, CLIENT_CREDENTIALS, JWT_BEARER
    from broker.authorization_server.registered_clients import NewClient
    from core.errors import Invalid

    grants = frozenset(BROWSER_GRANTS if options.redirect_uris else ())
    grants |= {CLIENT_CREDENTIALS} if acts_as else frozenset()
    grants |= {JWT_BEARER} if options.enterprise else frozenset()
    if not grants:
        raise Invalid("say what the client is for: --redirect-uri URI for people, --acts-as EMAIL for a machine")
    if options.jwks is not None and options.secret:
        raise Invalid("a client proves who it is by --secret or by --jwks, not by both")
    keys = None if options.jwks is None else _read_jwks(options.jwks)
    with_secret = options.secret or ((acts_as is not None or options.enterprise) and keys is None)
    return NewClient(
        name=options.name,
        auth_method="private_key_jwt" if keys is not None else "client_secret_basic" if with_secret else "none",
        redirect_uris=options.redirect_uris,
        grant_types=grants,
        scopes=options.scopes,
        user_id=acts_as,
        jwks=keys,
        tool_result_format=options.tool_result_format,
        result_tokens=options.result_tokens,
        tool_exposure=options.tool_exposure,
    )


def _read_jwks(path: Path) -> Any:
    import orjson

    from core.errors import Invalid

    try:
        with path.open("rb") as file:
            document: Any = orjson.loads(file.read(MAX_JWKS_BYTES))
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}") from None
    except orjson.JSONDecodeError:
        raise Invalid(f'{path} is not a JWK set; that looks like {{"keys": [...]}}') from None
    is_single_key = isinstance(document, dict) and "kty" in document
    return {"keys": [cast("Any", document)]} if is_single_key else cast("Any", document)


def _build_document(client: "Client") -> dict[str, Any]:
    return {
        "client_id": client.id,
        "name": client.name,
        "token_endpoint_auth_method": client.auth_method,
        "grant_types": sorted(client.grant_types),
        "redirect_uris": client.redirect_uris,
        "scopes": sorted(client.scopes),
        "tool_result_format": client.tool_result_format,
        "result_tokens": client.result_tokens,
        "tool_exposure": client.tool_exposure,
    }
