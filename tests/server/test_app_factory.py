"""The product as an ASGI application, served by somebody else."""

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest

from core.config.settings import Settings
from core.errors import Invalid
from core.secret import Secret
from server.app_factory import create_app
from tests.support.running_product import data_folder


class Lifespan:
    """What an ASGI server does around the requests."""

    def __init__(self, app: Any) -> None:
        self.received: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.task = asyncio.create_task(app({"type": "lifespan"}, self.received.get, self.sent.put))

    async def tell(self, kind: str) -> dict[str, Any]:
        await self.received.put({"type": kind})
        async with asyncio.timeout(60):
            return await self.sent.get()


async def test_it_serves_between_startup_and_shutdown() -> None:
    with data_folder() as home:
        await live_one_life(create_app(Settings(home=home)))


async def live_one_life(app: Any) -> None:
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1:8080") as http:
        assert (await http.get("/healthz")).status_code == 503
        lifespan = Lifespan(app)
        assert await lifespan.tell("lifespan.startup") == {"type": "lifespan.startup.complete"}
        assert (await http.get("/readyz")).status_code == 200
        assert (await http.post("/mcp", json={})).status_code == 401, "nothing switches authentication off"
        assert await lifespan.tell("lifespan.shutdown") == {"type": "lifespan.shutdown.complete"}
        await lifespan.task
        assert (await http.get("/healthz")).status_code == 503


async def test_a_start_that_fails_says_why(tmp_path: Path) -> None:
    lifespan = Lifespan(
        create_app(Settings(home=tmp_path, database_url=Secret("postgresql://mcpist@127.0.0.1:1/none")))
    )
    answer = await lifespan.tell("lifespan.startup")
    assert answer["type"] == "lifespan.startup.failed"
    assert "database" in answer["message"]


def test_workers_are_for_the_command(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="MCPIST_WORKERS"):
        create_app(Settings(home=tmp_path, workers=2))
