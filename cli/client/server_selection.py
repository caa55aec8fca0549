"""Selection of where a command acts: on this machine's data folder, or at a server.

A server that is named (``--server``, MCPIST_SERVER) always counts. Otherwise a data folder or a database here makes the
user its operator; on a machine without either, the only stored login counts.
"""

import contextlib
import os
from collections.abc import Generator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.config.settings import Settings
from core.errors import Invalid

if TYPE_CHECKING:
    from cli.client.admin_api import AdminApiClient
    from cli.client.bearer_auth import BearerAuth
    from cli.client.login_store import LoginStore
    from cli.client.mcp_tools import McpToolCaller
    from cli.client.server_http import ServerHttp

SERVER_OPTION = "--server"
SERVER_VARIABLE = "MCPIST_SERVER"
LOCAL_ONLY = (
    "this command works on the machine where MCPist keeps its data, and not at a server; run it there, without "
    f"{SERVER_OPTION} and with {SERVER_VARIABLE} unset"
)

TOOL_TIMEOUT = 120.0
"""Seconds for a call of a tool: longer than the server gives it."""

_named_server: ContextVar[str | None] = ContextVar("named server", default=None)


@dataclass(frozen=True, slots=True)
class ServerSelection:
    """A server; `is_explicit` is False for the only stored login, which no option names."""

    server: str
    is_explicit: bool


def hoist_server_option(arguments: Sequence[str]) -> list[str]:
    """Move ``--server URL`` to the beginning of the arguments: it is an option of every command."""
    before, after = list(arguments), []
    if "--" in before:
        index = before.index("--")
        before, after = before[:index], before[index:]
    hoisted, others = list[str](), list[str]()
    remaining = iter(before)
    for argument in remaining:
        if argument == SERVER_OPTION:
            hoisted += [argument, *([value] if (value := next(remaining, None)) is not None else [])]
        elif argument.startswith(SERVER_OPTION + "="):
            hoisted.append(argument)
        else:
            others.append(argument)
    return [*hoisted, *others, *after]


def set_named_server(server: str | None) -> None:
    """Remember what this command line names, for :func:`chosen`."""
    _named_server.set(server or None)


def get_named_server() -> str | None:
    """Return the URL of the server that was named.

    Raises:
        Invalid: it is none.
    """
    from cli.client.server_metadata import normalize_server_url

    named = _named_server.get()
    return None if named is None else normalize_server_url(named)


def refuse_named_server() -> None:
    """Refuse ``--server`` for a command that works on this machine only.

    Raises:
        Invalid: one was named.
    """
    if _named_server.get() is not None:
        raise Invalid(LOCAL_ONLY)


def select_server(settings: Settings) -> ServerSelection | None:
    """Select the server of a command; None is this machine's data folder.

    Raises:
        Invalid: there is no data folder, and there are logins for several servers.
    """
    if (server := get_named_server()) is not None:
        return ServerSelection(server, is_explicit=True)
    if _has_local_deployment(settings):
        return None
    servers = open_login_store().list_servers()
    if len(servers) > 1:
        raise Invalid(f"you are signed in at {', '.join(servers[:10])}: say which one with {SERVER_OPTION} URL")
    return ServerSelection(servers[0], is_explicit=False) if servers else None


def open_login_store() -> "LoginStore":
    """Open this user's stored logins."""
    from cli.client.login_store import LoginStore, get_config_folder

    return LoginStore(get_config_folder(os.environ))


@contextlib.contextmanager
def open_admin_api(settings: Settings, server: ServerSelection) -> Generator["AdminApiClient"]:
    """Open a server's admin API. An API token of the environment comes before a stored login, at a server that was
    named."""
    from cli.client.admin_api import AdminApiClient

    with create_server_http(server.server) as http:
        yield AdminApiClient(http, server.server, _create_auth(settings, server, http))


@contextlib.contextmanager
def open_tool_caller(settings: Settings, server: ServerSelection, tenant: str | None) -> Generator["McpToolCaller"]:
    """Open a way to call a server's tools, with the credential of :func:`open_admin_api`.

    Raises:
        Invalid: another tenant than the caller's own is named.
    """
    from cli.client.admin_api import AdminApiClient
    from cli.client.mcp_tools import McpToolCaller
    from cli.client.me import check_tenant

    with create_server_http(server.server, TOOL_TIMEOUT) as http:
        access = _create_auth(settings, server, http)
        check_tenant(AdminApiClient(http, server.server, access), tenant)
        yield McpToolCaller(http, server.server, access)


def create_server_http(server: str, timeout: float | None = None) -> "ServerHttp":
    """Create a client for one server; `timeout` is in seconds."""
    from cli.client.server_http import REQUEST_TIMEOUT, ServerHttp

    return ServerHttp(server, timeout=timeout or REQUEST_TIMEOUT)


def _create_auth(settings: Settings, server: ServerSelection, http: "ServerHttp") -> "BearerAuth":
    from cli.client.bearer_auth import LoginAuth, StaticTokenAuth

    token = settings.token if server.is_explicit else None
    return LoginAuth(http, open_login_store(), server.server) if token is None else StaticTokenAuth(token)


def _has_local_deployment(settings: Settings) -> bool:
    return settings.database_url is not None or settings.home.exists()
