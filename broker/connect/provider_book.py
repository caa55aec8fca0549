"""Where the connect flow finds providers: those that come with the product, and a tenant's own."""

from typing import Any

import orjson

from broker.providers.catalogue import Providers
from broker.providers.model import Provider
from core.db import UnitOfWork


class ProviderBook:
    """All providers of all tenants."""

    def __init__(self, own: Providers) -> None:
        self.own = own

    async def find(self, work: UnitOfWork, provider: str) -> Provider | None:
        """The provider of that id; None where the tenant has none, or its document cannot be used."""
        return self.own.known.get(provider) or self._usable(provider, await work.fetchval(_DOCUMENT, provider))

    async def hold(self, work: UnitOfWork, provider: str) -> Provider | None:
        """The same, and it stays as it is until the work is done: for what is going to stand on it."""
        return self.own.known.get(provider) or self._usable(provider, await work.fetchval(_HOLD, provider))

    async def all(self, work: UnitOfWork) -> Providers:
        """Every provider that the tenant has, and which of its own are broken."""
        rows = await work.fetch(_DOCUMENTS)
        return self.own.of((row["id"], _read(row["document"])) for row in rows)

    def _usable(self, provider: str, document: Any) -> Provider | None:
        return None if document is None else self.own.of([(provider, _read(document))]).known.get(provider)


def _read(document: Any) -> dict[str, Any]:
    return orjson.loads(document)


_DOCUMENT = "SELECT document FROM vault.providers WHERE tenant_id = $1 AND id = $2"
_HOLD = "SELECT document FROM vault.providers WHERE tenant_id = $1 AND id = $2 FOR SHARE"
_DOCUMENTS = "SELECT id, document FROM vault.providers WHERE tenant_id = $1 ORDER BY id LIMIT 200"
