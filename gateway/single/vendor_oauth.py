"""The way of one broker process to vendors' OAuth servers, and the accounts that it keeps fresh there."""

import contextlib
from collections.abc import AsyncGenerator

from broker.accounts.accounts import AccountTokenService
from broker.connect.provider_book import ProviderRegistry
from broker.providers.catalogue import load_builtin_providers
from broker.refresh.service import run_refresher
from broker.vault.vault import Vault
from broker.vendor_oauth.token_endpoint import HttpTokenEndpointClient
from broker.vendor_oauth.wire import VendorHttpClient
from core.db import Database
from core.outbound.addresses import AllowedAddresses
from core.settings import Settings
from gateway.deployment import Deployment

SPOOL_FOLDER = "answers"


@contextlib.asynccontextmanager
async def open_vendor_http(settings: Settings) -> AsyncGenerator[VendorHttpClient]:
    """The way there."""
    http = VendorHttpClient(AllowedAddresses.from_hosts(settings.allowed_private_hosts))
    await http.open()
    try:
        yield http
    finally:
        await http.close()


def open_vendor_accounts(
    deployment: Deployment, database: Database, vault: Vault, http: VendorHttpClient
) -> contextlib.AbstractAsyncContextManager[AccountTokenService]:
    """The accounts of all tenants, kept fresh until the block is left.

    Raises:
        core.errors.Unavailable: the database is away.
    """
    book, endpoint = ProviderRegistry(load_builtin_providers()), HttpTokenEndpointClient(http)
    return run_refresher(database, vault, book, endpoint, deployment.home / SPOOL_FOLDER)
