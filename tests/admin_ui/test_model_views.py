"""See as a role, or as a user: what a model is shown, beside what /mcp really shows it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest

from core.directory.services import set_service
from core.token_estimate import estimate_tokens
from tests.admin_ui.admin_app import ACTOR, AdminApp, Tenant
from tests.support.identity import Identity, identity_on
from tests.support.postgres import ScratchDatabase
from tests.support.product import product_on


@pytest.fixture
async def identity(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[Identity]:
    async with product_on(database, tmp_path / "home") as product, identity_on(product, providers=False) as running:
        yield running


async def rpc(client: httpx2.AsyncClient, token: str, method: str, params: Any) -> Any:
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = await client.post("/mcp", json=message, headers=headers | {"MCP-Protocol-Version": "2025-11-25"})
    return answer.json()["result"]


async def test_it_is_exactly_what_mcp_serves(identity: Identity) -> None:
    product = identity.product
    tenant = await product.tenant("default")
    ada = await product.with_token(await product.person(tenant, "ada@acme.test"), scopes=["mcp:read", "mcp:write"])
    boss = await product.person(tenant, "boss@acme.test")
    async with product.database.admin_connection() as admin:
        await admin.execute("UPDATE core.users SET system_role = 'admin' WHERE email = 'boss@acme.test'")
    cookie = {"Cookie": await identity.session(boss), "Origin": identity.url}
    async with httpx2.AsyncClient(base_url=identity.url, timeout=60) as client:

        async def ask(method: str, path: str, body: Any = None) -> Any:
            return (await client.request(method, f"/api/v1{path}", json=body, headers=cookie)).json()

        for role in (await ask("GET", f"/users/{ada.id}/roles"))["items"]:
            await client.delete(f"/api/v1/users/{ada.id}/roles/{role['id']}", headers=cookie)
        allow, deny = ["github:read", "knowledge_graph.*"], ["github.get_issue", "knowledge_graph.create_entities"]
        role = await ask("POST", "/roles", {"name": "seen", "allow": allow, "deny": deny})
        await client.put(f"/api/v1/users/{ada.id}/roles/{role['id']}", headers=cookie)
        seen = await ask("GET", f"/roles/{role['id']}/model-view")
        assert seen == await ask("GET", f"/users/{ada.id}/model-view")
        listed = await rpc(client, ada.token, "tools/list", {})
        assert seen["definitions"] == listed["tools"]
        begun = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        assert seen["instructions"] == (await rpc(client, ada.token, "initialize", begun))["instructions"]
        names = [one["module"] for one in seen["modules"]]
        call = {"name": "get_module_schema", "arguments": {"module": names}}
        schemas = (await rpc(client, ada.token, "tools/call", call))["structuredContent"]["modules"]
        assert seen["tool_exposure"] == "meta"
        plain: dict[str, Any] = {"meta": seen}
        for exposure in ("plain:github", "both:github.search_issues"):
            await ask("PATCH", f"/roles/{role['id']}", {"tool_exposure": exposure})
            plain[exposure] = view = await ask("GET", f"/roles/{role['id']}/model-view")
            assert view == await ask("GET", f"/users/{ada.id}/model-view")
            listed = (await rpc(client, ada.token, "tools/list", {}))["tools"]
            shown = {tool["name"] for tool in (*view["definitions"], *({"name": one} for one in view["plain_tools"]))}
            assert {tool["name"] for tool in listed if not tool["name"].startswith(("results_", "jobs_"))} == shown
            assert view["instructions"] == (await rpc(client, ada.token, "initialize", begun))["instructions"]
            assert view["estimated_start_tokens"] > view["estimated_plain_tokens"] > 0
            assert view["modules"] == seen["modules"], "an exposure permits nothing"
    assert plain["plain:github"]["definitions"] == []
    assert len(plain["both:github.search_issues"]["plain_tools"]) == 1
    assert len(plain["meta"]["plain_tools"]) == seen["tool_count"] > len(plain["plain:github"]["plain_tools"])
    assert "github_get_issue" not in plain["meta"]["plain_tools"]
    told = {one["module"]: [tool["name"] for tool in one["tools"]] for one in schemas}
    assert {one["module"]: one["tools"] for one in seen["modules"]} == told
    assert "get_issue" not in told["github"]
    assert seen["tool_count"] == sum(map(len, told.values()))
    read = estimate_tokens(orjson.dumps(schemas).decode())
    assert 0.8 < seen["estimated_schema_tokens"] / read < 1.2
    assert 300 < seen["estimated_start_tokens"] < 900


@pytest.mark.guarantee("G9")
async def test_a_role_of_another_tenant_has_no_view(app: AdminApp, acme: Tenant) -> None:
    globex = await app.tenant("globex")
    await set_service(app.console, ACTOR, acme.id, "kg", enabled=True)
    async with app.browser(acme.admin) as admin, app.browser(acme.user) as user:
        own = (await admin.get(f"/roles/{acme.role_id}/model-view")).json()
        assert [one["tools"] for one in own["modules"]] == [["search"]]
        assert (await admin.get(f"/roles/{globex.role_id}/model-view")).status_code == 404
        assert (await admin.get(f"/users/{globex.user.id}/model-view")).status_code == 404
        assert (await user.get(f"/users/{acme.user.id}/model-view")).status_code == 403
