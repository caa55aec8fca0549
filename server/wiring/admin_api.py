"""The admin API out of its two parts, the control plane's and identity's. Importing this loads FastAPI."""

from importlib.metadata import version

from starlette.types import ASGIApp

from admin_ui.api.admin_dependencies import AdminDependencies
from admin_ui.api.app import build_admin_api as control_plane_api
from admin_ui.api.deployment_checks import NoDeploymentChecks
from broker.api.app import build_identity_api as identity_api
from broker.api.app import build_identity_section
from broker.api.authentication import ApiAuthenticator
from broker.api.identity_dependencies import IdentityDependencies
from broker.api.routers import build_connect_section as connections
from broker.authorization_server.first_party_clients import FIRST_PARTY_CLIENTS
from broker.authorization_server.grants import Grants
from broker.authorization_server.registered_clients import RegisteredClients
from broker.connect.connect_services import ConnectServices
from broker.web import request_parsing
from broker.web.web_dependencies import WebDependencies
from core.api.security import ApiSecurity
from core.audit.failed_auth import AuthFailureLog
from core.config.settings import Settings
from core.db import Database
from core.protected_resource import build_metadata_url
from gateway.catalogue import Catalogue
from server.bootstrap import list_module_names
from server.deployment import Deployment
from server.diagnostics.server_checks import ServerChecks, build_installed_modules
from server.wiring.broker import BrokerRuntime


def build_admin_api(
    zone: BrokerRuntime,
    parts: WebDependencies,
    grants: Grants,
    refusals: AuthFailureLog,
    console: Database | None,
    catalogue: Catalogue,
    connect: ConnectServices,
    settings: Settings,
    deployment: Deployment | None,
) -> ASGIApp:
    """What answers under /api/v1; without the control plane's database, identity's part alone. `deployment` is what the
    doctor looks at."""
    release = version("mcpist")
    clients = RegisteredClients(zone.database, zone.peppers, clock=zone.clock)
    identity = IdentityDependencies(
        zone.tokens,
        zone.identity_services.sessions,
        grants,
        clients,
        zone.identity_services.links,
        zone.identity_services.identities,
    )
    door = _build_security(zone, parts, refusals)
    if console is None:
        return identity_api(door, identity, connections(connect), version=release)
    sections = build_identity_section(identity), connections(connect)
    looking = None if deployment is None else ServerChecks(settings, deployment, console, zone.database, catalogue)
    installed, checks = build_installed_modules(catalogue), looking or NoDeploymentChecks()
    control = AdminDependencies(console, list_module_names(catalogue), installed, checks, connect.account_revoker)
    return control_plane_api(door, control, *sections, version=release)


def _build_security(zone: BrokerRuntime, parts: WebDependencies, refusals: AuthFailureLog) -> ApiSecurity:
    def get_client_address(request: request_parsing.Request) -> str:
        return request_parsing.get_client_address(request, parts.proxies)

    authenticate = ApiAuthenticator(
        zone.database,
        zone.broker,  # its refusals bring the pass for the audit log of their tenant
        zone.identity_services.sessions,
        parts.cookies,
        refusals,
        get_client_address,
        parts.settings.operator_tenant,
    )
    challenge = f'Bearer realm="mcpist", resource_metadata="{build_metadata_url(parts.settings.public_url)}"'
    own = frozenset(client.id for client in FIRST_PARTY_CLIENTS)
    return ApiSecurity(authenticate, parts.settings.public_url, zone.clock, get_client_address, challenge, own)
