"""Wiring of connecting vendor accounts."""

import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import datetime

from broker.audit_streams.collector import Collector
from broker.audit_streams.stream_dispatcher import AuditStreamDispatcher
from broker.audit_streams.stream_settings import AuditStreams
from broker.connect.account_writer import AccountWriter
from broker.connect.authorization import ConnectAuthorization
from broker.connect.client_registration import AutomaticClientRegistration
from broker.connect.client_trial import OAuthClientTrial
from broker.connect.code_exchange import CodeExchange
from broker.connect.confirmation import GrantConfirmation
from broker.connect.connect_services import ConnectServices
from broker.connect.connect_session_store import ConnectSessionStore
from broker.connect.flow_store import ConnectFlowStore
from broker.connections.api_keys import VendorApiKeys
from broker.connections.available_services import AvailableServices
from broker.connections.connection_health import ConnectionHealth
from broker.connections.credential_check import CredentialChecker
from broker.disconnect.bulk_revocation import GrantReaper
from broker.oauth_client.module_account import ModuleAccountClient
from broker.oauth_client.token_endpoint_client import HttpTokenEndpointClient
from broker.oauth_client.userinfo import UserinfoClient
from broker.oauth_client.vendor_http import VendorHttpClient
from broker.providers.catalogue import ProviderRegistry, load_builtin_providers
from broker.providers.custom import CustomProviders
from broker.providers.discovery import MetadataDiscovery
from broker.providers.views import ProviderViews
from broker.tenant_keys.key_kinds import TenantKeyKinds
from broker.tenant_keys.key_store import TenantKeyStore
from broker.tenant_keys.key_trial import TenantKeyTrial
from broker.vault.vault import Vault
from core.concurrency.background import run_in_background
from core.concurrency.rate_limits import CallerLimits
from core.config.settings import Settings
from core.db import Database
from core.http.json_documents import JsonDocumentFetcher
from core.module_manifest import ModuleManifest, list_vendor_manifests
from server.wiring.broker import BrokerRuntime
from server.wiring.credential_recheck import build_rechecker
from server.wiring.disconnect import build_disconnect_services
from server.workers.worker import Worker

DRAFT_LIMITS = 0.2, 20, 2
"""Of one tenant, servers that are looked at for a draft and OAuth clients that are tested: a second, at once, and at
the same time."""


@contextlib.asynccontextmanager
async def open_connect_services(
    zone: BrokerRuntime, settings: Settings, manifests: Sequence[ModuleManifest], worker: Worker
) -> AsyncGenerator[ConnectServices]:
    """Open the services behind the connect pages and their API, with the maintenance that runs beside them."""
    services = build_connect_services(
        zone.database,
        zone.vault,
        settings.public_url,
        list_vendor_manifests(manifests),
        zone.oauth_http,
        zone.documents,
        clock=zone.clock,
    )
    if not worker.runs_maintenance:
        yield services
        return
    reaper = GrantReaper(zone.database, services.disconnect_service)
    accounts = ModuleAccountClient(UserinfoClient(zone.oauth_http))
    rechecker = build_rechecker(zone.database, zone.vault, manifests, accounts)
    streaming = AuditStreamDispatcher(zone.database, zone.vault, Collector(zone.oauth_http), clock=zone.clock)
    async with (
        run_in_background("delivering the audit log", streaming.run()),
        run_in_background("ending abandoned accounts", reaper.run()),
        run_in_background("rechecking rejected credentials", rechecker.run()),
    ):
        yield services


def build_connect_services(
    database: Database,
    vault: Vault,
    public_url: str,
    modules: Sequence[ModuleManifest],
    http: VendorHttpClient,
    documents: JsonDocumentFetcher,
    *,
    clock: Callable[[], datetime],
    key_kinds: TenantKeyKinds | None = None,
) -> ConnectServices:
    """Build the parts; `database` is in the broker's role. For tests: other `key_kinds` of tenant keys."""
    book, rows = ProviderRegistry(load_builtin_providers()), AccountWriter(vault)
    ends = build_disconnect_services(database, vault, http, clock=clock)
    clients, credentials, disconnecting = ends.clients, ends.credentials, ends.disconnect_service
    flows = ConnectFlowStore(database, vault, clock=clock)
    introductions = AutomaticClientRegistration(clients, http, public_url)
    services = AvailableServices(database, clients, book, modules, introductions)
    finishing = GrantConfirmation(database, rows, flows, book, disconnecting, services)
    vendor = UserinfoClient(http)
    endpoint = HttpTokenEndpointClient(http)
    redeeming = CodeExchange(
        database,
        services=services,
        flows=flows,
        clients=clients,
        book=book,
        rows=rows,
        endpoint=endpoint,
        vendor=vendor,
        finishing=finishing,
    )
    connecting = ConnectAuthorization(
        database,
        public_url,
        services=services,
        flows=flows,
        book=book,
        redeeming=redeeming,
        introductions=introductions,
    )
    providers = CustomProviders(database, book, documents.allow, [module.name for module in modules])
    accounts = ModuleAccountClient(vendor)
    keys = VendorApiKeys(database, services, credentials, disconnecting, vendor, accounts)
    checker = CredentialChecker(database, credentials, accounts, modules, disconnecting.require_adopted)
    return ConnectServices(
        database=database,
        public_url=public_url,
        available_services=services,
        authorization=connecting,
        confirmation=finishing,
        disconnect_service=disconnecting,
        account_revoker=ends.account_revoker,
        api_keys=keys,
        oauth_clients=clients,
        client_trial=OAuthClientTrial(
            database, clients, book, endpoint, public_url, require_adopted=disconnecting.require_adopted
        ),
        provider_registry=book,
        custom_providers=providers,
        client_registration=introductions,
        discovery=MetadataDiscovery(documents),
        draft_limits=CallerLimits(*DRAFT_LIMITS, clock=time.monotonic),
        provider_views=ProviderViews(database, book, providers, public_url),
        credentials=credentials,
        credential_checker=checker,
        connect_sessions=ConnectSessionStore(database, services, clock=clock),
        connection_health=ConnectionHealth(book, modules),
        audit_streams=AuditStreams(database, vault, Collector(http), clock=clock),
        tenant_keys=TenantKeyStore(database, vault, key_kinds or TenantKeyKinds(), TenantKeyTrial(http), clock=clock),
    )
