"""The whole product in this process, or one more gateway on a data folder: from settings to a clean end."""

import asyncio
import contextlib
import logging
import signal
import socket
import sys
import time
from collections.abc import AsyncGenerator, Callable, Generator
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from core.audit.sealer import Sealer
from core.errors import Unavailable
from core.migrations import migrate
from core.secret import Secret
from core.settings import Settings
from gateway.deployment import Deployment
from gateway.http_protocol import BoundedHttp, close_slow
from gateway.operations.call_log import CallLog, write_to
from gateway.operations.logs import format_for
from gateway.operations.metrics_server import serve_metrics
from gateway.single.bootstrap import FirstAccess, first_access
from gateway.single.endpoint import announce
from gateway.single.gateway import Gateway, gateway
from gateway.single.home import Report, joined, owned
from gateway.single.operator import Operator, now, opened

DRAIN_SECONDS = 10
MOST_CONNECTIONS = 4_096
SWEEP_SECONDS = 5.0

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ready:
    """Where the product listens and how to get in; `api_token` is there at the first start only."""

    mcp_url: str
    console_url: str | None
    home: Path
    admin_email: str
    api_token: Secret | None


async def run_product(settings: Settings, report: Report, on_ready: Callable[[Ready], None]) -> None:
    """Run database, broker and gateway until SIGINT or SIGTERM; then drain, and stop everything in order.

    Raises:
        core.errors.MCPistError, gateway.postgres.errors.PostgresError: it cannot start; the text says what to do.
    """
    with _stop_signals() as stop, _listening(settings) as listener:
        async with owned(settings, report) as deployment:
            report("Checking the database")
            if await migrate(deployment.admin, deployment.passwords):
                report("The database has the newest schema")
            async with opened(deployment) as operating, _sealing(operating):
                access = await first_access(operating.console, operating.tokens, operating.catalogue)
                async with _serving(settings, deployment, operating, access, listener) as ready:
                    with announce(settings.home, ready.mcp_url):
                        on_ready(ready)
                        await stop.wait()


async def run_gateway(settings: Settings, report: Report, on_ready: Callable[[Ready], None]) -> None:
    """Run one more gateway beside a product that runs already, on another port, until SIGINT or SIGTERM."""
    with _stop_signals() as stop, _listening(settings) as listener:
        async with (
            joined(settings, report) as deployment,
            opened(deployment) as operating,
            _serving(settings, deployment, operating, FirstAccess("", None), listener) as ready,
        ):
            on_ready(ready)
            await stop.wait()


@contextlib.asynccontextmanager
async def _serving(
    settings: Settings, deployment: Deployment, operating: Operator, access: FirstAccess, listener: socket.socket
) -> AsyncGenerator[Ready]:
    """A gateway behind its port; what it was built of ends after it, in the reverse order."""
    async with contextlib.AsyncExitStack() as stack:
        form = format_for(settings.log_format, sys.stderr)
        call_log = CallLog(write_to(sys.stderr.fileno()), clock=time.time, form=form)
        stack.callback(call_log.close)
        running = await stack.enter_async_context(
            gateway(settings, deployment, operating.tokens, operating.catalogue, call_log)
        )
        if settings.metrics_port:
            await stack.enter_async_context(_metrics(settings, running))
        await stack.enter_async_context(_http(running, listener))
        stack.callback(_drain, running)
        yield Ready(f"{settings.public_url}/mcp", None, settings.home, access.admin_email, access.token)


def _drain(running: Gateway) -> None:
    running.health.drain()
    log.info("stopping: finishing what runs")


@contextlib.asynccontextmanager
async def _http(running: Gateway, listener: socket.socket) -> AsyncGenerator[None]:
    """Serve until the block is left; then accept nothing new and give what runs some seconds."""
    config = uvicorn.Config(
        running.app,
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
    server = _Server(config)
    serving = asyncio.create_task(server.serve([listener]), name="HTTP")
    sweeping = asyncio.create_task(_sweep(server), name="slow connections")
    try:
        yield
    finally:
        sweeping.cancel()
        server.should_exit = True
        await serving


async def _sweep(server: uvicorn.Server) -> None:
    while True:
        await asyncio.sleep(SWEEP_SECONDS)
        close_slow(server.server_state.connections, time.monotonic())


@contextlib.asynccontextmanager
async def _metrics(settings: Settings, running: Gateway) -> AsyncGenerator[None]:
    from importlib.metadata import version

    from gateway.operations.exposition import registry_of  # 50 ms of import that only metrics need

    registry = registry_of(running.metrics, version("mcpist"))
    async with serve_metrics(settings.metrics_host, settings.metrics_port, registry):
        yield


@contextlib.asynccontextmanager
async def _sealing(operating: Operator) -> AsyncGenerator[None]:
    sealer = Sealer(operating.console, now)
    task = asyncio.create_task(sealer.run(), name="audit sealer")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
        with contextlib.suppress(Unavailable):
            await sealer.seal_all()


class _Server(uvicorn.Server):
    """Signals are the product's: the database must outlive the last request."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


@contextlib.contextmanager
def _stop_signals() -> Generator[asyncio.Event]:
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
def _listening(settings: Settings) -> Generator[socket.socket]:
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
