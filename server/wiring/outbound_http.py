"""HTTP clients of the broker: for metadata and keys of other servers, for sign-in, and for vendors' OAuth servers."""

import contextlib
from collections.abc import AsyncGenerator, Iterable
from urllib.parse import urlsplit

from broker.identity.settings import ProviderSettings
from broker.oauth_client.vendor_http import VendorHttpClient
from core.config.settings import Settings
from core.http.json_documents import JsonDocumentFetcher
from core.http.outbound_addresses import AllowedAddresses
from core.observability.tracing import NOOP_TRACER, Tracer

IDP_SECONDS = 10.0
"""For each request to an identity provider as a whole: people wait for it."""


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
async def open_idp_http(
    settings: Settings, providers: Iterable[ProviderSettings] = ()
) -> AsyncGenerator[JsonDocumentFetcher]:
    """Open the client of sign-in, which may reach the hosts of `providers`, those of the machine's own file."""
    listed = AllowedAddresses.from_hosts(settings.allowed_private_hosts).private_hosts
    named = {_split_host(url) for one in providers for url in (one.issuer, one.base_url, one.api_url) if url}
    http = JsonDocumentFetcher(AllowedAddresses(listed | named), seconds=IDP_SECONDS)
    await http.open()
    try:
        yield http
    finally:
        await http.close()


def _split_host(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


@contextlib.asynccontextmanager
async def open_vendor_http(settings: Settings, tracer: Tracer = NOOP_TRACER) -> AsyncGenerator[VendorHttpClient]:
    """Open the way there."""
    http = VendorHttpClient(AllowedAddresses.from_hosts(settings.allowed_private_hosts), tracer=tracer)
    await http.open()
    try:
        yield http
    finally:
        await http.close()
