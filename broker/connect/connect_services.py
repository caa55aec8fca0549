"""Dependencies of the connect pages and API."""

from dataclasses import dataclass

from broker.audit_streams.stream_settings import AuditStreams
from broker.connect.authorization import ConnectAuthorization
from broker.connect.client_registration import AutomaticClientRegistration
from broker.connect.client_trial import OAuthClientTrial
from broker.connect.confirmation import GrantConfirmation
from broker.connect.connect_session_store import ConnectSessionStore
from broker.connections.api_keys import VendorApiKeys
from broker.connections.available_services import AvailableServices
from broker.connections.connection_health import ConnectionHealth
from broker.connections.credential_check import CredentialChecker
from broker.connections.oauth_client_store import OAuthClientStore
from broker.disconnect.bulk_revocation import BulkAccountRevoker
from broker.disconnect.disconnect_service import DisconnectService
from broker.providers.catalogue import ProviderRegistry
from broker.providers.custom import CustomProviders
from broker.providers.discovery import MetadataDiscovery
from broker.providers.views import ProviderViews
from broker.tenant_keys.key_store import TenantKeyStore
from broker.vault.credential_store import CredentialStore
from core.concurrency.rate_limits import CallerLimits
from core.db import Database


@dataclass(frozen=True, slots=True)
class ConnectServices:
    """The services of the connect flow."""

    database: Database
    public_url: str
    available_services: AvailableServices
    authorization: ConnectAuthorization
    confirmation: GrantConfirmation
    disconnect_service: DisconnectService
    account_revoker: BulkAccountRevoker
    api_keys: VendorApiKeys
    oauth_clients: OAuthClientStore
    client_trial: OAuthClientTrial
    provider_registry: ProviderRegistry
    custom_providers: CustomProviders
    client_registration: AutomaticClientRegistration
    discovery: MetadataDiscovery
    draft_limits: CallerLimits
    provider_views: ProviderViews
    credentials: CredentialStore
    credential_checker: CredentialChecker
    connect_sessions: ConnectSessionStore
    connection_health: ConnectionHealth
    audit_streams: AuditStreams
    tenant_keys: TenantKeyStore
