"""The pages and endpoints of identity, and the admin API, as one ASGI application beside the gateway's own paths."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable

from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from broker.connect.parts import ConnectParts
from broker.oauth.single_use import SingleUse
from broker.web import account, connect_session, oauth, sign_in
from broker.web import connect as connect_pages
from broker.web.app import identity_app
from broker.web.parts import web_parts
from core.db import Database
from core.settings import Settings
from gateway.auth.refusals import Refusals
from gateway.catalogue import Catalogue
from gateway.deployment import Deployment
from gateway.single.authorization_server import authorization_server, grants_of, registration_of
from gateway.single.connecting import connect_parts
from gateway.single.notices import notices
from gateway.single.trust_zone import TrustZone

API = "/api/"
SWEEP_SECONDS = 3600.0

log = logging.getLogger(__name__)


@contextlib.asynccontextmanager
async def identity(
    zone: TrustZone,
    settings: Settings,
    refusals: Refusals,
    console: Database | None,
    catalogue: Catalogue,
    deployment: Deployment | None = None,
) -> AsyncGenerator[ASGIApp]:
    """What answers on every path but the gateway's own; meanwhile, what is over is swept away.

    Without `console`, which is the database in the control plane's role, the admin API is identity's own part of it;
    without `deployment` it does not look at keys and folders.
    """
    sweeping = asyncio.create_task(_sweep(zone), name="identity sweeper")
    try:
        async with connect_parts(zone, settings, catalogue) as connect, notices(zone, settings, catalogue):
            yield _application(zone, settings, refusals, console, catalogue, connect, deployment)
    finally:
        sweeping.cancel()
        await asyncio.wait([sweeping])


def _application(
    zone: TrustZone,
    settings: Settings,
    refusals: Refusals,
    console: Database | None,
    catalogue: Catalogue,
    connect: ConnectParts,
    deployment: Deployment | None,
) -> ASGIApp:

    def api() -> ASGIApp:
        from gateway.single.api import admin_api  # the framework's import takes half a second

        return admin_api(zone, parts, grants, refusals, console, catalogue, connect, settings, deployment)

    parts = web_parts(settings, zone.identity, zone.clock)
    grants = grants_of(zone)
    server = authorization_server(zone, zone.own_tokens, settings, grants) if zone.own_tokens else None
    routes = [
        *sign_in.routes(parts, zone.door),
        *account.routes(parts, zone.door, zone.tokens, grants if server else None),
        *connect_session.routes(parts, zone.door, connect),
        *connect_pages.routes(parts, zone.door, connect),
        *(oauth.routes(parts, server) if server else ()),
        _Below(API, _Later(api)),
    ]
    return identity_app(parts, routes)


async def _sweep(zone: TrustZone) -> None:
    """Once an hour; and at the start, have the keys made that the first access token will need."""
    swept = (grants_of(zone), SingleUse(zone.database, clock=zone.clock), registration_of(zone))
    while True:
        try:
            if zone.own_tokens is not None:
                await zone.own_tokens.keys.document()
            for table in swept:
                await table.sweep()
        except Exception as error:  # noqa: BLE001 nothing may end the sweeper; the next hour is early enough
            log.warning("identity's tables are not swept for now", extra={"cause": type(error).__name__})
        await asyncio.sleep(SWEEP_SECONDS)


class _Later:
    """An application that is built when it is first asked, in a thread: no start of the product waits for it."""

    def __init__(self, build: Callable[[], ASGIApp]) -> None:
        self._build = build
        self._built: ASGIApp | None = None
        self._turn = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._built is None:
            async with self._turn:
                self._built = self._built or await asyncio.to_thread(self._build)
        await self._built(scope, receive, send)


class _Below(BaseRoute):
    """All paths that begin so go to another application, which sees them whole."""

    def __init__(self, prefix: str, app: ASGIApp) -> None:
        self._prefix = prefix
        self._app = app

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        return (Match.FULL, {}) if scope["path"].startswith(self._prefix) else (Match.NONE, {})

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)
