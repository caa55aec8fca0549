"""Embedding models for the calls of a gateway, with the key of the caller's tenant where a vendor embeds."""

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from uuid import UUID

from core.secret import Secret
from gateway.mcp.request_context import RequestContext
from search.embedding.model import Embedder
from search.embedding.registry import EmbedderRegistry

LeaseKey = Callable[[RequestContext, str], Awaitable[Secret | None]]
"""Leases the tenant's key for a vendor of embeddings (``voyage``, ``openai``) in the name of a request's caller."""

CURRENT_REQUEST: ContextVar[RequestContext | None] = ContextVar("CURRENT_REQUEST", default=None)
"""The request that the search engine works for."""


async def lease_no_key(_request: RequestContext, _vendor: str) -> Secret | None:
    """Lease no key: tenants have none."""
    return None


class CallEmbedders:
    """Implements :class:`search.engine.Embedders`. `default_model` is that of new collections; `deployment_keys` count
    for tenants without a key of their own, by vendor."""

    def __init__(
        self,
        registry: EmbedderRegistry,
        default_model: str,
        deployment_keys: dict[str, Secret],
        lease_key: LeaseKey = lease_no_key,
    ) -> None:
        self._registry = registry
        self._default_model = default_model
        self._deployment_keys = deployment_keys
        self._lease_key = lease_key

    def describe(self) -> Mapping[str, str | bool]:
        """Describe where vectors are stored and what makes them, for ``/healthcheck``."""
        is_loaded = self._registry.is_loaded(self._default_model)
        return {"store": "postgresql", "embedding_model": self._default_model, "embedding_model_loaded": is_loaded}

    async def get_default_model(self, tenant_id: UUID) -> str:
        """Return the name of the model that new collections get."""
        return self._default_model

    async def get_embedder(self, tenant_id: UUID, model: str) -> Embedder:
        """Return what embeds by a model.

        Raises:
            search.embedding.model.EmbeddingError: there is no such model.
        """
        vendor = self._registry.find_vendor(model).lower()
        if not vendor:
            return self._registry.get_embedder(model)
        request = CURRENT_REQUEST.get()
        key = None if request is None else await self._lease_key(request, vendor)
        return self._registry.get_embedder(model, key or self._deployment_keys.get(vendor))
