"""The broker as its own process, and what a gateway beside it has: one database role, a key, and no other secret."""

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import AsyncGenerator, Callable, Generator
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg

from broker.api.console_messages import CONSOLE_PATHS
from broker.api.console_rpc import ConsoleServices, build_console_rpc
from broker.interface import Broker, RefusalReason
from broker.rpc.app import BrokerApp, WorkerBrokerApp
from broker.rpc.codec import PATHS, WORKER_PATHS
from broker.rpc.gateway_keys import load_private_key, make_key_pair
from broker.rpc.service_token import ServiceTokenSigner, ServiceTokenVerifier
from core.audit.digest_key_check import check_digest_key
from core.audit.failed_auth import AuthFailureLog
from core.audit.writer import AuditWriter
from core.concurrency.rate_limits import AttemptLimits
from core.config.parsers import UNIX_PREFIX
from core.config.settings import Settings
from core.database_login import ClientCertificateRefused, LoginRefused, PasswordFile
from core.database_url import DatabaseAddress
from core.db import Database, check_sessions
from core.errors import Invalid, Unavailable
from core.http_server.asgi import Application, PathDispatcher
from core.http_server.traced_application import trace_application
from core.migrations import check_schema, migrate
from core.observability.metrics import Metrics
from core.observability.tracing import NOOP_TRACER, Tracer, open_tracer
from server.data_folder import Report, attach_database
from server.deployment import KEYS_FOLDER, Deployment, open_deployment_as
from server.health import (
    Check,
    HealthMonitor,
    build_health_routes,
    check_background_tasks,
    create_audit_check,
    create_disk_check,
    register_audit_metrics,
    register_health_metrics,
)
from server.installed_manifests import load_installed_manifests
from server.listen_port import open_port
from server.listener import open_unix_listener, serve_application, wait_drain_delay, watch_stop_signals
from server.metrics_server import serve_process_metrics
from server.postgres.login_errors import explain_refused_entry
from server.role_database import BROKER_ROLE, open_role_database
from server.start_files import (
    GATEWAY_KEY_FILE,
    GATEWAYS_FILE,
    load_served_consoles,
    load_served_gateways,
    load_served_workers,
)
from server.wiring.broker import open_broker_runtime
from server.wiring.web import open_web_application

LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BrokerReady:
    """Address where the broker listens."""

    broker_url: str


async def run_broker(settings: Settings, report: Report, on_ready: Callable[[BrokerReady], None]) -> None:
    """Run the broker alone until SIGINT or SIGTERM.

    Raises:
        core.errors.MCPistError, server.postgres.errors.PostgresError: it cannot start; the text says what to do.
    """
    with watch_stop_signals() as stop, _open_broker_listener(settings) as (listener, url):
        async with _open_broker_deployment(settings, report) as deployment:
            tokens, metrics = ServiceTokenVerifier(load_served_gateways(settings)), Metrics()
            async with (
                open_tracer(settings.tracing, version("mcpist")) as tracer,
                _open_broker_app(settings, deployment, tokens, metrics, tracer) as (app, health),
                serve_process_metrics(settings, metrics),
                serve_application(app, listener, settings),
            ):
                on_ready(BrokerReady(url))
                await stop.wait()
                health.drain()
                await wait_drain_delay(settings)


@contextlib.asynccontextmanager
async def open_role_deployment(
    settings: Settings, report: Report, role: str, *, has_digest_key: bool = True
) -> AsyncGenerator[Deployment]:
    """Open the deployment of a process beside a broker: with a database of its own the process can open neither the
    vault nor another role's tables, and makes no key.

    Raises:
        core.errors.Invalid: MCPIST_DATABASE_URL is not the role's own, or the digest key is missing.
    """
    if settings.database_url is None:
        async with attach_database(settings, report) as deployment:
            yield deployment
        return
    yield await _open_single_role_deployment(settings, role, make_keys=False, has_digest_key=has_digest_key)


