"""Whoever listens for their tasks is told how they stand: in order, each end once, and nobody else."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from gateway.streams.listening import SUBSCRIPTION_KEY
from gateway.tasks.task_subscriptions import MAX_TASKS
from tests.path.conftest import on_shared_product
from tests.path.task_app import CAPABILITIES, DECLARED, EXTENSION, TaskApp, call_of
from tests.path.test_core_tasks import MADE_UP, id_of
from tests.path.test_listening import SESSION, Stream, listening
from tests.path.test_taking_effect import revoke_token
from tests.support.eventually import within
from tests.support.mcp_client import MODERN, NEWEST, Answer, bearer, envelope, headers_for
from tests.support.mcp_schema import check_message
from tests.support.product import Node, Person


@pytest.fixture
def app(task_app: TaskApp) -> TaskApp:
    return task_app


def statuses(messages: list[Any], task_id: str) -> list[str]:
    """The states of a task that were told, each once where it was told several times with other words."""
    told = [message["params"]["status"] for message in messages if message["params"].get("taskId") == task_id]
    return [status for n, status in enumerate(told) if n == 0 or told[n - 1] != status or status not in ("working",)]


def listen(
    app: TaskApp, *task_ids: str, person: Person | None = None, node: Node | None = None
) -> "asyncio.Task[Answer]":
    params = {"notifications": {"taskIds": list(task_ids)}} | DECLARED
    post = (node or app.other).post(
        (person or app.ada).token, "subscriptions/listen", params, revision=MODERN, id="l-1"
    )
    return asyncio.create_task(post)


# --- 2026-07-28 -------------------------------------------------------------------------------------------------------


@on_shared_product
async def test_a_subscription_tells_from_another_gateway_until_all_tasks_have_ended(app: TaskApp) -> None:
    made = (await app.start_modern("make", what="chair")).result["taskId"]
    failed = (await app.start_modern("fail")).result["taskId"]
    subscription = listen(app, made, failed)
    async with app.worker():
        answer = await asyncio.wait_for(subscription, 15)
    acknowledged, *told, response = answer.messages
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    assert acknowledged["params"]["notifications"] == {"taskIds": [made, failed]}
    assert {message["method"] for message in told} == {"notifications/tasks"}
    assert all(message["params"]["_meta"] == {SUBSCRIPTION_KEY: "l-1"} for message in (acknowledged, *told))
    assert (response["id"], response["result"]["resultType"]) == ("l-1", "complete")
    assert response["result"]["_meta"][SUBSCRIPTION_KEY] == "l-1"
    for task_id in (made, failed):
        assert statuses(told, task_id) == ["working", "completed"]
    last = next(message["params"] for message in told if message["params"]["status"] == "completed")
    assert last["result"]["content"][0]["text"]
    got = (await app.modern("tasks/get", taskId=last["taskId"])).message["result"]
    assert {name: value for name, value in got.items() if name not in ("_meta", "resultType")} == {
        name: value for name, value in last.items() if name != "_meta"
    }


@on_shared_product
async def test_what_has_ended_is_told_at_once(app: TaskApp) -> None:
    async with app.worker():
        task_id = (await app.start_modern("watch", what="oak")).result["taskId"]
        await app.task("result", task_id)
    answer = await asyncio.wait_for(listen(app, task_id), 5)
    assert statuses(answer.messages[1:-1], task_id) == ["completed"]


@on_shared_product
async def test_nobody_listens_to_another_s_tasks(app: TaskApp) -> None:
    task_id = (await app.start_modern("make", what="secret")).result["taskId"]
    for person in (app.bob, app.eve):
        answer = await asyncio.wait_for(listen(app, task_id, MADE_UP, "x", task_id.upper(), person=person), 5)
        acknowledged, response = answer.messages
        assert acknowledged["params"]["notifications"] == {"taskIds": []}
        assert response["result"]["resultType"] == "complete"
        assert "secret" not in str(answer.messages)


@on_shared_product
async def test_wrong_filters_are_refused(app: TaskApp) -> None:
    wrongs: list[Any] = [None, [], "x", {"taskIds": 1}, {"taskIds": [1]}, {"taskIds": [MADE_UP] * (MAX_TASKS + 1)}]
    for wrong in wrongs:
        answer = await app.modern("subscriptions/listen", notifications=wrong)
        assert (answer.status, answer.message["error"]["code"]) == (400, -32602)
    params = {"notifications": {"taskIds": [MADE_UP]}}
    undeclared = await app.node.post(app.ada.token, "subscriptions/listen", params, revision=MODERN)
    assert (undeclared.status, undeclared.message["error"]["code"]) == (400, -32021)
    assert undeclared.message["error"]["data"] == {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
    unread = await app.node.post(
        app.ada.token,
        "subscriptions/listen",
        params | DECLARED,
        revision=MODERN,
        headers={"accept": "application/json"},
    )
    assert (unread.status, unread.message["error"]["code"]) == (400, -32600)
    for revision in ("2025-11-25", "2025-06-18"):
        answer = await app.node.post(app.ada.token, "subscriptions/listen", params, revision=revision)
        assert answer.message["error"]["code"] == -32601


@on_shared_product
async def test_a_subscription_ends_with_its_credential_and_its_process(app: TaskApp) -> None:
    task_id = (await app.start_modern("build")).result["taskId"]
    other = await app.product.with_token(app.ada)
    async with app.product.gateway() as node:
        revoked, kept = listen(app, task_id, person=other, node=node), listen(app, task_id, node=node)
        await within(5, lambda: _is(node.gateway.endpoint.open_streams == 2))
        await revoke_token(app.product, other)
        assert (await asyncio.wait_for(revoked, 10)).message["result"]["resultType"] == "complete"
        assert not kept.done()
        node.gateway.endpoint.end_streams()
        assert (await asyncio.wait_for(kept, 10)).message["result"]["resultType"] == "complete"


async def _is(value: bool) -> bool:
    return value


class Stalled(Stream):
    """A client that reads the first piece and then none."""

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self._requests: list[Any] = [{"type": "http.request", "body": body}]

    async def receive(self) -> dict[str, Any]:
        return self._requests.pop() if self._requests else await super().receive()

    async def send(self, message: dict[str, Any]) -> None:
        if self.sent:
            await asyncio.Event().wait()
        await super().send(message)


@on_shared_product
async def test_who_does_not_read_is_left(app: TaskApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.streams.stream_hub.STALL_SECONDS", 0.2)
    task_id = (await app.start_modern("build")).result["taskId"]
    params = {"notifications": {"taskIds": [task_id]}} | DECLARED
    head = headers_for(MODERN, "subscriptions/listen") | bearer(app.ada.token) | {"host": "127.0.0.1:8080"}
    fields = [(name.encode(), value.encode()) for name, value in head.items()]
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": fields, "client": ("127.0.0.1", 5)}
    client = Stalled(orjson.dumps(envelope(MODERN, "subscriptions/listen", params)))
    await asyncio.wait_for(app.node.gateway.app(scope, client.receive, client.send), 5)
    assert app.node.gateway.endpoint.open_streams == 0


# --- 2025-11-25 -------------------------------------------------------------------------------------------------------


@on_shared_product
async def test_who_waits_for_a_result_is_told_how_the_task_stands(app: TaskApp) -> None:
    task_id = id_of(await app.start("build"))
    waiting = asyncio.create_task(app.task("result", task_id, node=app.other))
    await within(5, lambda: _is(app.other.gateway.endpoint.running == 1))
    async with app.worker():
        await asyncio.wait_for(app.workshop.started.wait(), 5)
        await within(5, lambda: _told(app, task_id))
        app.workshop.resume.set()
        answer = await asyncio.wait_for(waiting, 10)
    *told, response = answer.messages
    assert {message["method"] for message in told} == {"notifications/tasks/status"}
    assert statuses(told, task_id)[-1] == "completed"
    assert statuses(told, task_id).count("completed") == 1
    assert "laying bricks" in [message["params"].get("statusMessage") for message in told]
    assert response["result"]["structuredContent"]["made"] == "house"


async def _told(app: TaskApp, task_id: str) -> bool:
    return (await app.task("get", task_id)).result.get("statusMessage") == "laying bricks"


@contextlib.asynccontextmanager
async def hearing(node: Node, person: Person) -> AsyncIterator[Stream]:
    async with listening(node, person.token, SESSION) as stream:
        yield stream


def heard(stream: Stream) -> list[Any]:
    lines = b"".join(stream.sent).splitlines()
    messages = [orjson.loads(line[6:]) for line in lines if line.startswith(b"data: ")]
    for message in messages:
        check_message(NEWEST, "", message)
    return messages


@on_shared_product
async def test_an_open_stream_tells_the_client_of_its_tasks_and_nobody_else(app: TaskApp) -> None:
    other_client = await app.product.with_token(app.ada)
    async with contextlib.AsyncExitStack() as stack:
        hers, on_another, *others = [
            await stack.enter_async_context(hearing(node, person))
            for node, person in (
                (app.node, app.ada), (app.other, app.ada), (app.other, other_client), (app.node, app.bob),
                (app.node, app.eve),
            )
        ]  # fmt: skip
        task_id = id_of(await app.start("build"))
        await stack.enter_async_context(app.worker())
        await asyncio.wait_for(app.workshop.started.wait(), 5)
        await within(5, lambda: _is(all("laying bricks" in str(heard(stream)) for stream in (hers, on_another))))
        app.workshop.resume.set()
        await within(5, lambda: _is(all("completed" in str(heard(stream)) for stream in (hers, on_another))))
        for stream in (hers, on_another):
            assert {message["method"] for message in heard(stream)} == {"notifications/tasks/status"}
            assert statuses(heard(stream), task_id) == ["working", "completed"]
        assert [heard(stream) for stream in others] == [[], [], []]


@on_shared_product
async def test_a_cancelled_task_is_told_once(app: TaskApp) -> None:
    async with hearing(app.other, app.ada) as stream, app.worker():
        task_id = id_of(await app.start("build"))
        await asyncio.wait_for(app.workshop.started.wait(), 5)
        await app.task("cancel", task_id)
        await asyncio.wait_for(app.workshop.cancelled.wait(), 10)
        await within(5, lambda: _is("cancelled" in str(heard(stream))))
        watched = id_of(await app.start("watch"))
        await within(5, lambda: _is(watched in str(heard(stream))))
        assert statuses(heard(stream), task_id).count("cancelled") == 1


@on_shared_product
async def test_progress_of_a_call_is_no_status_of_a_task(app: TaskApp) -> None:
    async with app.worker():
        params = call_of("make", what="x") | {"_meta": {"progressToken": 1, CAPABILITIES: {}}}
        answer = await app.node.post(app.ada.token, "tools/call", params, revision=MODERN)
    assert {message.get("method") for message in answer.messages} <= {"notifications/progress", None}
