"""The way of one broker process to vendors' OAuth servers, and the accounts that it keeps fresh there."""

import contextlib
from collections.abc import AsyncGenerator

from broker.accounts.accounts import Accounts
from broker.connect.provider_book import ProviderBook
from broker.providers.catalogue import own_providers
from broker.refresh.service import kept_fresh
from broker.vault.vault import Vault
from broker.vendor_oauth.token_endpoint import VendorTokenEndpoint
from broker.vendor_oauth.wire import VendorHttp
from core.db import Database
from core.outbound.addresses import AllowedAddresses
from core.settings import Settings
from gateway.deployment import Deployment

SPOOL = "answers"


@contextlib.asynccontextmanager
async def vendor_http(settings: Settings) -> AsyncGenerator[VendorHttp]:
    """The way there."""
    http = VendorHttp(AllowedAddresses.of(settings.allowed_private_hosts))
    await http.open()
    try:
        yield http
    finally:
        await http.close()


def vendor_accounts(
    deployment: Deployment, database: Database, vault: Vault, http: VendorHttp
) -> contextlib.AbstractAsyncContextManager[Accounts]:
    """The accounts of all tenants, kept fresh until the block is left.

    Raises:
        core.errors.Unavailable: the database is away.
    """
    book, endpoint = ProviderBook(own_providers()), VendorTokenEndpoint(http)
    return kept_fresh(database, vault, book, endpoint, deployment.home / SPOOL)
