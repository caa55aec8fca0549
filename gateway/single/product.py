"""The whole product in this process, or one more gateway on a data folder: from settings to a clean end."""

import asyncio
import contextlib
import logging
import socket
import sys
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from pathlib import Path

from broker.interface import Broker
from core.audit.sealer import Sealer
from core.errors import Unavailable
from core.migrations import migrate
from core.secret import Secret
from core.settings import Settings
from gateway.catalogue import Catalogue, installed
from gateway.deployment import Deployment
from gateway.operations.call_log import CallLog, write_to
from gateway.operations.logs import format_for
from gateway.operations.metrics_server import serve_metrics
from gateway.single.bootstrap import FirstAccess, first_access
from gateway.single.endpoint import announce
from gateway.single.gateway import Gateway, gateway
from gateway.single.home import Report, joined, owned
from gateway.single.identity import identity
from gateway.single.operator import Operator, now, opened
from gateway.single.serving import listening, served, stop_signals
from gateway.single.split import gateway_deployment, remote_broker
from gateway.single.trust_zone import trust_zone

NO_ACCESS = FirstAccess("")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ready:
    """Where the product listens and how to get in; `api_token` and `sign_in_link` are there at the first start only."""

    mcp_url: str
    console_url: str | None
    home: Path
    admin_email: str
    api_token: Secret | None
    sign_in_link: Secret | None


async def run_product(settings: Settings, report: Report, on_ready: Callable[[Ready], None]) -> None:
    """Run database, broker and gateway until SIGINT or SIGTERM; then drain, and stop everything in order.

    Raises:
        core.errors.MCPistError, gateway.postgres.errors.PostgresError: it cannot start; the text says what to do.
    """
    with stop_signals() as stop, listening(settings) as listener:
        async with owned(settings, report) as deployment:
            report("Checking the database")
            if await migrate(deployment.admin, deployment.passwords):
                report("The database has the newest schema")
            async with opened(deployment) as operating, _sealing(operating):
                access = await first_access(
                    operating.console, operating.tokens, operating.links, operating.catalogue, settings.public_url
                )
                async with _whole(settings, operating, listener, access) as ready:
                    with announce(settings.home, ready.mcp_url):
                        on_ready(ready)
                        await stop.wait()


async def run_gateway(settings: Settings, report: Report, on_ready: Callable[[Ready], None]) -> None:
    """Run one more gateway beside a product that runs already, on another port, until SIGINT or SIGTERM.

    Where the settings name a broker, the gateway has none of its own, and needs neither the broker's keys nor its role.
    """
    if settings.broker_url:
        await _run_beside_a_broker(settings, report, on_ready)
        return
    with stop_signals() as stop, listening(settings) as listener:
        async with (
            joined(settings, report) as deployment,
            opened(deployment) as operating,
            _whole(settings, operating, listener) as ready,
        ):
            on_ready(ready)
            await stop.wait()


async def _run_beside_a_broker(settings: Settings, report: Report, on_ready: Callable[[Ready], None]) -> None:
    with stop_signals() as stop, listening(settings) as listener:
        async with (
            gateway_deployment(settings, report) as deployment,
            _gateway(settings, deployment, remote_broker(settings), installed()) as running,
            _serving(settings, running, listener) as ready,
        ):
            on_ready(ready)
            await stop.wait()


@contextlib.asynccontextmanager
async def _whole(
    settings: Settings, operating: Operator, listener: socket.socket, access: FirstAccess = NO_ACCESS
) -> AsyncGenerator[Ready]:
    """Trust zone, gateway, pages and admin API behind one port."""
    deployment, catalogue = operating.deployment, operating.catalogue
    async with (
        trust_zone(deployment, settings, catalogue) as zone,
        _gateway(settings, deployment, contextlib.nullcontext(zone.broker), catalogue) as running,
        identity(zone, settings, running.refusals, operating.console, catalogue, deployment) as app,
    ):
        running.app.otherwise = app
        async with _serving(settings, running, listener, access) as ready:
            yield ready


@contextlib.asynccontextmanager
async def _gateway(
    settings: Settings,
    deployment: Deployment,
    broker: contextlib.AbstractAsyncContextManager[Broker],
    catalogue: Catalogue,
) -> AsyncGenerator[Gateway]:
    call_log = CallLog(write_to(sys.stderr.fileno()), clock=time.time, form=format_for(settings.log_format, sys.stderr))
    try:
        async with gateway(settings, deployment, broker, catalogue, call_log) as running:
            yield running
    finally:
        call_log.close()


@contextlib.asynccontextmanager
async def _serving(
    settings: Settings, running: Gateway, listener: socket.socket, access: FirstAccess = NO_ACCESS
) -> AsyncGenerator[Ready]:
    """A gateway behind its port, and what looks after it."""
    async with contextlib.AsyncExitStack() as stack:
        if settings.metrics_port:
            await stack.enter_async_context(_metrics(settings, running))
        await stack.enter_async_context(served(running.app, listener, settings))
        stack.callback(_drain, running)
        yield Ready(
            f"{settings.public_url}/mcp", None, settings.home, access.admin_email, access.token, access.sign_in_link
        )


def _drain(running: Gateway) -> None:
    running.health.drain()
    running.endpoint.end_streams()
    log.info("stopping: finishing what runs")


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
