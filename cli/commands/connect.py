"""`mcpist connect`: connect one's own accounts at a server. The browser does it, the command follows it."""

from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from cli.failures import CommandExit
from cli.options import JsonOption
from cli.output import print_line, print_note, print_result
from cli.runner import run_local_or_remote
from core.errors import Invalid

if TYPE_CHECKING:
    from cli.client.admin_api import AdminApiClient
    from cli.client.connect_sessions import RemoteConnectSession, RemoteServiceProgress


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("connect", epilog="Example: mcpist connect github notion --server https://mcp.example.com")(connect)


def connect(
    service: Annotated[
        list[str] | None, typer.Argument(metavar="[SERVICE]...", help="What to connect, such as github.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All services of yours that need it.")] = False,
    role: Annotated[
        str | None, typer.Option("--role", metavar="NAME", help="Share the accounts with this role's members.")
    ] = None,
    reconnect: Annotated[bool, typer.Option("--reconnect", help="Connect anew what is connected already.")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Follow it to its end, or only show the link.")] = True,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the browser, or only show the link.")
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """Connect your own accounts at a server you are signed in to.

    It shows a link, which counts for you alone and for an hour, and says what has become of each service. What is
    connected already stays as it is. Exit code 1 unless everything is connected in the end.
    """
    if bool(service) == everything:
        raise Invalid("name the services to connect, or --all")

    def call_api(api: "AdminApiClient") -> "RemoteConnectSession":
        from cli.client.browser import open_browser
        from cli.client.connect_sessions import follow_connect_session, start_connect_session

        session = start_connect_session(api, service or None, role, reconnect=reconnect)
        if session.state != "open":
            return session
        if wait or not as_json:
            print_note(session.url)
        if wait and browser and not as_json and session.url.startswith(f"{api.server}/connect/"):
            open_browser(session.url)  # and nothing else that a server may have named
        if wait:
            print_note(
                "Waiting until the services are connected, for as long as the link counts (an hour); Ctrl-C stops it."
            )
        return follow_connect_session(api, session, _print_progress) if wait else session

    session = run_local_or_remote(_fail_without_server, call_api)
    print_result(as_json, _build_document(session), lambda: _print_summary(session))
    if session.state != "done" and (wait or session.state != "open"):
        raise CommandExit(1)


def _fail_without_server() -> NoReturn:
    raise Invalid(
        "an account is connected by the person whose it is: sign in by `mcpist login URL`, then "
        "`mcpist connect --server URL`, or open /connect in a browser"
    )


def _print_progress(service: "RemoteServiceProgress") -> None:
    account = f" as {service.account}" if service.account else ""
    texts = {
        "done": f"{service.module} is connected{account}.",
        "failed": f"{service.module} was not connected: {service.cause}.",
    }
    print_note(texts.get(service.state, f"{service.module} is to be connected."))


def _print_summary(session: "RemoteConnectSession") -> None:
    connected = sum(service.state == "done" for service in session.services)
    if not session.services:
        print_line("Nothing needs to be connected.")
    elif session.state == "open":
        print_line(
            f"{connected} of {len(session.services)} services are connected; "
            f"the link counts until {session.expires_at}."
        )
    else:
        remaining = ", ".join(
            f"{service.module} ({service.cause or service.state})"
            for service in session.services
            if service.state != "done"
        )
        print_line(
            f"{connected} of {len(session.services)} services are connected"
            + (f"; not {remaining}." if remaining else ".")
        )


def _build_document(session: "RemoteConnectSession") -> dict[str, Any]:
    return {
        "id": session.id,
        "state": session.state,
        "url": session.url,
        "services": [
            {"module": service.module, "state": service.state, "cause": service.cause, "account": service.account}
            for service in session.services
        ],
        "expires_at": session.expires_at,
    }
