"""A collection gets another embedding model while it is searched and written to."""

from collections.abc import AsyncIterator

import pytest

from core.errors import Conflict
from search.embedding.model import EmbeddingModelUnknown, EmbeddingRefused
from search.engine import SearchEngine
from search.records import CollectionCaller, DocumentDraft, SearchCollection, SearchScope
from tests.support.postgres import ScratchDatabase
from tests.support.search_engine import SMALL_MODEL, TOY_MODEL, ToyEmbedders

LONG = "Ada likes green tea. " * 30
"""One chunk by the one model, and three by the other."""


@pytest.fixture
def embedders() -> ToyEmbedders:
    return ToyEmbedders()


@pytest.fixture
async def engine(database: ScratchDatabase, embedders: ToyEmbedders) -> AsyncIterator[SearchEngine]:
    async with database.open("mcpist_gateway") as gateway:
        yield SearchEngine(gateway, embedders)


@pytest.fixture
async def ada(make_tenant) -> CollectionCaller:
    tenant = await make_tenant()
    return CollectionCaller(tenant.id, tenant.users[0], "rag")


@pytest.fixture
async def notes(engine: SearchEngine, ada: CollectionCaller) -> SearchCollection:
    notes = await engine.open_collection(ada, "notes")
    for number in range(20):
        await engine.put_document(ada, notes.id, DocumentDraft(f"k{number:02}", f"Number {number}", LONG))
    return notes


async def test_searches_find_by_the_old_model_until_all_is_embedded(
    engine: SearchEngine, ada: CollectionCaller, notes: SearchCollection, embedders: ToyEmbedders
) -> None:
    told: list[int] = []

    async def look(done: int, documents: int) -> None:
        if len(told) == 3:  # else it would never end
            return
        told.append(done)
        key = f"meanwhile{len(told)}"
        await engine.put_document(ada, notes.id, DocumentDraft(key, "", "Bob likes coffee."))
        [info] = await engine.list_collections(ada)
        assert (info.model, info.documents, info.chunks) == (TOY_MODEL.name, 20 + len(told), 20 + len(told))
        found = await engine.search(ada, "Bob likes coffee", limit=50)
        assert {hit.key for hit in found if hit.similarity > 0.9} == {f"meanwhile{n + 1}" for n in range(len(told))}

    done = await engine.reembed(ada, notes.id, SMALL_MODEL.name, look)
    assert done == 20 + len(told)
    [info] = await engine.list_collections(ada)
    stored = await engine.get_document(ada, notes.id, "k00")
    assert stored is not None
    assert (info.model, stored.chunks, len(stored.chunk_ranges)) == (SMALL_MODEL.name, 3, 3)
    assert stored.version == 1
    assert info.chunks == 20 * 3 + info.documents - 20
    [hit, *_] = await engine.search(ada, "Number 7", scope=SearchScope.WORDS)
    assert hit.key == "k07"
    asked = len(embedders.toys[TOY_MODEL.name].texts)
    assert (await engine.search(ada, "coffee"))[0].text == "Bob likes coffee."
    assert len(embedders.toys[TOY_MODEL.name].texts) == asked
    assert await engine.reembed(ada, notes.id, SMALL_MODEL.name) == 0


async def test_an_interrupted_one_goes_on_and_another_model_begins_anew(
    engine: SearchEngine,
    ada: CollectionCaller,
    notes: SearchCollection,
    embedders: ToyEmbedders,
    database: ScratchDatabase,
) -> None:
    async def fail(done: int, documents: int) -> None:
        raise EmbeddingRefused("away", is_transient=True)

    with pytest.raises(EmbeddingRefused):
        await engine.reembed(ada, notes.id, SMALL_MODEL.name, fail)
    with pytest.raises(EmbeddingModelUnknown):
        await engine.reembed(ada, notes.id, "none")
    await engine.delete_document(ada, notes.id, "k00")
    assert await engine.reembed(ada, notes.id, SMALL_MODEL.name) == 12
    with pytest.raises(EmbeddingRefused):
        await engine.reembed(ada, notes.id, TOY_MODEL.name, fail)
    assert await engine.reembed(ada, notes.id, SMALL_MODEL.name) == 0  # the change of mind is forgotten
    async with database.admin_connection() as admin:
        rows = await admin.fetch(
            """SELECT c.generation, c.next_generation, c.chunks, c.bytes,
                (SELECT sum(d.bytes) FROM search.documents d) AS documents_bytes,
                (SELECT array_agg(DISTINCT generation) FROM search.chunks) AS generations,
                (SELECT count(*) FROM search.chunks) AS count,
                (SELECT array_agg(DISTINCT generation) FROM search.token_counts) AS counted,
                (SELECT bytes FROM search.usage) AS usage FROM search.collections c"""
        )
    [row] = rows
    assert row["generations"] == row["counted"] == [row["generation"]]
    assert row["next_generation"] is None
    assert row["count"] == row["chunks"]
    assert row["bytes"] == row["documents_bytes"] == row["usage"]


async def test_what_has_no_text_cannot_be_embedded_anew(
    engine: SearchEngine, ada: CollectionCaller, notes: SearchCollection
) -> None:
    await engine.put_document(ada, notes.id, DocumentDraft("m", "", "secret", keep_text=False))
    with pytest.raises(Conflict, match="1 documents"):
        await engine.reembed(ada, notes.id, SMALL_MODEL.name)
    [info] = await engine.list_collections(ada)
    assert info.model == TOY_MODEL.name