@contextlib.asynccontextmanager
async def open_remote_broker(settings: Settings, tracer: Tracer = NOOP_TRACER) -> AsyncGenerator[Broker]:
    """Open the broker that the settings name, asked with this gateway's key.

    Raises:
        core.errors.Invalid: there is no usable key.
    """
    if settings.gateway_key is None:
        make_key_pair(settings.home / KEYS_FOLDER / GATEWAY_KEY_FILE, settings.home / KEYS_FOLDER / GATEWAYS_FILE)
    key = ServiceTokenSigner(load_private_key(settings.gateway_key or settings.home / KEYS_FOLDER / GATEWAY_KEY_FILE))
    fields = {"url": settings.broker_url, "gateway": key.gateway}
    log.info("using the broker at MCPIST_BROKER_URL", extra={"event": "broker_configured", **fields})
    warn_of_eavesdroppers(settings)
    from broker.rpc.rpc_client import open_http_broker  # 90 ms of import (aiohttp) that only this needs

    async with open_http_broker(settings.broker_url, key, tracer) as client:
        yield client


@contextlib.asynccontextmanager
async def _open_broker_deployment(settings: Settings, report: Report) -> AsyncGenerator[Deployment]:
    url = settings.database_url
    if url is not None and urlsplit(url.reveal()).username == BROKER_ROLE:
        yield await _open_single_role_deployment(settings, BROKER_ROLE, make_keys=True)
        return
    async with attach_database(settings, report) as deployment:
        await migrate(deployment.admin, deployment.passwords, upgrade=False)
        yield deployment


async def _open_single_role_deployment(
    settings: Settings, role: str, *, make_keys: bool, has_digest_key: bool = True
) -> Deployment:
    """Open a deployment as one role. A wrong login, a pooler in the wrong mode, an older schema or another deployment's
    digest key ends the start; a database that is away may come later."""
    assert settings.database_url is not None
    file = settings.database_password_file
    passwords = None if file is None else PasswordFile(file)
    if passwords is not None:
        passwords.read()  # a file of no use ends the start
    address = DatabaseAddress(settings.database_url, passwords=passwords)
    deployment = open_deployment_as(settings.home, address, role, make_keys=make_keys, has_digest_key=has_digest_key)
    try:
        await check_sessions(address)
        await check_schema(address)
        if has_digest_key:
            await _check_digest_key(deployment, role)
    except LoginRefused as error:
        if not isinstance(error.__cause__, asyncpg.InvalidPasswordError):
            raise Invalid(explain_refused_entry(role)) from None
        where = "MCPIST_DATABASE_PASSWORD_FILE" if settings.database_password_file else "MCPIST_DATABASE_URL"
        certificate = " and the client certificate, whose common name has to be the role"
        shown = certificate if "sslcert=" in settings.database_url.reveal() else ""
        raise Invalid(f"the database refuses the login of {role}; check the password in {where}{shown}") from None
    except ClientCertificateRefused as error:
        raise Invalid(str(error)) from None
    except Unavailable:
        return deployment
    return deployment


async def _check_digest_key(deployment: Deployment, role: str) -> None:
    async with open_role_database(deployment, role, max_connections=1) as database:
        await check_digest_key(database, deployment.digest_key, deployment.digest_key_path)


