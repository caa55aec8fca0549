"""A client that leaves, or cancels its request, while its call waits for the job that it has become."""

import asyncio
from typing import Any

import orjson
import pytest

from gateway.mcp import cancellation
from gateway.tasks.idempotency import IDEMPOTENCY_META
from tests.path.conftest import on_shared_product
from tests.path.task_app import DECLARED, TaskApp, call_of
from tests.path.test_cancelling import send as send_cancelled
from tests.path.test_cancelling import settle
from tests.support.eventually import within
from tests.support.mcp_client import MODERN, NEWEST, bearer, envelope, headers_for

FORMS = {"_meta": {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}}}}


@pytest.fixture
def app(task_app: TaskApp) -> TaskApp:
    return task_app


class Caller:
    """One `tools/call` whose client leaves when the test says so."""

    def __init__(self, app: TaskApp, revision: str, params: dict[str, Any]) -> None:
        head = headers_for(revision, "tools/call", params) | bearer(app.ada.token) | {"host": "127.0.0.1:8080"}
        fields = [(name.encode(), value.encode()) for name, value in head.items()]
        scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": fields, "client": ("127.0.0.1", 5)}
        self._body = [orjson.dumps(envelope(revision, "tools/call", params))]
        self.leaving = asyncio.Event()
        self.serving = asyncio.ensure_future(app.node.gateway.app(scope, self._receive, self._send))

    async def _receive(self) -> Any:
        if self._body:
            return {"type": "http.request", "body": self._body.pop()}
        await self.leaving.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        pass


async def states(app: TaskApp) -> list[tuple[str, bool]]:
    """State of every job, and whether its end was asked for."""
    async with app.product.database.admin_connection() as admin:
        rows = await admin.fetch("SELECT state, cancel_requested_at IS NOT NULL FROM jobs.jobs ORDER BY number")
    return [tuple(row) for row in rows]


@on_shared_product
@pytest.mark.parametrize("more", [{}, FORMS], ids=["alone", "with forms"])
async def test_leaving_cancels_the_job_that_the_call_waits_for(app: TaskApp, more: dict[str, Any]) -> None:
    async with app.worker():
        caller = Caller(app, MODERN, call_of("build") | more)
        await asyncio.wait_for(app.workshop.started.wait(), 5)
        caller.leaving.set()
        await asyncio.wait_for(app.workshop.cancelled.wait(), 10)
        await asyncio.wait_for(caller.serving, 5)

        async def is_cancelled() -> bool:
            return await states(app) == [("cancelled", True)]

        await within(5, is_cancelled)


@on_shared_product
async def test_leaving_cancels_a_job_that_has_not_begun(app: TaskApp) -> None:
    caller = Caller(app, MODERN, call_of("make", what="chair"))

    async def is_queued() -> bool:
        return bool(await states(app))

    await within(5, is_queued)
    caller.leaving.set()
    await asyncio.wait_for(caller.serving, 5)
    assert await states(app) == [("cancelled", True)]
    async with app.worker():
        await app.task("result", (await app.start("watch")).result["task"]["taskId"])
    assert app.workshop.effects == []


@on_shared_product
async def test_who_can_come_back_by_a_key_cancels_nothing(app: TaskApp) -> None:
    params = call_of("build") | {"_meta": {IDEMPOTENCY_META: "k"}}
    async with app.worker():
        caller = Caller(app, MODERN, params)
        await asyncio.wait_for(app.workshop.started.wait(), 5)
        caller.leaving.set()
        await asyncio.wait_for(caller.serving, 5)
        assert await states(app) == [("running", False)]
        app.workshop.resume.set()
        answer = await app.node.post(app.ada.token, "tools/call", params, revision=MODERN)
    assert answer.result["structuredContent"]["made"] == "house"


@on_shared_product
async def test_leaving_cancels_nothing_of_earlier_revisions(app: TaskApp) -> None:
    async with app.worker():
        caller = Caller(app, NEWEST, call_of("build"))
        await asyncio.wait_for(app.workshop.started.wait(), 5)
        caller.leaving.set()
        for _ in range(20):  # long enough for the look at those who have left
            await asyncio.wait([caller.serving], timeout=0.02)
        assert await states(app) == [("running", False)]
        app.workshop.resume.set()
        await asyncio.wait_for(caller.serving, 5)
    assert await states(app) == [("succeeded", False)]


@on_shared_product
async def test_a_client_that_was_told_of_its_task_leaves_it_alone(app: TaskApp) -> None:
    async with app.worker():
        caller = Caller(app, MODERN, call_of("build") | DECLARED)
        await asyncio.wait_for(caller.serving, 5)
        caller.leaving.set()
        await asyncio.wait_for(app.workshop.started.wait(), 5)
        for _ in range(10):
            await asyncio.sleep(0.02)
        assert await states(app) == [("running", False)]


@on_shared_product
async def test_cancelling_the_request_cancels_its_job(app: TaskApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cancellation, "COUNT_SECONDS", 1.5)
    async with app.worker():
        running = asyncio.create_task(app.node.post(app.ada.token, "tools/call", call_of("build"), id=7))
        await asyncio.wait_for(app.workshop.started.wait(), 5)
        for stranger in (app.bob, app.eve):
            await send_cancelled(app.other, stranger, 7)
        await settle(app.other)
        assert await states(app) == [("running", False)]

        async def listen() -> bool:
            return all("mcpist_generation_listener_up 1.0" in one.metrics() for one in (app.node, app.other))

        await within(10, listen)
        await send_cancelled(app.other, app.ada, 7)
        assert (await asyncio.wait_for(running, 10)).status == 202
        await asyncio.wait_for(app.workshop.cancelled.wait(), 10)
