"""The control plane as a process of its own: console, admin API and SCIM, with one database role and one key."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from importlib.metadata import version
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.types import ASGIApp

from admin_ui.api.app import ROUTERS
from admin_ui.api.schedule_creator import ScheduleCreator
from admin_ui.console_pages import CONSOLE_PATH
from broker.api.console_client import ConsoleBroker, RemoteAuthenticator, RemoteJobRetries, open_console_broker
from broker.authorization_server.client_registry import FIRST_PARTY_CLIENTS
from broker.web.app import build_identity_app
from broker.web.request_parsing import get_client_address
from broker.web.web_dependencies import WebDependencies, build_web_dependencies
from core.api.app import OPENAPI_PATH
from core.api.security import ApiSecurity
from core.config.settings import Settings
from core.db import Database
from core.directory.audit_retention import AuditRetentionStore
from core.errors import Invalid, Unavailable
from core.http_server.asgi import PathDispatcher
from core.http_server.traced_application import trace_application
from core.observability.metrics import Metrics
from core.observability.tracing import Tracer, open_tracer
from core.protected_resource import build_metadata_url
from gateway.catalogue import load_installed_modules
from server.audit_maintenance import run_audit_maintenance
from server.audit_retention import create_retention_check
from server.data_folder import Report
from server.deletion_maintenance import run_deletion_maintenance
from server.deployment import Deployment
from server.health import HealthMonitor, build_health_routes, check_background_tasks, register_health_metrics
from server.listen_port import open_port
from server.listener import serve_application, wait_drain_delay, watch_stop_signals
from server.metrics_server import serve_process_metrics
from server.role_database import CONSOLE_ROLE, get_utc_now, open_role_database
from server.standalone import open_role_deployment
from server.start_files import load_console_key, load_identity_settings
from server.wiring.console_proxy import BrokerProxy
from server.wiring.control_plane import ControlPlane
from server.wiring.jobs import show_queue
from server.wiring.schedule_requests import open_remote_gateway
from server.wiring.web import API_PATH, SCIM_PATH, PrefixRoute, has_route

CONSOLE_CONNECTIONS = 8

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ConsoleReady:
    """Address of the console."""

    console_url: str


async def run_console(settings: Settings, report: Report, on_ready: Callable[[ConsoleReady], None]) -> None:
    """Run the control plane alone until SIGINT or SIGTERM.

    Raises:
        core.errors.MCPistError, server.postgres.errors.PostgresError: it cannot start; the text says what to do.
    """
    if not settings.broker_url:
        raise Invalid("mcpist console needs the address of the broker: set MCPIST_BROKER_URL")
    metrics = Metrics()
    with watch_stop_signals() as stop, open_port(settings) as listener:
        async with (
            open_role_deployment(settings, report, CONSOLE_ROLE, has_digest_key=False) as deployment,
            open_role_database(deployment, CONSOLE_ROLE, max_connections=CONSOLE_CONNECTIONS) as database,
            open_tracer(settings.tracing, version("mcpist")) as tracer,
            open_console_broker(settings.broker_url, load_console_key(settings), tracer) as broker,
            run_audit_maintenance(database, metrics),
            run_deletion_maintenance(deployment.get_role_address(CONSOLE_ROLE), get_utc_now, is_embedded=False),
            open_remote_gateway(settings) as create_schedule,
            _open_application(settings, deployment, database, broker, create_schedule, tracer) as (app, health),
            _serve_metrics(settings, metrics, database, health),
            serve_application(app, listener, settings),
        ):
            on_ready(ConsoleReady(settings.public_url + CONSOLE_PATH))
            await stop.wait()
            health.drain()
            await wait_drain_delay(settings)


def _serve_metrics(
    settings: Settings, metrics: Metrics, database: Database, health: HealthMonitor
) -> contextlib.AbstractAsyncContextManager[None]:
    register_health_metrics(metrics, health)
    metrics.register_labelled("mcpist_database_connections", database.count_connections)
    show_queue(metrics, database)
    return serve_process_metrics(settings, metrics)


@contextlib.asynccontextmanager
async def _open_application(
    settings: Settings,
    deployment: Deployment,
    database: Database,
    broker: ConsoleBroker,
    create_schedule: ScheduleCreator,
    tracer: Tracer,
) -> AsyncGenerator[tuple[PathDispatcher, HealthMonitor]]:
    catalogue = await asyncio.to_thread(load_installed_modules)
    control_plane = ControlPlane(settings, database, catalogue, deployment, create_schedule=create_schedule)
    dependencies = build_web_dependencies(
        settings, load_identity_settings(settings), get_utc_now, get_home_path=lambda: CONSOLE_PATH
    )
    app = await asyncio.to_thread(_build_application, settings, control_plane, dependencies, broker, tracer)
    health = _build_health(database, broker, AuditRetentionStore(database, settings.audit_keep_months))
    dispatcher = PathDispatcher(build_health_routes(health))
    dispatcher.otherwise = trace_application(app, tracer)
    try:
        yield dispatcher, health
    finally:
        control_plane.end_event_streams()


def _build_application(
    settings: Settings,
    control_plane: ControlPlane,
    dependencies: WebDependencies,
    broker: ConsoleBroker,
    tracer: Tracer,
) -> ASGIApp:
    def get_address(request: Request) -> str:
        return get_client_address(request, dependencies.proxies)

    security = ApiSecurity(
        RemoteAuthenticator(broker, get_address),
        settings.public_url,
        get_utc_now,
        get_address,
        f'Bearer realm="mcpist", resource_metadata="{build_metadata_url(settings.public_url)}"',
        frozenset(client.id for client in FIRST_PARTY_CLIENTS),
    )
    retries = RemoteJobRetries(broker, get_address)
    own = control_plane.build_api(
        security, None, broker.revoke_accounts, broker.read_connections, retries, (), version("mcpist")
    )
    proxy = BrokerProxy(broker.session, broker.base_url, urlsplit(settings.public_url).netloc, get_address, tracer)

    async def api(scope: dict[str, object], receive: object, send: object) -> None:
        is_own = scope["path"] != OPENAPI_PATH and has_route(ROUTERS, scope)
        await (own if is_own else proxy)(scope, receive, send)  # pyright: ignore[reportArgumentType]

    scim = control_plane.build_scim(broker.verify_scim_token, broker.revoke_accounts, get_address)
    routes = [
        PrefixRoute(API_PATH, api),  # pyright: ignore[reportArgumentType]
        PrefixRoute(SCIM_PATH, scim),
        *control_plane.build_console_routes(),
    ]
    return build_identity_app(dependencies, routes)


def _build_health(database: Database, broker: ConsoleBroker, retention: AuditRetentionStore) -> HealthMonitor:
    """Without the broker nobody can be let in, so a control plane that it does not answer is not ready."""

    async def is_broker_up() -> bool | str:
        try:
            await broker.check()
        except Unavailable:
            return f"down: {broker.problem.cause}" if broker.problem is not None else False
        return True

    checks = {
        "database": database.ping,
        "broker": is_broker_up,
        "background tasks": check_background_tasks,
        "audit retention": create_retention_check(retention, get_utc_now),
    }
    return HealthMonitor(checks, clock=time.monotonic)
