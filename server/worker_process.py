"""A worker as a process of its own: it runs jobs with one database role, and a key by which the broker knows it.

It has the key of the argument digests, and no other secret. It serves its health, and nothing else.
"""

import contextlib
import logging
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from importlib.metadata import version

from broker.interface import Broker
from core.config.settings import Settings
from core.errors import Invalid
from core.http_server.asgi import PathDispatcher
from core.observability.tracing import Tracer, open_tracer
from server.data_folder import Report
from server.health import build_health_routes
from server.listen_port import open_port
from server.listener import serve_application, watch_stop_signals
from server.metrics_server import serve_process_metrics
from server.role_database import WORKER_ROLE
from server.serving import run_worker_gateway
from server.standalone import open_role_deployment, warn_of_eavesdroppers
from server.start_files import load_worker_key
from server.wiring.jobs import run_job_worker

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WorkerReady:
    """Address where the worker tells its health."""

    health_url: str


async def run_worker(settings: Settings, report: Report, on_ready: Callable[[WorkerReady], None]) -> None:
    """Run a worker alone until SIGINT or SIGTERM; jobs that run then get some seconds to end.

    Raises:
        core.errors.MCPistError, server.postgres.errors.PostgresError: it cannot start; the text says what to do.
    """
    if not settings.broker_url:
        raise Invalid("mcpist worker needs the address of the broker: set MCPIST_BROKER_URL")
    if not settings.jobs_at_once:
        raise Invalid("mcpist worker would run no job: set MCPIST_JOBS_AT_ONCE to 1 or more")
    with watch_stop_signals() as stop, open_port(settings) as listener:
        async with (
            open_role_deployment(settings, report, WORKER_ROLE) as deployment,
            open_tracer(settings.tracing, version("mcpist")) as tracer,
            run_worker_gateway(settings, deployment, _open_broker(settings, tracer), tracer) as gateway,
            serve_process_metrics(settings, gateway.metrics),
            serve_application(PathDispatcher(build_health_routes(gateway.health)), listener, settings),
            run_job_worker(
                settings,
                deployment,
                gateway.job_handlers,
                gateway.verify_mandate,
                gateway.metrics,
                shows_queue=True,
            ),
        ):
            on_ready(WorkerReady(f"{settings.public_url}/healthz"))
            await stop.wait()
            gateway.health.drain()


@contextlib.asynccontextmanager
async def _open_broker(settings: Settings, tracer: Tracer) -> AsyncGenerator[Broker]:
    """Open the broker that the settings name, asked with this worker's key.

    Raises:
        core.errors.Invalid: there is no usable key.
    """
    from broker.rpc.rpc_client import open_worker_broker  # 90 ms of import (aiohttp)

    key = load_worker_key(settings)
    fields = {"url": settings.broker_url, "worker": key.gateway}
    log.info("using the broker at MCPIST_BROKER_URL", extra={"event": "broker_configured", **fields})
    warn_of_eavesdroppers(settings)
    async with open_worker_broker(settings.broker_url, key, tracer) as client:
        yield client
