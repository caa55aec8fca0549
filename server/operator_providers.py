"""The operator's way to providers: by the broker's own database role, and to servers that are asked what they are."""

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from uuid import UUID

from broker.providers.catalogue import ProviderRegistry, load_builtin_providers
from broker.providers.custom import CustomProviders
from broker.providers.discovery import MetadataDiscovery
from broker.providers.views import ProviderViews
from core.config.settings import Settings
from core.errors import NotFound
from core.http.json_documents import JsonDocumentFetcher
from core.http.outbound_addresses import AllowedAddresses
from server.operator_context import OperatorContext
from server.role_database import BROKER_ROLE, open_role_database


@dataclass(frozen=True, slots=True)
class ProviderAdministration:
    """What administers providers."""

    views: ProviderViews
    custom_providers: CustomProviders
    discovery: MetadataDiscovery

    async def find_version(self, tenant_id: UUID, provider: str) -> int | None:
        """The version of a provider that was added; None where there is none, or it is one of MCPist's own."""
        try:
            found, _ = await self.custom_providers.find(tenant_id, provider)
        except NotFound:
            return None
        return None if found is None else found.version


@contextlib.asynccontextmanager
async def open_provider_administration(
    operating: OperatorContext, settings: Settings
) -> AsyncGenerator[ProviderAdministration]:
    """Providers, to show and to change; `settings` name the public URL and the hosts that may be asked."""
    allow = AllowedAddresses.from_hosts(settings.allowed_private_hosts)
    modules = [module.name for module in operating.catalogue.modules if module.vendor is not None]
    documents = JsonDocumentFetcher(allow)
    await documents.open()
    try:
        async with open_role_database(operating.deployment, BROKER_ROLE, most=2) as database:
            book = ProviderRegistry(load_builtin_providers())
            added = CustomProviders(database, book, allow, modules)
            yield ProviderAdministration(
                ProviderViews(database, book, added, settings.public_url), added, MetadataDiscovery(documents)
            )
    finally:
        await documents.close()
