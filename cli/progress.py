"""Progress of a long command, on standard error; never on standard output."""

import contextlib
import logging
import sys
from collections.abc import Callable, Generator

from cli.output import escape_control_characters

Report = Callable[[str], None]

log = logging.getLogger("mcpist")


@contextlib.contextmanager
def show_progress(*, always: bool = False) -> Generator[tuple[Report, Callable[[], None]]]:
    """Return a function that shows a step, and one that ends the display. On a terminal steps replace each other on one
    line. Elsewhere it is a log line, and only with `always`.
    """
    if not sys.stderr.isatty():
        yield (log.info if always else _ignore_progress), _ignore_progress
        return
    from rich.console import Console
    from rich.markup import escape

    status = Console(file=sys.stderr).status("")
    showing = True

    def report(line: str) -> None:
        if showing:
            status.update(escape(escape_control_characters(line)) + " …")
            status.start()

    def stop() -> None:
        nonlocal showing
        showing = False
        status.stop()

    try:
        yield report, stop
    finally:
        status.stop()


def _ignore_progress(*_: object) -> None:
    """Ignore progress, where none is shown."""
