"""How a process of ours listens, serves HTTP and stops in order."""

import asyncio
import contextlib
import gc
import signal
import socket
import time
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import uvicorn

from core.errors import Unavailable
from core.settings import Settings
from gateway.app import Application
from gateway.http_protocol import BoundedHttp, close_slow

DRAIN_SECONDS = 10
MOST_CONNECTIONS = 4_096
SWEEP_SECONDS = 5.0
YOUNG_OBJECTS = 10_000
"""Containers made before the collector looks at them; at its default of 700 most belong to calls still running."""


@contextlib.asynccontextmanager
async def served(app: Application, listener: socket.socket) -> AsyncGenerator[None]:
    """Serve until the block is left; then accept nothing new and give what runs some seconds."""
    config = uvicorn.Config(
        app,
        http=BoundedHttp,
        loop="none",
        lifespan="off",
        ws="none",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=75,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=DRAIN_SECONDS,
    )
    _spare_what_stays()
    server = _Server(config)
    serving = asyncio.create_task(server.serve([listener]), name="HTTP")
    sweeping = asyncio.create_task(_sweep(server), name="slow connections")
    try:
        yield
    finally:
        sweeping.cancel()
        server.should_exit = True
        await serving


@contextlib.contextmanager
def stop_signals() -> Generator[asyncio.Event]:
    """An event that SIGINT and SIGTERM set. A second signal changes nothing: the database is stopped in order."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    try:
        yield stop
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)


@contextlib.contextmanager
def listening(settings: Settings) -> Generator[socket.socket]:
    """The port, taken before anything else starts: a taken one is told at once."""
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
def listening_at(path: Path) -> Generator[socket.socket]:
    """A Unix socket for the owner and the group of its folder; what a killed process left there is taken away.

    Raises:
        Unavailable: somebody listens there, or the path cannot be used.
    """
    try:
        if _is_listened_at(path):
            raise Unavailable(f"somebody listens at {path} already; stop them, or choose another MCPIST_BROKER_URL")
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


def _is_listened_at(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            return False
    return True


def _spare_what_stays() -> None:
    """Take all that start-up has made out of the garbage collector's sight: a full collection stops every call, 100 ms
    with our modules and their libraries in it, 1 ms without."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, 10, 10)


async def _sweep(server: uvicorn.Server) -> None:
    while True:
        await asyncio.sleep(SWEEP_SECONDS)
        close_slow(server.server_state.connections, time.monotonic())


class _Server(uvicorn.Server):
    """Signals are the product's: the database must outlive the last request."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield
