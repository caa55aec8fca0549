"""`mcpist connect`: connect one's own accounts at a server. The browser does it, the command follows it."""

from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from core.errors import Invalid
from gateway.cli.failures import Stop
from gateway.cli.options import JsonOption
from gateway.cli.output import emit, note, say
from gateway.cli.remote.browser import open_browser
from gateway.cli.session import either

if TYPE_CHECKING:
    from gateway.cli.remote.api import Api
    from gateway.cli.remote.connecting import ConnectSession, Progress


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
    again: Annotated[bool, typer.Option("--again", help="Connect anew what is connected already.")] = False,
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

    def at_server(api: "Api") -> "ConnectSession":
        from gateway.cli.remote.connecting import begin, followed

        session = begin(api, service or None, role, again=again)
        if session.state != "open":
            return session
        if wait or not as_json:
            note(session.link)
        if wait and browser and not as_json and session.link.startswith(f"{api.server}/connect/"):
            open_browser(session.link)  # and nothing else that a server may have named
        if wait:
            note("Waiting until the services are connected, for as long as the link counts (an hour); Ctrl-C stops it.")
        return followed(api, session, _tell) if wait else session

    session = either(_nobody, at_server)
    emit(as_json, _document(session), lambda: _summary(session))
    if session.state != "done" and (wait or session.state != "open"):
        raise Stop(1)


def _nobody() -> NoReturn:
    raise Invalid(
        "an account is connected by the person whose it is: sign in by `mcpist login URL`, then "
        "`mcpist connect --server URL`, or open /connect in a browser"
    )


def _tell(one: "Progress") -> None:
    account = f" as {one.account}" if one.account else ""
    texts = {
        "done": f"{one.service} is connected{account}.",
        "failed": f"{one.service} was not connected: {one.cause}.",
    }
    note(texts.get(one.state, f"{one.service} is to be connected."))


def _summary(session: "ConnectSession") -> None:
    done = sum(one.state == "done" for one in session.services)
    if not session.services:
        say("Nothing needs to be connected.")
    elif session.state == "open":
        say(f"{done} of {len(session.services)} services are connected; the link counts until {session.expires_at}.")
    else:
        left = ", ".join(f"{one.service} ({one.cause or one.state})" for one in session.services if one.state != "done")
        say(f"{done} of {len(session.services)} services are connected" + (f"; not {left}." if left else "."))


def _document(session: "ConnectSession") -> dict[str, Any]:
    return {
        "id": session.id,
        "state": session.state,
        "link": session.link,
        "services": [
            {"service": one.service, "state": one.state, "cause": one.cause, "account": one.account}
            for one in session.services
        ],
        "expires_at": session.expires_at,
    }
