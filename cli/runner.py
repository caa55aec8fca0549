"""From the environment to an opened data folder: what every administrative command starts with."""

import asyncio
import os
import shlex
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from cli.client import server_selection
from cli.output import print_note
from cli.progress import Report, show_progress
from core.config.settings import Settings
from core.errors import Invalid

if TYPE_CHECKING:
    from cli.client.admin_api import AdminApiClient
    from core.observability.log_file import LogFile
    from server.operator_context import OperatorContext

_T = TypeVar("_T")


def load_settings() -> Settings:
    """Load the settings of this process, for what works on this machine.

    Raises:
        core.errors.Invalid: a variable is unknown or has the wrong form, or a server was named.
    """
    server_selection.refuse_named_server()
    return read_settings()


def read_settings() -> Settings:
    """Read the settings of this process, wherever the command acts.

    Raises:
        core.errors.Invalid: a variable is unknown or has the wrong form.
    """
    return Settings.from_environment(os.environ)


def wants_debug() -> bool:
    """Check whether debug output is requested, even where the settings cannot be read."""
    return os.environ.get("MCPIST_LOG_LEVEL", "").lower() == "debug"


def run_on_data_folder(work: "Callable[[OperatorContext], Awaitable[_T]]") -> _T:
    """Run `work` on the opened data folder, whose database is started where no MCPist runs. For what looks after the
    deployment's own keys and proofs, which no server may answer for.

    Raises:
        core.errors.MCPistError, server.postgres.errors.PostgresError: with what to do.
    """

    async def run(settings: Settings, report: Report) -> _T:
        from server.operator_context import open_operator_context

        async with open_operator_context(settings, report) as context:
            return await work(context)

    return run_local_or_remote(lambda: run_local(run), None)


def run_api_command(
    call: "Callable[[AdminApiClient], _T]", *, tenant: str | None = None, needs_tenant: bool = True
) -> _T:
    """Run `call` with the admin API: that of the chosen server as its user, else this machine's as its operator, where
    `tenant` may be any. What is about the whole deployment says `needs_tenant=False`.

    Raises:
        core.errors.MCPistError, server.postgres.errors.PostgresError: with what to do.
    """
    return run_local_or_remote(lambda: _call_as_operator(call, tenant, needs_tenant), call, tenant=tenant)


def _call_as_operator(call: "Callable[[AdminApiClient], _T]", tenant: str | None, needs_tenant: bool) -> _T:
    from cli.client.operator_api import create_operator_client, find_operator_access, select_operator_tenant

    settings = load_settings()
    quiet_logs(settings)

    def act(api: "AdminApiClient") -> _T:
        return call(select_operator_tenant(api, settings, tenant) if needs_tenant else api)

    if (access := find_operator_access(settings)) is not None:
        with server_selection.create_server_http(access.url) as http:
            return act(create_operator_client(http, access))

    async def run(settings: Settings, report: Report) -> _T:
        from cli.client.operator_api import InProcessHttp
        from server.offline_admin_api import open_offline_admin_api

        async with open_offline_admin_api(settings, report) as api:
            http = InProcessHttp(api.app, api.access.url, asyncio.get_running_loop())
            return await asyncio.to_thread(act, create_operator_client(http, api.access))

    return run_local(run)


def run_local_or_remote(
    local: Callable[[], _T], at_server: "Callable[[AdminApiClient], _T] | None", *, tenant: str | None = None
) -> _T:
    """Return the result of `run_here`, or of `call_api` if a server is selected."""
    settings = read_settings()
    server = server_selection.select_server(settings)
    if server is None:
        return local()
    if at_server is None:
        raise Invalid(server_selection.LOCAL_ONLY)
    quiet_logs(settings)
    if not server.is_explicit:
        print_note(f"At {server.server}:")
    with server_selection.open_admin_api(settings, server) as api:
        from cli.client.me import check_tenant

        check_tenant(api, tenant)
        return at_server(api)


def run_local(work: Callable[[Settings, Report], Coroutine[Any, Any, _T]]) -> _T:
    """Run `work` with the settings and a way to show progress, in an event loop of its own."""
    settings = load_settings()
    quiet_logs(settings)
    with show_progress() as (report, _):
        return asyncio.run(work(settings, report))


def quiet_logs(settings: Settings) -> None:
    """Log only warnings and errors, unless debug output is requested: the command prints its result itself."""
    from core.observability.logs import configure_logs

    configure_logs("debug" if settings.log_level == "debug" else "error", "text")


def open_log_file(settings: Settings) -> "LogFile | None":
    """Open the log of the data folder, where it is kept."""
    from core.observability.log_file import LogFile, get_log_path, is_log_kept

    if not is_log_kept(settings.log_file, os.environ, sys.stderr.fileno()):
        return None
    return LogFile(get_log_path(settings.home))


def get_program_name() -> str:
    """Return how this program was called, for printed commands that can be pasted."""
    invoked = sys.argv[0]
    name = "mcpist" if os.sep not in invoked or _on_path(invoked) else shlex.quote(os.path.relpath(invoked))
    home = os.environ.get("MCPIST_HOME")
    return f"MCPIST_HOME={shlex.quote(home)} {name}" if home else name


def _on_path(program: str) -> bool:
    import shutil

    program_path = shutil.which("mcpist")
    return program_path is not None and os.path.realpath(program_path) == os.path.realpath(program)
