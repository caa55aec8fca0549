"""A way to call tools for commands that do so often: at the chosen server, else on this machine's data folder."""

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from cli.client import server_selection
from cli.failures import ToolCallError
from cli.output import print_note
from cli.progress import Report, show_progress
from cli.runner import quiet_logs, read_settings
from core.errors import Invalid

if TYPE_CHECKING:
    from cli.client.mcp_tools import ToolCaller
    from server.local_call import LocalCaller

_T = TypeVar("_T")


class LocalToolCaller:
    """Implements :class:`cli.client.mcp_tools.ToolCaller` for a synchronous caller in another thread than `loop`."""

    def __init__(self, caller: "LocalCaller", loop: asyncio.AbstractEventLoop) -> None:
        self._caller = caller
        self._loop = loop

    def call(self, module: str, tool: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        from cli.client.mcp_tools import build_missing_tool_error
        from gateway.tool_runner import NO_SUCH_TOOL

        running = self._caller.call(module, tool, dict(params))
        outcome = asyncio.run_coroutine_threadsafe(running, self._loop).result()
        if outcome.error == NO_SUCH_TOOL:
            raise build_missing_tool_error(f"{module}.{tool}")
        if outcome.result is None:
            raise ToolCallError(outcome.error or "the tool failed")
        return outcome.result.model_dump(mode="json", by_alias=True)


def run_with_tools(work: "Callable[[ToolCaller, Report], _T]", *, user: str | None, tenant: str | None) -> _T:
    """Run `work` with a way to call tools, at a server as the person who is signed in there, on this machine as `user`;
    and with a way to show progress.

    Raises:
        Invalid: a user was named at a server.
        core.errors.MCPistError, server.postgres.errors.PostgresError: with what to do.
    """
    settings = read_settings()
    server = server_selection.select_server(settings)
    if server is None:
        return _run_at_home(work, user, tenant)
    if user is not None:
        raise Invalid("--user is for the machine of the data folder; at a server you act as yourself")
    quiet_logs(settings)
    if not server.is_explicit:
        print_note(f"At {server.server}:")
    with server_selection.open_tool_caller(settings, server, tenant) as caller, show_progress() as (report, _):
        return work(caller, report)


def _run_at_home(work: "Callable[[ToolCaller, Report], _T]", user: str | None, tenant: str | None) -> _T:
    from cli.commands.call import run_as_user

    async def run(caller: "LocalCaller", report: Report) -> _T:
        return await asyncio.to_thread(work, LocalToolCaller(caller, asyncio.get_running_loop()), report)

    return run_as_user(run, user, tenant)
