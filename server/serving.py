"""Everything that serves behind one port, on a database that runs: broker, gateway, pages and the admin API.

Its imports take four fifths of a start, so `server/all_in_one.py` loads it while PostgreSQL starts.
"""

import contextlib
import logging
import socket
import sys
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from importlib.metadata import version

from broker.interface import Broker
from core.concurrency.shared_limits import SharedLimitMemory
from core.config.settings import Settings
from core.directory.audit_retention import AuditRetentionStore
from core.http_server.asgi import Application
from core.migrations import migrate
from core.observability.logs import get_log_file, resolve_format
from core.observability.metrics import Metrics
from core.observability.tracing import NOOP_TRACER, Tracer, open_tracer
from gateway.catalogue import Catalogue, load_installed_modules
from gateway.module_manifests import build_module_manifests
from gateway.observability.call_log import CallLog, create_writer
from server.audit_maintenance import run_audit_maintenance
from server.audit_retention import run_retention
from server.bootstrap import FirstAccess, create_first_access
from server.deletion_maintenance import run_deletion_maintenance
from server.deployment import Deployment
from server.endpoint_file import announce_server
from server.ignored_variables import warn_of_ignored_variables
from server.listener import serve_application, wait_drain_delay
from server.metrics_server import serve_process_metrics
from server.operator_access import OperatorAccess, create_operator_access
from server.operator_context import OperatorContext, open_operator_context_on
from server.ready import ServerReady
from server.role_database import get_utc_now
from server.standalone import open_remote_broker
from server.stream_memory import find_stream_memory_problem
from server.wiring.broker import open_broker_runtime
from server.wiring.control_plane import ControlPlane
from server.wiring.gateway import Gateway, open_gateway
from server.wiring.jobs import run_job_worker, show_queue
from server.wiring.schedule_requests import InProcessGateway, create_schedule_creator
from server.wiring.web import CONSOLE_PATH, open_web_application
from server.workers.supervisor import Workers, run_workers
from server.workers.worker import ONLY_WORKER, Worker

NO_FIRST_ACCESS = FirstAccess("")
Report = Callable[[str], None]


log = logging.getLogger(__name__)


@contextlib.asynccontextmanager
async def serve_product(
    settings: Settings, deployment: Deployment, listener: socket.socket, report: Report
) -> AsyncGenerator[ServerReady]:
    """Prepare the database's schema, and run the product on it.

    Raises:
        core.errors.MCPistError: it cannot start; the text says what to do.
    """
    report("Checking the database")
    await _prepare_schema(settings, deployment)
    metrics = Metrics()
    async with open_operator_context_on(deployment) as context, _run_maintenance(context, settings, metrics):
        access = await create_first_access(context, settings.public_url)
        operator = create_operator_access(settings, listener)
        async with (
            _run_further_workers(settings, listener, operator) as (worker, workers),
            _run_broker_and_gateway(settings, context, worker, operator, metrics) as gateway,
            run_job_worker(settings, deployment, gateway.job_handlers, gateway.verify_mandate, metrics),
            _serve_gateway(settings, gateway, listener, access, worker, workers) as ready,
        ):
            if workers is not None:
                await workers.wait_until_ready()
            with announce_server(settings.home, ready.mcp_url, operator):
                yield ready


async def _prepare_schema(settings: Settings, deployment: Deployment) -> None:
    """Bring the data folder's own database to the newest schema: nothing else serves it while this process holds the
    folder. An external one gets its first schema only.

    Raises:
        core.migrations.MigrationError: an external database has an older schema, or the schema is newer.
    """
    change = await migrate(deployment.admin, deployment.passwords, upgrade=settings.database_url is None)
    if change.is_upgrade:
        fields = {"before": change.before, "after": change.after}
        log.info(
            "database schema upgraded: %s → %s",
            change.before,
            change.after,
            extra={"event": "schema_upgraded", **fields},
        )


@contextlib.asynccontextmanager
async def open_product_application(settings: Settings, deployment: Deployment) -> AsyncGenerator[Application]:
    """Prepare the database's schema, and open the product as one application that something else serves.

    Raises:
        core.errors.MCPistError: it cannot start; the text says what to do.
    """
    await _prepare_schema(settings, deployment)
    async with (
        open_operator_context_on(deployment) as context,
        _run_maintenance(context, settings, Metrics()),
        _run_broker_and_gateway(settings, context, ONLY_WORKER) as gateway,
        run_job_worker(settings, deployment, gateway.job_handlers, gateway.verify_mandate, gateway.metrics),
    ):
        yield gateway.app
        await _drain(gateway, settings)


@contextlib.asynccontextmanager
async def _run_further_workers(
    settings: Settings, listener: socket.socket, operator: OperatorAccess | None
) -> AsyncGenerator[tuple[Worker, Workers | None]]:
    """Run the workers that the settings ask for; give this process as the first of them."""
    if settings.workers == 1:
        yield ONLY_WORKER, None
        return
    memory = SharedLimitMemory.create(settings.workers)
    async with run_workers(settings, listener, memory, operator) as workers:
        yield Worker(1, memory), workers


@contextlib.asynccontextmanager
async def serve_worker(
    settings: Settings,
    deployment: Deployment,
    listener: socket.socket,
    worker: Worker,
    operator: OperatorAccess | None,
) -> AsyncGenerator[Metrics]:
    """Serve as one of several workers beside the first, which does the maintenance; give the metrics of this one."""
    async with (
        open_operator_context_on(deployment) as context,
        _run_broker_and_gateway(settings, context, worker, operator) as gateway,
        serve_application(gateway.app, listener, settings, worker),
    ):
        try:
            yield gateway.metrics
        finally:
            await _drain(gateway, settings)


