"""What the pages and the API of connecting work with, as one value."""

from dataclasses import dataclass

from broker.connect.added_providers import CustomProviders
from broker.connect.connecting import ConnectAuthorization
from broker.connect.disconnecting import DisconnectService
from broker.connect.doctor import ConnectionHealth
from broker.connect.farewell import BulkAccountRevoker
from broker.connect.finishing import GrantConfirmation
from broker.connect.introductions import AutomaticClientRegistration
from broker.connect.oauth_clients import OAuthClientStore
from broker.connect.pasted_keys import VendorApiKeys
from broker.connect.provider_book import ProviderRegistry
from broker.connect.services import AvailableServices
from broker.connect.sessions import ConnectSessionStore
from broker.connect.shown_providers import ProviderViews
from broker.providers.discovery import MetadataDiscovery
from broker.vault.credentials import CredentialStore
from core.db import Database
from core.limits import CallerLimits


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
    provider_registry: ProviderRegistry
    custom_providers: CustomProviders
    client_registration: AutomaticClientRegistration
    discovery: MetadataDiscovery
    draft_limits: CallerLimits
    provider_views: ProviderViews
    credentials: CredentialStore
    connect_sessions: ConnectSessionStore
    connection_health: ConnectionHealth
