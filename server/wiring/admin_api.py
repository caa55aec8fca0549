"""The admin API of one process: the broker's part, and the control plane's where it is here.

Importing this loads FastAPI.
"""

from starlette.types import ASGIApp

from broker.api.app import build_identity_api as identity_api
from broker.api.app import build_identity_section
from broker.api.authentication import ApiAuthenticator
from broker.api.deployment_dependencies import DeploymentDependencies
from broker.api.deployment_section import build_deployment_section
from broker.api.identity_dependencies import IdentityDependencies
from broker.api.job_retries import LocalJobRetries
from broker.api.routers import build_connect_section as connections
from broker.authorization_server.client_registry import FIRST_PARTY_CLIENTS
from broker.authorization_server.client_trust import ClientTrustAdministration
from broker.authorization_server.grants import Grants
from broker.authorization_server.registered_clients import RegisteredClients
from broker.authorization_server.trusted_issuers import TrustedIssuers
from broker.connect.connect_services import ConnectServices
from broker.connections.user_connections import UserConnections
from broker.disconnect.tenant_contents import TenantContentsCounter
from broker.identity.provider_trial import ProviderTrial
from broker.identity.scim_tokens import ScimTokens
from broker.identity.stored_providers import ProviderAdministration
from broker.notifications.preferences import NotificationPreferences
from broker.web import request_parsing
from broker.web.web_dependencies import WebDependencies
from core.api.security import MAX_CONCURRENT_REQUESTS, REQUEST_BURST, REQUESTS_PER_SECOND, ApiSecurity
from core.audit.failed_auth import AuthFailureLog
from core.protected_resource import build_metadata_url, build_resource_identifier
from core.release import get_release
from server.wiring.broker import BrokerRuntime
from server.wiring.control_plane_api import ControlPlaneApi
from server.wiring.notifications import build_sender_administration
from server.workers.worker import Worker


def build_admin_api(
    zone: BrokerRuntime,
    dependencies: WebDependencies,
    grants: Grants,
    refusals: AuthFailureLog,
    connect: ConnectServices,
    control_plane: ControlPlaneApi | None,
    worker: Worker,
) -> ASGIApp:
    """Build the application under /api/v1; without the control plane, the broker's part alone."""
    release = get_release()
    clients = RegisteredClients(zone.database, zone.peppers, clock=zone.clock)
    identity = IdentityDependencies(
        zone.tokens,
        zone.identity_services.sessions,
        grants,
        clients,
        zone.identity_services.links,
        zone.identity_services.identities,
        TrustedIssuers(zone.database, zone.documents, clock=zone.clock),
        NotificationPreferences(zone.database),
        ScimTokens(zone.database, clock=zone.clock),
        zone.mandates,
        zone.identity_services.sign_in.list_providers,
        None if zone.own_tokens is None else zone.own_tokens.access_tokens,
        build_resource_identifier(dependencies.settings.public_url),
    )
    security = _build_security(zone, dependencies, refusals, worker)
    deployment = build_deployment_section(
        DeploymentDependencies(
            ProviderAdministration(
                zone.deployment_settings,
                zone.identity.providers,
                ProviderTrial(zone.stored_http, dependencies.settings.public_url),
            ),
            build_sender_administration(zone.deployment_settings, zone.oauth_http, dependencies.settings, zone.clock),
            TenantContentsCounter(zone.database, clock=zone.clock),
            ClientTrustAdministration(zone.deployment_settings, zone.identity.authorization_server.trust),
            dependencies.settings.public_url,
            zone.own_tokens is not None,
        )
    )
    if control_plane is None:
        return identity_api(security, identity, connections(connect), deployment, version=release)
    sections = build_identity_section(identity), connections(connect), deployment
    statuses = UserConnections(
        connect.database, connect.connection_health, connect.available_services, connect.public_url
    )
    retries = LocalJobRetries(security.authenticate, zone.mandate_service)
    return control_plane.build_api(
        security, zone.database, connect.account_revoker, statuses, retries, sections, release
    )


def _build_security(
    zone: BrokerRuntime, dependencies: WebDependencies, refusals: AuthFailureLog, worker: Worker
) -> ApiSecurity:
    def get_client_address(request: request_parsing.Request) -> str:
        return request_parsing.get_client_address(request, dependencies.proxies)

    authenticate = ApiAuthenticator(
        zone.database,
        zone.broker,  # its refusals bring the pass for the audit log of their tenant
        zone.identity_services.sessions,
        dependencies.cookies,
        refusals,
        get_client_address,
        dependencies.settings.operator_tenant,
    )
    challenge = f'Bearer realm="mcpist", resource_metadata="{build_metadata_url(dependencies.settings.public_url)}"'
    own_clients = frozenset(client.id for client in FIRST_PARTY_CLIENTS)
    return ApiSecurity(
        authenticate,
        dependencies.settings.public_url,
        zone.clock,
        get_client_address,
        challenge,
        own_clients,
        worker.create_caller_limits("api", REQUESTS_PER_SECOND, REQUEST_BURST, MAX_CONCURRENT_REQUESTS),
    )
