"""The search engine on a real database: documents are stored, listed, searched and deleted."""

from collections.abc import Sequence
from uuid import uuid4

import pytest

from core.errors import Invalid, LimitReached, NotFound
from search.engine import SearchEngine
from search.finder import MOST_CANDIDATES
from search.records import (
    CollectionCaller,
    DocumentCondition,
    DocumentDraft,
    FoundPassage,
    SearchCollection,
    SearchScope,
    VersionChanged,
)
from tests.support.postgres import ScratchDatabase
from tests.support.search_engine import ToyEmbedders

TEA = DocumentDraft(
    "notes/tea", "Tea", "Ada likes green tea.", ("drinks", "ada"), {"n": 1, "kind": "note"}, "https://t"
)
COFFEE = DocumentDraft("notes/coffee", "Coffee", "Bob likes black coffee.", ("drinks",), {"n": 1.5, "of": ["a"]})


def keys(passages: Sequence[FoundPassage]) -> list[str]:
    return [one.key for one in passages]


async def test_a_document_is_stored_found_changed_and_deleted(
    engine: SearchEngine, ada: CollectionCaller, notes: SearchCollection
) -> None:
    stored = await engine.put_document(ada, notes.id, TEA)
    assert (stored.version, stored.chunks, stored.chunk_ranges, stored.text) == (1, 1, ((0, 20),), TEA.text)
    await engine.put_document(ada, notes.id, COFFEE)
    assert await engine.get_document(ada, notes.id, "notes/tea") == stored
    assert await engine.get_document_by_id(ada, stored.id) == stored
    hit = (await engine.search(ada, "green tea"))[0]
    assert (hit.document, hit.text, hit.url, hit.metadata, hit.tags) == (
        stored.id,
        TEA.text,
        "https://t",
        {"n": 1, "kind": "note"},
        ("drinks", "ada"),
    )
    assert hit.coverage == pytest.approx(1)
    changed = await engine.put_document(ada, notes.id, DocumentDraft("notes/tea", "Milk", "Ada likes milk."))
    assert (changed.id, changed.version) == (stored.id, 2)
    assert changed.updated_at > stored.updated_at
    assert keys(await engine.search(ada, "green tea", scope=SearchScope.WORDS)) == []
    assert keys(await engine.search(ada, "milk"))[0] == "notes/tea"
    [info] = await engine.list_collections(ada)
    assert (info.documents, info.chunks, info.can_write) == (2, 2, True)
    assert await engine.delete_document(ada, notes.id, "notes/tea")
    assert not await engine.delete_document(ada, notes.id, "notes/tea")
    assert await engine.get_document(ada, notes.id, "notes/tea") is None
    assert keys(await engine.search(ada, "milk")) == ["notes/coffee"]
    assert await engine.remove_collection(ada, notes.id) == 1
    assert await engine.list_collections(ada) == []
    with pytest.raises(NotFound):
        await engine.remove_collection(ada, notes.id)


async def test_an_expected_version_is_checked(
    engine: SearchEngine, ada: CollectionCaller, notes: SearchCollection
) -> None:
    for version in (1, 7):
        with pytest.raises(VersionChanged) as caught:
            await engine.put_document(ada, notes.id, TEA, expected_version=version)
        assert caught.value.version == 0
    await engine.put_document(ada, notes.id, TEA, expected_version=0)
    await engine.put_document(ada, notes.id, TEA, expected_version=1)
    for version in (0, 1):
        with pytest.raises(VersionChanged) as caught:
            await engine.put_document(ada, notes.id, TEA, expected_version=version)
        assert caught.value.version == 2
        with pytest.raises(VersionChanged):
            await engine.delete_document(ada, notes.id, TEA.key, expected_version=version)
    assert await engine.delete_document(ada, notes.id, TEA.key, expected_version=2)
    # What was read of the deleted one changes nothing of the next.
    assert (await engine.put_document(ada, notes.id, TEA)).version == 3
    with pytest.raises(VersionChanged):
        await engine.put_document(ada, notes.id, TEA, expected_version=2)


async def test_filters_count_before_the_limit(
    engine: SearchEngine, ada: CollectionCaller, notes: SearchCollection
) -> None:
    tea = await engine.put_document(ada, notes.id, TEA)
    coffee = await engine.put_document(ada, notes.id, COFFEE)
    cases = (
        (DocumentCondition(tags=("ada", "drinks")), [TEA.key]),
        (DocumentCondition(tags=("drinks", "none")), []),
        (DocumentCondition(key_prefix="notes/c"), [COFFEE.key]),
        (DocumentCondition(key_prefix="notes/%"), []),
        (DocumentCondition(since=coffee.updated_at), [COFFEE.key]),
        (DocumentCondition(until=coffee.updated_at), [TEA.key]),
        (DocumentCondition(since=tea.updated_at, until=tea.updated_at), []),
        (DocumentCondition(metadata={"n": 1}), [TEA.key]),
        (DocumentCondition(metadata={"n": 1.0, "kind": "note"}), [TEA.key]),
        (DocumentCondition(metadata={"of": ["a"]}), [COFFEE.key]),
        (DocumentCondition(metadata={"of": []}), []),
        (DocumentCondition(metadata={"n": "1"}), []),
        (DocumentCondition(metadata={"kind": None}), []),
    )
    for condition, expected in cases:
        assert keys(await engine.search(ada, "likes", condition=condition, limit=1)) == expected, condition
        listed = await engine.list_documents(ada, condition=condition)
        assert [one.key for one in listed.documents] == expected, condition


