"""The admin API out of its two parts, the control plane's and identity's. Importing this loads FastAPI."""

from importlib.metadata import version

from starlette.types import ASGIApp

from admin_ui.api.app import build_admin_api as control_plane_api
from admin_ui.api.checks import NoDeploymentChecks
from admin_ui.api.parts import AdminDependencies
from broker.connect.parts import ConnectServices
from broker.oauth.grants import Grants
from broker.oauth.own_clients import FIRST_PARTY_CLIENTS
from broker.oauth.registered_clients import RegisteredClients
from broker.web import requests
from broker.web.api.app import build_identity_api as identity_api
from broker.web.api.app import build_identity_section
from broker.web.api.authentication import ApiAuthenticator
from broker.web.api.connections import build_connect_section as connections
from broker.web.api.parts import IdentityDependencies
from broker.web.parts import WebDependencies
from core.api.door import ApiSecurity
from core.db import Database
from core.settings import Settings
from gateway.auth.protected_resource import metadata_url
from gateway.auth.refusals import Refusals
from gateway.catalogue import Catalogue
from gateway.deployment import Deployment
from gateway.single.api_checks import ServerChecks, build_installed_modules
from gateway.single.bootstrap import list_module_names
from gateway.single.trust_zone import BrokerRuntime


def build_admin_api(
    zone: BrokerRuntime,
    parts: WebDependencies,
    grants: Grants,
    refusals: Refusals,
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


def _build_security(zone: BrokerRuntime, parts: WebDependencies, refusals: Refusals) -> ApiSecurity:
    def get_client_address(request: requests.Request) -> str:
        return requests.get_client_address(request, parts.proxies)

    authenticate = ApiAuthenticator(
        zone.database,
        zone.broker,  # its refusals bring the pass for the audit log of their tenant
        zone.identity_services.sessions,
        parts.cookies,
        refusals,
        get_client_address,
        parts.settings.operator_tenant,
    )
    challenge = f'Bearer realm="mcpist", resource_metadata="{metadata_url(parts.settings.public_url)}"'
    own = frozenset(client.id for client in FIRST_PARTY_CLIENTS)
    return ApiSecurity(authenticate, parts.settings.public_url, zone.clock, get_client_address, challenge, own)
