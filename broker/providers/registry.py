"""Lookup of providers for the connect flow: the built-in ones and a tenant's own."""

from typing import Any

import orjson

from broker.providers.catalogue import ProviderCatalogue
from broker.providers.schema import Provider
from core.db import UnitOfWork


class ProviderRegistry:
    """All providers of all tenants."""

    def __init__(self, own: ProviderCatalogue) -> None:
        self.own = own

    async def find(self, work: UnitOfWork, provider: str) -> Provider | None:
        """The provider of that id; None where the tenant has none, or its document cannot be used."""
        return self.own.known.get(provider) or self._parse_usable(provider, await work.fetchval(_DOCUMENT, provider))

    async def find_and_lock(self, work: UnitOfWork, provider: str) -> Provider | None:
        """The same, and it stays as it is until the work is done: for what is going to stand on it."""
        return self.own.known.get(provider) or self._parse_usable(provider, await work.fetchval(_HOLD, provider))

    async def load_all(self, work: UnitOfWork) -> ProviderCatalogue:
        """Every provider that the tenant has, and which of its own are broken."""
        rows = await work.fetch(_DOCUMENTS)
        return self.own.merge_custom((row["id"], _parse_document(row["document"])) for row in rows)

    def _parse_usable(self, provider: str, document: Any) -> Provider | None:
        return (
            None
            if document is None
            else self.own.merge_custom([(provider, _parse_document(document))]).known.get(provider)
        )


def _parse_document(document: Any) -> dict[str, Any]:
    return orjson.loads(document)


_DOCUMENT = "SELECT document FROM vault.providers WHERE tenant_id = $1 AND id = $2"
_HOLD = "SELECT document FROM vault.providers WHERE tenant_id = $1 AND id = $2 FOR SHARE"
_DOCUMENTS = "SELECT id, document FROM vault.providers WHERE tenant_id = $1 ORDER BY id LIMIT 200"
