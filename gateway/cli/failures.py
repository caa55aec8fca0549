"""What a failed command tells: one line with what to do, one exit code; never a traceback."""

import asyncio
import os
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path

import orjson
import typer

from core.errors import Conflict, MCPistError
from gateway.cli.output import clean
from gateway.postgres.errors import HomeInUse, PostgresError
from gateway.postgres.login import REFUSED, refused_login

INTERRUPTED = 130
USAGE = 2


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure as it is shown."""

    code: str
    message: str
    exit_code: int


class Stop(Exception):
    """Ends the command with an exit code, after it has printed its result itself."""

    def __init__(self, exit_code: int) -> None:
        super().__init__()
        self.exit_code = exit_code


class ToolFailed(MCPistError):
    """A tool, called from the command line, gave an error."""

    code = "tool_error"


def failure_of(error: BaseException) -> Failure:
    """How `error` is shown; one that nobody expected shows its type, and nothing of its text."""
    error = _alone(error)
    if isinstance(error, MCPistError):
        return Failure(error.code, str(error), error.exit_code)
    if isinstance(error, typer.TyperException):
        return _usage(error)
    if isinstance(error, HomeInUse):
        return Failure("home_in_use", str(error), Conflict.exit_code)
    if isinstance(error, KeyboardInterrupt | asyncio.CancelledError | typer.Abort | EOFError):
        return Failure("interrupted", "interrupted", INTERRUPTED)
    if isinstance(error, PostgresError) or type(error).__name__ in ("MigrationError", "CatalogueError"):
        return Failure("not_possible", str(error), 1)
    if type(error).__name__ == REFUSED:
        return Failure("not_possible", refused_login(error), 1)
    if trouble := _storage(error):
        return Failure("not_possible", trouble, 1)
    return Failure("unexpected", f"{_named(error)}: run it again with MCPIST_LOG_LEVEL=debug to see where", 1)


def show(failure: Failure, *, as_json: bool) -> None:
    """Print a failure on standard error."""
    if as_json:
        document = {"error": {"code": failure.code, "message": failure.message}}
        typer.echo(orjson.dumps(document).decode(), err=True)
    else:
        typer.echo(f"Error: {clean(failure.message)}", err=True)


def show_places(error: BaseException) -> None:
    """The traceback of an unexpected error, for whoever asked for it."""
    traceback.print_exception(error, file=sys.stderr)


def _alone(error: BaseException) -> BaseException:
    """The one error inside a group of one, as a task group raises it."""
    inside: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    return _alone(inside[0]) if len(inside) == 1 else error


def _usage(error: typer.TyperException) -> Failure:
    context = getattr(error, "ctx", None)
    hint = f" (`{context.command_path} --help` shows how)" if context is not None else ""
    return Failure("usage", error.format_message() + hint, error.exit_code)


def _storage(error: BaseException) -> str:
    """A full or a read-only disk, where the error says so; the file, where it names one."""
    if not isinstance(error, OSError) and type(error).__name__ != "DiskFullError":
        return ""
    from core.storage import is_disk_full, storage_trouble

    if isinstance(error, OSError) and error.filename:
        return storage_trouble(error, Path(os.fsdecode(error.filename)).parent)
    return "the disk is full: make room, then run it again" if is_disk_full(error) else ""


def _named(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return f"unexpected {type(error).__name__}"
