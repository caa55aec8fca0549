"""An embedding model without weights for tests of the search engine: texts that share words are near each other."""

import functools
import zlib
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import numpy as np

from search.embedding.builtin import BUILTIN_MODEL
from search.embedding.model import Embedder, EmbeddingModel, EmbeddingModelUnknown, Vector
from search.tokens import tokenize

TOY_MODEL = EmbeddingModel("toy", 512, 0.15, 800, 400)
SMALL_MODEL = EmbeddingModel("toy-small", 64, 0.15, 300, 150)


class ToyEmbedder:
    """Sums a fixed random vector for each token. `texts` are all that it was asked to embed."""

    def __init__(self, model: EmbeddingModel = TOY_MODEL) -> None:
        self.model = model
        self.texts: list[str] = []

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        self.texts += texts
        return [_embed(text, self.model.dimensions) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        self.texts.append(text)
        return _embed(text, self.model.dimensions)


@functools.lru_cache(2_000)
def _embed(text: str, dimensions: int) -> Vector:
    total = np.zeros(dimensions, dtype=np.float32)
    for token in [*tokenize(text)] or [text]:
        total += _make_vector(token, dimensions)
    total /= np.float32(np.linalg.norm(total))
    total.flags.writeable = False
    return total


@functools.lru_cache(2_000)
def _make_vector(token: str, dimensions: int) -> Vector:
    seed = zlib.crc32(token.encode(errors="replace"))
    return np.random.default_rng(seed).standard_normal(dimensions, dtype=np.float32)


def encode_alike(texts: Sequence[str]) -> Any:
    """Encode all texts as the same vector at no cost, in place of the built-in model's encoder, where a test is about
    much text and not about its meaning."""
    return np.full((len(texts), BUILTIN_MODEL.dimensions), BUILTIN_MODEL.dimensions**-0.5, dtype=np.float32)


class ToyEmbedders:
    """Implements :class:`search.engine.Embedders` with toys; `default` is the model of new collections."""

    def __init__(self, default: EmbeddingModel = TOY_MODEL) -> None:
        self.default = default
        self.toys = {model.name: ToyEmbedder(model) for model in (TOY_MODEL, SMALL_MODEL)}

    async def get_default_model(self, tenant_id: UUID) -> str:
        return self.default.name

    async def get_embedder(self, tenant_id: UUID, model: str) -> Embedder:
        if model not in self.toys:
            raise EmbeddingModelUnknown("there is no such model")
        return self.toys[model]
