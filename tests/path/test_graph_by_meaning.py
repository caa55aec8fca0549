"""Memories over MCP, found by what they mean and in the other language, by the model that comes with the product."""

import json
from typing import Any

import pytest

from modules.knowledge_graph import entity_index
from tests.path.conftest import People, on_shared_product, with_own_people
from tests.support.job_worker import run_jobs
from tests.support.product import Node, Product
from tests.support.task_forms import CORE, run_as_task


@pytest.fixture(autouse=True)
def wait_for_a_busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a search leaves for the next one when loading the model has taken its time: tests/modules."""
    monkeypatch.setattr(entity_index, "SEARCH_SECONDS", 60.0)


MEMORIES = {
    "Tokyo": ("city", "capital of Japan", "about 14 million people live there"),
    "請求書システム": ("project", "月次の請求書を発行する社内システム", "担当は佐藤さん"),
    "Ada": ("person", "plays the violin in an orchestra", "allergic to nuts"),
    "経費規程": ("rule", "領収書は翌月五日までに提出する"),
}


def build_entities(memories: dict[str, tuple[str, ...]]) -> list[dict[str, Any]]:
    return [
        {"name": name, "entityType": kind, "observations": observations}
        for name, (kind, *observations) in memories.items()
    ]


async def remember(node: Node, token: str, memories: dict[str, tuple[str, ...]]) -> None:
    made = await node.call(token, "knowledge_graph", "create_entities", {"entities": build_entities(memories)})
    assert not made.failed, made.text


async def find(node: Node, token: str, query: str, **more: Any) -> dict[str, Any]:
    answer = await node.call(token, "knowledge_graph", "search_by_meaning", {"query": query, **more})
    assert not answer.failed, answer.text
    return answer.value


async def suggest(node: Node, token: str) -> dict[frozenset[str], dict[str, Any]]:
    report = (await node.call(token, "knowledge_graph", "find_duplicates", {"limit": 50})).value
    return {frozenset((pair["first"], pair["second"])): pair for pair in report["pairs"]}


@with_own_people
async def test_memories_are_found_by_what_is_meant(node: Node, people: People) -> None:
    token = people.admin.token
    await remember(node, token, MEMORIES)
    for query, name in (
        ("who is a musician?", "Ada"),
        ("楽器を演奏する人", "Ada"),
        ("the system that issues invoices", "請求書システム"),
        ("日本の首都", "Tokyo"),
        ("When do I hand in receipts?", "経費規程"),
        ("食べ物のアレルギー", "Ada"),
    ):
        first = (await find(node, token, query, limit=2))["entities"][0]
        assert first["name"] == name, query
        assert first["observations"] == list(MEMORIES[name][1:])
        assert 0.1 < first["similarity"] < 1, query
        assert first["matched"] in {"meaning", "both"}, query
    exact = await node.call(token, "knowledge_graph", "search", {"query": "who is a musician?"})
    assert exact.value["entities"] == []


@with_own_people
async def test_nobody_finds_what_is_another_persons(node: Node, people: People) -> None:
    await remember(node, people.admin.token, MEMORIES)
    assert len((await find(node, people.admin.token, "capital"))["entities"]) == 4
    assert (await find(node, people.reader.token, "capital"))["entities"] == []
    assert (await find(node, people.other_admin.token, "capital"))["entities"] == []
    await remember(node, people.other_admin.token, {"Kyoto": ("city", "capital of Japan long ago")})
    assert [one["name"] for one in (await find(node, people.other_admin.token, "capital"))["entities"]] == ["Kyoto"]
    assert len((await find(node, people.admin.token, "capital"))["entities"]) == 4


async def test_a_token_that_only_reads_searches_what_was_written_by_another(
    product: Product, node: Node, people: People
) -> None:
    """And brings the index up to date: nothing that anybody has stored is changed by it."""
    reading = await product.with_token(people.admin, read_only=True)
    await remember(node, people.admin.token, {"Tokyo": MEMORIES["Tokyo"]})
    assert [one["name"] for one in (await find(node, reading.token, "capital"))["entities"]] == ["Tokyo"]
    refused = await node.call(reading.token, "knowledge_graph", "delete_entities", {"entityNames": ["Tokyo"]})
    assert refused.failed


async def test_a_job_indexes_a_large_import(product: Product, node: Node, people: People) -> None:
    lines = "\n".join(json.dumps({"type": "entity"} | one) for one in build_entities(MEMORIES))
    await node.call(people.admin.token, "knowledge_graph", "import_graph", {"jsonl": lines})
    async with run_jobs(product, node):
        report = await run_as_task(node, people.admin, CORE, "knowledge_graph", "index_graph", {})
    assert report == {"message": "Everything is indexed.", "pending": 0}
    assert (await find(node, people.admin.token, "musician"))["entities"][0]["name"] == "Ada"


@on_shared_product
@pytest.mark.parametrize("params", [{"query": ""}, {"query": "x" * 2_001}, {"query": "x", "limit": 51}, {}])
async def test_bad_queries_are_named(node: Node, people: People, params: dict[str, Any]) -> None:
    answer = await node.call(people.admin.token, "knowledge_graph", "search_by_meaning", params)
    assert answer.failed
    assert ("limit" if "limit" in params else "query") in answer.text


SAME = [
    {"Tokyo": MEMORIES["Tokyo"], "東京": ("都市", "日本の首都", "人口は約1400万人")},
    {"田中さん": ("人", "経理部の部長", "週末はテニスをする"), "田中部長": ("人", "経理部を率いる", "趣味はテニス")},
    {
        "Bob Miller": ("person", "works at Acme as a designer", "likes tea"),
        "Robert M.": ("person", "designer at Acme, drinks tea"),
    },
    {
        "請求書システム": ("project", "月次の請求書を発行する社内システム"),
        "Invoicing system": ("project", "internal system that issues monthly invoices"),
    },
    {
        "Mercury": ("planet", "closest planet to the sun"),
        "水星": ("惑星", "太陽に最も近い惑星"),
    },
]
OTHER = [
    {
        "Sprint 12": ("sprint", "started on Monday", "goal: billing"),
        "Sprint 13": ("sprint", "started on Monday", "goal: search"),
    },
    {"Mercury": ("planet", "closest planet to the sun"), "水銀": ("元素", "常温で液体の金属")},
    {
        "Java": ("language", "object oriented programming language by Sun"),
        "JavaScript": ("language", "programming language of web browsers"),
    },
    {"鈴木さん": ("人", "営業部の部長", "週末はゴルフ"), "佐藤さん": ("人", "経理部の課長", "週末は釣り")},
    {
        "Carol Jones": ("person", "works at Acme as an engineer", "likes coffee"),
        "Dave King": ("person", "works at Acme as a lawyer", "likes tea"),
    },
    {"Gift": ("word", "German for poison"), "贈り物": ("物", "誕生日に人に渡す品")},
]


@with_own_people
async def test_what_means_the_same_is_suggested_and_false_friends_are_not(node: Node, people: People) -> None:
    token = people.admin.token
    told: list[tuple[set[str], bool]] = []
    for memories in (*SAME, *OTHER):
        await remember(node, token, memories)
        pairs = await suggest(node, token)
        pair = pairs.get(frozenset(memories))
        told.append((set(memories), pair is not None and "near in meaning" in pair["reasons"]))
        params = {"names": list(memories)}
        assert len((await node.call(token, "knowledge_graph", "get_nodes", params)).value["entities"]) == 2
        await node.call(token, "knowledge_graph", "delete_entities", {"entityNames": list(memories)})
    assert told == [(set(one), one in SAME) for one in (*SAME, *OTHER)]


@with_own_people
async def test_all_of_them_in_one_graph(node: Node, people: People) -> None:
    """Beside others each still has its own nearest."""
    memories: dict[str, tuple[str, ...]] = {}
    for one in (*SAME, *OTHER):
        memories |= one
    await remember(node, people.admin.token, memories)
    found = await suggest(node, people.admin.token)
    near = {pair for pair, told in found.items() if "near in meaning" in told["reasons"]}
    assert near == {frozenset(one) for one in SAME}
    assert await suggest(node, people.other_admin.token) == {}
