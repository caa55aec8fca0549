"""Tasks by the official Python SDK client, over a real socket: the core's by its types, the extension as one of its
extensions."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal

import httpx2
import mcp_types
import pytest
from mcp import Client
from mcp.client.extension import ClaimContext, ClientExtension, NotificationBinding, ResultClaim
from mcp.client.streamable_http import streamable_http_client
from pydantic import BaseModel, ConfigDict

from tests.path.conftest import on_shared_product
from tests.path.task_app import EXTENSION, TaskApp
from tests.support.http_server import served

BUILD = {"module": "workshop", "tool_name": "build", "params": {}}


@pytest.fixture
def app(task_app: TaskApp) -> TaskApp:
    return task_app


@contextlib.asynccontextmanager
async def client_of(app: TaskApp, **options: Any) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {app.ada.token}"}
    async with (
        served(app.node.gateway.app) as (_, port),
        httpx2.AsyncClient(headers=headers, timeout=20, trust_env=False) as http,
        Client(streamable_http_client(f"http://127.0.0.1:{port}/mcp", http_client=http), **options) as client,
    ):
        yield client


@on_shared_product
async def test_core_tasks(app: TaskApp) -> None:
    """What is pushed meanwhile does not disturb the client, which leaves it out."""
    async with client_of(app, mode="legacy") as client, app.worker():
        # The SDK's own session takes no task as the answer of a call.
        task_id = (await app.start("build", ttl=60_000)).result["task"]["taskId"]
        payload = mcp_types.GetTaskPayloadRequest(params=mcp_types.GetTaskPayloadRequestParams(task_id=task_id))
        waiting = asyncio.create_task(client.session.send_request(payload, mcp_types.CallToolResult))
        await asyncio.wait_for(app.workshop.started.wait(), 5)
        app.workshop.resume.set()
        result = await asyncio.wait_for(waiting, 10)
        get = mcp_types.GetTaskRequest(params=mcp_types.GetTaskRequestParams(task_id=task_id))
        assert (await client.session.send_request(get, mcp_types.GetTaskResult)).status == "completed"
    assert result.structured_content is not None
    assert result.structured_content["made"] == "house"


class _Task(mcp_types.Result):
    model_config = ConfigDict(extra="allow")
    result_type: Literal["task"] = "task"


class _Anything(mcp_types.Result):
    model_config = ConfigDict(extra="allow")


class _Told(BaseModel):
    model_config = ConfigDict(extra="allow")


class _About(mcp_types.RequestParams):
    model_config = ConfigDict(extra="allow")


class _Get(mcp_types.Request[_About, Literal["tasks/get"]]):
    method: Literal["tasks/get"] = "tasks/get"
    name_param = "taskId"
    params: _About


class Tasks(ClientExtension):
    """The extension as a client would write it: it polls."""

    identifier = EXTENSION

    def __init__(self) -> None:
        self.seen: list[str] = []

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return (ResultClaim(result_type="task", model=_Task, resolve=self._resolve),)

    def notifications(self) -> Sequence[NotificationBinding[Any]]:
        return ()

    async def _resolve(self, created: _Task, context: ClaimContext) -> mcp_types.CallToolResult:
        task_id = (created.model_extra or {})["taskId"]
        while True:
            request = _Get(params=_About.model_validate({"taskId": task_id}))
            task = (await context.session.send_request(request, _Anything)).model_extra or {}
            self.seen.append(task["status"])
            if task["status"] == "completed":
                return mcp_types.CallToolResult.model_validate(task["result"])
            await asyncio.sleep(0.1)


@on_shared_product
async def test_the_extension(app: TaskApp) -> None:
    extension = Tasks()
    async with client_of(app, mode="2026-07-28", extensions=[extension]) as client, app.worker():
        waiting = asyncio.create_task(client.call_tool("call", BUILD))
        await asyncio.wait_for(app.workshop.started.wait(), 5)
        app.workshop.resume.set()
        result = await asyncio.wait_for(waiting, 10)
    assert result.structured_content is not None
    assert result.structured_content["made"] == "house"
    assert extension.seen[-1] == "completed"
