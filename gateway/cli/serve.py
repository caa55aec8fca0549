"""`mcpist up`, `mcpist gateway`, `mcpist broker` and `mcpist migrate`: the commands that run and prepare the server."""

import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import typer

from gateway.cli import clients
from gateway.cli.options import JsonOption
from gateway.cli.output import emit, print_json, say
from gateway.cli.progress import Report, shown
from gateway.cli.session import load_settings, locally, own_name, run_fast

if TYPE_CHECKING:
    from core.settings import Settings
    from gateway.single.product import Ready

Runner = Callable[["Settings", Report, "Callable[[Ready], None]"], Awaitable[None]]

_Ready = TypeVar("_Ready")

FIRST_CALL = (
    """call knowledge_graph create_entities --params """
    """'{"entities": [{"name": "Ada", "entityType": "person", "observations": ["likes tea"]}]}'"""
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("up", epilog="Example: MCPIST_PORT=8081 mcpist up")(up)
    app.command("gateway", epilog="Example: MCPIST_PORT=8082 mcpist gateway")(gateway)
    app.command("broker", epilog="Example: MCPIST_PORT=8090 mcpist broker")(broker)
    app.command("migrate", epilog="Example: mcpist migrate --json")(migrate)


def up(as_json: JsonOption = False) -> None:
    """Start MCPist with its database.

    Everything runs in this one process; Ctrl-C stops it in order. The first start makes the database, a tenant, its
    administrator, a link to sign in by and an API token, which it shows once.
    """
    from gateway.single.product import run_product

    _serve(run_product, as_json, _welcome)


def gateway(as_json: JsonOption = False) -> None:
    """Start one more gateway beside a running MCPist.

    It needs a port of its own (MCPIST_PORT), and the same data folder or database. With MCPIST_BROKER_URL it asks that
    broker, and neither needs nor reads a secret of the broker's: see docs/split.md.
    """
    from gateway.single.product import run_gateway

    _serve(run_gateway, as_json, lambda ready: say(f"This gateway listens on {ready.mcp_url}"))


def broker(as_json: JsonOption = False) -> None:
    """Start the broker alone, for gateways in processes of their own.

    It listens on MCPIST_HOST and MCPIST_PORT, or on a socket (MCPIST_BROKER_URL=unix:/path). See docs/split.md.
    """
    from gateway.single.split import run_broker

    _run(
        run_broker,
        as_json,
        lambda ready: {"ready": True, "broker_url": ready.broker_url},
        lambda ready: say(f"The broker listens on {ready.broker_url}"),
    )


def migrate(as_json: JsonOption = False) -> None:
    """Bring the database to this version's schema.

    `mcpist up` does it by itself.
    """

    async def work(settings: "Settings", report: Report) -> tuple[bool, str]:
        from core.migrations import head
        from core.migrations import migrate as to_head
        from gateway.single.home import joined

        async with joined(settings, report, maker="migrate") as deployment:
            report("Checking the schema")
            return await to_head(deployment.admin, deployment.passwords), head()

    changed, revision = locally(work)
    told = f"The database is at schema {revision}" + (" now." if changed else " already.")
    emit(as_json, {"changed": changed, "revision": revision}, lambda: say(told))


def _serve(runner: Runner, as_json: bool, human: "Callable[[Ready], None]") -> None:
    _run(runner, as_json, _document, human)


def _run(
    runner: "Callable[[Settings, Report, Callable[[_Ready], None]], Awaitable[None]]",
    as_json: bool,
    document: Callable[[_Ready], dict[str, object]],
    human: Callable[[_Ready], None],
) -> None:
    from gateway.operations.logs import configure_logs

    settings = load_settings()
    configure_logs(settings.log_level, settings.log_format)
    with shown(always=True) as (report, end):

        def on_ready(ready: _Ready) -> None:
            end()
            if as_json:
                print_json(document(ready))
            else:
                human(ready)
            sys.stdout.flush()

        async def run() -> None:
            await runner(settings, report, on_ready)

        run_fast(run())


def _document(ready: "Ready") -> dict[str, object]:
    document: dict[str, object] = {
        "ready": True,
        "mcp_url": ready.mcp_url,
        "console_url": ready.console_url,
        "home": str(ready.home),
        "admin_email": ready.admin_email,
    }
    if ready.api_token is not None:
        document["api_token"] = ready.api_token.reveal()
    if ready.sign_in_link is not None:
        document["sign_in_link"] = ready.sign_in_link.reveal()
    return document


def _welcome(ready: "Ready") -> None:
    from gateway.cli.tenancy import named

    tenant = named(ready.tenant)
    say(f"MCPist is ready.\n\n  MCP endpoint   {ready.mcp_url}\n  Data folder    {ready.home}")
    if ready.admin_email:
        say(f"  Administrator  {ready.admin_email}")
    if ready.sign_in_link is not None:
        say(f"\nSign in as the administrator, once and within 15 minutes:\n\n  {ready.sign_in_link.reveal()}")
    elif ready.admin_email:
        say(f"\nA link to sign in by: {own_name()} user link {ready.admin_email}{tenant}")
    if ready.api_token is None:
        say(f"\nA token for a client: {own_name()} token create --name my-client{tenant}")
    else:
        _first_start(ready.mcp_url, ready.api_token.reveal())
    say("\nCtrl-C stops it.")


def _first_start(url: str, token: str) -> None:
    _boxed("API token, shown once: keep it where you keep passwords", token)
    say(f"\nClaude Code:\n\n{clients.claude_code(url, token)}")
    say(f"\nCursor, ~/.cursor/mcp.json:\n\n{clients.cursor(url, token)}")
    say(f"\nVS Code, .vscode/mcp.json (it asks for the token):\n\n{clients.vs_code(url)}")
    say("\nThen ask your client to remember that Ada likes tea. Or try it at once, in another terminal:")
    say(f"\n{own_name()} {FIRST_CALL}")


def _boxed(title: str, text: str) -> None:
    """Lines above and below only, so that the text can be copied as it is."""
    from rich import box
    from rich.console import Console
    from rich.panel import Panel
    from rich.text import Text

    console = Console(file=sys.stdout, highlight=False)
    width = max(len(text), len(title)) + 6
    say("")
    if console.width >= width:
        console.print(
            Panel(Text(text), title=title, box=box.HORIZONTALS, width=width, padding=(1, 2), border_style="bold")
        )
    else:
        say(f"{title}:\n\n{text}")
