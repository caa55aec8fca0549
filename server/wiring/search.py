"""The search engine of a process, from settings and its database."""

import contextlib
from collections.abc import AsyncGenerator
from typing import NamedTuple

from broker.interface import TenantKeyBroker
from core.config.search import SearchSettings
from core.config.settings import Settings
from core.db import Database
from core.errors import Invalid
from core.http.guarded_client import GuardedClient
from core.http.outbound_addresses import AllowedAddresses
from gateway.embedding_models import CallEmbedders
from gateway.tenant_keys import TenantKeys
from search.embedding.builtin import BUILTIN_MODEL
from search.embedding.http_models import OPENAI_URL, VOYAGE_URL
from search.embedding.registry import EmbedderRegistry, EmbeddingOptions, LocalModel
from search.engine import SearchEngine

VENDOR_CONNECTIONS = 8
VENDOR_URLS = {"voyage": VOYAGE_URL, "openai": OPENAI_URL}
"""Where keys of tenants are sent, by their kind."""
_DIMENSIONS = {
    "cl-nagoya/ruri-v3-30m": 256,
    "cl-nagoya/ruri-v3-70m": 384,
    "cl-nagoya/ruri-v3-130m": 512,
    "cl-nagoya/ruri-v3-310m": 768,
    "intfloat/multilingual-e5-small": 384,
    "intfloat/multilingual-e5-base": 768,
}
"""Of models of a hub that need not say it."""


class SearchRuntime(NamedTuple):
    """The engine of a process, and what embeds for it."""

    engine: SearchEngine
    embedders: CallEmbedders


@contextlib.asynccontextmanager
async def open_search_engine(
    settings: Settings, database: Database, broker: TenantKeyBroker
) -> AsyncGenerator[SearchRuntime]:
    """Open the engine. No model is loaded before a text is embedded. `broker` has the tenants' keys of vendors.

    Raises:
        Invalid: the embedding model of the settings is unknown.
    """
    client = GuardedClient(AllowedAddresses.from_hosts(settings.allowed_private_hosts), connections=VENDOR_CONNECTIONS)
    local = _read_local_model(settings.search)
    registry = EmbedderRegistry(EmbeddingOptions(threads=settings.search.threads, local=local), client)
    default = local.name if local is not None else settings.search.model or BUILTIN_MODEL.name
    registry.get_model(default)
    keys = {} if settings.search.voyage_key is None else {"voyage": settings.search.voyage_key}
    await client.open()
    try:
        embedders = CallEmbedders(registry, default, keys, TenantKeys(broker, VENDOR_URLS).get)
        yield SearchRuntime(SearchEngine(database, embedders, quota_bytes=settings.search_quota_mb << 20), embedders)
    finally:
        registry.close()
        await client.close()


def _read_local_model(settings: SearchSettings) -> LocalModel | None:
    """Read a model of a hub, ``owner/name`` or ``owner/name@dimensions``; None for any other."""
    name, _, dimensions = settings.model.partition("@")
    if "/" not in name:
        return None
    known = int(dimensions) if dimensions.isdigit() else _DIMENSIONS.get(name, 0)
    if not known:
        raise Invalid(f"EMBED_MODEL: write the dimensions of {name}, too, such as {name}@768")
    return LocalModel(name, name, known, settings.device)
