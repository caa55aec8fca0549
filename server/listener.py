"""HTTP listener of a process: opening the port, serving and stopping in order."""

import asyncio
import contextlib
import gc
import logging
import resource
import signal
import socket
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

from core.config.settings import Settings
from core.errors import Unavailable
from core.http.trusted_proxies import TrustedProxies
from core.http_server.asgi import Application
from core.http_server.http_limits import HttpLimits
from core.http_server.server import HttpServer, run_http_server
from server.workers.worker import ONLY_WORKER, Worker

MAX_OPEN_FILES = 262_144
GC_YOUNG_THRESHOLD = 10_000
"""Containers made before the collector looks at them; at its default of 700 most belong to calls still running."""

log = logging.getLogger(__name__)


@contextlib.asynccontextmanager
async def serve_application(
    app: Application, listener: socket.socket, settings: Settings, worker: Worker = ONLY_WORKER
) -> AsyncGenerator[HttpServer]:
    """Serve until the block is left; then accept nothing new and give what runs some seconds."""
    limits = HttpLimits(
        connections=min(settings.connections, _raise_open_file_limit() // 2),
        connections_per_address=settings.connections_per_address,
    )
    server = HttpServer(app, limits=limits, proxies=TrustedProxies(settings.trusted_proxies))
    _freeze_startup_objects()
    async with run_http_server(server, listener, worker.is_busier):
        yield server


@contextlib.contextmanager
def watch_stop_signals() -> Generator[asyncio.Event]:
    """Return an event that SIGINT and SIGTERM set. A second signal changes nothing: the database is stopped in
    order."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    try:
        yield stop
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


async def wait_drain_delay(settings: Settings) -> None:
    """Go on serving for as long as load balancers need to learn from `/readyz` that this process ends."""
    if settings.drain_delay:
        log.info(
            "stopping: not ready any more, serving for %g s",
            settings.drain_delay,
            extra={"event": "drain_delay_started", "seconds": settings.drain_delay},
        )
        await asyncio.sleep(settings.drain_delay)


@contextlib.contextmanager
def open_listener(settings: Settings) -> Generator[socket.socket]:
    """Open the port, taken before anything else starts: a port in use is reported at once."""
    try:
        family = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((settings.host, settings.port), family=family, backlog=2048)
    except OSError as error:
        raise Unavailable(
            f"port {settings.port} on {settings.host} cannot be opened ({error.strerror}); "
            "stop what uses it, or choose another MCPIST_PORT"
        ) from error
    with listener:
        yield listener


@contextlib.contextmanager
def open_unix_listener(path: Path) -> Generator[socket.socket]:
    """Open a Unix socket for the owner and the group of its folder; one that a killed process left is removed.

    Raises:
        Unavailable: another process listens there, or the path cannot be used.
    """
    try:
        if _is_socket_in_use(path):
            raise Unavailable(f"another process listens on {path}; stop it, or choose another MCPIST_BROKER_URL")
        path.unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(path))
        path.chmod(0o660)
        listener.listen(2048)
    except OSError as error:
        raise Unavailable(f"the socket {path} cannot be opened ({error.strerror or error})") from error
    try:
        with listener:
            yield listener
    finally:
        path.unlink(missing_ok=True)


def _is_socket_in_use(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            return False
    return True


def _raise_open_file_limit() -> int:
    """Let the process open as many files as it may; how many those are."""
    _, limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = MAX_OPEN_FILES if limit == resource.RLIM_INFINITY else min(limit, MAX_OPEN_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    return limit


def _freeze_startup_objects() -> None:
    """Take all that start-up has made out of the garbage collector's sight: a full collection stops every call, 100 ms
    with our modules and their libraries in it, 1 ms without."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_YOUNG_THRESHOLD, 10, 10)
    gc.enable()
