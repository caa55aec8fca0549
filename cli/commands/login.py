"""`mcpist login`, `logout` and `whoami`: the command line as a client of another machine's MCPist."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.client import server_selection
from cli.failures import CommandExit
from cli.options import JsonOption
from cli.output import print_line, print_note, print_result
from cli.runner import quiet_logs, read_settings
from core.errors import Invalid, NotFound, Unavailable

if TYPE_CHECKING:
    from cli.client.login_store import Login
    from cli.client.me import UserProfile

Url = Annotated[
    str | None, typer.Argument(metavar="[URL]", help="Where that MCPist is, such as https://mcp.example.com.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("login", epilog="Example: mcpist login https://mcp.example.com")(login)
    app.command("logout", epilog="Example: mcpist logout https://mcp.example.com")(logout)
    app.command("whoami", epilog="Example: mcpist whoami --server https://mcp.example.com")(whoami)


def login(
    url: Url = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the browser, or only show the link.")
    ] = True,
    new: Annotated[
        bool, typer.Option("--new", help="Sign in anew, even if the browser is signed in: as another person.")
    ] = False,
    timeout: Annotated[
        int, typer.Option("--timeout", metavar="SECONDS", min=1, max=3600, help="How long to wait for you.")
    ] = 300,
    as_json: JsonOption = False,
) -> None:
    """Sign in to an MCPist, to administer it from here by the commands that also work locally.

    You sign in with your browser, on this machine, and agree that the command line may act for you there.
    """
    from cli.client.bearer_auth import sign_in_and_store
    from cli.client.browser_sign_in import SignInOptions

    quiet_logs(read_settings())
    server = _resolve_server(url)
    with server_selection.create_server_http(server) as http:
        options = SignInOptions(max_age=0 if new else None, open_browser=browser, seconds=timeout)
        stored = sign_in_and_store(http, server_selection.open_login_store(), server, options)
    print_result(
        as_json,
        _build_login_document(stored),
        lambda: print_line(f"Signed in at {server} as {stored.email}, tenant {stored.tenant}."),
    )


def logout(url: Url = None, as_json: JsonOption = False) -> None:
    """Forget a login, and end it at the server too."""
    from cli.client.bearer_auth import sign_out

    quiet_logs(read_settings())
    logins = server_selection.open_login_store()
    server = (
        _resolve_server(url) if url or server_selection.get_named_server() else _get_only_server(logins.list_servers())
    )
    stored = logins.find(server)
    if stored is None:
        raise NotFound(f"you are not signed in at {server}")
    with server_selection.create_server_http(server) as http:
        try:
            is_revoked = sign_out(http, logins, stored)
        except (Unavailable, Invalid):
            is_revoked = False
    print_result(as_json, {"server": server, "revoked": is_revoked}, lambda: print_line(f"Signed out at {server}."))
    if not is_revoked:
        print_note(f"The login could not be revoked at {server}: end the command line's access on its page /account.")
        raise CommandExit(Unavailable.exit_code)


def whoami(as_json: JsonOption = False) -> None:
    """Show who commands act as: a person who is signed in at a server, or the operator of this machine's MCPist."""
    from cli.client.me import fetch_profile

    settings = read_settings()
    quiet_logs(settings)
    server = server_selection.select_server(settings)
    if server is None:
        from server.data_folder import check_data_folder

        check_data_folder(settings)
        document = {
            "server": None,
            "operator": True,
            "home": str(settings.home),
            "signed_in_at": _list_signed_in_servers(),
        }
        print_result(as_json, document, lambda: _print_operator(document))
        return
    with server_selection.open_admin_api(settings, server) as api:
        profile = fetch_profile(api)
    print_result(
        as_json, _build_profile_document(server.server, profile), lambda: _print_profile(server.server, profile)
    )


def _resolve_server(url: str | None) -> str:
    from cli.client.server_metadata import normalize_server_url

    selected = server_selection.get_named_server()
    if url is None and selected is None:
        raise Invalid("say where: mcpist login https://mcp.example.com")
    return normalize_server_url(url) if url is not None else selected or ""


def _get_only_server(servers: list[str]) -> str:
    if len(servers) == 1:
        return servers[0]
    if not servers:
        raise NotFound("you are not signed in anywhere")
    raise Invalid(f"you are signed in at {', '.join(servers[:10])}: say where to sign out")


def _build_login_document(login: "Login") -> dict[str, Any]:
    return {
        "server": login.server,
        "user": login.email,
        "tenant": login.tenant,
        "scopes": sorted(login.tokens.scopes.split()),
    }


def _build_profile_document(server: str, profile: "UserProfile") -> dict[str, Any]:
    return {
        "server": server,
        "operator": profile.operator,
        "user": profile.email,
        "name": profile.name,
        "tenant": profile.tenant.slug,
        "system_role": profile.system_role,
        "roles": profile.roles,
        "scopes": profile.scopes,
        "authentication_method": profile.authentication_method,
        "authenticated_at": profile.authenticated_at,
    }


def _list_signed_in_servers() -> list[str]:
    return server_selection.open_login_store().list_servers()


def _print_operator(document: dict[str, Any]) -> None:
    print_line(f"The operator of {document['home']}.")
    for server in document["signed_in_at"]:
        print_line(f"Signed in at {server} too: --server {server}")


def _print_profile(server: str, profile: "UserProfile") -> None:
    role = "administrator" if profile.system_role == "admin" else "user"
    print_line(f"{profile.email} at {server}, {role} of the tenant {profile.tenant.slug}.")
    print_line(
        f"Roles: {', '.join(profile.roles) or 'none'}. This access may: {', '.join(profile.scopes) or 'nothing'}."
    )
