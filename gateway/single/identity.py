"""The pages and endpoints of identity, and the admin API, as one ASGI application beside the gateway's own paths."""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, Callable

from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from broker.oauth.authorization import Authorization
from broker.oauth.client_authentication import ClientAuthentication
from broker.oauth.client_keys import PublishedKeys
from broker.oauth.client_metadata import ClientMetadata
from broker.oauth.clients import Clients
from broker.oauth.consents import Consents
from broker.oauth.grants import Grants
from broker.oauth.id_jag import IdentityAssertions
from broker.oauth.registration import Registration
from broker.oauth.revocation import Revocation
from broker.oauth.single_use import SingleUse
from broker.oauth.token_endpoint import TokenEndpoint
from broker.oauth.trusted_issuers import TrustedIssuers
from broker.web import account, oauth, sign_in
from broker.web.app import identity_app
from broker.web.oauth import AuthorizationServer
from broker.web.parts import web_parts
from core.db import Database
from core.settings import Settings
from gateway.auth.refusals import Refusals
from gateway.catalogue import Catalogue
from gateway.single.operator import now
from gateway.single.trust_zone import OwnTokens, TrustZone, resource

API = "/api/"
SWEEP_SECONDS = 3600.0

log = logging.getLogger(__name__)


@contextlib.asynccontextmanager
async def identity(
    zone: TrustZone, settings: Settings, refusals: Refusals, console: Database | None, catalogue: Catalogue
) -> AsyncGenerator[ASGIApp]:
    """What answers on every path but the gateway's own; meanwhile, what is over is swept away.

    Without `console`, which is the database in the control plane's role, the admin API is identity's own part of it.
    """
    sweeping = asyncio.create_task(_sweep(zone), name="identity sweeper")
    try:
        yield _application(zone, settings, refusals, console, catalogue)
    finally:
        sweeping.cancel()
        await asyncio.wait([sweeping])


def _application(
    zone: TrustZone, settings: Settings, refusals: Refusals, console: Database | None, catalogue: Catalogue
) -> ASGIApp:

    def api() -> ASGIApp:
        from gateway.single.api import admin_api  # the framework's import takes half a second

        return admin_api(zone, parts, grants, refusals, console, catalogue)

    parts = web_parts(settings, zone.identity, now)
    grants = _grants(zone)
    server = _authorization_server(zone, zone.own_tokens, settings, grants) if zone.own_tokens else None
    routes = [
        *sign_in.routes(parts, zone.door),
        *account.routes(parts, zone.door, grants if server else None),
        *(oauth.routes(parts, server) if server else ()),
        _Below(API, _Later(api)),
    ]
    return identity_app(parts, routes)


def _grants(zone: TrustZone) -> Grants:
    server = zone.identity.authorization_server
    return Grants(zone.database, clock=now, refresh_token_days=server.refresh_token_days, grant_days=server.grant_days)


def _authorization_server(zone: TrustZone, own: OwnTokens, settings: Settings, grants: Grants) -> AuthorizationServer:
    database, server = zone.database, zone.identity.authorization_server
    keys = PublishedKeys(zone.documents, clock=time.monotonic)
    single_use = SingleUse(database, clock=now)
    hosts = server.client_metadata_hosts
    metadata = ClientMetadata(zone.documents, hosts=hosts, clock=time.monotonic) if server.client_metadata else None
    clients = Clients(database, metadata, clock=now, dynamic=server.dynamic_registration)
    authentication = ClientAuthentication(
        clients,
        zone.peppers,
        single_use,
        keys,
        issuer=settings.public_url,
        token_endpoint=f"{settings.public_url}/oauth/token",
        clock=now,
    )
    assertions = IdentityAssertions(
        TrustedIssuers(database, zone.documents, clock=now),
        keys,
        zone.door.admission,
        single_use,
        issuer=settings.public_url,
        resource=resource(settings),
        clock=now,
    )
    endpoint = TokenEndpoint(
        authentication=authentication,
        clients=clients,
        grants=grants,
        access_tokens=own.access_tokens,
        assertions=assertions,
        resource=resource(settings),
        clock=now,
    )
    return AuthorizationServer(
        Authorization(clients, resource(settings)),
        endpoint,
        Revocation(authentication, grants, own.access_tokens),
        zone.door.sessions,
        Consents(database, clock=now),
        grants,
        own.keys,
        Registration(database, enabled=server.dynamic_registration, clock=now, seconds=time.monotonic),
    )


async def _sweep(zone: TrustZone) -> None:
    """Once an hour; and at the start, have the keys made that the first access token will need."""
    grants, used = _grants(zone), SingleUse(zone.database, clock=now)
    while True:
        try:
            if zone.own_tokens is not None:
                await zone.own_tokens.keys.document()
            await grants.sweep()
            await used.sweep()
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
