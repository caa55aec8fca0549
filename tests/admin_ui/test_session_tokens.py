"""The playground's way: a browser session gets a short access token and calls tools at /mcp, as every client does."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from core.audit.sealer import seal_pending_events
from server.role_database import get_utc_now
from tests.support.identity import Identity, identity_on
from tests.support.postgres import ScratchDatabase
from tests.support.product import Person, product_on

PATH = "/api/v1/sessions/current/access-token"
CALL = {"name": "call", "arguments": {"module": "knowledge_graph", "tool_name": "read_graph", "params": {}}}


@pytest.fixture
async def identity(database: ScratchDatabase, tmp_path: Path) -> AsyncIterator[Identity]:
    async with product_on(database, tmp_path / "home") as product, identity_on(product, providers=False) as running:
        yield running


@pytest.fixture
async def ada(identity: Identity) -> Person:
    return await identity.product.person(
        await identity.product.tenant("default"), "ada@acme.test", allow=["knowledge_graph:read"]
    )


@pytest.fixture
async def page(identity: Identity, ada: Person) -> AsyncIterator[httpx2.AsyncClient]:
    """A page of the console in ada's browser."""
    headers = {"Cookie": await identity.session(ada), "Origin": identity.url}
    async with httpx2.AsyncClient(base_url=identity.url, headers=headers, timeout=60) as client:
        yield client


async def call(identity: Identity, token: str, **headers: str) -> httpx2.Response:
    """The call as a page of the console sends it, without its cookie."""
    sent = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
    sent |= {"Origin": identity.url, "MCP-Protocol-Version": "2025-11-25"} | headers
    async with httpx2.AsyncClient(base_url=identity.url, timeout=60) as client:
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": CALL}
        return await client.post("/mcp", json=message, headers=sent)


async def test_it_runs_a_tool_as_oneself_with_the_same_audit(
    identity: Identity, ada: Person, page: httpx2.AsyncClient
) -> None:
    made = (await page.post(PATH)).json()
    assert made["mcp_url"] == f"{identity.url}/mcp"
    assert (made["scopes"], made["expires_in"]) == (["mcp:read", "mcp:write"], 600)
    answer = await call(identity, made["access_token"])
    assert answer.json()["result"]["isError"] is False, answer.text
    await seal_pending_events(identity.product.console, get_utc_now)
    (item,) = (await page.get("/api/v1/audit", params={"kind": "call"})).json()["items"]
    assert (item["user_id"], item["tool"], item["outcome"]) == (str(ada.id), "read_graph", "ok")


async def test_the_token_ends_with_the_session(identity: Identity, page: httpx2.AsyncClient) -> None:
    first, second = (await page.post(PATH)).json(), (await page.post(PATH)).json()
    assert (await call(identity, first["access_token"])).status_code == 200
    (session,) = (await page.get("/api/v1/sessions")).json()["items"]
    assert (await page.delete(f"/api/v1/sessions/{session['id']}")).status_code == 204
    for token in (first, second):
        async with asyncio.timeout(10):
            while (await call(identity, token["access_token"])).status_code != 401:
                await asyncio.sleep(0.05)
    assert (await page.post(PATH)).status_code == 401


async def test_it_administers_nothing_and_makes_no_other_credential(
    identity: Identity, ada: Person, page: httpx2.AsyncClient
) -> None:
    async with identity.product.database.admin_connection() as admin:
        await admin.execute("UPDATE core.users SET system_role = 'admin'")
    token = (await page.post(PATH)).json()["access_token"]
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(base_url=f"{identity.url}/api/v1", headers=headers, timeout=60) as script:
        assert (await script.get("/me")).json()["scopes"] == ["mcp:read", "mcp:write"]
        assert (await script.get("/users")).json()["code"] == "insufficient_scope"
        refused = await script.post("/tokens", json={"name": "mine", "scopes": ["mcp:read"]})
        assert refused.json()["code"] == "recent_sign_in_required"
        assert (await script.post("/sessions/current/access-token")).status_code == 409
    assert (await page.get("/api/v1/oauth/grants")).json()["items"] == [], "the session stands for it"


@pytest.mark.parametrize("origin", ["https://evil.example", "null", ""])
async def test_another_site_gets_none(identity: Identity, page: httpx2.AsyncClient, origin: str) -> None:
    async with httpx2.AsyncClient(base_url=identity.url, timeout=60) as other:
        headers: dict[str, Any] = {"Cookie": page.headers["cookie"]} | ({"Origin": origin} if origin else {})
        assert (await other.post(PATH, headers=headers)).status_code == 403
    token = (await page.post(PATH)).json()["access_token"]
    if origin:
        assert (await call(identity, token, Origin=origin)).status_code == 403


async def test_a_cookie_alone_opens_no_mcp(identity: Identity, page: httpx2.AsyncClient) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": CALL}
    accept = {"Accept": "application/json, text/event-stream"}
    assert (await page.post("/mcp", json=message, headers=accept)).status_code == 401


async def test_pages_at_once_share_one_grant(identity: Identity, page: httpx2.AsyncClient) -> None:
    answers = await asyncio.gather(*(page.post(PATH) for _ in range(5)))
    assert {one.status_code for one in answers} == {200}
    async with identity.product.database.admin_connection() as admin:
        assert await admin.fetchval("SELECT count(*) FROM auth.grants") == 1
