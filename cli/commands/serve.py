"""`mcpist up`, `gateway`, `broker`, `console`, `worker` and `migrate`: the commands that run and prepare the server."""

import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from cli import client_snippets
from cli.options import JsonOption
from cli.output import print_json, print_line, print_note, print_result
from cli.progress import Report, show_progress
from cli.runner import get_program_name, load_settings, open_log_file, run_local
from core.concurrency.event_loop import run_event_loop
from core.config.settings import MAX_WORKERS

if TYPE_CHECKING:
    from pathlib import Path

    from core.config.settings import Settings
    from core.migrations import SchemaChange
    from server.deployment import Deployment
    from server.ready import ServerReady

WorkersOption = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        max=MAX_WORKERS,
        help="Processes that serve the port, at most one for each core; else MCPIST_WORKERS.",
        show_default=False,
    ),
]
FirstAccessOption = Annotated[
    bool,
    typer.Option(
        "--first-access",
        help="Make the keys, a tenant, its administrator and their first access too, where there are none.",
    ),
]

_ReadyT = TypeVar("_ReadyT")

_FIRST_ACCESS = "The API token and a link to sign in by, once and within 15 minutes:"

EXAMPLE_CALL = (
    """call knowledge_graph create_entities --params """
    """'{"entities": [{"name": "Ada", "entityType": "person", "observations": ["likes tea"]}]}'"""
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("up", epilog="Example: MCPIST_PORT=8081 mcpist up")(up)
    app.command("gateway", epilog="Example: MCPIST_PORT=8082 mcpist gateway")(gateway)
    app.command("broker", epilog="Example: MCPIST_PORT=8090 mcpist broker")(broker)
    app.command("console", epilog="Example: MCPIST_PORT=8091 mcpist console")(console)
    app.command("worker", epilog="Example: MCPIST_PORT=8092 mcpist worker")(worker)
    app.command("migrate", epilog="Example: mcpist migrate --first-access")(migrate)


def up(as_json: JsonOption = False, workers: WorkersOption = None) -> None:
    """Start MCPist with its database.

    Everything runs in this one process, or with --workers in several that serve one port; Ctrl-C stops it in order.
    The first start makes the database, a tenant, its administrator, a link to sign in by and an API token. It shows
    them once on a terminal; without one, or with --json, they are in the file first-access.json of the data folder.
    """
    from server.all_in_one import run_all_in_one

    _run_until_stopped(run_all_in_one, as_json, _build_document, _print_welcome, workers=workers, keeps_log=True)


def gateway(as_json: JsonOption = False) -> None:
    """Start one more gateway beside a running MCPist.

    It needs a port of its own (MCPIST_PORT), and the same data folder or database. With MCPIST_BROKER_URL it asks that
    broker, and neither needs nor reads a secret of the broker's: see docs/split.md.
    """
    from server.all_in_one import run_gateway

    _run_until_stopped(
        run_gateway, as_json, _build_document, lambda ready: print_line(f"This gateway listens on {ready.mcp_url}")
    )


def broker(as_json: JsonOption = False) -> None:
    """Start the broker alone, for gateways in processes of their own.

    It listens on MCPIST_HOST and MCPIST_PORT, or on a socket (MCPIST_BROKER_URL=unix:/path). See docs/split.md.
    """
    from server.standalone import run_broker

    _run_until_stopped(
        run_broker,
        as_json,
        lambda ready: {"ready": True, "broker_url": ready.broker_url},
        lambda ready: print_line(f"The broker listens on {ready.broker_url}"),
    )


def console(as_json: JsonOption = False) -> None:
    """Start the control plane alone: the console, the admin API and SCIM, beside a broker in a process of its own.

    It needs MCPIST_BROKER_URL, a key that the broker knows, and no secret of the broker's. See docs/split.md.
    """
    from server.console_process import run_console

    _run_until_stopped(
        run_console,
        as_json,
        lambda ready: {"ready": True, "console_url": ready.console_url},
        lambda ready: print_line(f"The console is at {ready.console_url}"),
    )


def worker(as_json: JsonOption = False) -> None:
    """Start a worker alone, which runs jobs beside a broker in a process of its own.

    `mcpist up` has one already. A worker needs MCPIST_BROKER_URL, and a key that the broker knows; its port tells its
    health and nothing else. At its end it gives running jobs some seconds. See docs/split.md.
    """
    from server.worker_process import run_worker

    _run_until_stopped(
        run_worker,
        as_json,
        lambda ready: {"ready": True, "health_url": ready.health_url},
        lambda ready: print_line(f"The worker runs jobs; its health is at {ready.health_url}"),
    )


def migrate(first_access: FirstAccessOption = False, as_json: JsonOption = False) -> None:
    """Bring the database to this version's schema.

    `mcpist up` does it by itself in the database of its data folder; one that MCPIST_DATABASE_URL names is changed by
    this command alone. MCPist may run meanwhile. Make a backup first: there is no way back but to restore it.

    With --first-access it also makes what a deployment without `mcpist up` begins with. The API token and the link to
    sign in by are in the file first-access.json of the data folder then.
    """

    async def work(settings: "Settings", report: Report) -> "tuple[SchemaChange, Path | None]":
        from core.migrations import migrate as to_head
        from server.data_folder import attach_database
        from server.deployment import KEYS_FOLDER, PASSWORDS_FILE, rotate_role_passwords

        known = (settings.home / KEYS_FOLDER / PASSWORDS_FILE).exists()
        async with attach_database(settings, report, maker="migrate") as deployment:
            report("Checking the schema")
            change = await to_head(deployment.admin, deployment.passwords)
            if rotates and known and change.before is not None:
                deployment = await rotate_role_passwords(deployment)
            return change, await prepare(settings, deployment, report) if first_access else None

    async def prepare(settings: "Settings", deployment: "Deployment", report: Report) -> "Path | None":
        from server.first_access_file import write_first_access
        from server.preparation import prepare_deployment

        report("Making the keys and the first access")
        made = await prepare_deployment(settings, deployment)
        return write_first_access(deployment.home, made.token, made.sign_in_link)

    rotates = load_settings().new_role_passwords == "yes"
    change, path = run_local(work)
    if rotates and change.before is not None:
        print_note(
            "The database roles have new passwords. Processes on this data folder go on; give each other process its "
            "new one, from keys/database-roles.json."
        )
    elif rotates:
        print_note("MCPIST_NEW_ROLE_PASSWORDS=yes changed nothing: the database is new, and so are its passwords.")
    text = f"The database is at schema {change.after}"
    if change.before == change.after:
        text += " already."
    else:
        text += " now." if change.before is None else f" now; it was at {change.before}."
    document: dict[str, object] = {
        "changed": change.before != change.after,
        "revision": change.after,
        "before": change.before,
    }
    if path is not None:
        document["first_access_file"] = str(path)
        text += f"\n\n{_FIRST_ACCESS} {path}\nRead that file, then delete it."
    print_result(as_json, document, lambda: print_line(text))


def _run_until_stopped(
    runner: "Callable[[Settings, Report, Callable[[_ReadyT], None]], Awaitable[None]]",
    as_json: bool,
    document: Callable[[_ReadyT], dict[str, object]],
    human: Callable[[_ReadyT], None],
    *,
    workers: int | None = None,
    keeps_log: bool = False,
) -> None:
    from core.observability.logs import configure_logs

    settings = load_settings()
    if workers is not None:
        settings = replace(settings, workers=workers)
    configure_logs(settings.log_level, settings.log_format, file=open_log_file(settings) if keeps_log else None)
    with show_progress(always=True) as (report, end):

        def on_ready(ready: _ReadyT) -> None:
            end()
            if as_json:
                print_json(document(ready))
            else:
                human(ready)
            sys.stdout.flush()

        async def run() -> None:
            await runner(settings, report, on_ready)

        run_event_loop(run())


def _build_document(ready: "ServerReady") -> dict[str, object]:
    from server.first_access_file import write_first_access

    document: dict[str, object] = {
        "ready": True,
        "mcp_url": ready.mcp_url,
        "console_url": ready.console_url,
        "home": str(ready.home),
        "admin_email": ready.admin_email,
    }
    if (path := write_first_access(ready.home, ready.api_token, ready.sign_in_link)) is not None:
        document["first_access_file"] = str(path)
    return document


def _print_welcome(ready: "ServerReady") -> None:
    from cli.lookup import format_tenant_option
    from server.first_access_file import write_first_access

    tenant = format_tenant_option(ready.tenant)
    print_line(f"MCPist is ready.\n\n  MCP endpoint   {ready.mcp_url}\n  Data folder    {ready.home}")
    if ready.admin_email:
        print_line(f"  Administrator  {ready.admin_email}")
    if ready.console_url:
        print_line(f"  Console        {ready.console_url}")
    if ready.api_token is not None and not sys.stdout.isatty():
        path = write_first_access(ready.home, ready.api_token, ready.sign_in_link)
        print_line(f"\n{_FIRST_ACCESS} {path}")
        print_line("Read that file, then delete it.\n\nCtrl-C stops it.")
        return
    if ready.sign_in_link is not None:
        print_line(f"\nSign in as the administrator, once and within 15 minutes:\n\n  {ready.sign_in_link.reveal()}")
    elif ready.admin_email:
        print_line(f"\nA link to sign in by: {get_program_name()} user link {ready.admin_email}{tenant}")
    if ready.api_token is None:
        print_line(f"\nA token for a client: {get_program_name()} token create --name my-client{tenant}")
    else:
        _print_client_setup(ready.mcp_url, ready.api_token.reveal())
    print_line("\nCtrl-C stops it.")


def _print_client_setup(url: str, token: str) -> None:
    _print_box("API token, shown once: keep it where you keep passwords", token)
    print_line(f"\nClaude Code:\n\n{client_snippets.render_claude_code(url, token)}")
    print_line(f"\nCursor, ~/.cursor/mcp.json:\n\n{client_snippets.render_cursor(url, token)}")
    print_line(f"\nVS Code, .vscode/mcp.json (it asks for the token):\n\n{client_snippets.render_vs_code(url)}")
    print_line("\nThen ask your client to remember that Ada likes tea. Or try it at once, in another terminal:")
    print_line(f"\n{get_program_name()} {EXAMPLE_CALL}")


def _print_box(title: str, text: str) -> None:
    """Lines above and below only, so that the text can be copied as it is."""
    from rich import box
    from rich.console import Console
    from rich.panel import Panel
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False)
    width = max(len(text), len(title)) + 6
    print_line("")
    if console.width >= width:
        console.print(
            Panel(Text(text), title=title, box=box.HORIZONTALS, width=width, padding=(1, 2), border_style="bold")
        )
    else:
        print_line(f"{title}:\n\n{text}")
