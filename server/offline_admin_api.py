"""The admin API inside a command's own process, where no product runs. Importing this loads FastAPI."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING
from uuid import UUID

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from admin_ui.api.admin_dependencies import AdminDependencies
from admin_ui.api.app import build_directory_section
from admin_ui.api.deployment_checks import NoDeploymentChecks
from admin_ui.api.event_streams import EventStreams
from core.api.app import API_PREFIX, ApiSection, build_application
from core.api.security import ApiSecurity
from core.audit.change_feed import ChangeFeed
from core.config.settings import Settings
from core.db import Database
from core.directory.account_revocation import RevocationResult
from core.directory.audit_trail import Actor
from core.migrations import migrate
from server.data_folder import Report, attach_database
from server.deployment import Deployment
from server.endpoint_file import find_running_server
from server.installed_manifests import load_installed_manifests
from server.installed_modules import build_installed_modules
from server.operator_access import OperatorAccess, build_operator_access
from server.role_database import CONSOLE_ROLE, get_utc_now, open_role_database
from server.tool_catalogue import InstalledToolCatalogue
from server.wiring.operator_authentication import OperatorAuthenticator, refuse_everybody
from server.wiring.web import has_route

if TYPE_CHECKING:
    from gateway.catalogue import Catalogue

OFFLINE_URL = "http://127.0.0.1"
CONNECT_PATHS = (
    "/providers",
    "/oauth-clients",
    "/credentials",
    "/connections",
    "/connect-sessions",
    "/services/",
    "/audit-stream",
    "/tenant-keys",
)
"""Prefixes of the routes of connecting that the control plane has not itself; the others are identity's."""

DEPLOYMENT_PATHS = ("/deployment/", "/tenants/")


@dataclass(frozen=True, slots=True)
class OfflineAdminApi:
    """An admin API that no socket leads to, and the operator's access to it."""

    app: ASGIApp
    access: OperatorAccess


@contextlib.asynccontextmanager
async def open_offline_admin_api(settings: Settings, report: Report) -> AsyncGenerator[OfflineAdminApi]:
    """Open the data folder and build the API on it; an empty database gets its schema, an older one is refused.

    The broker's part is opened with the first request for one of its routes: most commands do without the vault.
    """
    async with attach_database(settings, report) as deployment, contextlib.AsyncExitStack() as stack:
        await migrate(deployment.admin, deployment.passwords, upgrade=False)
        console = await stack.enter_async_context(open_role_database(deployment, CONSOLE_ROLE, max_connections=3))
        access = build_operator_access(OFFLINE_URL)
        security = ApiSecurity(
            OperatorAuthenticator(access, console, refuse_everybody),
            _get_public_url(settings),
            get_utc_now,
            _get_client_address,
        )
        installed = build_installed_modules(load_installed_manifests(), _load_catalogue)
        checks, revoker = _OfflineChecks(deployment, console), _OnDemandRevoker(deployment, settings)
        dependencies = AdminDependencies(
            console,
            InstalledToolCatalogue(_load_catalogue),
            EventStreams(console, ChangeFeed(console, None)),
            tuple(installed),
            installed,
            checks,
            revoker,
            audit_keep_months=settings.audit_keep_months,
        )
        yield OfflineAdminApi(_OfflineApplication(stack, deployment, settings, security, dependencies), access)


class _OfflineApplication:
    """The control plane's routes; and those of identity and of connecting, once one is asked for."""

    def __init__(
        self,
        stack: contextlib.AsyncExitStack,
        deployment: Deployment,
        settings: Settings,
        security: ApiSecurity,
        dependencies: AdminDependencies,
    ) -> None:
        self._stack = stack
        self._deployment = deployment
        self._settings = settings
        self._security = security
        self._directory = build_directory_section(dependencies)
        self._apps: dict[str, ASGIApp] = {"directory": self._build(self._directory)}
        self._opening = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if has_route(self._directory.routers, scope):
            name = "directory"
        else:
            name = _select_broker_section(scope["path"].removeprefix(API_PREFIX))
        async with self._opening:
            app = self._apps.get(name) or await self._open(name)
        await app(scope, receive, send)

    async def _open(self, name: str) -> ASGIApp:
        from server.wiring import offline_broker

        open_section = {
            "connect": offline_broker.open_connect_section,
            "deployment": offline_broker.open_deployment_section,
            "identity": offline_broker.open_identity_section,
        }
        opening = open_section[name](self._deployment, self._settings, self._security.public_url)
        section = await self._stack.enter_async_context(opening)
        app = self._apps[name] = self._build(section)
        return app

    def _build(self, section: ApiSection) -> ASGIApp:
        return build_application(self._security, [section], version("mcpist"))


@dataclass(frozen=True, slots=True)
class _OnDemandRevoker:
    """Implements :class:`core.directory.account_revocation.AccountRevoker`; the vault is opened when an owner of
    accounts is removed, and not for a list of roles."""

    deployment: Deployment
    settings: Settings

    async def __call__(
        self, actor: Actor, tenant_id: UUID, *, user_id: UUID | None = None, role_id: UUID | None = None
    ) -> Sequence[RevocationResult]:
        from server.wiring.disconnect import open_disconnect_services  # the import takes 0.2 s

        async with open_disconnect_services(self.deployment, self.settings) as services:
            return await services.account_revoker(actor, tenant_id, user_id=user_id, role_id=role_id)


class _OfflineChecks(NoDeploymentChecks):
    """The vault's keys only; `mcpist doctor` looks at everything else without the API."""

    def __init__(self, deployment: Deployment, console: Database) -> None:
        self._deployment = deployment
        self._console = console

    async def check_keys(self) -> object:
        from server.diagnostics.server_checks import describe_vault_keys

        return await describe_vault_keys(self._deployment, self._console)


def _select_broker_section(path: str) -> str:
    if path.startswith(DEPLOYMENT_PATHS):
        return "deployment"
    return "connect" if path.startswith(CONNECT_PATHS) else "identity"


def _get_public_url(settings: Settings) -> str:
    """Return the URL of the product that runs on the data folder, which the settings of this shell may not name."""
    server = find_running_server(settings.home)
    return settings.public_url if server is None else server.mcp_url.removesuffix("/mcp")


def _load_catalogue() -> "Catalogue":
    from gateway.catalogue import load_installed_modules  # takes a quarter of a second

    return load_installed_modules()


def _get_client_address(request: Request) -> str:
    return request.client.host if request.client else ""
