"""Wiring of connecting vendor accounts: the only place that knows both the vault and the modules' vendors."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import uuid4

from broker.connect.account_writer import AccountWriter
from broker.connect.authorization import ConnectAuthorization
from broker.connect.client_registration import AutomaticClientRegistration
from broker.connect.code_exchange import CodeExchange
from broker.connect.confirmation import GrantConfirmation
from broker.connect.connect_services import ConnectServices
from broker.connect.connect_session_store import ConnectSessionStore
from broker.connect.flow_store import ConnectFlowStore
from broker.connections.api_keys import KeyCheck, KeyRefused, VendorApiKeys
from broker.connections.available_services import AvailableServices
from broker.connections.connection_health import ConnectionHealth
from broker.connections.required_scopes import ModuleManifest
from broker.disconnect.reaper import GrantReaper
from broker.oauth_client.token_endpoint_client import HttpTokenEndpointClient
from broker.oauth_client.userinfo import UserinfoClient
from broker.oauth_client.vendor_http import VendorHttpClient
from broker.providers.catalogue import load_builtin_providers
from broker.providers.custom import CustomProviders
from broker.providers.discovery import MetadataDiscovery
from broker.providers.registry import ProviderRegistry
from broker.providers.views import ProviderViews
from broker.vault.vault import Vault
from core.concurrency.rate_limits import CallerLimits
from core.config.settings import Settings
from core.db import Database
from core.errors import Invalid
from core.http.credential_headers import CredentialScheme
from core.http.json_documents import JsonDocumentFetcher
from core.secret import Secret
from gateway.catalogue import Catalogue
from gateway.service_settings import parse_settings
from gateway.vendor_session.client_factory import VendorClientFactory
from modules.kit import ToolError
from server.vendor_account_lookup import (
    UnleasedCredential,
    classify_key_trouble,
    fetch_vendor_account,
    get_key_origins,
)
from server.wiring.broker import BrokerRuntime
from server.wiring.credential_recheck import build_rechecker
from server.wiring.disconnect import build_disconnect_services
from server.wiring.gateway import open_vendor_sessions

DRAFT_LIMITS = 0.2, 20, 2
"""Of one tenant, servers that are looked at for a draft: a second over time, at once, and at the same time."""


@contextlib.asynccontextmanager
async def open_connect_services(
    zone: BrokerRuntime, settings: Settings, catalogue: Catalogue
) -> AsyncGenerator[ConnectServices]:
    """Open the services behind the connect pages and their API, with the HTTP session to the vendors."""
    async with open_vendor_sessions(settings) as sessions:
        check, modules = _ModuleKeyCheck(catalogue, sessions), build_module_manifests(catalogue)
        parts = build_connect_services(
            zone.database,
            zone.vault,
            settings.public_url,
            modules,
            zone.oauth_http,
            check,
            zone.documents,
            clock=zone.clock,
        )
        left = GrantReaper(zone.database, parts.disconnect_service)
        asking = build_rechecker(zone.database, zone.vault, catalogue, sessions)
        tasks = [
            asyncio.create_task(left.run(), name="left accounts"),
            asyncio.create_task(asking.run(), name="refused credentials"),
        ]
        try:
            yield parts
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)


def build_module_manifests(catalogue: Catalogue) -> tuple[ModuleManifest, ...]:
    """The modules that have a vendor: all that the connect flow knows of modules."""
    return tuple(
        ModuleManifest(
            module.name,
            module.title,
            {entry.tool.name: entry.tool.hints.read_only for entry in catalogue.tools[module.name]},
            module.vendor.base_url,
        )
        for module in catalogue.modules
        if module.vendor is not None
    )


def build_connect_services(
    database: Database,
    vault: Vault,
    public_url: str,
    modules: Sequence[ModuleManifest],
    http: VendorHttpClient,
    check: KeyCheck,
    documents: JsonDocumentFetcher,
    *,
    clock: Callable[[], datetime],
) -> ConnectServices:
    """The parts; `database` is in the broker's role."""
    book, rows = ProviderRegistry(load_builtin_providers()), AccountWriter(vault)
    ends = build_disconnect_services(database, vault, http, clock=clock)
    clients, credentials, disconnecting = ends.clients, ends.credentials, ends.disconnect_service
    flows = ConnectFlowStore(database, vault, clock=clock)
    introductions = AutomaticClientRegistration(clients, http, public_url)
    services = AvailableServices(database, clients, book, modules, introductions)
    finishing = GrantConfirmation(database, rows, flows, book, disconnecting, services)
    vendor = UserinfoClient(http)
    redeeming = CodeExchange(
        database,
        services=services,
        flows=flows,
        clients=clients,
        book=book,
        rows=rows,
        endpoint=HttpTokenEndpointClient(http),
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
    providers = CustomProviders(database, book, documents.allow, [one.name for one in modules])
    keys = VendorApiKeys(database, services, credentials, disconnecting, vendor, check)
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
        provider_registry=book,
        custom_providers=providers,
        client_registration=introductions,
        discovery=MetadataDiscovery(documents),
        draft_limits=CallerLimits(*DRAFT_LIMITS, clock=time.monotonic),
        provider_views=ProviderViews(database, book, providers, public_url),
        credentials=credentials,
        connect_sessions=ConnectSessionStore(database, services, clock=clock),
        connection_health=ConnectionHealth(book, modules),
    )


class _ModuleKeyCheck:
    """Implements :class:`broker.connections.api_keys.KeyCheck` by the request that the module names."""

    def __init__(self, catalogue: Catalogue, sessions: VendorClientFactory) -> None:
        self._modules = {module.name: module for module in catalogue.modules}
        self._sessions = sessions

    async def __call__(self, module: str, settings: Mapping[str, Any], scheme: CredentialScheme, secret: Secret) -> str:
        api = self._modules[module].vendor
        assert api is not None, "only modules with a vendor are offered"
        try:
            known = parse_settings(api.settings, settings)
            credential = UnleasedCredential(secret, scheme, get_key_origins(api, known))
            return await fetch_vendor_account(self._sessions, api, known, credential, str(uuid4()))
        except Invalid:
            raise KeyRefused("setup") from None
        except ToolError as problem:
            raise KeyRefused(classify_key_trouble(problem)) from None
