"""Control plane's admin API inside a command's own process, where no product runs. Importing this loads FastAPI."""

import contextlib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from uuid import UUID

from starlette.requests import Request
from starlette.types import ASGIApp

from admin_ui.api.admin_dependencies import AdminDependencies
from admin_ui.api.app import build_admin_api
from core.api.security import ApiSecurity
from core.config.settings import Settings
from core.directory.account_revocation import RevocationResult
from core.directory.audit_trail import Actor
from core.migrations import migrate
from gateway.catalogue import load_installed_modules
from server.bootstrap import list_module_names
from server.data_folder import Report, attach_database
from server.deployment import Deployment
from server.diagnostics.server_checks import build_installed_modules
from server.operator_access import OperatorAccess, build_operator_access
from server.operator_context import CONSOLE_ROLE, get_utc_now, open_role_database
from server.wiring.operator_authentication import OperatorAuthenticator, refuse_everybody

OFFLINE_URL = "http://127.0.0.1"


@dataclass(frozen=True, slots=True)
class OfflineAdminApi:
    """An admin API that no socket leads to, and the operator's access to it."""

    app: ASGIApp
    access: OperatorAccess


@contextlib.asynccontextmanager
async def open_offline_admin_api(settings: Settings, report: Report) -> AsyncGenerator[OfflineAdminApi]:
    """Open the data folder and build the control plane's routes on it; the schema is brought up to date first."""
    async with attach_database(settings, report) as deployment:
        await migrate(deployment.admin, deployment.passwords)
        async with open_role_database(deployment, CONSOLE_ROLE, most=3) as console:
            access, catalogue = build_operator_access(OFFLINE_URL), load_installed_modules()
            security = ApiSecurity(
                OperatorAuthenticator(access, console, refuse_everybody),
                settings.public_url,
                get_utc_now,
                _get_client_address,
            )
            parts = AdminDependencies(
                console,
                list_module_names(catalogue),
                build_installed_modules(catalogue),
                account_revoker=_OnDemandRevoker(deployment, settings),
            )
            yield OfflineAdminApi(build_admin_api(security, parts, version=version("mcpist")), access)


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


def _get_client_address(request: Request) -> str:
    return request.client.host if request.client else ""