@pytest.mark.parametrize("scope", SearchScope)
async def test_each_document_is_found_once_where_asked(
    engine: SearchEngine, ada: CollectionCaller, notes: SearchCollection, scope: SearchScope
) -> None:
    long = DocumentDraft("long", "Long", "Ada likes green tea. " * 6_000)
    cake = DocumentDraft("cake", "Cake", "Cy likes green tea beside a cake.")
    for document in (cake, TEA, long):
        stored = await engine.put_document(ada, notes.id, document)
    assert stored.chunks > MOST_CANDIDATES
    found = await engine.search(ada, "likes green tea", scope=scope, limit=3, one_per_document=True)
    assert (len(found), set(keys(found))) == (3, {cake.key, TEA.key, long.key})
    every = await engine.search(ada, "likes green tea", scope=scope, limit=3)
    assert len(set(keys(every))) < 3
    assert (found[0].similarity, found[0].coverage) == (every[0].similarity, every[0].coverage)


async def test_pages_of_documents(engine: SearchEngine, ada: CollectionCaller, notes: SearchCollection) -> None:
    for number in (3, 1, 2, 4, 0):
        await engine.put_document(ada, notes.id, DocumentDraft(f"k{number}", "t", "text"))
    for newest_first, order in ((False, "01234"), (True, "04213")):
        after, found = "", ""
        while True:
            page = await engine.list_documents(ada, [notes.id], newest_first=newest_first, after=after, limit=2)
            found += "".join(one.key[1] for one in page.documents)
            after = page.next_after
            if not after:
                break
        assert found == order
    for after in ("x", "0" * 32 + "x", "\0" * 40, "zz" * 20):
        with pytest.raises(Invalid):
            await engine.list_documents(ada, newest_first=True, after=after)
    with pytest.raises(NotFound):
        await engine.list_documents(ada, [uuid4()])


async def test_tags_are_counted(engine: SearchEngine, ada: CollectionCaller, notes: SearchCollection) -> None:
    await engine.put_document(ada, notes.id, TEA)
    await engine.put_document(ada, notes.id, COFFEE)
    assert await engine.count_tags(ada) == [("drinks", 2), ("ada", 1)]


async def test_a_text_that_is_not_kept_leaves_vectors_and_ranges_alone(
    engine: SearchEngine, ada: CollectionCaller, notes: SearchCollection
) -> None:
    text = "# Secret heading\n\nAda likes green tea."
    stored = await engine.put_document(ada, notes.id, DocumentDraft("m", "", text, keep_text=False))
    assert stored.text is None
    assert stored == await engine.get_document(ada, notes.id, "m")
    assert [text[start:end] for start, end in stored.chunk_ranges] == [text]
    hit = (await engine.search(ada, "green tea"))[0]
    assert (hit.text, hit.heading, hit.matched, hit.coverage) == (None, "", "meaning", 0)
    assert await engine.search(ada, "green tea", scope=SearchScope.WORDS) == []


async def test_the_quota_of_a_tenant_holds(database: ScratchDatabase, ada: CollectionCaller) -> None:
    async with database.open("mcpist_gateway") as gateway:
        engine = SearchEngine(gateway, ToyEmbedders(), quota_bytes=5_400)
        notes, others = await engine.open_collection(ada, "notes"), await engine.open_collection(ada, "others")
        await engine.put_document(ada, notes.id, TEA)
        await engine.put_document(ada, others.id, DocumentDraft("big", "t", "tea " * 400))
        with pytest.raises(LimitReached):
            await engine.put_document(ada, notes.id, COFFEE)
        assert await engine.get_document(ada, notes.id, COFFEE.key) is None
        await engine.put_document(ada, others.id, DocumentDraft("big", "t", "tea"))
        await engine.put_document(ada, notes.id, COFFEE)
        await engine.remove_collection(ada, others.id)
        async with database.admin_connection() as admin:
            [row] = await admin.fetch(
                "SELECT u.bytes, (SELECT sum(c.bytes) FROM search.collections c) AS sum FROM search.usage u"
            )
        assert row["bytes"] == row["sum"] > 0
