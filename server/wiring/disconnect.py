"""Wiring of disconnecting vendor accounts: for the running broker, and for commands that remove something."""

import contextlib
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from datetime import datetime

from broker.connect.account_writer import AccountWriter
from broker.connections.oauth_client_store import OAuthClientStore
from broker.disconnect.bulk_revocation import BulkAccountRevoker
from broker.disconnect.disconnect_service import DisconnectService
from broker.oauth_client.token_endpoint_client import HttpTokenEndpointClient
from broker.oauth_client.vendor_http import VendorHttpClient
from broker.providers.catalogue import ProviderRegistry, load_builtin_providers
from broker.vault.credential_store import CredentialStore
from broker.vault.key_wrapping import InMemoryKeyProvider
from broker.vault.vault import Vault, open_vault
from core.config.settings import Settings
from core.db import Database
from core.errors import Invalid
from server.deployment import Deployment
from server.role_database import BROKER_ROLE, get_utc_now, open_role_database
from server.vault_keys import NO_DEPLOYMENT, load_deployment_guard, open_key_provider
from server.wiring.outbound_http import open_vendor_http


@dataclass(frozen=True, slots=True)
class DisconnectServices:
    """One account at a time, or all of whoever is removed; with what both work with."""

    database: Database
    credentials: CredentialStore
    clients: OAuthClientStore
    disconnect_service: DisconnectService
    account_revoker: BulkAccountRevoker


def build_disconnect_services(
    database: Database, vault: Vault, http: VendorHttpClient, *, clock: Callable[[], datetime]
) -> DisconnectServices:
    """`database` is in the broker's role."""
    book, credentials = ProviderRegistry(load_builtin_providers()), CredentialStore(database, vault, clock=clock)
    clients, endpoint = OAuthClientStore(database, vault, book), HttpTokenEndpointClient(http)
    disconnecting = DisconnectService(database, AccountWriter(vault), clients, book, endpoint, credentials)
    return DisconnectServices(
        database, credentials, clients, disconnecting, BulkAccountRevoker(database, disconnecting, clients)
    )


@contextlib.asynccontextmanager
async def open_disconnect_services(
    deployment: Deployment, settings: Settings, *, sealing: bool = False
) -> AsyncGenerator[DisconnectServices]:
    """Open the disconnect services for a command. Where the vault's keys are lost no vendor can be told, and all else
    works, unless something has to be encrypted too.

    Raises:
        Invalid: `sealing`, and a key is missing, wrong or readable by others; the text names it.
    """
    async with contextlib.AsyncExitStack() as stack:
        database = await stack.enter_async_context(open_role_database(deployment, BROKER_ROLE, most=4))
        http = await stack.enter_async_context(open_vendor_http(settings))
        try:
            keys = await stack.enter_async_context(open_key_provider(deployment))
            vault = await open_vault(
                database, keys, clock=get_utc_now, guard=await load_deployment_guard(deployment, database)
            )
        except Invalid:
            if sealing:
                raise
            vault = Vault(InMemoryKeyProvider("", {}), NO_DEPLOYMENT, clock=get_utc_now)
        yield build_disconnect_services(database, vault, http, clock=get_utc_now)
