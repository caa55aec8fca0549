"""Memos over MCP and over HTTP: found by meaning, one's own alone, and without their text."""

import hashlib
from typing import Any

import pytest

from core.directory.services import set_settings
from gateway.service_settings import apply_changes
from gateway.tasks.job_starter import UNSTORED
from gateway.tool_runner import NO_SUCH_TOOL
from modules.memo import MODULE
from tests.path.conftest import People, on_shared_product, with_own_people
from tests.support.mcp_client import NEWEST
from tests.support.product import ACTOR, Node, Product

TEXT = "カナリア株式会社との契約は来年三月に更新される。担当は佐藤さん。"
LUNCH = {"session_id": "s1", "text": "We had ramen near the station.", "summary": "Lunch: ramen near the station"}
DEPLOY = {
    "session_id": "s2",
    "text": "long talk about servers",
    "summary": "Deployments happen on Tuesdays with a canary",
    "keywords": ["deploy", "release"],
    "importance": 0.9,
}


async def save(node: Node, token: str, **memo: Any) -> dict[str, Any]:
    return (await node.call(token, "memo", "save_memo", memo)).value


async def query(node: Node, token: str, text: str, **params: Any) -> list[dict[str, Any]]:
    return (await node.call(token, "memo", "query_memo", {"query": text, **params})).value["results"]


async def choose_settings(product: Product, people: People, wanted: dict[str, Any]) -> None:
    def choose(stored: Any) -> Any:
        return apply_changes(MODULE, stored, wanted)

    await set_settings(product.console, ACTOR, people.acme.id, "memo", choose)


@with_own_people
async def test_a_summary_is_kept_and_found(node: Node, people: People) -> None:
    token = people.admin.token
    await save(node, token, **LUNCH)
    saved = await save(node, token, **DEPLOY)
    assert (saved["used_summary"], saved["chroma_ids"]) == (True, [f"{saved['memo_id']}-0"])
    first, second = await query(node, token, "when do we release?")
    assert (first["summary"], second["summary"]) == (DEPLOY["summary"], LUNCH["summary"])
    assert 0 <= first["distance"] < second["distance"] <= 2
    assert first["metadata"] == {
        "memo_id": saved["memo_id"],
        "session_id": "s2",
        "chunk_index": 0,
        "is_summary": True,
        "keywords": ["deploy", "release"],
        "importance": 0.9,
        "saved_at": saved["saved_at"],
        "text_hash": None,
    }
    got = await node.call(token, "memo", "get_memo", {"memo_id": saved["memo_id"]})
    assert got.value["entries"] == [{"summary": DEPLOY["summary"], "metadata": first["metadata"]}]


@with_own_people
async def test_without_a_summary_no_text_is_kept(node: Node, people: People) -> None:
    saved = await save(node, people.admin.token, session_id="s", text=TEXT * 100)
    assert saved["used_summary"] is False
    assert len(saved["chroma_ids"]) > 1
    found = await query(node, people.admin.token, "契約の更新はいつ?", n_results=2)
    assert [one["summary"] for one in found] == [None, None]
    got = (await node.call(people.admin.token, "memo", "get_memo", {"memo_id": saved["memo_id"]})).value
    assert {one["summary"] for one in got["entries"]} == {None}
    assert [one["metadata"]["chunk_index"] for one in got["entries"]] == list(range(len(saved["chroma_ids"])))


STRUCTURED = "# Plan\n\nWe move the servers in May.\n\n## Costs\n\nNobody knows yet.\n\n" * 400


@with_own_people
async def test_a_text_is_divided_by_the_service_s_setting(product: Product, node: Node, people: People) -> None:
    """And by neither the embedding model's own size nor headings, where it fits."""
    token, japanese = people.admin.token, "契約の更新を三月に確認する。" * 300

    async def count_entries(text: str, node: Node = node) -> int:
        return len((await save(node, token, session_id="s", text=text))["chroma_ids"])

    assert [await count_entries(japanese[:size]) for size in (2_000, 2_100, 3_900)] == [1, 2, 2]
    assert await count_entries("word " * 400) == await count_entries(STRUCTURED[:2_000]) == 1
    await choose_settings(product, people, {"max_chunk_chars": 4_000})
    async with product.gateway() as fresh:
        assert await count_entries(STRUCTURED[:4_000], fresh) == 1


