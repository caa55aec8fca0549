"""The broker as its own process, and what a gateway beside it has: one database role, a key, and no other secret."""

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import AsyncGenerator, Callable, Generator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg

from broker.http.app import BrokerApp
from broker.http.client import UNIX, HttpBroker, http_broker
from broker.http.gateway_keys import Gateways, load_private, make_pair
from broker.http.service_token import ServiceKey, ServiceTokens
from broker.http.wire import PATHS
from core.address import DatabaseAddress
from core.audit.writer import AuditWriter
from core.db import Database, check_sessions
from core.errors import Invalid, Unavailable
from core.limits import AttemptLimits
from core.migrations import migrate
from core.secret import Secret
from core.settings import Settings
from gateway.app import App
from gateway.auth.refusals import Refusals
from gateway.catalogue import installed
from gateway.deployment import KEYS, Deployment, open_as
from gateway.operations.health import Health, health_routes
from gateway.single.home import Report, joined
from gateway.single.identity import identity
from gateway.single.operator import BROKER, GATEWAY
from gateway.single.serving import listening, listening_at, served, stop_signals
from gateway.single.trust_zone import trust_zone

GATEWAY_KEY = "gateway.pem"
GATEWAYS = "gateways.pem"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BrokerReady:
    """Where the broker listens."""

    broker_url: str


async def run_broker(settings: Settings, report: Report, on_ready: Callable[[BrokerReady], None]) -> None:
    """Run the broker alone until SIGINT or SIGTERM.

    Raises:
        core.errors.MCPistError, gateway.postgres.errors.PostgresError: it cannot start; the text says what to do.
    """
    with stop_signals() as stop, _listening(settings) as (listener, url):
        async with _broker_deployment(settings, report) as deployment:
            tokens = ServiceTokens(_gateways(settings))
            async with _broker_app(settings, deployment, tokens) as app, served(app, listener, settings):
                on_ready(BrokerReady(url))
                await stop.wait()


@contextlib.asynccontextmanager
async def gateway_deployment(settings: Settings, report: Report) -> AsyncGenerator[Deployment]:
    """What a gateway beside a broker has; nothing of it opens the vault or another role's tables.

    Raises:
        core.errors.Invalid: MCPIST_DATABASE_URL is not the gateway's own, or the digest key is missing.
    """
    if settings.database_url is None:
        async with joined(settings, report) as deployment:
            yield deployment
        return
    yield await _only(settings.home, settings.database_url, GATEWAY, make_keys=False)


@contextlib.asynccontextmanager
async def remote_broker(settings: Settings) -> AsyncGenerator[HttpBroker]:
    """The broker that the settings name, asked with this gateway's key.

    Raises:
        core.errors.Invalid: there is no usable key.
    """
    if settings.gateway_key is None:
        make_pair(settings.home / KEYS / GATEWAY_KEY, settings.home / KEYS / GATEWAYS)
    key = ServiceKey(load_private(settings.gateway_key or settings.home / KEYS / GATEWAY_KEY))
    log.info("asking the broker", extra={"url": settings.broker_url, "gateway": key.gateway})
    if _is_open_to_eavesdroppers(settings.broker_url):
        log.warning("MCPIST_BROKER_URL is plain http to another machine: tokens can be read on the way; use https")
    async with http_broker(settings.broker_url, key) as client:
        yield client


@contextlib.asynccontextmanager
async def _broker_deployment(settings: Settings, report: Report) -> AsyncGenerator[Deployment]:
    url = settings.database_url
    if url is not None and urlsplit(url.reveal()).username == BROKER:
        yield await _only(settings.home, url, BROKER, make_keys=True)
        return
    async with joined(settings, report) as deployment:
        await migrate(deployment.admin, deployment.passwords)
        yield deployment


async def _only(home: Path, url: Secret, role: str, *, make_keys: bool) -> Deployment:
    """A deployment as one role. A wrong login or a pooler in the wrong mode ends the start; a database that is away may
    come later."""
    deployment = open_as(home, DatabaseAddress(url), role, make_keys=make_keys)
    try:
        await check_sessions(deployment.role(role))
    except Unavailable:
        return deployment
    except asyncpg.InvalidAuthorizationSpecificationError:
        raise Invalid(
            f"the database refuses the login of {role}: is the password in MCPIST_DATABASE_URL right?"
        ) from None
    return deployment


def _gateways(settings: Settings) -> Gateways:
    if settings.broker_gateways is not None:
        return Gateways(settings.broker_gateways)
    keys = settings.home / KEYS
    make_pair(keys / GATEWAY_KEY, keys / GATEWAYS)
    return Gateways(keys / GATEWAYS)


@contextlib.asynccontextmanager
async def _broker_app(settings: Settings, deployment: Deployment, service_tokens: ServiceTokens) -> AsyncGenerator[App]:
    """What gateways ask, and what people and clients see of identity. The control plane's part of the admin API is not
    here: it has a database role of its own."""
    catalogue = installed()
    async with trust_zone(deployment, settings, catalogue) as zone, _refusals(settings, zone.database) as refusals:
        broker = BrokerApp(zone.broker, service_tokens)
        health = Health({"database": lambda: _answers(zone.database)}, clock=time.monotonic)
        app = App({**dict.fromkeys(PATHS, broker), **health_routes(health)})
        async with identity(zone, settings, refusals, None, catalogue) as pages:
            app.otherwise = pages
            yield app


@contextlib.asynccontextmanager
async def _refusals(settings: Settings, database: Database) -> AsyncGenerator[Refusals]:
    """The audit of refused credentials, as a gateway has it."""
    audit = AuditWriter(database)
    writing = asyncio.create_task(audit.run(), name="audit writer")
    most = settings.failed_auth_per_minute
    refusals = Refusals(audit, AttemptLimits(most, most, clock=time.monotonic), _Uncounted())
    try:
        yield refusals
    finally:
        refusals.flush()
        await audit.close()
        await writing


class _Uncounted:
    """The broker has no metrics yet."""

    def refused(self, reason: str) -> None: ...

    def malformed(self) -> None: ...

    def limited(self, limit: str) -> None: ...


async def _answers(database: Database) -> bool:
    return await database.call("SELECT true")


@contextlib.contextmanager
def _listening(settings: Settings) -> Generator[tuple[socket.socket, str]]:
    if settings.broker_url.startswith(UNIX):
        with listening_at(Path(settings.broker_url.removeprefix(UNIX))) as listener:
            yield listener, settings.broker_url
        return
    with listening(settings) as listener:
        # Where gateways reach it; the public URL, which it has in common with them, is the load balancer's.
        yield listener, replace(settings, public_url="").public_url


def _is_open_to_eavesdroppers(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "http" and parts.hostname not in LOOPBACK
