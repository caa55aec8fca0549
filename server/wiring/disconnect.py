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
from broker.vault.vault import Vault
from core.config.settings import Settings
from core.db import Database
from server.deployment import Deployment
from server.role_database import BROKER_ROLE, get_utc_now, open_role_database
from server.vault_keys import open_vault_if_possible
from server.wiring.outbound_http import open_vendor_http


@dataclass(frozen=True, slots=True)
class DisconnectServices:
    """Services that disconnect one account, or all accounts of a removed user, role or tenant."""

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
async def open_disconnect_services(deployment: Deployment, settings: Settings) -> AsyncGenerator[DisconnectServices]:
    """Open the disconnect services for a command. Without the vault's keys nothing is revoked at a vendor; everything
    else works."""
    async with (
        open_role_database(deployment, BROKER_ROLE, max_connections=4) as database,
        open_vendor_http(settings) as http,
        open_vault_if_possible(deployment, database) as vault,
    ):
        yield build_disconnect_services(database, vault, http, clock=get_utc_now)
