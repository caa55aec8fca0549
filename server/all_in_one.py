"""The whole product in this process, or one more gateway on a data folder: from settings to a clean end."""

import contextlib
import logging
import socket
import sys
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from pathlib import Path

from broker.interface import Broker
from core.audit.sealer import AuditSealer
from core.concurrency.background import run_in_background
from core.config.settings import Settings
from core.errors import Unavailable
from core.migrations import migrate
from core.observability.logs import resolve_format
from core.secret import Secret
from gateway.catalogue import Catalogue, load_installed_modules
from gateway.module_manifests import build_module_manifests
from gateway.observability.call_log import CallLog, create_writer
from gateway.observability.metrics_server import serve_metrics
from server.bootstrap import FirstAccess, create_first_access
from server.data_folder import Report, attach_database, start_database
from server.deployment import Deployment
from server.endpoint_file import announce_server
from server.listen_port import open_port
from server.listener import serve_application, watch_stop_signals
from server.operator_access import OperatorAccess, create_operator_access
from server.operator_context import OperatorContext, open_operator_context_on
from server.role_database import get_utc_now
from server.standalone import open_gateway_deployment, open_remote_broker
from server.wiring.broker import open_broker_runtime
from server.wiring.control_plane import ControlPlane
from server.wiring.gateway import Gateway, open_gateway
from server.wiring.web import open_web_application

NO_FIRST_ACCESS = FirstAccess("")

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ServerReady:
    """Addresses and first access of the product; `api_token` and `sign_in_link` are set at the first start only.
    `tenant` is the one to name in commands, "" where there is one only."""

    mcp_url: str
    console_url: str | None
    home: Path
    admin_email: str
    api_token: Secret | None
    sign_in_link: Secret | None
    tenant: str = ""


async def run_all_in_one(settings: Settings, report: Report, on_ready: Callable[[ServerReady], None]) -> None:
    """Run database, broker and gateway until SIGINT or SIGTERM; then drain, and stop everything in order.

    Raises:
        core.errors.MCPistError, server.postgres.errors.PostgresError: it cannot start; the text says what to do.
    """
    with watch_stop_signals() as stop, open_port(settings) as listener:
        async with start_database(settings, report) as deployment:
            report("Checking the database")
            if await migrate(deployment.admin, deployment.passwords):
                report("The database has the newest schema")
            async with open_operator_context_on(deployment) as context, _run_sealer(context):
                access = await create_first_access(
                    context.console, context.tokens, context.links, context.catalogue, settings.public_url
                )
                operator = create_operator_access(settings, listener)
                async with _run_broker_and_gateway(settings, context, listener, access, operator) as ready:
                    with announce_server(settings.home, ready.mcp_url, operator):
                        on_ready(ready)
                        await stop.wait()


async def run_gateway(settings: Settings, report: Report, on_ready: Callable[[ServerReady], None]) -> None:
    """Run one more gateway beside a product that runs already, on another port, until SIGINT or SIGTERM.

    Where the settings name a broker, the gateway has none of its own, and needs neither the broker's keys nor its role.
    """
    if settings.broker_url:
        await _run_with_remote_broker(settings, report, on_ready)
        return
    with watch_stop_signals() as stop, open_port(settings) as listener:
        async with (
            attach_database(settings, report) as deployment,
            open_operator_context_on(deployment) as context,
            _run_broker_and_gateway(settings, context, listener) as ready,
        ):
            on_ready(ready)
            await stop.wait()


async def _run_with_remote_broker(settings: Settings, report: Report, on_ready: Callable[[ServerReady], None]) -> None:
    with watch_stop_signals() as stop, open_port(settings) as listener:
        async with (
            open_gateway_deployment(settings, report) as deployment,
            _run_logged_gateway(
                settings, deployment, open_remote_broker(settings), load_installed_modules()
            ) as gateway,
            _serve_gateway(settings, gateway, listener) as ready,
        ):
            on_ready(ready)
            await stop.wait()


@contextlib.asynccontextmanager
async def _run_broker_and_gateway(
    settings: Settings,
    context: OperatorContext,
    listener: socket.socket,
    access: FirstAccess = NO_FIRST_ACCESS,
    operator: OperatorAccess | None = None,
) -> AsyncGenerator[ServerReady]:
    """Trust zone, gateway, pages and admin API behind one port."""
    deployment, catalogue = context.deployment, context.catalogue
    manifests = build_module_manifests(catalogue)
    control_plane = ControlPlane(settings, context.console, catalogue, deployment, operator)
    async with (
        open_broker_runtime(deployment, settings, manifests) as zone,
        _run_logged_gateway(settings, deployment, contextlib.nullcontext(zone.broker), catalogue) as gateway,
        open_web_application(zone, settings, gateway.refusals, manifests, control_plane) as app,
    ):
        gateway.app.otherwise = app
        async with _serve_gateway(settings, gateway, listener, access) as ready:
            yield ready


@contextlib.asynccontextmanager
async def _run_logged_gateway(
    settings: Settings,
    deployment: Deployment,
    broker: contextlib.AbstractAsyncContextManager[Broker],
    catalogue: Catalogue,
) -> AsyncGenerator[Gateway]:
    call_log = CallLog(
        create_writer(sys.stderr.fileno()), clock=time.time, form=resolve_format(settings.log_format, sys.stderr)
    )
    try:
        async with open_gateway(settings, deployment, broker, catalogue, call_log) as gateway:
            yield gateway
    finally:
        call_log.close()


@contextlib.asynccontextmanager
async def _serve_gateway(
    settings: Settings, gateway: Gateway, listener: socket.socket, access: FirstAccess = NO_FIRST_ACCESS
) -> AsyncGenerator[ServerReady]:
    """Serve a gateway at its port, with its metrics, endpoint file and shutdown."""
    async with contextlib.AsyncExitStack() as stack:
        if settings.metrics_port:
            await stack.enter_async_context(_serve_metrics(settings, gateway))
        await stack.enter_async_context(serve_application(gateway.app, listener, settings))
        stack.callback(_drain, gateway)
        yield ServerReady(
            f"{settings.public_url}/mcp",
            None,
            settings.home,
            access.admin_email,
            access.token,
            access.sign_in_link,
            access.tenant,
        )


def _drain(gateway: Gateway) -> None:
    gateway.health.drain()
    gateway.endpoint.end_streams()
    log.info("stopping: waiting for running requests", extra={"event": "server_draining"})


@contextlib.asynccontextmanager
async def _serve_metrics(settings: Settings, gateway: Gateway) -> AsyncGenerator[None]:
    from importlib.metadata import version

    from gateway.observability.exposition import build_registry  # 50 ms of import that only metrics need

    registry = build_registry(gateway.metrics, version("mcpist"))
    async with serve_metrics(settings.metrics_host, settings.metrics_port, registry):
        yield


@contextlib.asynccontextmanager
async def _run_sealer(context: OperatorContext) -> AsyncGenerator[None]:
    sealer = AuditSealer(context.console, get_utc_now)
    try:
        async with run_in_background("sealing the audit log", sealer.run()):
            yield
    finally:
        with contextlib.suppress(Unavailable):
            await sealer.seal_all()