@with_own_people
async def test_a_summary_is_one_entry_whatever_its_length(node: Node, people: People) -> None:
    summary = STRUCTURED[:20_000]
    saved = await save(node, people.admin.token, **LUNCH | {"summary": summary})
    assert saved["chroma_ids"] == [f"{saved['memo_id']}-0"]
    async with node._http("127.0.0.1") as http:  # pyright: ignore[reportPrivateUsage]
        bearer = {"Authorization": f"Bearer {people.admin.token}"}
        got = await http.get("/rag/memo/get", params={"memo_id": saved["memo_id"]}, headers=bearer)
    (entry,) = got.json()["entries"]
    assert entry["summary"] == summary
    (found,) = await query(node, people.admin.token, "moving servers")
    assert found["metadata"] == entry["metadata"]


@with_own_people
@pytest.mark.parametrize("keyword", ["PRJ-4711", "議事録"])
async def test_a_memo_is_found_first_by_its_keyword(node: Node, people: People, keyword: str) -> None:
    """Also one of which no text is kept, and beside memos that are nearer in meaning."""
    token = people.admin.token
    for text in ("Project minutes of the meeting", "会議の記録とプロジェクト", f"Not {keyword[:-1]}, another project"):
        await save(node, token, session_id="s", text=text, summary=text)
    wanted = await save(node, token, session_id="s", text="Bananas are yellow.", keywords=["fruit", keyword])
    found = await query(node, token, keyword)
    assert found[0]["metadata"]["memo_id"] == wanted["memo_id"]
    assert found[0]["summary"] is None
    rest = [one["distance"] for one in found[1:]]
    assert rest == sorted(rest)
    assert await query(node, people.other_admin.token, keyword) == []


@on_shared_product
@pytest.mark.parametrize("importance", [0, 1, -3.5, 100, 1e300, None])
async def test_an_importance_is_any_number(node: Node, people: People, importance: float | None) -> None:
    saved = await save(node, people.admin.token, **DEPLOY | {"importance": importance})
    got = (await node.call(people.admin.token, "memo", "get_memo", {"memo_id": saved["memo_id"]})).value
    assert got["entries"][0]["metadata"]["importance"] == importance


@with_own_people
async def test_memos_are_ones_own(product: Product, node: Node, people: People) -> None:
    colleague = await product.person(people.acme, "colleague@mail.test", allow=["memo.*"])
    saved = await save(node, people.admin.token, **DEPLOY)
    memo = {"memo_id": saved["memo_id"]}
    for other in (people.other_admin, colleague):
        assert await query(node, other.token, "when do we release?") == []
        for tool in ("get_memo", "delete_memo"):
            answer = await node.call(other.token, "memo", tool, memo)
            assert answer.failed
            assert answer.text.startswith("You have no memo of this id.")
    assert (await node.call(people.nobody.token, "memo", "query_memo", {"query": "x"})).text == NO_SUCH_TOOL
    deleted = await node.call(people.admin.token, "memo", "delete_memo", memo)
    assert deleted.value == {"memo_id": saved["memo_id"], "deleted": 1}
    assert await query(node, people.admin.token, "when do we release?") == []


@with_own_people
@pytest.mark.parametrize(
    ("model", "problem"), [("voyage-3-lite", "key"), ("no-such-model", "no embedding model no-such-model")]
)
async def test_a_tenant_s_model_wants_its_key(
    product: Product, node: Node, people: People, model: str, problem: str
) -> None:
    await choose_settings(product, people, {"embedding_model": model})
    answer = await node.call(people.admin.token, "memo", "save_memo", DEPLOY)
    assert answer.failed
    assert problem in answer.text
    assert DEPLOY["text"] not in answer.text
    assert not (await node.call(people.other_admin.token, "memo", "save_memo", DEPLOY)).failed


