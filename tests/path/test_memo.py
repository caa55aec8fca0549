"""Memos over MCP and over HTTP: found by meaning, one's own alone, and without their text."""

import hashlib
from typing import Any

import httpx2
import pytest

from core.directory.services import set_settings
from gateway.service_settings import apply_changes
from gateway.tasks.job_starter import UNSTORED
from gateway.tool_runner import NO_SUCH_TOOL
from modules.memo import MODULE
from tests.path.conftest import People, on_shared_product
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


async def test_without_a_summary_no_text_is_kept(node: Node, people: People) -> None:
    saved = await save(node, people.admin.token, session_id="s", text=TEXT * 100)
    assert saved["used_summary"] is False
    assert len(saved["chroma_ids"]) > 1
    found = await query(node, people.admin.token, "契約の更新はいつ?", n_results=2)
    assert [one["summary"] for one in found] == [None, None]
    got = (await node.call(people.admin.token, "memo", "get_memo", {"memo_id": saved["memo_id"]})).value
    assert {one["summary"] for one in got["entries"]} == {None}
    assert [one["metadata"]["chunk_index"] for one in got["entries"]] == list(range(len(saved["chroma_ids"])))


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


@pytest.mark.parametrize(
    ("model", "problem"), [("voyage-3-lite", "key"), ("no-such-model", "no embedding model no-such-model")]
)
async def test_a_tenant_s_model_wants_its_key(
    product: Product, node: Node, people: People, model: str, problem: str
) -> None:
    def choose(stored: Any) -> Any:
        return apply_changes(MODULE, stored, {"embedding_model": model})

    await set_settings(product.console, ACTOR, people.acme.id, "memo", choose)
    answer = await node.call(people.admin.token, "memo", "save_memo", DEPLOY)
    assert answer.failed
    assert problem in answer.text
    assert DEPLOY["text"] not in answer.text
    assert not (await node.call(people.other_admin.token, "memo", "save_memo", DEPLOY)).failed


async def test_a_tenant_may_keep_chunks_and_hashes(product: Product, node: Node, people: People) -> None:
    wanted = {"keep_chunks": True, "keep_hashes": True}
    await set_settings(
        product.console, ACTOR, people.acme.id, "memo", lambda stored: apply_changes(MODULE, stored, wanted)
    )
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
        ({"importance": 2}, "importance"),
        ({"keywords": ["k"] * 51}, "keywords"),
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


async def test_the_same_operations_over_http(node: Node, people: People) -> None:
    async with node._http("127.0.0.1") as http:  # pyright: ignore[reportPrivateUsage]
        bearer = {"Authorization": f"Bearer {people.admin.token}"}
        saved = await http.post("/rag/memo/save", json=DEPLOY, headers=bearer)
        assert saved.status_code == 200, saved.text
        memo_id = saved.json()["memo_id"]
        found = await http.get("/rag/memo/search", params={"query": "release day", "n_results": 1}, headers=bearer)
        assert found.json()["query"] == "release day"
        assert [one["summary"] for one in found.json()["results"]] == [DEPLOY["summary"]]
        got = await http.get("/rag/memo/get", params={"memo_id": memo_id}, headers=bearer)
        assert got.json()["entries"][0]["metadata"]["session_id"] == "s2"
        stranger = {"Authorization": f"Bearer {people.other_admin.token}"}
        assert (await http.get("/rag/memo/get", params={"memo_id": memo_id}, headers=stranger)).status_code == 404
        deleted = await http.post("/rag/memo/delete", json={"memo_id": memo_id}, headers=bearer)
        assert deleted.json() == {"memo_id": memo_id, "deleted": 1}
        assert (await http.get("/rag/memo/get", params={"memo_id": memo_id}, headers=bearer)).status_code == 404


BAD_REQUESTS: list[tuple[str, str, dict[str, Any], int]] = [
    ("POST", "/rag/memo/save", {"content": b"{"}, 400),
    ("POST", "/rag/memo/save", {"content": b"[]"}, 400),
    ("POST", "/rag/memo/save", {"content": b"x" * 5_000_000}, 413),
    ("POST", "/rag/memo/save", {"json": {"session_id": "s"}}, 422),
    ("POST", "/rag/memo/save", {"json": DEPLOY | {"colour": "red"}}, 422),
    ("GET", "/rag/memo/save", {}, 405),
    ("GET", "/rag/memo/search", {}, 422),
    ("GET", "/rag/memo/search?query=%ff", {}, 400),
    ("GET", "/rag/memo/search?query=x&n_results=many", {}, 400),
    ("GET", "/rag/memo/search?query=x&n_results=51", {}, 422),
    ("GET", "/rag/memo/get?memo_id=1", {}, 422),
]


@on_shared_product
async def test_bad_requests_are_refused(node: Node, people: People) -> None:
    async with node._http("127.0.0.1") as http:  # pyright: ignore[reportPrivateUsage]
        bearer = {"Authorization": f"Bearer {people.admin.token}"}
        for method, path, options, status in BAD_REQUESTS:
            answer = await http.request(method, path, headers=bearer, **options)
            assert (answer.status_code, method, path) == (status, method, path), answer.text
            assert isinstance(answer.json()["error"], str)


@on_shared_product
async def test_a_route_asks_who_calls_as_mcp_does(node: Node, people: People) -> None:
    async with node._http("127.0.0.1") as http:  # pyright: ignore[reportPrivateUsage]
        refused = await http.post("/rag/memo/save", json=DEPLOY)
        assert refused.status_code == 401
        assert "resource_metadata" in refused.headers["www-authenticate"]
        for token in ("mcpist_wrong", people.admin.token[:-1]):
            wrong = {"Authorization": f"Bearer {token}"}
            assert (await http.post("/rag/memo/save", json=DEPLOY, headers=wrong)).status_code == 401
        hidden = {"Authorization": f"Bearer {people.nobody.token}"}
        answer: httpx2.Response = await http.get("/rag/memo/search?query=x", headers=hidden)
        assert (answer.status_code, answer.json()["error"]) == (404, NO_SUCH_TOOL)
        elsewhere = {"Authorization": f"Bearer {people.admin.token}", "Origin": "https://evil.example"}
        assert (await http.post("/rag/memo/save", json=DEPLOY, headers=elsewhere)).status_code == 403


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
        assert asked.value == {"status": "ok", "embedding_model": "use-multilingual-v3"}
        assert (await http.get("/healthcheck")).json()["embedding_model_loaded"] is True
