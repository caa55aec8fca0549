"""The HTTP routes of memos: the same tools, for programs, with statuses, codes and an OpenAPI description."""

from typing import Any, cast

import httpx2
import jsonschema
import orjson
import pytest
from openapi_core import OpenAPI

from core.directory.services import set_settings
from gateway.service_settings import apply_changes
from gateway.tool_routes import ToolRoute, ToolRouteApplication
from gateway.tool_runner import NO_SUCH_TOOL
from modules.memo import MODULE
from search.embedding import builtin
from tests.path.conftest import People, on_shared_product, with_own_people
from tests.path.test_memo import DEPLOY
from tests.support.product import ACTOR, Node, Product
from tests.support.search_engine import encode_alike


@with_own_people
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


CODES = {400: "invalid", 405: "method_not_allowed", 413: "too_large", 422: "invalid"}
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
            assert answer.json().keys() == {"error", "code"}
            assert isinstance(answer.json()["error"], str)
            assert answer.json()["code"] == CODES[status]


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
        assert (answer.status_code, answer.json()) == (404, {"error": NO_SUCH_TOOL, "code": "not_found"})
        elsewhere = {"Authorization": f"Bearer {people.admin.token}", "Origin": "https://evil.example"}
        assert (await http.post("/rag/memo/save", json=DEPLOY, headers=elsewhere)).status_code == 403


