"""Documents made ready to be stored: divided, embedded and tokenized, before any lock is taken."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from core.concurrency.cooperative_steps import LARGE_STEP_BYTES, wait_for_turn
from core.errors import MCPistError
from search.chunks import Chunk, split_document
from search.embedding.model import Embedder, EmbeddingModel, format_vector
from search.index_tokens import collect_tokens
from search.records import DocumentDraft
from search.validation import encode_metadata

LARGE_TEXT_CHARS = 20_000
"""From here on a text is divided in a thread: 4 ms."""
MAX_PASSAGE_CHARS = 4_000
"""Characters of a chunk that are embedded: the built-in model reads no more, and every vendor's takes them. Chunks of a
model's own size have fewer."""
BYTES_OF_A_NUMBER = 2
BYTES_OF_A_ROW = 64
"""Of a chunk beside its vector and tokens, and of a document beside its texts: what the quota counts for it."""


class TooManyVectors(MCPistError):
    """The embedding model has not given one vector for each text."""


@dataclass(frozen=True, slots=True)
class PreparedChunk:
    """A chunk with its vector as PostgreSQL reads it (``{0.25,-0.5}``), and the tokens that find it."""

    chunk: Chunk
    vector: str
    tokens: frozenset[str]


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document as it is stored; `generation` is that of the collection whose model has embedded it."""

    draft: DocumentDraft
    metadata: str
    generation: int
    chunks: Sequence[PreparedChunk]
    bytes: int


async def prepare_document(draft: DocumentDraft, embedder: Embedder, generation: int) -> PreparedDocument:
    """Divide, embed and tokenize a document.

    Raises:
        search.embedding.model.EmbeddingError: the model failed.
    """
    chunks = await _divide(draft, embedder.model)
    vectors = await embedder.embed_documents([_build_passage(draft, chunk)[:MAX_PASSAGE_CHARS] for chunk in chunks])
    if len(vectors) != len(chunks):
        raise TooManyVectors("the embedding model has not given one vector for each text")
    prepared: list[PreparedChunk] = []
    for chunk, vector in zip(chunks, vectors, strict=True):
        await wait_for_turn(LARGE_STEP_BYTES + 1)
        written = format_vector(vector)
        kept = chunk if draft.keep_text else Chunk("", chunk.start, chunk.length)
        prepared.append(PreparedChunk(kept, "{" + written[1:-1] + "}", _collect_chunk_tokens(draft, chunk)))
    metadata = encode_metadata(draft.metadata)
    size = _measure(draft, metadata) + sum(_measure_chunk(one, embedder.model.dimensions) for one in prepared)
    return PreparedDocument(draft, metadata, generation, prepared, size)


async def _divide(draft: DocumentDraft, model: EmbeddingModel) -> Sequence[Chunk]:
    """Divide a text into chunks of the document's own size, or else of the model's. One that fits into a chunk of the
    document's own size is not divided, whatever headings it has."""
    most, most_cjk = model.max_chars, model.max_cjk_chars
    if draft.max_chunk_chars is not None:
        if len(draft.text) <= draft.max_chunk_chars:
            return [Chunk("", 0, len(draft.text))]
        most = most_cjk = draft.max_chunk_chars
    if len(draft.text) < LARGE_TEXT_CHARS:
        chunks = split_document(draft.text, max_chars=most, max_cjk_chars=most_cjk)
    else:
        chunks = await asyncio.to_thread(split_document, draft.text, max_chars=most, max_cjk_chars=most_cjk)
    return chunks or [Chunk("", 0, 0)]


def _build_passage(draft: DocumentDraft, chunk: Chunk) -> str:
    """Build the text by which a chunk is found."""
    text = draft.text[chunk.start : chunk.start + chunk.length]
    return "\n".join(part for part in (draft.title, chunk.heading, text) if part)


def _collect_chunk_tokens(draft: DocumentDraft, chunk: Chunk) -> frozenset[str]:
    """Collect what finds a chunk: of a text that is not kept, its title alone."""
    return collect_tokens(_build_passage(draft, chunk) if draft.keep_text else draft.title)


def _measure(draft: DocumentDraft, metadata: str) -> int:
    kept = [draft.key, draft.title, draft.url, metadata, *draft.tags, draft.text if draft.keep_text else ""]
    return BYTES_OF_A_ROW + sum(len(text.encode()) for text in kept)


def _measure_chunk(prepared: PreparedChunk, dimensions: int) -> int:
    tokens = sum(len(token.encode()) + 8 for token in prepared.tokens)
    return BYTES_OF_A_ROW + BYTES_OF_A_NUMBER * dimensions + tokens + len(prepared.chunk.heading.encode())