@with_own_people
async def test_a_tenant_may_keep_chunks_and_hashes(product: Product, node: Node, people: People) -> None:
    await choose_settings(product, people, {"keep_chunks": True, "keep_hashes": True})
    saved = await save(node, people.admin.token, session_id="s", text=TEXT)
    (found,) = await query(node, people.admin.token, "契約")
    assert found["summary"] == TEXT
    assert found["metadata"]["text_hash"] == hashlib.sha256(TEXT.encode()).hexdigest()
    assert found["metadata"]["memo_id"] == saved["memo_id"]


@on_shared_product
async def test_no_job_and_no_schedule_takes_a_text(node: Node, people: People) -> None:
    """What such work is given would be kept until it ends."""
    token = people.admin.token
    step = {"module": "memo", "tool_name": "save_memo", "params": LUNCH}
    call = {"name": "call", "arguments": step, "task": {}}
    assert UNSTORED in (await node.post(token, "tools/call", call, revision=NEWEST)).message["error"]["message"]
    batch = {"name": "batch", "arguments": {"commands": [step | {"id": "a"}]}, "task": {}}
    assert UNSTORED in (await node.post(token, "tools/call", batch, revision=NEWEST)).message["error"]["message"]
    schedule = step | {"title": "memo", "every_seconds": 3600}
    assert (await node.call(token, "jobs", "create_schedule", schedule)).text == UNSTORED
    steps = await node.tool(token, "batch", {"commands": [step | {"id": "a", "output": True}]})
    assert steps.value["steps"][0]["status"] == "ok"


@on_shared_product
@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"text": ""}, "text"),
        ({"text": "x" * 200_001}, "text"),
        ({"session_id": ""}, "session_id"),
        ({"importance": "high"}, "importance"),
        ({"keywords": ["k"] * 51}, "keywords"),
        ({"keywords": ["k" * 100] * 5}, "keywords have at most 500 characters together"),
        ({"summary": ""}, "summary"),
    ],
)
async def test_bad_input_is_named_without_the_text(
    node: Node, people: People, changes: dict[str, Any], problem: str
) -> None:
    answer = await node.call(people.admin.token, "memo", "save_memo", DEPLOY | {"text": TEXT} | changes)
    assert answer.failed
    assert problem in answer.text
    assert "カナリア" not in answer.text
    assert len(answer.text) < 1_000


async def test_the_healthcheck_names_store_and_model(node: Node, people: People) -> None:
    """It is public, as `/readyz` is, and tells nothing else."""
    async with node._http("127.0.0.1") as http:  # pyright: ignore[reportPrivateUsage]
        before = await http.get("/healthcheck")
        assert (before.status_code, before.json()) == (
            200,
            {
                "status": "ok",
                "store": "postgresql",
                "embedding_model": "use-multilingual-v3",
                "embedding_model_loaded": False,
            },
        )
        asked = await node.call(people.admin.token, "memo", "healthcheck", {})
        assert asked.value == {"status": "ok", "embedding_model": "use-multilingual-v3", "problem": None}
        assert (await http.get("/healthcheck")).json()["embedding_model_loaded"] is True


@with_own_people
@pytest.mark.parametrize(
    ("model", "problem"),
    [
        ("voyage-3-lite", "There is no API key of Voyage: an administrator can add one"),
        ("no-such-model", "There is no embedding model no-such-model here"),
    ],
)
async def test_the_healthcheck_is_of_the_caller_s_memos(
    product: Product, node: Node, people: People, model: str, problem: str
) -> None:
    """Of the model by which their next memo is embedded: their collection's, or that of the service's setting."""
    await save(node, people.admin.token, **LUNCH)
    await choose_settings(product, people, {"embedding_model": model})
    colleague = await product.person(people.acme, "colleague@mail.test", allow=["memo.*"])
    ok = {"status": "ok", "embedding_model": "use-multilingual-v3", "problem": None}
    async with product.gateway() as fresh:
        for token in (people.admin.token, people.other_admin.token):
            assert (await fresh.call(token, "memo", "healthcheck", {})).value == ok
        asked = await fresh.call(colleague.token, "memo", "healthcheck", {})
    assert asked.value == {"status": "degraded", "embedding_model": model, "problem": problem}