@pytest.fixture
def much_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts cost nothing to embed."""
    monkeypatch.setattr(builtin, "_load_encoder", lambda: encode_alike)


async def keep_chunks(product: Product, people: People, size: int) -> None:
    wanted = {"keep_chunks": True, "max_chunk_chars": size}
    await set_settings(
        product.console, ACTOR, people.acme.id, "memo", lambda stored: apply_changes(MODULE, stored, wanted)
    )


@pytest.mark.usefixtures("much_text")
async def test_a_program_gets_the_whole_result(product: Product, node: Node, people: People) -> None:
    """A model gets a part of it, and a handle for the rest."""
    await keep_chunks(product, people, 2_000)
    text = "覚えておくことがたくさんある。" * 10_000
    async with node._http("127.0.0.1") as http:  # pyright: ignore[reportPrivateUsage]
        bearer = {"Authorization": f"Bearer {people.admin.token}"}
        saved = (await http.post("/rag/memo/save", json={"session_id": "s", "text": text}, headers=bearer)).json()
        got = await http.get("/rag/memo/get", params={"memo_id": saved["memo_id"]}, headers=bearer)
        assert (got.status_code, got.json().keys()) == (200, {"memo_id", "entries"}), got.text[:500]
        assert "".join(one["summary"] for one in got.json()["entries"]) == text
        found = await http.get("/rag/memo/search", params={"query": "覚える", "n_results": 50}, headers=bearer)
        assert (found.status_code, len(found.json()["results"])) == (200, 50)
    shown = await node.call(people.admin.token, "memo", "get_memo", {"memo_id": saved["memo_id"]})
    assert "partial" in shown.value


@pytest.mark.usefixtures("much_text")
async def test_a_result_over_the_limit_in_bytes_is_an_error(product: Product, node: Node, people: People) -> None:
    await keep_chunks(product, people, 100)
    memo = {"session_id": "会" * 200, "text": "覚えておくことがたくさんある。" * 7_400}
    async with node._http("127.0.0.1") as http:  # pyright: ignore[reportPrivateUsage]
        bearer = {"Authorization": f"Bearer {people.admin.token}"}
        saved = await http.post("/rag/memo/save", json=memo, headers=bearer)
        assert saved.status_code == 200, saved.text
        got = await http.get("/rag/memo/get", params={"memo_id": saved.json()["memo_id"]}, headers=bearer)
    assert (got.status_code, got.json()["code"]) == (422, "result_too_large"), got.text[:500]
    assert "bytes" in got.json()["error"]


async def ask_lab(node: Node, token: str, tool: str) -> httpx2.Response:
    """Ask a tool of the laboratory by a route of its own."""
    route = ToolRouteApplication(ToolRoute("GET", "/lab", "lab", tool), node.gateway.endpoint)
    transport = httpx2.ASGITransport(cast("Any", route))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080", trust_env=False) as http:
        return await http.get("/lab", headers={"Authorization": f"Bearer {token}"})


@with_own_people
async def test_failures_have_a_status_and_a_code(product: Product, people: People) -> None:
    async with product.gateway(call_timeout=0.3) as node:
        late = await ask_lab(node, people.admin.token, "wait")
        assert (late.status_code, late.json()["code"]) == (504, "timeout")
        assert late.json()["error"].startswith("the call took longer than 0.3 s")
        crashed = await ask_lab(node, people.admin.token, "crash")
        assert (crashed.status_code, crashed.json()["code"]) == (500, "internal")
        failed = await ask_lab(node, people.admin.token, "fail")
        assert (failed.status_code, failed.json()["code"]) == (422, "invalid")
        hidden = await ask_lab(node, people.reader.token, "write")
        assert (hidden.status_code, hidden.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("forbidden", 403),
        ("not_found", 404),
        ("conflict", 409),
        ("embedding_key_missing", 409),
        ("own_code", 422),
        (1001, 422),
        ("limit_reached", 429),
        ("unavailable", 503),
        ("timeout", 504),
    ],
)
async def test_a_code_of_a_tool_is_passed_on(code: str | int, status: int) -> None:
    async def answer(scope: Any, receive: Any, send: Any) -> None:
        problem = {"success": False, "error": {"code": code, "message": "why"}}
        result = {"content": [], "structuredContent": problem, "isError": True}
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": orjson.dumps({"id": 1, "result": result})})

    transport = httpx2.ASGITransport(cast("Any", ToolRouteApplication(ToolRoute("GET", "/x", "m", "t"), answer)))
    async with httpx2.AsyncClient(transport=transport, base_url="http://x", trust_env=False) as http:
        got = await http.get("/x")
    assert (got.status_code, got.json()) == (status, {"error": "why", "code": code})


OPERATIONS = {
    ("/healthcheck", "get"): "healthcheck",
    ("/rag/memo/save", "post"): "save_memo",
    ("/rag/memo/search", "get"): "query_memo",
    ("/rag/memo/get", "get"): "get_memo",
    ("/rag/memo/delete", "post"): "delete_memo",
}


def list_operations(description: dict[str, Any]) -> dict[tuple[str, str], str]:
    return {
        (path, method): operation["operationId"]
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    }


def validate(description: dict[str, Any], content: Any, answer: httpx2.Response) -> None:
    """Check an answer against the schema that the description has for it."""
    schema = content["responses"][str(answer.status_code)]["content"]["application/json"]["schema"]
    jsonschema.Draft202012Validator(schema | {"components": description["components"]}).validate(answer.json())


@with_own_people
async def test_the_routes_are_described_as_the_tools_are(node: Node, people: People) -> None:
    async with node._http("127.0.0.1") as http:  # pyright: ignore[reportPrivateUsage]
        bearer = {"Authorization": f"Bearer {people.admin.token}"}
        answer = await http.get("/rag/memo/openapi.json", headers=bearer)
        described = answer.json()
        assert (answer.status_code, list_operations(described)) == (200, OPERATIONS)
        assert "$defs" not in answer.text
        OpenAPI.from_dict(described).check_spec()
        paths = described["paths"]
        body = paths["/rag/memo/save"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert sorted(body["required"]) == ["session_id", "text"]
        jsonschema.Draft202012Validator(body | {"components": described["components"]}).validate(DEPLOY)
        search = {one["name"]: one["required"] for one in paths["/rag/memo/search"]["get"]["parameters"]}
        assert search == {"query": True, "n_results": False}
        saved = await http.post("/rag/memo/save", json=DEPLOY, headers=bearer)
        validate(described, paths["/rag/memo/save"]["post"], saved)
        found = await http.get("/rag/memo/search?query=release", headers=bearer)
        validate(described, paths["/rag/memo/search"]["get"], found)
        memo = {"memo_id": saved.json()["memo_id"]}
        validate(described, paths["/rag/memo/get"]["get"], await http.get("/rag/memo/get", params=memo, headers=bearer))
        for _ in range(2):
            deleted = await http.post("/rag/memo/delete", json=memo, headers=bearer)
            validate(described, paths["/rag/memo/delete"]["post"], deleted)
        validate(described, paths["/healthcheck"]["get"], await http.get("/healthcheck"))


@with_own_people
async def test_a_description_has_what_its_reader_may_use(product: Product, node: Node, people: People) -> None:
    looks = await product.person(people.acme, "looks@mail.test", allow=["memo.query_memo", "memo.get_memo"])
    async with node._http("127.0.0.1") as http:  # pyright: ignore[reportPrivateUsage]
        path, some = "/rag/memo/openapi.json", {"Authorization": f"Bearer {looks.token}"}
        operations = list_operations((await http.get(path, headers=some)).json())
        assert sorted(operations.values()) == ["get_memo", "healthcheck", "query_memo"]
        hidden = await http.get(path, headers={"Authorization": f"Bearer {people.nobody.token}"})
        assert (hidden.status_code, hidden.json()) == (404, {"error": NO_SUCH_TOOL, "code": "not_found"})
        assert (await http.get(path)).status_code == 401
        refused = await http.post(path, headers=some)
        assert (refused.status_code, refused.json()["code"]) == (405, "method_not_allowed")
