"""The operator's way to providers: by the broker's own database role, and to servers that are asked what they are."""

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from uuid import UUID

from broker.connect.added_providers import AddedProviders
from broker.connect.provider_book import ProviderBook
from broker.connect.shown_providers import ShownProviders
from broker.providers.catalogue import own_providers
from broker.providers.discovery import Discovery
from core.errors import NotFound
from core.outbound.addresses import AllowedAddresses
from core.outbound.documents import Documents
from core.settings import Settings
from gateway.single.operator import BROKER, Operator, connected


@dataclass(frozen=True, slots=True)
class OpenedProviders:
    """What administers providers."""

    shown: ShownProviders
    added: AddedProviders
    discovery: Discovery

    async def version(self, tenant_id: UUID, provider: str) -> int | None:
        """The version of a provider that was added; None where there is none, or it is one of MCPist's own."""
        try:
            found, _ = await self.added.find(tenant_id, provider)
        except NotFound:
            return None
        return None if found is None else found.version


@contextlib.asynccontextmanager
async def opened_providers(operating: Operator, settings: Settings) -> AsyncGenerator[OpenedProviders]:
    """Providers, to show and to change; `settings` name the public URL and the hosts that may be asked."""
    allow = AllowedAddresses.of(settings.allowed_private_hosts)
    modules = [module.name for module in operating.catalogue.modules if module.vendor is not None]
    documents = Documents(allow)
    await documents.open()
    try:
        async with connected(operating.deployment, BROKER, most=2) as database:
            book = ProviderBook(own_providers())
            added = AddedProviders(database, book, allow, modules)
            yield OpenedProviders(
                ShownProviders(database, book, added, settings.public_url), added, Discovery(documents)
            )
    finally:
        await documents.close()
