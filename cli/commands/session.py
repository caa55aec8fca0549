"""`mcpist session`: the browsers that people are signed in with."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from cli.options import JsonOption, TenantOption, create_group
from cli.output import print_line, print_result, print_table
from cli.runner import run_api_command
from core.errors import Invalid

if TYPE_CHECKING:
    from broker.identity.browser_sessions import SessionEntry
    from cli.client.admin_api import AdminApiClient

app = create_group("Browsers that people are signed in with.")


@app.command("list", epilog="Example: mcpist session list --user ada@acme.example")
def list_(
    user: Annotated[
        str | None,
        typer.Option("--user", metavar="EMAIL", help="Whose; default your own, or the only administrator's."),
    ] = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the live sessions of a user, newest first."""

    def call_api(api: "AdminApiClient") -> "tuple[str, list[SessionEntry]]":
        from cli.client.users import fetch_sessions

        return fetch_sessions(api, user)

    email, sessions = run_api_command(call_api, tenant=tenant)
    columns = ("Id", "By", "From", "Browser", "Since", "Last seen", "Until")
    rows = [
        (
            session.id,
            session.method,
            session.address,
            session.browser or session.user_agent,
            session.created_at,
            session.last_seen_at,
            session.expires_at,
        )
        for session in sessions
    ]
    documents = [{"user": email, **asdict(session)} for session in sessions]
    print_result(as_json, documents, lambda: print_table(columns, rows, empty=f"{email} is signed in with no browser."))


@app.command("end", epilog="Example: mcpist session end 0b8e4f9c-5c1d-4f0e-9a53-2f6d1f6f7a10")
def end(
    session_id: Annotated[
        str, typer.Argument(metavar="ID", help="The session's id, as `mcpist session list` shows it.")
    ],
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """End a session at once. Clients that the person has let in go on, as API tokens do."""
    parsed = _parse_session_id(session_id)

    def call_api(api: "AdminApiClient") -> None:
        from cli.client.users import end_session

        end_session(api, str(parsed))

    run_api_command(call_api, tenant=tenant)
    print_result(as_json, {"id": parsed, "ended": True}, lambda: print_line(f"Session {parsed} has ended."))


@app.command("end-all", epilog="Example: mcpist session end-all --user ada@acme.example")
def end_all(
    user: Annotated[
        str | None,
        typer.Option("--user", metavar="EMAIL", help="Whose; default your own, or the only administrator's."),
    ] = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """End all browser sessions of a user at once. Clients that they have let in go on, as API tokens do."""

    def call_api(api: "AdminApiClient") -> None:
        from cli.client.users import end_all_sessions

        end_all_sessions(api, user)

    run_api_command(call_api, tenant=tenant)
    print_result(as_json, {"user": user, "ended": True}, lambda: print_line("All sessions have ended."))


def _parse_session_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Invalid("that is no session's id; `mcpist session list` shows them") from None
