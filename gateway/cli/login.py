"""`mcpist login`, `logout` and `whoami`: the command line as a client of another machine's MCPist."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from core.errors import Invalid, NotFound, Unavailable
from gateway.cli.failures import Stop
from gateway.cli.options import JsonOption
from gateway.cli.output import emit, note, say
from gateway.cli.remote import choice
from gateway.cli.session import quiet_logs, read_settings

if TYPE_CHECKING:
    from gateway.cli.remote.logins import Login
    from gateway.cli.remote.me import Me

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
        bool, typer.Option("--new", help="Sign in anew, even if the browser is signed in: to be somebody else.")
    ] = False,
    timeout: Annotated[
        int, typer.Option("--timeout", metavar="SECONDS", min=1, max=3600, help="How long to wait for you.")
    ] = 300,
    as_json: JsonOption = False,
) -> None:
    """Sign in to an MCPist, to administer it from here by the commands that also work locally.

    You sign in with your browser, on this machine, and agree that the command line may act for you there.
    """
    from gateway.cli.remote.access import begin
    from gateway.cli.remote.sign_in import Wish

    quiet_logs(read_settings())
    server = _server(url)
    with choice.http_to(server) as http:
        wish = Wish(max_age=0 if new else None, open_browser=browser, seconds=timeout)
        made = begin(http, choice.stored(), server, wish)
    emit(as_json, _document(made), lambda: say(f"Signed in at {server} as {made.email}, tenant {made.tenant}."))


def logout(url: Url = None, as_json: JsonOption = False) -> None:
    """Forget a login, and end it at the server too."""
    from gateway.cli.remote.access import end

    quiet_logs(read_settings())
    logins = choice.stored()
    server = _server(url) if url or choice.named() else _only(logins.servers())
    found = logins.find(server)
    if found is None:
        raise NotFound(f"you are not signed in at {server}")
    with choice.http_to(server) as http:
        try:
            ended = end(http, logins, found)
        except (Unavailable, Invalid):
            ended = False
    emit(as_json, {"server": server, "revoked": ended}, lambda: say(f"Signed out at {server}."))
    if not ended:
        note(f"{server} could not be told: end the access of the command line on its page /account.")
        raise Stop(Unavailable.exit_code)


def whoami(as_json: JsonOption = False) -> None:
    """Show who commands act as: a person who is signed in at a server, or the operator of this machine's MCPist."""
    from gateway.cli.remote.me import me

    settings = read_settings()
    quiet_logs(settings)
    server = choice.chosen(settings)
    if server is None:
        from gateway.single.home import check_data_folder

        check_data_folder(settings)
        document = {"server": None, "operator": True, "home": str(settings.home), "signed_in_at": _elsewhere()}
        emit(as_json, document, lambda: _say_operator(document))
        return
    with choice.connected(settings, server) as api:
        found = me(api)
    emit(as_json, _whole(server.server, found), lambda: _say_person(server.server, found))


def _server(url: str | None) -> str:
    from gateway.cli.remote.discovery import server_url

    named = choice.named()
    if url is None and named is None:
        raise Invalid("say where: mcpist login https://mcp.example.com")
    return server_url(url) if url is not None else named or ""


def _only(servers: list[str]) -> str:
    if len(servers) == 1:
        return servers[0]
    if not servers:
        raise NotFound("you are not signed in anywhere")
    raise Invalid(f"you are signed in at {', '.join(servers[:10])}: say where to sign out")


def _document(made: "Login") -> dict[str, Any]:
    return {
        "server": made.server,
        "user": made.email,
        "tenant": made.tenant,
        "scopes": sorted(made.tokens.scopes.split()),
    }


def _whole(server: str, found: "Me") -> dict[str, Any]:
    return {
        "server": server,
        "operator": found.operator,
        "user": found.email,
        "name": found.name,
        "tenant": found.tenant.slug,
        "system_role": found.system_role,
        "roles": found.roles,
        "scopes": found.scopes,
        "by": found.by,
        "authenticated_at": found.authenticated_at,
    }


def _elsewhere() -> list[str]:
    return choice.stored().servers()


def _say_operator(document: dict[str, Any]) -> None:
    say(f"The operator of {document['home']}.")
    for server in document["signed_in_at"]:
        say(f"Signed in at {server} too: --server {server}")


def _say_person(server: str, found: "Me") -> None:
    what = "administrator" if found.system_role == "admin" else "user"
    say(f"{found.email} at {server}, {what} of the tenant {found.tenant.slug}.")
    say(f"Roles: {', '.join(found.roles) or 'none'}. This access may: {', '.join(found.scopes) or 'nothing'}.")
