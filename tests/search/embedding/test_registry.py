"""A model's name leads to its dimensions, its vendor and what embeds by it."""

from collections.abc import Iterator

import pytest

from core.http.guarded_client import GuardedClient
from core.http.outbound_addresses import AllowedAddresses
from search.embedding.builtin import BUILTIN_MODEL, BuiltinEmbedder
from search.embedding.http_models import HttpEmbedder
from search.embedding.local_models import LocalEmbedder
from search.embedding.model import EmbeddingModelUnknown
from search.embedding.registry import EmbedderRegistry, EmbeddingOptions, LocalModel

RURI = LocalModel("cl-nagoya/ruri-v3-30m", "cl-nagoya/ruri-v3-30m", 256)


@pytest.fixture
def registry() -> Iterator[EmbedderRegistry]:
    made = EmbedderRegistry(EmbeddingOptions(local=RURI), GuardedClient(AllowedAddresses(), connections=1))
    yield made
    made.close()


@pytest.mark.parametrize(
    ("name", "dimensions", "vendor", "kind"),
    [
        (BUILTIN_MODEL.name, 512, "", BuiltinEmbedder),
        (RURI.name, 256, "", LocalEmbedder),
        ("voyage-3-lite", 512, "Voyage", HttpEmbedder),
        ("voyage-4-lite", 1024, "Voyage", HttpEmbedder),
        ("voyage-4-lite@512", 512, "Voyage", HttpEmbedder),
        ("text-embedding-3-small", 1536, "OpenAI", HttpEmbedder),
        ("text-embedding-3-large@1024", 1024, "OpenAI", HttpEmbedder),
        ("openai:bge-m3@1024", 1024, "the embedding service", HttpEmbedder),
    ],
)
def test_known_names(registry: EmbedderRegistry, name: str, dimensions: int, vendor: str, kind: type) -> None:
    model = registry.get_model(name)
    assert (model.name, model.dimensions) == (name, dimensions)
    assert registry.find_vendor(name) == vendor
    embedder = registry.get_embedder(name)
    assert isinstance(embedder, kind)
    assert embedder.model == model


@pytest.mark.parametrize(
    "name",
    [
        "",
        "other",
        "voyage-3-lite@1024",
        "voyage-9999",
        "voyage-4@300",
        "text-embedding-3-small@2000",
        "text-embedding-ada-002@512",
        "openai:bge-m3",
        "openai:@512",
        "openai:x@9999",
        "cl-nagoya/ruri-v3-70m",
        "a b",
        "x" * 5_000,
        "\u202e",
    ],
)
def test_other_names_are_refused(registry: EmbedderRegistry, name: str) -> None:
    for ask in (registry.get_model, registry.find_vendor, registry.get_embedder):
        with pytest.raises(EmbeddingModelUnknown) as caught:
            ask(name)
        assert len(str(caught.value)) < 200
        assert str(caught.value).isprintable()


def test_one_embedder_holds_the_weights(registry: EmbedderRegistry) -> None:
    assert registry.get_embedder(BUILTIN_MODEL.name) is registry.get_embedder(BUILTIN_MODEL.name)
