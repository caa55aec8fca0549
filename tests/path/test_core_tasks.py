"""Tasks of 2025-11-25: a call that outlives its request, for the client that wants it so."""

import asyncio
from collections.abc import Awaitable
from typing import Any

import orjson
import pytest

from gateway.tasks import core_tasks
from gateway.tasks.core_tasks import RELATED_TASK
from gateway.tasks.idempotency import IDEMPOTENCY_META
from gateway.tasks.task_form import NO_SUCH_TASK
from tests.path.conftest import on_shared_product
from tests.path.task_app import BIG, TaskApp, call_of
from tests.support.eventually import within
from tests.support.mcp_client import NEWEST, Answer
from tests.support.product import Person

MADE_UP = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def app(task_app: TaskApp) -> TaskApp:
    return task_app


def id_of(answer: Answer) -> str:
    return answer.result["task"]["taskId"]


async def reaches(app: TaskApp, task_id: str, status: str) -> dict[str, Any]:
    """The task when it has that status."""
    found: dict[str, Any] = {}

    async def has_status() -> bool:
        found.update((await app.task("get", task_id)).result)
        return found["status"] == status

    await within(5, has_status)
    return found


@on_shared_product
async def test_the_capability_and_the_tools_say_so(app: TaskApp) -> None:
    handshake = {"protocolVersion": NEWEST, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    capabilities = (await app.post(app.ada, "initialize", handshake)).result["capabilities"]
    assert capabilities["tasks"] == {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
    tools = (await app.post(app.ada, "tools/list", {})).result["tools"]
    assert [tool.get("execution") for tool in tools] == [None, *[{"taskSupport": "optional"}] * 2]
    for revision in ("2024-11-05", "2025-03-26", "2025-06-18"):
        params = handshake | {"protocolVersion": revision}
        answer = await app.node.post(app.ada.token, "initialize", params, revision=revision)
        assert "tasks" not in answer.result["capabilities"]
        tools = (await app.node.post(app.ada.token, "tools/list", revision=revision)).result["tools"]
        assert not any("execution" in tool for tool in tools)


@on_shared_product
async def test_a_call_becomes_a_task_and_its_result_is_exact(app: TaskApp) -> None:
    created = (await app.start("make", what="chair", ttl=120_000)).result
    assert created.keys() == {"task"}
    assert (created["task"]["status"], created["task"]["ttl"]) == ("working", 120_000)
    assert app.workshop.effects == [], "nothing runs before the task is durable, and only by a worker"
    task_id = created["task"]["taskId"]
    waiting = asyncio.create_task(app.task("result", task_id, node=app.other))
    async with app.worker():
        answer = await asyncio.wait_for(waiting, 10)
    assert answer.message["result"]["_meta"] == {RELATED_TASK: {"taskId": task_id}}
    assert app.workshop.effects == ["chair"]
    shown = {"made": "chair", "number": BIG, "by": str(app.ada.id)}
    assert b'"number":%d' % BIG in answer.body
    assert orjson.dumps({"made": "chair"})[1:-1] in answer.body
    assert answer.result["isError"] is False
    assert answer.result["content"] == [{"type": "text", "text": answer.result["content"][0]["text"]}]
    assert f'"by":"{shown["by"]}"' in answer.result["content"][0]["text"]
    assert (await app.task("get", task_id)).result["status"] == "completed"
    again = await app.task("result", task_id)
    assert again.message["result"] == answer.message["result"]


@on_shared_product
async def test_a_repeated_call_finds_its_task(app: TaskApp) -> None:
    def repeat(what: str, key: object, person: Person | None = None) -> Awaitable[Answer]:
        params = call_of("make", what=what) | {"task": {}, "_meta": {IDEMPOTENCY_META: key}}
        return app.post(person or app.ada, "tools/call", params)

    first = id_of(await repeat("chair", "注文 1"))
    assert id_of(await repeat("chair", "注文 1")) == first
    assert id_of(await repeat("chair", "注文 2")) != first
    assert id_of(await repeat("chair", "注文 1", app.bob)) != first
    assert id_of(await repeat("chair", "注文 1", app.eve)) != first
    other = await repeat("table", "注文 1")
    assert "another tool or other arguments" in other.message["error"]["message"]
    for odd in ("", "x" * 201, "a\nb", 7, ["x"], {}):
        refused = await repeat("chair", odd)
        assert "1 to 200 printable characters" in refused.message["error"]["message"], odd
    async with app.worker():
        assert (await app.task("result", first)).result["structuredContent"]["made"] == "chair"
        assert id_of(await repeat("chair", "注文 1")) == first
    assert app.workshop.effects.count("chair") == 4
    live = "SELECT count(*) FROM auth.mandates WHERE ended_at IS NULL"
    async with app.product.database.admin_connection() as admin:
        assert await admin.fetchval(live) == 0


@on_shared_product
async def test_a_tool_that_is_not_asynchronous_can_be_a_task_too(app: TaskApp) -> None:
    async with app.worker():
        answer = await app.task("result", id_of(await app.start("look", at="oak")))
    assert answer.result["structuredContent"]["made"] == "oak"


@on_shared_product
async def test_a_batch_can_be_a_task(app: TaskApp) -> None:
    steps = [
        {"id": "a", "module": "workshop", "tool_name": "make", "params": {"what": "leg"}, "output": True},
        {"id": "b", "module": "workshop", "tool_name": "look", "params": {"at": "${a.made}"}, "output": True},
    ]
    params = {"name": "batch", "arguments": {"commands": steps}, "task": {}}
    created = await app.post(app.ada, "tools/call", params)
    async with app.worker():
        result = (await app.task("result", id_of(created))).result
    assert [step["status"] for step in result["structuredContent"]["steps"]] == ["ok", "ok"]
    assert result["structuredContent"]["steps"][1]["result"]["made"] == "leg"


@on_shared_product
async def test_a_failing_tool_ends_as_failed_with_its_result(app: TaskApp) -> None:
    async with app.worker():
        task_id = id_of(await app.start("fail"))
        answer = await app.task("result", task_id)
        assert (answer.failed, answer.text) == (True, "the wood is wet")
        assert (await app.task("get", task_id)).result["status"] == "failed"
        crashed = await app.task("result", id_of(await app.start("crash")))
    assert crashed.failed
    assert "hunter2" not in crashed.text


@on_shared_product
async def test_progress_is_the_message_of_its_status(app: TaskApp) -> None:
    async with app.worker():
        task_id = id_of(await app.start("build"))
        await asyncio.wait_for(app.workshop.started.wait(), 5)

        async def told() -> bool:
            return (await app.task("get", task_id)).result.get("statusMessage") == "laying bricks"

        await within(5, told)
        app.workshop.resume.set()
        assert (await app.task("result", task_id)).result["structuredContent"]["made"] == "house"


@on_shared_product
async def test_cancelling_ends_it_at_once_and_for_good(app: TaskApp) -> None:
    async with app.worker():
        task_id = id_of(await app.start("build"))
        await asyncio.wait_for(app.workshop.started.wait(), 5)
        assert (await app.task("cancel", task_id)).result["status"] == "cancelled"
        assert (await app.task("get", task_id)).result["status"] == "cancelled"
        await asyncio.wait_for(app.workshop.cancelled.wait(), 10)
        assert (await app.task("result", task_id)).message["error"]["code"] == -32603
        again = (await app.task("cancel", task_id)).message["error"]
        assert (again["code"], "already" in again["message"]) == (-32602, True)
        waiting = id_of(await app.start("look"))
        await reaches(app, waiting, "completed")
        assert (await app.task("cancel", waiting)).message["error"]["code"] == -32602


@on_shared_product
async def test_a_mandate_ends_with_its_job(app: TaskApp) -> None:
    async def are_over() -> bool:
        async with app.product.database.admin_connection() as admin:
            return await admin.fetchval("SELECT count(*) = 2 AND bool_and(ended_at IS NOT NULL) FROM auth.mandates")

    assert (await app.task("cancel", id_of(await app.start("make", what="x")))).result["status"] == "cancelled"
    async with app.worker():
        await app.task("result", id_of(await app.start("watch")))
        await within(5, are_over)
    assert app.workshop.effects == []


@on_shared_product
async def test_nobody_else_s_tasks_exist(app: TaskApp) -> None:
    task_id = id_of(await app.start("make", what="secret"))
    for method in ("get", "result", "cancel"):
        made_up = (await app.task(method, MADE_UP)).message["error"]
        assert made_up == {"code": -32602, "message": NO_SUCH_TASK}
        for person in (app.bob, app.eve):
            assert (await app.task(method, task_id, person=person)).message["error"] == made_up
        for odd in ("", "x", task_id.upper(), f"{{{task_id}}}", f"urn:uuid:{task_id}", "a" * 4_000_000, task_id + "\n"):
            assert (await app.task(method, odd)).message["error"] == made_up
        for wrong in (None, 7, [task_id], {}):
            answer = await app.post(app.ada, f"tasks/{method}", {} if wrong is None else {"taskId": wrong})
            assert answer.message["error"]["code"] == -32602
    for person in (app.bob, app.eve):
        assert (await app.post(person, "tasks/list", {})).result["tasks"] == []
    assert [task["taskId"] for task in (await app.post(app.ada, "tasks/list", {})).result["tasks"]] == [task_id]
    assert (await app.task("get", task_id)).result["status"] == "working"


@on_shared_product
async def test_the_list_has_pages(app: TaskApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_tasks, "PAGE_SIZE", 2)
    made = [id_of(await app.start("watch")) for _ in range(5)]
    listed: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = (await app.post(app.ada, "tasks/list", cursor)).result
        listed += [task["taskId"] for task in page["tasks"]]
        if "nextCursor" not in page:
            break
        assert len(page["tasks"]) == 2
        cursor = {"cursor": page["nextCursor"]}
    assert listed == made[::-1]
    assert (await app.post(app.ada, "tasks/list", {"cursor": "x"})).message["error"]["code"] == -32602


@on_shared_product
async def test_wrong_uses_are_refused(app: TaskApp) -> None:
    schema = {"name": "get_module_schema", "arguments": {}, "task": {}}
    assert (await app.post(app.ada, "tools/call", schema)).message["error"]["code"] == -32601
    for task in (None, 1, "x", [], {"ttl": "1"}, {"ttl": -1}, {"ttl": 1.5}, {"ttl": True}, {"ttl": 10**18}):
        answer = await app.post(app.ada, "tools/call", call_of("make", what="x") | {"task": task})
        assert answer.message["error"]["code"] == -32602
    for params in (call_of("no_such_tool"), call_of("make"), call_of("make", what=1)):
        error = (await app.post(app.ada, "tools/call", params | {"task": {}})).message["error"]
        assert (error["code"], error["message"][:12]) == (-32602, "Not started:")
    assert (await app.post(app.ada, "tasks/update", {"taskId": MADE_UP})).message["error"]["code"] == -32601
    assert (await app.post(app.ada, "tasks/list", {})).result["tasks"] == []


@on_shared_product
async def test_a_time_to_live_is_moved_into_the_limits(app: TaskApp) -> None:
    minute, week = 60_000, 7 * 24 * 3_600_000
    year = 365 * 24 * 3_600_000
    for asked, given in ((0, minute), (1, minute), (year, week), (10**14, week)):
        assert (await app.start("watch", ttl=asked)).result["task"]["ttl"] == given
    for task, given in (({}, 60 * minute), ({"ttl": None}, week)):
        answer = await app.post(app.ada, "tools/call", call_of("watch") | {"task": task})
        assert answer.result["task"]["ttl"] == given


@on_shared_product
async def test_a_read_only_token_cannot_read_what_a_writing_tool_has_shown(app: TaskApp) -> None:
    reader = await app.product.with_token(app.ada, read_only=True)
    async with app.worker():
        task_id = id_of(await app.start("make", what="chair"))
        await reaches(app, task_id, "completed")
    error = (await app.task("result", task_id, person=reader)).message["error"]
    assert (error["code"], "withheld" in error["message"]) == (-32603, True)
    assert "chair" not in str(error)
