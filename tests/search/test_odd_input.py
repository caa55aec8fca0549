"""Odd documents and queries: the right answer, or a refusal that says what is wrong; and many writers at once."""

import asyncio
import time
from datetime import datetime
from typing import Any

import pytest

from core.errors import Invalid, LimitReached
from search.engine import SearchEngine
from search.records import (
    CollectionCaller,
    CollectionKind,
    DocumentCondition,
    DocumentDraft,
    SearchCollection,
    SearchScope,
    VersionChanged,
)
from tests.support.postgres import ScratchDatabase
from tests.support.search_engine import ToyEmbedders


def draft(text: str = "text", **options: Any) -> DocumentDraft:
    return DocumentDraft(**{"key": "k", "title": "", "text": text, **options})


REFUSED = {
    "an empty text": draft(""),
    "white space": draft(" \n\t　"),
    "ten megabytes of one line": draft("x" * 10_000_000),
    "a NUL": draft("a\0b"),
    "a lone surrogate": draft("a\ud800b"),
    "a NUL in the title": draft(title="a\0"),
    "a long title": draft(title="x" * 501),
    "an empty key": draft(key=""),
    "a long key": draft(key="x" * 501),
    "a key with a line": draft(key="a\nb"),
    "a key with a surrogate": draft(key="\udfff"),
    "a title of two lines": draft(title="a\n## b"),
    "a URL of two lines": draft(url="https://x.test\n## b"),
    "many tags": draft(tags=[str(n) for n in range(51)]),
    "an empty tag": draft(tags=[""]),
    "a long tag": draft(tags=["x" * 101]),
    "large metadata": draft(metadata={"x": "x" * 20_000}),
    "metadata that is no JSON": draft(metadata={"x": {1, 2}}),
    "metadata with a NUL": draft(metadata={"x": "a\0"}),
    "metadata with a surrogate": draft(metadata={"x": "\ud800"}),
    "a long URL": draft(url="x" * 2_001),
    "tiny chunks": draft(max_chunk_chars=3),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_what_cannot_be_stored_is_refused(name: str) -> None:
    """Before a connection is taken."""
    engine = SearchEngine(None, ToyEmbedders())  # pyright: ignore[reportArgumentType]
    caller: Any = None
    with pytest.raises(Invalid):
        await engine.put_document(caller, caller, REFUSED[name])


async def test_odd_documents_come_back_as_they_were(
    engine: SearchEngine, ada: CollectionCaller, notes: SearchCollection
) -> None:
    texts = {
        "one emoji": "🍵",
        "control characters": "a\x01b\x1b[31mc\x7f\u200b\u202e",
        "mixed normal forms": "が か\u3099 ﾊﾟ Ａｄａ ﬁn",
        "punctuation": "。、!? '\\\" :* | & ( ) <-> %_",
        "one long word": "x" * 50_000,
        "one long run": "日本" * 20_000,
        "a pattern of four megabytes": "ab日\n" * 250_000,
        "a title alone": "",
        "議事録　第1回 👩‍💻.md": "a name with a wide blank and joiners",
    }
    for key, text in texts.items():
        began = time.perf_counter()
        stored = await engine.put_document(ada, notes.id, draft(text, key=key, title=key if not text else ""))
        assert time.perf_counter() - began < 30
        loaded = await engine.get_document(ada, notes.id, key)
        assert loaded == stored, key
        assert loaded is not None
        assert loaded.text == text
        assert loaded.chunk_ranges[-1][1] <= len(text)
    for query, key in (("🍵", "one emoji"), ("が", "mixed normal forms"), ("fin", "mixed normal forms")):
        assert key in [hit.key for hit in await engine.search(ada, query, limit=50)], query
    word = await engine.search(ada, "x" * 100, scope=SearchScope.WORDS)
    assert {hit.key for hit in word} == {"one long word"}
    await engine.delete_document(ada, notes.id, "a pattern of four megabytes")


QUERIES = (
    "the of and",
    "のをに",
    "木",
    "🍵",
    "。",
    "' OR 1=1 --",
    "\\ :* & | !",
    "x" * 2_000,
    "日本" * 1_000,
    "ヴァ",
    "ー",
)


async def test_odd_queries_have_an_answer(engine: SearchEngine, ada: CollectionCaller, notes: SearchCollection) -> None:
    assert await engine.search(ada, "tea") == []
    await engine.put_document(ada, notes.id, draft("the tea of Ada and Bob。大木の下、のをに"))
    for query in QUERIES:
        for scope in SearchScope:
            await engine.search(ada, query, scope=scope)
    for query in ("the of and", "木", "大", "のをに", "下"):
        [hit] = await engine.search(ada, query, scope=SearchScope.WORDS)
        assert hit.coverage == pytest.approx(1), query
    for query in ("", " 　\n", "x" * 2_001, "a\0", "\ud800"):
        with pytest.raises(Invalid):
            await engine.search(ada, query)
    for limit in (0, -1, 51):
        with pytest.raises(Invalid):
            await engine.search(ada, "tea", limit=limit)
    for condition in (
        DocumentCondition(since=datetime(2026, 1, 1)),  # noqa: DTZ001 what is refused
        DocumentCondition(key_prefix="a\0"),
        DocumentCondition(metadata={"x": object()}),
        DocumentCondition(tags=["x"] * 51),
    ):
        with pytest.raises(Invalid):
            await engine.search(ada, "tea", condition=condition)
    for name in ("", "x" * 201, "a\nb", "\ud800"):
        with pytest.raises(Invalid):
            await engine.open_collection(ada, name)


async def test_ten_writers_to_one_document_lose_nothing_untold(
    engine: SearchEngine, ada: CollectionCaller, notes: SearchCollection, database: ScratchDatabase
) -> None:
    async with database.open("mcpist_gateway") as second:  # another process has its own locks
        engines = [engine, SearchEngine(second, ToyEmbedders())]
        told = await asyncio.gather(
            *(engines[n % 2].put_document(ada, notes.id, draft(f"text {n}"), expected_version=0) for n in range(10)),
            return_exceptions=True,
        )
        stored = [one for one in told if not isinstance(one, BaseException)]
        assert len(stored) == 1
        assert sum(isinstance(one, VersionChanged) for one in told) == 9
        versions = await asyncio.gather(
            *(engines[n % 2].put_document(ada, notes.id, draft(f"text {n} tea")) for n in range(10))
        )
        assert sorted(one.version for one in versions) == [*range(2, 12)]
    last = max(versions, key=lambda one: one.version)
    assert await engine.get_document(ada, notes.id, "k") == last
    async with database.admin_connection() as admin:
        counts = dict(await admin.fetch("SELECT token, chunks FROM search.token_counts"))
        assert await admin.fetchval("SELECT documents FROM search.collections") == 1
    assert set(counts.values()) == {1}
    assert set(counts) == {"text", "tea", (last.text or "").split()[1]}


async def test_writers_of_many_documents_count_right(
    engine: SearchEngine, ada: CollectionCaller, notes: SearchCollection, database: ScratchDatabase
) -> None:
    async def change(number: int) -> None:
        key = f"k{number % 5}"
        await engine.put_document(ada, notes.id, draft(f"tea number {number}", key=key))
        if number % 10 == 0:
            await engine.delete_document(ada, notes.id, key)

    await asyncio.gather(*(change(number) for number in range(40)))
    async with database.admin_connection() as admin:
        [row] = await admin.fetch(
            """SELECT c.documents, c.chunks, c.bytes, u.bytes AS usage, (SELECT count(*) FROM search.documents) AS d,
                (SELECT count(*) FROM search.chunks) AS n, (SELECT sum(bytes) FROM search.documents) AS size,
                coalesce((SELECT chunks FROM search.token_counts WHERE token = 'tea'), 0) AS tea
            FROM search.collections c, search.usage u"""
        )
    assert row["documents"] == row["d"] == row["chunks"] == row["n"] == row["tea"]
    assert row["bytes"] == row["usage"] == row["size"]


async def test_an_owner_has_a_limited_number_of_collections(
    engine: SearchEngine, ada: CollectionCaller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("search.collection_table.MAX_COLLECTIONS", 3)
    for number in range(3):
        await engine.open_collection(ada, f"c{number}")
    with pytest.raises(LimitReached):
        await engine.open_collection(ada, "c3")
    assert (await engine.open_collection(ada, "c0", CollectionKind.USER)).name == "c0"


async def test_a_search_looks_through_more_collections_than_one_owner_has(
    engine: SearchEngine, ada: CollectionCaller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of roles and of the tenant come on top."""
    monkeypatch.setattr("search.collection_table.MAX_COLLECTIONS", 101)
    one = await engine.open_collection(ada, "c")
    for number in range(100):
        one = await engine.open_collection(ada, f"c{number:03}")
    await engine.put_document(ada, one.id, draft("tea"))
    assert [hit.collection for hit in await engine.search(ada, "tea", scope=SearchScope.WORDS)] == [one.id]
    ids = [found.id for found in await engine.list_collections(ada)]
    assert len(ids) == 101
    assert await engine.search(ada, "tea", collections=ids)