@contextlib.asynccontextmanager
async def serve_gateway(
    settings: Settings, deployment: Deployment, listener: socket.socket
) -> AsyncGenerator[ServerReady]:
    """Run one more gateway with a broker of its own, beside a product that runs already."""
    async with (
        open_operator_context_on(deployment) as context,
        _run_broker_and_gateway(settings, context, ONLY_WORKER) as gateway,
        _serve_gateway(settings, gateway, listener) as ready,
    ):
        yield ready


@contextlib.asynccontextmanager
async def serve_gateway_alone(
    settings: Settings, deployment: Deployment, listener: socket.socket
) -> AsyncGenerator[ServerReady]:
    """Run one more gateway that asks the broker that the settings name."""
    async with (
        open_tracer(settings.tracing, version("mcpist")) as tracer,
        _run_logged_gateway(
            settings, deployment, open_remote_broker(settings, tracer), load_installed_modules(), tracer=tracer
        ) as gateway,
        _serve_gateway(settings, gateway, listener) as ready,
    ):
        yield ready


@contextlib.asynccontextmanager
async def run_worker_gateway(
    settings: Settings,
    deployment: Deployment,
    broker: contextlib.AbstractAsyncContextManager[Broker],
    tracer: Tracer,
) -> AsyncGenerator[Gateway]:
    """Run what a worker runs jobs with: a gateway that nobody reaches."""
    catalogue = load_installed_modules()
    async with _run_logged_gateway(settings, deployment, broker, catalogue, tracer=tracer) as gateway:
        yield gateway


@contextlib.asynccontextmanager
async def _run_broker_and_gateway(
    settings: Settings,
    context: OperatorContext,
    worker: Worker,
    operator: OperatorAccess | None = None,
    metrics: Metrics | None = None,
) -> AsyncGenerator[Gateway]:
    """Trust zone, gateway, pages and admin API as one application."""
    deployment, catalogue = context.deployment, context.catalogue
    manifests = build_module_manifests(catalogue)
    metrics = metrics or Metrics()
    near = InProcessGateway(lambda: gateway.app)
    create_schedule = create_schedule_creator(near, settings)
    control_plane = ControlPlane(settings, context.console, catalogue, deployment, operator, create_schedule)
    async with (
        open_tracer(settings.tracing, version("mcpist")) as tracer,
        open_broker_runtime(deployment, settings, manifests, worker=worker, metrics=metrics, tracer=tracer) as zone,
        _run_logged_gateway(
            settings, deployment, contextlib.nullcontext(zone.broker), catalogue, worker, metrics, tracer
        ) as gateway,
        open_web_application(zone, settings, gateway.refusals, manifests, control_plane, worker) as app,
    ):
        gateway.app.otherwise = app
        yield replace(
            gateway, end_event_streams=control_plane.end_event_streams, serves_console=control_plane.has_console()
        )


@contextlib.asynccontextmanager
async def _run_logged_gateway(
    settings: Settings,
    deployment: Deployment,
    broker: contextlib.AbstractAsyncContextManager[Broker],
    catalogue: Catalogue,
    worker: Worker = ONLY_WORKER,
    metrics: Metrics | None = None,
    tracer: Tracer = NOOP_TRACER,
) -> AsyncGenerator[Gateway]:
    file = get_log_file()
    call_log = CallLog(
        create_writer(sys.stderr.fileno()),
        clock=time.time,
        form=resolve_format(settings.log_format, sys.stderr),
        keep=None if file is None else file.write,
    )
    try:
        async with open_gateway(settings, deployment, broker, catalogue, call_log, worker, metrics, tracer) as gateway:
            yield gateway
    finally:
        call_log.close()


@contextlib.asynccontextmanager
async def _serve_gateway(
    settings: Settings,
    gateway: Gateway,
    listener: socket.socket,
    access: FirstAccess = NO_FIRST_ACCESS,
    worker: Worker = ONLY_WORKER,
    workers: Workers | None = None,
) -> AsyncGenerator[ServerReady]:
    """Serve a gateway at its port, with the metrics of all workers; at the end all drain at the same time."""
    if (problem := find_stream_memory_problem(settings)) is not None:
        log.warning("%s", problem, extra={"event": "streams_exceed_memory"})
    warn_of_ignored_variables(settings.search)
    async with contextlib.AsyncExitStack() as stack:
        read_workers = None if workers is None else workers.read_metrics
        await stack.enter_async_context(serve_process_metrics(settings, gateway.metrics, read_workers))
        await stack.enter_async_context(serve_application(gateway.app, listener, settings, worker))
        stack.push_async_callback(_drain, gateway, settings)
        if workers is not None:
            stack.callback(workers.terminate)
        yield ServerReady(
            f"{settings.public_url}/mcp",
            f"{settings.public_url}{CONSOLE_PATH}" if gateway.serves_console else None,
            settings.home,
            access.admin_email,
            access.token,
            access.sign_in_link,
            access.tenant,
        )


async def _drain(gateway: Gateway, settings: Settings) -> None:
    gateway.health.drain()
    await wait_drain_delay(settings)
    gateway.endpoint.end_streams()
    gateway.end_event_streams()
    log.info("stopping: waiting for running requests", extra={"event": "server_draining"})


@contextlib.asynccontextmanager
async def _run_maintenance(context: OperatorContext, settings: Settings, metrics: Metrics) -> AsyncGenerator[None]:
    """Run the maintenance of the database: sealing, counting, and deleting what is no more kept."""
    retention = AuditRetentionStore(context.console, settings.audit_keep_months)
    show_queue(metrics, context.console)
    async with (
        run_audit_maintenance(context.console, metrics),
        run_retention(context.deployment, retention, get_utc_now),
        run_deletion_maintenance(context.deployment.admin, get_utc_now, is_embedded=settings.database_url is None),
    ):
        yield
