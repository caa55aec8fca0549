"""The commands, put together; and the one place where a failure becomes a line and an exit code."""

import functools
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer
import typer.main

from cli.client import server_selection
from cli.failures import INTERRUPTED_EXIT_CODE, CommandExit, describe_failure, print_failure, print_traceback
from cli.output import print_json, print_line
from cli.runner import wants_debug

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "serve": ("up", "gateway", "broker", "console", "worker", "migrate"),
    "stdio": ("stdio",),
    "login": ("login", "logout", "whoami"),
    "connect": ("connect",),
    "tenant": ("tenant",),
    "profile": ("profile",),
    "user": ("user",),
    "allow": ("allow",),
    "role": ("role",),
    "request": ("request",),
    "role_mapping": ("role-mapping",),
    "service": ("service",),
    "module": ("module",),
    "credential": ("credential",),
    "tenant_key": ("tenant-key",),
    "client": ("client",),
    "client_trust": ("client-trust",),
    "provider": ("provider",),
    "oauth_client": ("oauth-client",),
    "issuer": ("issuer",),
    "identity_provider": ("identity-provider",),
    "notification": ("notification",),
    "notification_sender": ("notification-sender",),
    "keys": ("keys",),
    "token": ("token",),
    "scim_token": ("scim-token",),
    "session": ("session",),
    "grant": ("grant",),
    "mandate": ("mandate",),
    "identity": ("identity",),
    "connection": ("connection",),
    "audit": ("audit",),
    "tool": ("tool",),
    "call": ("call", "schema"),
    "importing": ("import",),
    "job": ("job",),
    "schedule": ("schedule",),
    "figures": ("figures",),
    "backup": ("backup", "restore", "adopt"),
    "purge": ("purge",),
    "doctor": ("doctor",),
    "logs": ("logs",),
}
"""The names that each module of `cli/commands/` declares, in the order of the help."""


def _print_version(value: bool) -> None:
    if not value:
        return
    from importlib.metadata import version

    if "--json" in sys.argv:
        print_json({"version": version("mcpist")})
    else:
        print_line(f"mcpist {version('mcpist')}")
    raise typer.Exit


def _root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
    server: Annotated[
        str | None,
        typer.Option(
            server_selection.SERVER_OPTION,
            envvar=server_selection.SERVER_VARIABLE,
            metavar="URL",
            help="Act there by the admin API; see mcpist login.",
        ),
    ] = None,
) -> None:
    """MCPist: one MCP gateway for all LLM clients and services of a company."""
    server_selection.set_named_server(server)


def build_app(*modules: str) -> typer.Typer:
    """Build the program with the commands of some modules of `cli/commands/`. All of them take 0.06 s to import, so a
    run of one command has those of its own module only."""
    app = typer.Typer(
        name="mcpist",
        help="MCPist: one MCP gateway for all LLM clients and services of a company.",
        epilog="Start here: mcpist up",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
    )
    app.callback()(_root)
    for name in modules or COMMANDS:
        module = importlib.import_module(f"cli.commands.{name}")
        group: typer.Typer | None = getattr(module, "app", None)
        if group is None:
            module.register(app)
        else:
            app.add_typer(group, name=COMMANDS[name][0])
    return app


def main() -> None:
    """Run the program: its entry point."""
    code = run_command(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_output()
    sys.exit(code)


def run_command(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; errors are printed on standard error."""
    as_json = "--json" in arguments
    try:
        hoisted = server_selection.hoist_server_option(arguments)
        code: Any = _get_program(_find_module(hoisted)).main(hoisted, prog_name="mcpist", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except CommandExit as stop:
        return stop.exit_code
    except BrokenPipeError:
        _forget_output()  # the reader of the output has closed it
        return 1
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 this is where every failure ends
        return _report_failure(error, as_json)


def _find_module(arguments: Sequence[str]) -> str:
    """Find the module of the command that the arguments name; empty where they name none, such as for ``--help``."""
    remaining = iter(arguments)
    for argument in remaining:
        if argument == server_selection.SERVER_OPTION:
            next(remaining, None)
        elif not argument.startswith("-"):
            return next((module for module, names in COMMANDS.items() if argument in names), "")
    return ""


@functools.cache
def _get_program(module: str) -> Any:
    return typer.main.get_command(build_app(*filter(None, [module])))


def _report_failure(error: BaseException, as_json: bool) -> int:
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(str(error), err=True)
        return 2
    failure = describe_failure(error)
    if failure.code == "unexpected" and wants_debug():
        print_traceback(error)
    if failure.exit_code != INTERRUPTED_EXIT_CODE or as_json:
        print_failure(failure, as_json=as_json)
    return failure.exit_code


def _forget_output() -> None:
    """Silence Python's complaint at exit about a standard output that was closed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
