"""The commands, put together; and the one place where a failure becomes a line and an exit code."""

import functools
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
import typer.main

from cli.client import server_selection
from cli.commands import (
    allow,
    audit,
    backup,
    call,
    client,
    client_trust,
    connect,
    credential,
    doctor,
    figures,
    identity_provider,
    issuer,
    keys,
    login,
    module,
    notification,
    notification_sender,
    oauth_client,
    profile,
    provider,
    request,
    role,
    role_mapping,
    scim_token,
    serve,
    service,
    session,
    stdio,
    tenant,
    token,
    user,
)
from cli.failures import INTERRUPTED_EXIT_CODE, CommandExit, describe_failure, print_failure, print_traceback
from cli.output import print_json, print_line
from cli.runner import wants_debug

app = typer.Typer(
    name="mcpist",
    help="MCPist: one MCP gateway for all LLM clients and services of a company.",
    epilog="Start here: mcpist up",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


def _print_version(value: bool) -> None:
    if not value:
        return
    from importlib.metadata import version

    if "--json" in sys.argv:
        print_json({"version": version("mcpist")})
    else:
        print_line(f"mcpist {version('mcpist')}")
    raise typer.Exit


@app.callback()
def _root(  # pyright: ignore[reportUnusedFunction]
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


serve.register(app)
stdio.register(app)
login.register(app)
connect.register(app)
app.add_typer(tenant.app, name="tenant")
app.add_typer(profile.app, name="profile")
app.add_typer(user.app, name="user")
app.add_typer(allow.app, name="allow")
app.add_typer(role.app, name="role")
app.add_typer(request.app, name="request")
app.add_typer(role_mapping.app, name="role-mapping")
app.add_typer(service.app, name="service")
app.add_typer(module.app, name="module")
app.add_typer(credential.app, name="credential")
app.add_typer(client.app, name="client")
app.add_typer(client_trust.app, name="client-trust")
app.add_typer(provider.app, name="provider")
app.add_typer(oauth_client.app, name="oauth-client")
app.add_typer(issuer.app, name="issuer")
app.add_typer(identity_provider.app, name="identity-provider")
app.add_typer(notification.app, name="notification")
app.add_typer(notification_sender.app, name="notification-sender")
app.add_typer(keys.app, name="keys")
app.add_typer(token.app, name="token")
app.add_typer(scim_token.app, name="scim-token")
app.add_typer(session.app, name="session")
app.add_typer(audit.app, name="audit")
call.register(app)
figures.register(app)
backup.register(app)
doctor.register(app)


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
        code: Any = _get_command().main(
            server_selection.hoist_server_option(arguments), prog_name="mcpist", standalone_mode=False
        )
        return code if isinstance(code, int) else 0
    except CommandExit as stop:
        return stop.exit_code
    except BrokenPipeError:
        _forget_output()  # the reader of the output has closed it
        return 1
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 this is where every failure ends
        return _report_failure(error, as_json)


@functools.cache
def _get_command() -> Any:
    return typer.main.get_command(app)


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