@contextlib.asynccontextmanager
async def _open_broker_app(
    settings: Settings, deployment: Deployment, service_tokens: ServiceTokenVerifier, metrics: Metrics, tracer: Tracer
) -> AsyncGenerator[tuple[PathDispatcher, HealthMonitor]]:
    """Open the application that serves gateways, and the identity pages and endpoints, with its health. The control
    plane's part of the admin API is not here: it has a database role of its own."""
    manifests = load_installed_manifests()
    async with (
        open_broker_runtime(deployment, settings, manifests, metrics=metrics, tracer=tracer) as zone,
        _open_audit_writer(zone.database, metrics) as audit,
        _open_refusals(settings, audit, metrics) as refusals,
    ):
        broker = BrokerApp(zone.broker, service_tokens, tracer=tracer)
        checks: dict[str, Check] = {"database": zone.database.ping, "background tasks": check_background_tasks}
        # Taken out of a balancer because it cannot record, it would be gone for every gateway: those record themselves.
        checks["audit"] = create_audit_check(audit, serves_without=True)
        checks["disk"] = create_disk_check(settings.home, has_database=settings.database_url is None)
        health = HealthMonitor(checks, clock=time.monotonic)
        register_health_metrics(metrics, health, can_write=lambda: not audit.stalled)
        paths: dict[str, Application] = {**dict.fromkeys(PATHS, broker), **build_health_routes(health)}
        if (workers := load_served_workers(settings)) is not None:
            for_workers = WorkerBrokerApp(zone.broker, ServiceTokenVerifier(workers), tracer=tracer)
            paths.update(dict.fromkeys(WORKER_PATHS, for_workers))
        async with open_web_application(
            zone,
            settings,
            refusals,
            manifests,
            console_rpc=_create_console_rpc(settings, paths, tracer),
        ) as pages:
            app = PathDispatcher(paths)
            app.otherwise = trace_application(pages, tracer)
            yield app, health


def _create_console_rpc(
    settings: Settings, paths: dict[str, Application], tracer: Tracer
) -> Callable[[ConsoleServices], Callable[[], bool]] | None:
    """Create the function that serves control planes under `paths` and returns what tells whether there is one; None
    where there is none to serve. One is there that the operator has named; with keys that the broker has made itself,
    one that has asked it for something."""
    consoles = load_served_consoles(settings)
    if consoles is None:
        return None

    def serve(services: ConsoleServices) -> Callable[[], bool]:
        rpc = build_console_rpc(services, ServiceTokenVerifier(consoles), tracer)
        paths.update(dict.fromkeys(CONSOLE_PATHS, rpc))
        return lambda: settings.broker_consoles is not None or rpc.was_asked

    return serve


@contextlib.asynccontextmanager
async def _open_audit_writer(database: Database, metrics: Metrics) -> AsyncGenerator[AuditWriter]:
    audit = AuditWriter(database)
    register_audit_metrics(metrics, audit)
    writing = asyncio.create_task(audit.run(), name="audit writer")
    try:
        yield audit
    finally:
        await audit.close()
        await writing


@contextlib.asynccontextmanager
async def _open_refusals(settings: Settings, audit: AuditWriter, metrics: Metrics) -> AsyncGenerator[AuthFailureLog]:
    """Open the audit of refused credentials, as a gateway has it."""
    metrics.begin_at_zero("auth_refused", RefusalReason)
    metrics.begin_at_zero("limited", ("address",))
    per_minute = settings.failed_auth_per_minute
    refusals = AuthFailureLog(audit, AttemptLimits(per_minute, per_minute, clock=time.monotonic), metrics)
    try:
        yield refusals
    finally:
        refusals.flush()


@contextlib.contextmanager
def _open_broker_listener(settings: Settings) -> Generator[tuple[socket.socket, str]]:
    if settings.broker_url.startswith(UNIX_PREFIX):
        with open_unix_listener(Path(settings.broker_url.removeprefix(UNIX_PREFIX))) as listener:
            yield listener, settings.broker_url
        return
    with open_port(settings) as listener:
        # Where gateways reach it; the public URL, which it has in common with them, is the load balancer's.
        yield listener, replace(settings, public_url="").public_url


def warn_of_eavesdroppers(settings: Settings) -> None:
    """Log a warning where tokens go to the broker over plain HTTP between machines."""
    split = urlsplit(settings.broker_url)
    if split.scheme == "http" and split.hostname not in LOOPBACK_HOSTS:
        log.warning(
            "MCPIST_BROKER_URL is plain http to another machine: tokens can be read in transit; use https",
            extra={"event": "broker_url_insecure"},
        )
