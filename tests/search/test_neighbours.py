"""Documents are paired of which each is the other's nearest."""

from uuid import uuid4

import pytest

from core.errors import NotFound
from search import neighbours
from search.engine import SearchEngine
from search.records import CollectionCaller, DocumentDraft, SearchCollection


async def put(engine: SearchEngine, ada: CollectionCaller, notes: SearchCollection, *texts: str) -> None:
    for number, text in enumerate(texts):
        await engine.put_document(ada, notes.id, DocumentDraft(f"k{number}", f"t{number}", text))


async def pair(engine: SearchEngine, ada: CollectionCaller, notes: SearchCollection, least: float) -> list[set[str]]:
    found = await engine.pair_nearest(ada, notes.id, least=least)
    assert [one.similarity for one in found] == sorted((one.similarity for one in found), reverse=True)
    assert all(-1.01 <= one.likeness <= one.similarity <= 1.01 for one in found)
    return [{one.first, one.second} for one in found]


@pytest.mark.parametrize("rows", [1, 2, 500])
async def test_the_nearest_are_paired(
    engine: SearchEngine, ada: CollectionCaller, notes: SearchCollection, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbours, "ROWS_AT_ONCE", rows)
    monkeypatch.setattr(neighbours, "VECTORS_AT_ONCE", rows)
    await put(
        engine, ada, notes, "ada likes green tea", "bob likes green tea", "steel anvil", "steel anvil heavy", "moon"
    )
    assert sorted(map(sorted, await pair(engine, ada, notes, 0.3))) == [["t0", "t1"], ["t2", "t3"]]
    assert await pair(engine, ada, notes, 1.0) == []


@pytest.mark.parametrize("number", [0, 1, 2, 7])
async def test_of_many_that_are_the_same_two_are_paired(
    engine: SearchEngine, ada: CollectionCaller, notes: SearchCollection, number: int
) -> None:
    for key in range(number):
        await engine.put_document(ada, notes.id, DocumentDraft(f"k{key}", "same", "green tea"))
    assert len(await pair(engine, ada, notes, 0.9)) == int(number > 1)


async def test_of_a_large_collection_the_last_changed_are_compared(
    engine: SearchEngine, ada: CollectionCaller, notes: SearchCollection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbours, "MOST_COMPARED", 2)
    await put(engine, ada, notes, "green tea", "green tea", "black coffee")
    assert await pair(engine, ada, notes, 0.9) == []
    await engine.put_document(ada, notes.id, DocumentDraft("k0", "t0", "black coffee"))
    assert await pair(engine, ada, notes, 0.5) == [{"t0", "t2"}]


async def test_a_collection_of_others_is_none(
    engine: SearchEngine, ada: CollectionCaller, notes: SearchCollection
) -> None:
    stranger = CollectionCaller(uuid4(), uuid4(), "rag")
    for caller, place in ((stranger, notes.id), (ada, uuid4())):
        with pytest.raises(NotFound):
            await engine.pair_nearest(caller, place, least=0.5)
