"""The pages and endpoints of identity, and the admin API, as one ASGI application beside the gateway's own paths."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from broker.api.authentication import ApiAuthenticator
from broker.api.console_rpc import ConsoleServices
from broker.api.job_retries import LocalJobRetries
from broker.authorization_server.client_authentication import ReplayCache
from broker.connect.connect_services import ConnectServices
from broker.connections.user_connections import UserConnections
from broker.identity.scim_tokens import ScimTokens
from broker.identity.sign_in_state import ACCOUNT_PATH
from broker.web import account_pages, connect_pages, oauth_endpoints, sign_in_pages
from broker.web.api_reference_pages import build_api_reference_routes
from broker.web.app import build_identity_app
from broker.web.cookies import Cookies
from broker.web.i18n import PageError
from broker.web.request_parsing import get_client_address
from broker.web.web_dependencies import build_web_dependencies
from core.audit.failed_auth import AuthFailureLog
from core.concurrency.background import run_in_background
from core.concurrency.periodic import PeriodicTask
from core.config.settings import Settings
from core.module_manifest import ModuleManifest
from server.wiring.authorization_server import build_authorization_server, build_grants, build_registration
from server.wiring.broker import BrokerRuntime
from server.wiring.connect import open_connect_services
from server.wiring.control_plane_api import ControlPlaneApi
from server.wiring.notifications import run_notifications
from server.workers.worker import ONLY_WORKER, Worker

if TYPE_CHECKING:  # the framework's import takes half a second
    from fastapi import APIRouter

API_PATH = "/api/"
SCIM_PATH = "/scim/"
OPENAPI_PATH = "/api/v1/openapi.json"
CONSOLE_PATH = "/console"
SWEEP_SECONDS = 3600.0
MANDATE_SWEEP_SECONDS = 60.0


@contextlib.asynccontextmanager
async def open_web_application(
    zone: BrokerRuntime,
    settings: Settings,
    refusals: AuthFailureLog,
    manifests: Sequence[ModuleManifest],
    control_plane: ControlPlaneApi | None = None,
    worker: Worker = ONLY_WORKER,
    console_rpc: Callable[[ConsoleServices], Callable[[], bool]] | None = None,
) -> AsyncGenerator[ASGIApp]:
    """Open the application of every path but the gateway's own, and run its maintenance meanwhile.

    Without `control_plane` the admin API is the broker's own part of it. `console_rpc` is called with the services that
    a control plane in a process of its own asks for, and returns what tells whether there is one: people begin at its
    console then.
    """
    async with contextlib.AsyncExitStack() as stack:
        if worker.runs_maintenance:
            sweeping = run_in_background("deleting expired rows of identity", _sweep_expired(zone))
            await stack.enter_async_context(sweeping)
            ending = PeriodicTask("ending mandates", zone.mandates.sweep, MANDATE_SWEEP_SECONDS)
            await stack.enter_async_context(run_in_background("ending mandates", ending.run()))
            await stack.enter_async_context(run_notifications(zone, settings, manifests))
        connect = await stack.enter_async_context(open_connect_services(zone, settings, manifests, worker))
        has_console = control_plane.has_console if control_plane is not None else _return_false
        if console_rpc is not None:
            has_console = console_rpc(_build_console_services(zone, settings, refusals, connect))
        yield _build_application(
            zone,
            settings,
            refusals,
            connect,
            control_plane,
            worker,
            lambda: CONSOLE_PATH if has_console() else ACCOUNT_PATH,
        )


def _return_false() -> bool:
    return False


def _build_console_services(
    zone: BrokerRuntime, settings: Settings, refusals: AuthFailureLog, connect: ConnectServices
) -> ConsoleServices:
    """Build what a control plane in a process of its own may ask for. It says itself where a request came from."""
    authenticate = ApiAuthenticator(
        zone.database,
        zone.broker,
        zone.identity_services.sessions,
        Cookies(settings.public_url),
        refusals,
        lambda request: request.client.host if request.client else "",
        settings.operator_tenant,
    )
    return ConsoleServices(
        authenticate,
        ScimTokens(zone.database, clock=zone.clock).verify,
        connect.account_revoker,
        UserConnections(connect.database, connect.connection_health, connect.available_services, connect.public_url),
        LocalJobRetries(authenticate, zone.mandate_service),
    )


def _build_application(
    zone: BrokerRuntime,
    settings: Settings,
    refusals: AuthFailureLog,
    connect: ConnectServices,
    control_plane: ControlPlaneApi | None,
    worker: Worker,
    get_home_path: Callable[[], str],
) -> ASGIApp:

    def build_api() -> ASGIApp:
        from server.wiring.admin_api import build_admin_api  # the framework's import takes half a second

        return build_admin_api(zone, dependencies, grants, refusals, connect, control_plane, worker)

    api = _LazyApplication(build_api)

    def build_scim() -> ASGIApp:
        assert control_plane is not None, "its route is there only where the control plane is"
        tokens = ScimTokens(zone.database, clock=zone.clock)
        return control_plane.build_scim(
            tokens.verify, connect.account_revoker, lambda request: get_client_address(request, dependencies.proxies)
        )

    dependencies = build_web_dependencies(settings, zone.identity, zone.clock, get_home_path=get_home_path)
    grants = build_grants(zone.database, zone.identity, zone.clock)
    server = build_authorization_server(zone, zone.own_tokens, settings, grants) if zone.own_tokens else None
    routes = [
        *sign_in_pages.build_sign_in_routes(dependencies, zone.identity_services),
        *account_pages.build_account_routes(
            dependencies, zone.identity_services, zone.tokens, zone.mandates, grants if server else None
        ),
        *connect_pages.build_connect_session_routes(dependencies, zone.identity_services.sessions, connect),
        *connect_pages.build_connect_routes(dependencies, zone.identity_services.sessions, connect),
        *(oauth_endpoints.build_oauth_routes(dependencies, server) if server else ()),
        *build_api_reference_routes(dependencies, zone.identity_services.sessions, partial(_fetch_document, api)),
        PrefixRoute(API_PATH, api),
        *([PrefixRoute(SCIM_PATH, _LazyApplication(build_scim))] if control_plane is not None else ()),
        *(control_plane.build_console_routes() if control_plane else (PrefixRoute(CONSOLE_PATH, _refuse_console),)),
    ]
    return build_identity_app(dependencies, routes)


async def _fetch_document(api: ASGIApp) -> Mapping[str, Any]:
    """Ask the admin API of this process for its OpenAPI document."""
    body = bytearray()

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        body.extend(message.get("body", b""))

    scope: Scope = {
        "type": "http",
        "method": "GET",
        "path": OPENAPI_PATH,
        "raw_path": OPENAPI_PATH.encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "http_version": "1.1",
        "headers": [],
    }
    await api(scope, receive, send)
    return orjson.loads(body)


async def _sweep_expired(zone: BrokerRuntime) -> None:
    """Delete expired rows once an hour; at the start, create the keys that the first access token needs."""
    tables = (
        build_grants(zone.database, zone.identity, zone.clock),
        ReplayCache(zone.database, clock=zone.clock),
        build_registration(zone),
    )

    async def sweep() -> None:
        if zone.own_tokens is not None:
            await zone.own_tokens.keys.get_jwks()
        for table in tables:
            await table.sweep()

    name = "deleting expired rows of identity"
    await PeriodicTask(name, sweep, SWEEP_SECONDS, jitter=False, runs_at_start=True).run()


async def _refuse_console(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer for the console in a process without the control plane's database role."""
    raise PageError("console_elsewhere", 404)


class _LazyApplication:
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


class PrefixRoute(BaseRoute):
    """Route that passes all paths with a prefix, unchanged, to another application."""

    def __init__(self, prefix: str, app: ASGIApp) -> None:
        self._prefix = prefix
        self._app = app

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        return (Match.FULL, {}) if scope["path"].startswith(self._prefix) else (Match.NONE, {})

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def has_route(routers: "Iterable[APIRouter]", scope: Scope) -> bool:
    """Check whether one of the routers knows the path, with whatever method."""
    return any(route.matches(scope)[0] is not Match.NONE for router in routers for route in router.routes)
