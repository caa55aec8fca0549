"""A background task that keeps failing shows in the health of the process, which goes on serving."""

import asyncio
from typing import Any

import httpx2
import orjson
import pytest

from broker.vault import maintenance
from broker.vault.vault import Vault
from tests.support.product import Node, Product

TASK = "evicting data keys"


async def read_state(node: Node) -> tuple[int, str]:
    app: Any = node.gateway.app
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://mcpist") as client:
        response = await client.get("/readyz")
    states = {one["name"]: one["state"] for one in orjson.loads(response.content)["components"]}
    return response.status_code, states["background tasks"]


async def wait_for(node: Node, state: str) -> int:
    async with asyncio.timeout(10):
        while True:
            status, found = await read_state(node)
            if found == state:
                return status
            await asyncio.sleep(0.1)


async def test_a_failing_task_shows_until_it_works_again(product: Product, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = True

    async def evict(_vault: Vault, _database: Any) -> int:
        if broken:
            raise RuntimeError("injected")
        return 0

    async def has_keys(_vault: Vault) -> None:
        """Without a key in memory, nothing would have to be evicted."""

    monkeypatch.setattr(Vault, "wait_until_cached", has_keys)
    monkeypatch.setattr(Vault, "evict_expired", evict)
    monkeypatch.setattr(maintenance, "CLEANUP_INTERVAL_SECONDS", 0.01)
    async with product.gateway() as node:
        assert await wait_for(node, f"degraded: {TASK}") == 200, "calls are served all the same"
        assert "mcpist_background_tasks_failing 1.0" in node.metrics()
        broken = False
        assert await wait_for(node, "up") == 200
        assert "mcpist_background_tasks_failing 0.0" in node.metrics()
