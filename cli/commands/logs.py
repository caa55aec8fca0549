"""`mcpist logs`: the log of this machine's MCPist, chosen and readable."""

import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cli.log_lines import LogFilter, LogLine, LogReader, format_line, parse_line, read_pipe
from cli.output import print_line
from cli.runner import load_settings
from cli.time_arguments import parse_past_time
from core.errors import Invalid, NotFound
from core.observability.log_file import get_log_path

FOLLOW_SECONDS = 0.25
PIPE = "-"
_NO_LOG = (
    "there is no log at {path}: `mcpist up` keeps one in its data folder where no supervisor keeps it. Elsewhere: "
    "`journalctl --unit mcpist --output cat | mcpist logs -`, `docker compose logs | mcpist logs -`, "
    "`kubectl logs deploy/mcpist-gateway | mcpist logs -`"
)


class Level(StrEnum):
    """The lowest level that is shown."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("logs", epilog="Example: mcpist logs --follow --level warning")(logs)


def logs(
    file: Annotated[
        str | None,
        typer.Argument(metavar="[FILE]", help="A file of log lines, - for standard input; else the data folder's log."),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what is written, until Ctrl-C.")] = False,
    level: Annotated[Level, typer.Option("--level", help="This level and above.")] = Level.DEBUG,
    event: Annotated[
        str,
        typer.Option("--event", metavar="NAME", help="Only this event, such as broker_unavailable; calls: tool_run."),
    ] = "",
    request: Annotated[str, typer.Option("--request", metavar="ID", help="Only the lines of this request.")] = "",
    since: Annotated[
        str | None, typer.Option("--since", metavar="WHEN", help="From then on: 10m, 2h or a time.")
    ] = None,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="At most so many, the newest; 0 for all.")] = 200,
    as_json: Annotated[bool, typer.Option("--json", help="Print the lines as they were written.")] = False,
) -> None:
    """Show the log: what happened, readable, oldest first.

    `mcpist up` keeps its newest 32 MB in the data folder, unless systemd's journal has it (MCPIST_LOG_FILE). Whatever
    else collects MCPist's standard error can be read here too: docker compose logs --follow | mcpist logs -
    """
    settings = load_settings()
    chosen = LogFilter(level.value, event, request, parse_past_time(since, datetime.now(UTC)))

    def show(line: LogLine) -> None:
        typer.echo(line.raw) if as_json else print_line(format_line(line))

    if file == PIPE:
        for line in _choose(read_pipe(sys.stdin.buffer), chosen):
            show(line)
            sys.stdout.flush()
        return
    path = get_log_path(settings.home) if file is None else Path(file)
    try:
        reader = LogReader(path)
    except FileNotFoundError:
        raise NotFound(_NO_LOG.format(path=path)) from None
    except OSError as error:
        raise Invalid(f"{path} cannot be read ({type(error).__name__})") from None
    try:
        for line in deque(_choose(reader.read(), chosen), maxlen=lines or None):
            show(line)
        while follow:
            sys.stdout.flush()
            time.sleep(FOLLOW_SECONDS)
            for line in _choose(reader.read(), chosen):
                show(line)
    finally:
        reader.close()


def _choose(texts: Iterable[str], chosen: LogFilter) -> Iterator[LogLine]:
    return filter(chosen.admits, map(parse_line, texts))
