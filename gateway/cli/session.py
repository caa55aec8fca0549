"""From the environment to an opened data folder: what every administrative command starts with."""

import asyncio
import os
import shlex
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from core.settings import Settings
from gateway.cli.progress import Report, shown

if TYPE_CHECKING:
    from gateway.single.operator import Operator

_T = TypeVar("_T")


def load_settings() -> Settings:
    """The settings of this process.

    Raises:
        core.errors.Invalid: a variable is unknown or has the wrong form.
    """
    return Settings.from_environment(os.environ)


def wants_debug() -> bool:
    """Whether the operator asked to see where a fault is, even where the settings cannot be read."""
    return os.environ.get("MCPIST_LOG_LEVEL", "").lower() == "debug"


def administer(work: "Callable[[Operator], Awaitable[_T]]") -> _T:
    """Run `work` on the opened data folder; its database is started where no MCPist runs.

    Raises:
        core.errors.MCPistError, gateway.postgres.errors.PostgresError: with what to do.
    """

    async def run(settings: Settings, report: Report) -> _T:
        from gateway.single.operator import operator

        async with operator(settings, report) as operating:
            return await work(operating)

    return locally(run)


def locally(work: Callable[[Settings, Report], Coroutine[Any, Any, _T]]) -> _T:
    """Run `work` with the settings and a way to show progress, in an event loop of its own."""
    settings = load_settings()
    quiet_logs(settings)
    with shown() as (report, _):
        return asyncio.run(work(settings, report))


def quiet_logs(settings: Settings) -> None:
    """A command speaks for itself: the log shows only what is wrong, unless everything is asked for."""
    from gateway.operations.logs import configure_logs

    configure_logs("debug" if settings.log_level == "debug" else "error", "text")


def run_fast(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a long-lived process: on uvloop where there is one."""
    try:
        from uvloop import new_event_loop
    except ImportError:
        return asyncio.run(work)
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(work)


def own_name() -> str:
    """How this program was called, for commands that are printed to be pasted."""
    called = sys.argv[0]
    name = "mcpist" if os.sep not in called or _on_path(called) else shlex.quote(os.path.relpath(called))
    home = os.environ.get("MCPIST_HOME")
    return f"MCPIST_HOME={shlex.quote(home)} {name}" if home else name


def _on_path(program: str) -> bool:
    import shutil

    found = shutil.which("mcpist")
    return found is not None and os.path.realpath(found) == os.path.realpath(program)
