"""Output of a failed command: one line with what to do, one exit code; never a traceback."""

import asyncio
import os
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path

import orjson
import typer

from cli.output import escape_control_characters
from core.errors import Conflict, MCPistError
from server.postgres.errors import HomeInUse, PostgresError
from server.postgres.login_errors import INVALID_PASSWORD_ERROR, LOGIN_REFUSED_ERROR, explain_refused_login

INTERRUPTED_EXIT_CODE = 130
USAGE_EXIT_CODE = 2
UNREACHABLE_ERRORS = ("ConnectionRefusedError", "ConnectionResetError", "gaierror", "CannotConnectNowError")
DATABASE_UNREACHABLE = (
    "the database cannot be reached: is it running, and are host and port in MCPIST_DATABASE_URL right?"
)


@dataclass(frozen=True, slots=True)
class CommandFailure:
    """A failure as it is shown."""

    code: str
    message: str
    exit_code: int


class CommandExit(Exception):
    """Ends the command with an exit code, after it has printed its result itself."""

    def __init__(self, exit_code: int) -> None:
        super().__init__()
        self.exit_code = exit_code


class ToolCallError(MCPistError):
    """A tool, called from the command line, gave an error."""

    code = "tool_error"


def describe_failure(error: BaseException) -> CommandFailure:
    """Describe `error` for the user; an unexpected one by its type, without its text."""
    error = _unwrap_group(error)
    if type(error).__name__ == LOGIN_REFUSED_ERROR:
        return CommandFailure("not_possible", explain_refused_login(error.__cause__ or error), 1)
    if isinstance(error, MCPistError):
        return CommandFailure(error.code, str(error), error.exit_code)
    if isinstance(error, typer.TyperException):
        return _describe_usage_error(error)
    if isinstance(error, HomeInUse):
        return CommandFailure("home_in_use", str(error), Conflict.exit_code)
    if isinstance(error, KeyboardInterrupt | asyncio.CancelledError | typer.Abort | EOFError):
        return CommandFailure("interrupted", "interrupted", INTERRUPTED_EXIT_CODE)
    if isinstance(error, PostgresError) or type(error).__name__ in ("MigrationError", "CatalogueError"):
        return CommandFailure("not_possible", str(error), 1)
    if type(error).__name__ == INVALID_PASSWORD_ERROR:
        return CommandFailure("not_possible", explain_refused_login(error), 1)
    if storage_problem := _describe_storage_error(error):
        return CommandFailure("not_possible", storage_problem, 1)
    if type(error).__name__ in UNREACHABLE_ERRORS and not getattr(error, "filename", None):
        return CommandFailure("unavailable", DATABASE_UNREACHABLE, 7)
    return CommandFailure(
        "unexpected", f"{_describe_unexpected_error(error)}: run it again with MCPIST_LOG_LEVEL=debug to see where", 1
    )


def print_failure(failure: CommandFailure, *, as_json: bool) -> None:
    """Print a failure on standard error."""
    if as_json:
        document = {"error": {"code": failure.code, "message": failure.message}}
        typer.echo(orjson.dumps(document).decode(), err=True)
    else:
        typer.echo(f"Error: {escape_control_characters(failure.message)}", err=True)


def print_traceback(error: BaseException) -> None:
    """Print the traceback of an unexpected error, for the debug option."""
    traceback.print_exception(error, file=sys.stderr)


def _unwrap_group(error: BaseException) -> BaseException:
    """Return the only error of a group, as a task group raises it."""
    inside: tuple[BaseException, ...] = getattr(error, "exceptions", ())
    return _unwrap_group(inside[0]) if len(inside) == 1 else error


def _describe_usage_error(error: typer.TyperException) -> CommandFailure:
    context = getattr(error, "ctx", None)
    hint = f" (`{context.command_path} --help` shows how)" if context is not None else ""
    return CommandFailure("usage", error.format_message() + hint, error.exit_code)


def _describe_storage_error(error: BaseException) -> str:
    """Describe a full or a read-only disk, where the error says so; the file, where it names one."""
    if not isinstance(error, OSError) and type(error).__name__ != "DiskFullError":
        return ""
    from core.disk_errors import explain_storage_error, is_disk_full

    if isinstance(error, OSError) and error.filename:
        return explain_storage_error(error, Path(os.fsdecode(error.filename)).parent)
    return "the disk is full: make room, then run it again" if is_disk_full(error) else ""


def _describe_unexpected_error(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return f"unexpected {type(error).__name__}"
