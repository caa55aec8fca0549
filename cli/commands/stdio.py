"""`mcpist stdio`: MCP over standard input and output, for clients that only start processes."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from typing import TYPE_CHECKING, Annotated

import typer

from cli.failures import CommandExit, describe_failure, print_failure
from cli.runner import load_settings
from core.concurrency.event_loop import run_event_loop
from core.errors import Invalid
from core.tool_exposure import View, parse_exposure

if TYPE_CHECKING:
    from uuid import UUID

    from cli.stdio.upstream import Upstream
    from core.config.settings import Settings
    from server.operator_context import OperatorContext

OUTPUT_DESCRIPTOR = 1
ERROR_DESCRIPTOR = 2


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("stdio", epilog="Example: MCPIST_URL=https://mcp.example.com MCPIST_TOKEN=… mcpist stdio")(stdio)


def stdio(
    user: Annotated[
        str | None,
        typer.Option(
            "--user", metavar="EMAIL", help="The user to act as, without a URL; default: the only administrator."
        ),
    ] = None,
    tenant: Annotated[
        str | None, typer.Option("--tenant", metavar="SLUG", help="Whose, without a URL, where there are several.")
    ] = None,
    module: Annotated[
        list[str] | None,
        typer.Option(
            "--module", metavar="NAME", help="List the tools of this module as plain tools; repeat it for several."
        ),
    ] = None,
    view: Annotated[
        View | None,
        typer.Option(
            "--view",
            help="How tools are listed: by the three meta-tools, as plain tools, or both; with --module: plain.",
        ),
    ] = None,
) -> None:
    """Speak MCP on standard input and output.

    For clients that only start processes.

    With MCPIST_URL and MCPIST_TOKEN it relays to that MCPist; else to the data folder's own, which it joins, or starts
    for as long as it lives.
    """
    from core.observability.logs import configure_logs

    settings = load_settings()
    if settings.url and settings.token is None:
        raise Invalid("MCPIST_URL is set and MCPIST_TOKEN is not: put an API token of that MCPist there")
    configure_logs("warning" if settings.log_level == "info" else settings.log_level, settings.log_format)
    exposure = _build_exposure(module or [], view)
    with _claim_output() as output:
        code = run_event_loop(_run_relay(settings, output, user, tenant, exposure))
    if code:
        raise CommandExit(code)


def _build_exposure(modules: list[str], view: View | None) -> str:
    """Build the query of the URL that says how tools are listed; empty for what everybody has.

    Raises:
        core.errors.Invalid: a name is none of a module.
    """
    from urllib.parse import urlencode

    fields = {"view": view.value if view else "", "modules": ",".join(modules)}
    query = urlencode({name: value for name, value in fields.items() if value}, safe=",")
    parse_exposure(query)
    return query


async def _run_relay(settings: "Settings", output: int, user: str | None, tenant: str | None, exposure: str) -> int:
    from importlib.metadata import version

    from cli.stdio.lines import LineReader, LineWriter
    from cli.stdio.relay import StdioRelay
    from cli.stdio.upstream import ExposedUpstream, create_http_session

    with _watch_stop_signals() as (stopped, listen):
        async with (
            _open_upstream(settings, user, tenant, listen) as upstream,
            create_http_session(version("mcpist")) as session,
        ):
            if exposure:
                upstream = ExposedUpstream(upstream, exposure)
            lines = LineReader(sys.stdin.fileno())
            lines.start()
            finding = asyncio.create_task(_find_upstream(upstream), name="finding MCPist")
            relaying = asyncio.create_task(StdioRelay(upstream, session, LineWriter(output)).run(lines), name="relay")
            stopping = asyncio.create_task(stopped.wait())
            await asyncio.wait({relaying, stopping}, return_when=asyncio.FIRST_COMPLETED)
            code = finding.result() if finding.done() else 0
            for task in (finding, relaying, stopping):
                task.cancel()
            await asyncio.gather(finding, relaying, stopping, return_exceptions=True)
            return code


async def _find_upstream(upstream: "Upstream") -> int:
    """Find MCPist before the first message asks for it; a failure is also written to the client's log. Return the exit
    code."""
    try:
        await upstream.get_endpoint()
    except Exception as error:  # noqa: BLE001 what is expected and what is not: classify_error tells them apart
        failure = describe_failure(error)
        print_failure(failure, as_json=False)
        return failure.exit_code
    return 0


@contextlib.asynccontextmanager
async def _open_upstream(
    settings: "Settings", user: str | None, tenant: str | None, listen: Callable[[], None]
) -> "AsyncGenerator[Upstream]":
    if settings.url:
        from cli.stdio.upstream import FixedUpstream

        assert settings.token is not None
        yield FixedUpstream(settings.url, settings.token)
        return
    from cli.stdio.attach import AttachedServer

    async def find_subject(context: "OperatorContext") -> "tuple[UUID, UUID]":
        from cli.lookup import resolve_tenant, resolve_user

        chosen_tenant = await resolve_tenant(context, tenant)
        return chosen_tenant.id, (await resolve_user(context, chosen_tenant, user)).id

    attached = AttachedServer(settings, _ignore_progress, find_subject, token=settings.token, on_start=listen)
    try:
        yield attached
    finally:
        await attached.close()


@contextlib.contextmanager
def _claim_output() -> Generator[int]:
    """Reserve a descriptor for the protocol: everything else that is printed goes to standard error."""
    sys.stdout.flush()
    output = os.dup(OUTPUT_DESCRIPTOR)
    os.dup2(ERROR_DESCRIPTOR, OUTPUT_DESCRIPTOR)
    try:
        yield output
    finally:
        os.dup2(output, OUTPUT_DESCRIPTOR)
        os.close(output)


@contextlib.contextmanager
def _watch_stop_signals() -> Generator[tuple[asyncio.Event, Callable[[], None]]]:
    """Return an event that SIGINT and SIGTERM set, and a function to listen anew: a product that starts takes them
    over."""
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()

    def listen() -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stopped.set)

    listen()
    try:
        yield stopped, listen
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


def _ignore_progress(_line: str) -> None:
    """Ignore progress: clients show standard error as faults."""
