"""Vendor accounts of one broker process: asked for by leases, refreshed ahead of time, brought to an end in order."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator

from broker.accounts.accounts import Accounts
from broker.connect.provider_book import ProviderBook
from broker.providers.catalogue import own_providers
from broker.refresh.attempt import boottime
from broker.refresh.refresher import Tools
from broker.refresh.settle import Settler
from broker.refresh.spool import Spool
from broker.refresh.sweeper import Sweeper
from broker.refresh.timing import Timing
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
    """The way to vendors' OAuth servers."""
    http = VendorHttp(AllowedAddresses.of(settings.allowed_private_hosts))
    await http.open()
    try:
        yield http
    finally:
        await http.close()


@contextlib.asynccontextmanager
async def refreshed_accounts(
    deployment: Deployment, database: Database, vault: Vault, http: VendorHttp
) -> AsyncGenerator[Accounts]:
    """The accounts; at the end no refresh begins any more, and those under way get their time.

    Raises:
        core.errors.Unavailable: the database is away.
    """
    timing, spool = Timing(), Spool(deployment.home / SPOOL)
    spool.open()
    settler = Settler(database, vault, spool, timing, boottime)
    accounts = Accounts(
        Tools(database, vault, ProviderBook(own_providers()), VendorTokenEndpoint(http), settler, timing)
    )
    await accounts.open()
    sweeping = asyncio.create_task(Sweeper(accounts, database, timing).run(), name="account sweeper")
    try:
        yield accounts
    finally:
        sweeping.cancel()
        await asyncio.wait([sweeping])
        await accounts.drain()
