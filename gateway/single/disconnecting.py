"""What ends accounts at vendors, put together: for the running broker, and for commands that remove something."""

import contextlib
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from datetime import datetime

from broker.connect.accounts import AccountRows
from broker.connect.disconnecting import Disconnecting
from broker.connect.farewell import VendorFarewell
from broker.connect.oauth_clients import OAuthClients
from broker.connect.provider_book import ProviderBook
from broker.providers.catalogue import own_providers
from broker.vault.credentials import Credentials
from broker.vault.keys import LocalKeys
from broker.vault.vault import Vault, open_vault
from broker.vendor_oauth.token_endpoint import VendorTokenEndpoint
from broker.vendor_oauth.wire import VendorHttp
from core.db import Database
from core.errors import Invalid
from core.settings import Settings
from gateway.deployment import Deployment
from gateway.single.operator import BROKER, connected, now
from gateway.single.vault_access import NO_DEPLOYMENT, guard_of, opened_keys
from gateway.single.vendor_oauth import vendor_http


@dataclass(frozen=True, slots=True)
class Ends:
    """One account at a time, or all of whoever is removed; with what both work with."""

    database: Database
    credentials: Credentials
    clients: OAuthClients
    disconnecting: Disconnecting
    farewell: VendorFarewell


def ends_of(database: Database, vault: Vault, http: VendorHttp, *, clock: Callable[[], datetime]) -> Ends:
    """`database` is in the broker's role."""
    book, credentials = ProviderBook(own_providers()), Credentials(database, vault, clock=clock)
    clients, endpoint = OAuthClients(database, vault, book), VendorTokenEndpoint(http)
    disconnecting = Disconnecting(database, AccountRows(vault), clients, book, endpoint, credentials)
    return Ends(database, credentials, clients, disconnecting, VendorFarewell(database, disconnecting, clients))


@contextlib.asynccontextmanager
async def opened_ends(deployment: Deployment, settings: Settings, *, sealing: bool = False) -> AsyncGenerator[Ends]:
    """For a command. Where the vault's keys are lost nothing can be told to a vendor, and all else works, unless
    something has to be sealed too.

    Raises:
        Invalid: `sealing`, and a key is missing, wrong or readable by others; the text names it.
    """
    async with contextlib.AsyncExitStack() as stack:
        database = await stack.enter_async_context(connected(deployment, BROKER, most=4))
        http = await stack.enter_async_context(vendor_http(settings))
        try:
            keys = await stack.enter_async_context(opened_keys(deployment))
            vault = await open_vault(database, keys, clock=now, guard=await guard_of(deployment, database))
        except Invalid:
            if sealing:
                raise
            vault = Vault(LocalKeys("", {}), NO_DEPLOYMENT, clock=now)
        yield ends_of(database, vault, http, clock=now)
