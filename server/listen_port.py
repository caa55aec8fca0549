"""The port that a process listens on, or why it cannot have it."""

import contextlib
import errno
import http.client
import os
import socket
from collections.abc import Generator
from ipaddress import ip_address
from urllib.parse import urlsplit

from core.config.settings import Settings
from core.errors import Conflict, MCPistError, Unavailable
from server.endpoint_file import find_running_server
from server.health import ALIVE_BODY
from server.listener import open_listener

PROBE_TIMEOUT = 1.0  # seconds


@contextlib.contextmanager
def open_port(settings: Settings) -> Generator[socket.socket]:
    """Open the port of the settings, taken.

    Raises:
        Conflict: the MCPist of this data folder listens there.
        Unavailable: another program does, or the address is not this machine's.
    """
    with contextlib.ExitStack() as stack:
        try:
            listener = stack.enter_context(open_listener(settings))
        except Unavailable as error:
            if not isinstance(error.__cause__, OSError):
                raise
            raise build_port_error(settings, error.__cause__) from None
        yield listener


def build_port_error(settings: Settings, error: OSError) -> MCPistError:
    """Explain why the port cannot be opened, and what to do."""
    address = f"port {settings.port} on {settings.host}"
    if error.errno != errno.EADDRINUSE:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        return Unavailable(f"{address} cannot be opened ({reason}); choose another MCPIST_PORT or MCPIST_HOST")
    server = find_running_server(settings.home)
    if server is not None and urlsplit(server.mcp_url).port == settings.port:
        return Conflict(
            f"MCPist itself listens on {address}: process {server.pid} serves this data folder at {server.mcp_url}. "
            "Stop it first, or choose another MCPIST_PORT, and for `mcpist up` another MCPIST_HOME too"
        )
    if _is_mcpist(settings.host, settings.port):
        return Unavailable(
            f"another MCPist, with another data folder, listens on {address}; choose another MCPIST_PORT"
        )
    return Unavailable(f"another program listens on {address}; stop it, or choose another MCPIST_PORT")


def _is_mcpist(host: str, port: int) -> bool:
    connection = http.client.HTTPConnection(_get_probe_host(host), port, timeout=PROBE_TIMEOUT)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().read(len(ALIVE_BODY) + 1) == ALIVE_BODY
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _get_probe_host(host: str) -> str:
    with contextlib.suppress(ValueError):
        if (address := ip_address(host)).is_unspecified:
            return "127.0.0.1" if address.version == 4 else "::1"
    return host
