"""The quality of each method over both sets, measured once a process: it takes some seconds to embed them."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import cache

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
def index_company() -> Indexes:
    """Index the small set, by language."""
    return index_passages(read_company_passages(), read_company_questions())


@cache
def index_debian() -> Indexes:
    """Index the large set, by language. Its packages are installed (:func:`has_debian_documents`)."""
    assert has_debian_documents()
    return index_passages(read_debian_passages(), read_debian_questions())


def index_passages(passages: Mapping[str, Sequence[Passage]], questions: Sequence[Question]) -> Indexes:
    """Embed passages and questions, and index the passages by language."""
    texts = [one.text for language in LANGUAGES for one in passages[language]]
    texts += [question.text for question in questions]
    vectors = dict(zip(texts, asyncio.run(_embed(texts)), strict=True))
    return {language: MemorySearch(BUILTIN_MODEL, passages[language], vectors) for language in LANGUAGES}


def measure_method(indexes: Indexes, questions: Sequence[Question], method: str) -> Quality:
    """Measure one of METHODS."""
    search = METHODS[method]
    return measure_quality([find_rank(search(indexes[one.among], one.text), one.answer) for one in questions])


def list_debian_questions(language: str, half: Half) -> list[Question]:
    """List the questions of the large set in a language, of one half."""
    return [one for one in read_debian_questions() if (one.language, one.half) == (language, half)]


async def _embed(texts: Sequence[str]) -> Sequence[Vector]:
    embedder = BuiltinEmbedder(threads=2)
    try:
        return await embedder.embed_documents(texts)
    finally:
        embedder.close()
