"""Embedding models of sentence-transformers, run here: the extra ``sentence-transformers``, for better Japanese.

The model lies on this machine's disk (a folder, or the library's cache); loading asks no hub unless that is allowed.
"""

import asyncio
import importlib
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from search.embedding.builtin import clean_text
from search.embedding.model import (
    EmbeddingAnswerUnusable,
    EmbeddingModel,
    EmbeddingModelUnknown,
    EmbeddingRefused,
    Vector,
)

BATCH_TEXTS = 8


class LocalEmbedder:
    """Implements :class:`search.embedding.model.Embedder` by SentenceTransformer. One for a process.

    `path` is a folder or a name; `prefixes` stand before a question and a passage, as the model was trained.
    """

    def __init__(
        self,
        model: EmbeddingModel,
        *,
        path: str,
        device: str = "cpu",
        prefixes: tuple[str, str] = ("", ""),
        offline: bool = True,
    ) -> None:
        self.model = model
        self._path = path
        self._device = device
        self._query_prefix, self._document_prefix = prefixes
        self._offline = offline
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="embed-local")
        self._loading = threading.Lock()
        self._encoder: Any = None

    @property
    def is_loaded(self) -> bool:
        """Whether the weights are in memory."""
        return self._encoder is not None

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Embed passages, in their order.

        Raises:
            EmbeddingError: the library or the model is missing, or it has other dimensions.
        """
        vectors: list[Vector] = []
        for start in range(0, len(texts), BATCH_TEXTS):
            batch = [self._document_prefix + clean_text(text) for text in texts[start : start + BATCH_TEXTS]]
            vectors += await self._run(batch)
        return vectors

    async def embed_query(self, text: str) -> Vector:
        """Embed a question or a few words.

        Raises:
            EmbeddingError: the library or the model is missing, or it has other dimensions.
        """
        [vector] = await self._run([self._query_prefix + clean_text(text)])
        return vector

    def close(self) -> None:
        """End the thread; what waits for it fails."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _run(self, texts: list[str]) -> list[Vector]:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._embed, texts)

    def _embed(self, texts: list[str]) -> list[Vector]:
        rows = self._load().encode(
            texts, batch_size=BATCH_TEXTS, normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False
        )
        if rows.shape != (len(texts), self.model.dimensions):
            raise EmbeddingAnswerUnusable(f"{self.model.name} has other dimensions than its collections")
        return list(rows.astype("float32", copy=False))

    def _load(self) -> Any:
        with self._loading:
            if self._encoder is None:
                self._encoder = self._make_encoder()
        return self._encoder

    def _make_encoder(self) -> Any:
        library = import_sentence_transformers()
        try:
            return library.SentenceTransformer(self._path, device=self._device, local_files_only=self._offline)
        except (OSError, ValueError, RuntimeError):
            raise EmbeddingRefused(
                f"{self.model.name} could not be loaded: it has to be a folder or in the cache of this machine",
                is_transient=False,
            ) from None


def import_sentence_transformers() -> Any:
    """Import the library.

    Raises:
        EmbeddingModelUnknown: it is not installed.
    """
    try:
        return importlib.import_module("sentence_transformers")
    except ImportError:
        raise EmbeddingModelUnknown(
            "Models of sentence-transformers need their library: pip install 'mcpist[sentence-transformers]'"
        ) from None
