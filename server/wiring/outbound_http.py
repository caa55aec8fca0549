"""HTTP clients of the broker: for metadata and keys of other servers, for sign-in, and for vendors' OAuth servers."""

import contextlib
from collections.abc import AsyncGenerator

from broker.identity.providers.idp_client import create_idp_documents
from broker.identity.settings import IdentitySettings
from broker.oauth_client.vendor_http import VendorHttpClient
from core.config.settings import Settings
from core.http.json_documents import JsonDocumentFetcher
from core.http.outbound_addresses import AllowedAddresses


@contextlib.asynccontextmanager
async def open_documents(settings: Settings) -> AsyncGenerator[JsonDocumentFetcher]:
    """Open the client that reads metadata and keys of other servers."""
    documents = JsonDocumentFetcher(AllowedAddresses.from_hosts(settings.allowed_private_hosts))
    await documents.open()
    try:
        yield documents
    finally:
        await documents.close()


@contextlib.asynccontextmanager
async def open_idp_http(settings: Settings, identity: IdentitySettings) -> AsyncGenerator[JsonDocumentFetcher]:
    """Open the client of sign-in, which may reach the hosts of the identity providers."""
    http = create_idp_documents(identity.providers, settings.allowed_private_hosts)
    await http.open()
    try:
        yield http
    finally:
        await http.close()


@contextlib.asynccontextmanager
async def open_vendor_http(settings: Settings) -> AsyncGenerator[VendorHttpClient]:
    """Open the way there."""
    http = VendorHttpClient(AllowedAddresses.from_hosts(settings.allowed_private_hosts))
    await http.open()
    try:
        yield http
    finally:
        await http.close()
