"""`mcpist stdio`: MCP over standard input and output, for clients that only start processes."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from typing import TYPE_CHECKING, Annotated

import typer

from core.errors import Invalid
from gateway.cli.failures import Stop, failure_of, show
from gateway.cli.session import load_settings, run_fast

if TYPE_CHECKING:
    from uuid import UUID

    from core.settings import Settings
    from gateway.single.operator import Operator
    from gateway.stdio.upstream import Upstream

OUTPUT = 1
ERRORS = 2


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
) -> None:
    """Speak MCP on standard input and output.

    For clients that only start processes.

    With MCPIST_URL and MCPIST_TOKEN it relays to that MCPist; else to the data folder's own, which it joins, or starts
    for as long as it lives.
    """
    from gateway.operations.logs import configure_logs

    settings = load_settings()
    if settings.url and settings.token is None:
        raise Invalid("MCPIST_URL is set and MCPIST_TOKEN is not: put an API token of that MCPist there")
    configure_logs("warning" if settings.log_level == "info" else settings.log_level, settings.log_format)
    with _claimed_output() as output:
        code = run_fast(_relay(settings, output, user, tenant))
    if code:
        raise Stop(code)


async def _relay(settings: "Settings", output: int, user: str | None, tenant: str | None) -> int:
    from importlib.metadata import version

    from gateway.stdio.lines import Lines, Output
    from gateway.stdio.relay import Relay
    from gateway.stdio.upstream import new_session

    with _stop_signals() as (stopped, listen):
        async with _upstream(settings, user, tenant, listen) as upstream, new_session(version("mcpist")) as session:
            lines = Lines(sys.stdin.fileno())
            lines.start()
            looking = asyncio.create_task(_look(upstream), name="finding MCPist")
            relaying = asyncio.create_task(Relay(upstream, session, Output(output)).run(lines), name="relay")
            waiting = asyncio.create_task(stopped.wait())
            await asyncio.wait({relaying, waiting}, return_when=asyncio.FIRST_COMPLETED)
            code = looking.result() if looking.done() else 0
            for task in (looking, relaying, waiting):
                task.cancel()
            await asyncio.gather(looking, relaying, waiting, return_exceptions=True)
            return code


async def _look(upstream: "Upstream") -> int:
    """Find MCPist before the first message asks for it; a failure is told to the client's log, too. The exit code."""
    try:
        await upstream.endpoint()
    except Exception as error:  # noqa: BLE001 what is expected and what is not: failure_of tells them apart
        failure = failure_of(error)
        show(failure, as_json=False)
        return failure.exit_code
    return 0


@contextlib.asynccontextmanager
async def _upstream(
    settings: "Settings", user: str | None, tenant: str | None, listen: Callable[[], None]
) -> "AsyncGenerator[Upstream]":
    if settings.url:
        from gateway.stdio.upstream import Fixed

        assert settings.token is not None
        yield Fixed(settings.url, settings.token)
        return
    from gateway.single.attached import Attached

    async def whom(operating: "Operator") -> "tuple[UUID, UUID]":
        from gateway.cli.tenancy import the_tenant, the_user

        found = await the_tenant(operating, tenant)
        return found.id, (await the_user(operating, found, user)).id

    attached = Attached(settings, _silent, whom, given=settings.token, on_start=listen)
    try:
        yield attached
    finally:
        await attached.close()


@contextlib.contextmanager
def _claimed_output() -> Generator[int]:
    """A descriptor for the protocol alone: whatever else is printed, by whomever, goes to standard error."""
    sys.stdout.flush()
    own = os.dup(OUTPUT)
    os.dup2(ERRORS, OUTPUT)
    try:
        yield own
    finally:
        os.dup2(own, OUTPUT)
        os.close(own)


@contextlib.contextmanager
def _stop_signals() -> Generator[tuple[asyncio.Event, Callable[[], None]]]:
    """An event that SIGINT and SIGTERM set, and a function to listen anew: a product that starts takes them over."""
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


def _silent(_line: str) -> None:
    """What clients show of standard error is for faults."""
