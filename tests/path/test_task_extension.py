"""Tasks by the extension of 2026-07-28, and the same tools for clients without tasks."""

import asyncio
from typing import Any

import pytest

from core.audit.event import AuditEventKind
from core.errors import LimitReached
from gateway.tasks import job_starter
from gateway.tasks.task_form import NO_SUCH_TASK
from jobs import job_run
from jobs.queue import JobQueue
from tests.path.conftest import on_shared_product, with_own_people
from tests.path.task_app import CAPABILITIES, DECLARED, EXTENSION, TaskApp, call_of
from tests.path.test_core_tasks import MADE_UP
from tests.path.test_taking_effect import suspend_user
from tests.support.eventually import within
from tests.support.mcp_client import MODERN, NEWEST, Answer
from tests.support.product import Person

METHODS: list[tuple[str, dict[str, Any]]] = [("get", {}), ("update", {"inputResponses": {}}), ("cancel", {})]
MISSING = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}


@pytest.fixture
def app(task_app: TaskApp) -> TaskApp:
    return task_app


async def ended(app: TaskApp, task_id: str, person: Person | None = None) -> dict[str, Any]:
    """The task when it has ended."""
    found: dict[str, Any] = {}

    async def has_ended() -> bool:
        found.clear()
        found.update((await app.modern("tasks/get", person=person, taskId=task_id)).result)
        return found["status"] not in ("working", "input_required")

    await within(5, has_ended)
    return found


def refused(answer: Answer) -> tuple[int, int]:
    return answer.status, answer.message["error"]["code"]


@on_shared_product
async def test_it_is_advertised_and_other_revisions_are_told_nothing(app: TaskApp) -> None:
    discovered = (await app.node.post(app.ada.token, "server/discover", revision=MODERN)).result["capabilities"]
    assert discovered["extensions"] == {EXTENSION: {}}
    assert "tasks" not in discovered
    tools = (await app.node.post(app.ada.token, "tools/list", revision=MODERN)).result["tools"]
    assert not any("execution" in tool for tool in tools)


@on_shared_product
async def test_an_asynchronous_tool_becomes_a_task(app: TaskApp) -> None:
    created = (await app.start_modern("make", what="chair")).result
    assert (created["resultType"], created["status"]) == ("task", "working")
    assert app.workshop.effects == []
    assert (await app.modern("tasks/get", taskId=created["taskId"])).result["status"] == "working"
    async with app.worker():
        task = await ended(app, created["taskId"])
    assert (task["status"], task["resultType"]) == ("completed", "complete")
    assert task["result"]["structuredContent"]["made"] == "chair"
    assert task["result"]["isError"] is False
    assert "_meta" not in task["result"]
    assert app.workshop.effects == ["chair"]


@on_shared_product
async def test_another_tool_is_answered_at_once(app: TaskApp) -> None:
    answer = (await app.start_modern("look", at="oak")).result
    assert (answer["resultType"], answer["structuredContent"]["made"]) == ("complete", "oak")
    hinted = await app.modern("tools/call", **call_of("look", at="oak"), task={"ttl": 60_000})
    assert hinted.result["resultType"] == "complete"


@on_shared_product
async def test_a_batch_with_an_asynchronous_step_becomes_a_task(app: TaskApp) -> None:
    def steps(tool: str, **params: str) -> dict[str, Any]:
        step = {"id": "a", "module": "workshop", "tool_name": tool, "params": params, "output": True}
        return {"name": "batch", "arguments": {"commands": [step]}}

    dry = steps("make", what="x")
    dry["arguments"]["dry_run"] = True
    assert (await app.modern("tools/call", **dry)).result["resultType"] == "complete"
    created = (await app.modern("tools/call", **steps("watch", what="leg"))).result
    assert created["resultType"] == "task"
    async with app.worker():
        task = await ended(app, created["taskId"])
    assert task["result"]["structuredContent"]["steps"][0]["result"]["made"] == "leg"


def steps_of(*tools: str) -> dict[str, Any]:
    steps = [{"id": f"s{n}", "module": "workshop", "tool_name": tool, "output": True} for n, tool in enumerate(tools)]
    return {"name": "batch", "arguments": {"commands": steps}}


@on_shared_product
async def test_a_batch_that_ends_soon_is_answered_with_its_result(app: TaskApp) -> None:
    async with app.worker():
        answer = await app.modern("tools/call", **steps_of("look", "look"))
    assert answer.result["resultType"] == "complete"
    assert [step["status"] for step in answer.result["structuredContent"]["steps"]] == ["ok", "ok"]
    listed = (await app.post(app.ada, "tasks/list", {})).result["tasks"]
    assert [task["status"] for task in listed] == ["completed"], "it was durable before it ran"


@on_shared_product
async def test_a_batch_that_takes_longer_becomes_a_task(app: TaskApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_starter, "SHORT_SECONDS", 0.05)
    async with app.worker():
        created = (await app.modern("tools/call", **steps_of("think"))).result
        assert created["resultType"] == "task"
        app.workshop.resume.set()
        task = await ended(app, created["taskId"])
    assert task["result"]["structuredContent"]["steps"][0]["status"] == "ok"
    for person in (app.bob, app.eve):
        answer = await app.modern("tasks/get", person=person, taskId=created["taskId"])
        assert answer.message["error"]["message"] == NO_SUCH_TASK


@on_shared_product
async def test_other_batches_stay_calls(app: TaskApp, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of clients without the extension, of tools that need no permission, and where no job can be run or may wait."""
    plain = await app.node.post(app.ada.token, "tools/call", steps_of("look"), revision=MODERN)
    built_in = [{"id": "a", "module": "jobs", "tool_name": "list_jobs", "output": True}]
    own = await app.modern("tools/call", name="batch", arguments={"commands": built_in})

    async def refuse(*_: Any) -> Any:
        raise LimitReached("too many")

    idle = await app.modern("tools/call", **steps_of("look"))
    listed = (await app.post(app.ada, "tasks/list", {})).result["tasks"]
    assert [task["status"] for task in listed] == ["cancelled"], "no worker runs: it was taken back"
    monkeypatch.setattr(JobQueue, "enqueue", refuse)
    full = await app.modern("tools/call", **steps_of("look"))
    for answer in (plain, own, idle, full):
        assert answer.result["resultType"] == "complete"
        assert answer.result["structuredContent"]["steps"][0]["status"] == "ok"


@on_shared_product
async def test_the_error_of_a_tool_is_a_completed_task(app: TaskApp) -> None:
    async with app.worker():
        failed = await ended(app, (await app.start_modern("fail")).result["taskId"])
        crashed = await ended(app, (await app.start_modern("crash")).result["taskId"])
    assert (failed["status"], failed["result"]["isError"]) == ("completed", True)
    assert failed["result"]["content"][0]["text"] == "the wood is wet"
    assert crashed["status"] == "completed"
    assert "hunter2" not in str(crashed)


@on_shared_product
async def test_cancelling_is_acknowledged_each_time(app: TaskApp) -> None:
    async with app.worker():
        task_id = (await app.start_modern("build")).result["taskId"]
        await asyncio.wait_for(app.workshop.started.wait(), 5)
        for _ in range(2):
            answer = (await app.modern("tasks/cancel", taskId=task_id)).result
            assert answer.keys() == {"resultType", "_meta"}
        await asyncio.wait_for(app.workshop.cancelled.wait(), 10)
        assert (await ended(app, task_id))["status"] == "cancelled"
        assert (await app.modern("tasks/cancel", taskId=task_id)).result["resultType"] == "complete"


@on_shared_product
async def test_a_task_s_time_to_live_is_the_server_s(app: TaskApp) -> None:
    for ttl in (0, -1, 365 * 24 * 3_600_000, None, "x"):
        answer = await app.modern("tools/call", **call_of("watch"), task={"ttl": ttl})
        assert answer.result["ttlMs"] == 3_600_000


@on_shared_product
async def test_what_has_changed_something_is_not_cut(app: TaskApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_run, "GRACE_SECONDS", 0.1)
    async with app.worker():
        task_id = (await app.start_modern("keep")).result["taskId"]
        await asyncio.wait_for(app.workshop.started.wait(), 5)
        await app.modern("tasks/cancel", taskId=task_id)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(app.workshop.cancelled.wait(), 0.5)
        app.workshop.resume.set()
        task = await ended(app, task_id)
    assert (task["status"], task["result"]["structuredContent"]["made"]) == ("completed", "plan")


@on_shared_product
async def test_an_update_is_acknowledged(app: TaskApp) -> None:
    task_id = (await app.start_modern("watch")).result["taskId"]
    answer = await app.modern("tasks/update", taskId=task_id, inputResponses={"never asked": {"action": "accept"}})
    assert answer.result.keys() == {"resultType", "_meta"}
    wrongs: list[dict[str, Any]] = [{}, {"inputResponses": []}, {"inputResponses": None}]
    for wrong in wrongs:
        assert refused(await app.modern("tasks/update", taskId=task_id, **wrong)) == (400, -32602)


@on_shared_product
async def test_who_does_not_declare_it_gets_no_task(app: TaskApp) -> None:
    task_id = (await app.start_modern("watch")).result["taskId"]
    for method, more in METHODS:
        for extensions in ({}, {EXTENSION: None}, {EXTENSION: True}, {"other": {}}, []):
            params = {"taskId": task_id, **more, "_meta": {CAPABILITIES: {"extensions": extensions}}}
            answer = await app.node.post(app.ada.token, f"tasks/{method}", params, revision=MODERN)
            assert (refused(answer), answer.message["error"]["data"]) == ((400, -32021), MISSING)
    for gone in ("tasks/result", "tasks/list"):
        assert refused(await app.modern(gone, taskId=task_id)) == (404, -32601)
    async with app.worker():
        answer = await app.node.post(app.ada.token, "tools/call", call_of("watch", what="x"), revision=MODERN)
    assert (answer.result["resultType"], answer.result["structuredContent"]["made"]) == ("complete", "x")


@on_shared_product
async def test_nobody_else_s_tasks_exist(app: TaskApp) -> None:
    task_id = (await app.start_modern("make", what="secret")).result["taskId"]
    for method, more in METHODS:
        made_up = await app.modern(f"tasks/{method}", taskId=MADE_UP, **more)
        assert made_up.message["error"] == {"code": -32602, "message": NO_SUCH_TASK}
        for person in (app.bob, app.eve):
            answer = await app.modern(f"tasks/{method}", person=person, taskId=task_id, **more)
            assert (answer.status, answer.message["error"]) == (made_up.status, made_up.message["error"])


@on_shared_product
async def test_the_header_names_the_task(app: TaskApp) -> None:
    task_id = (await app.start_modern("watch")).result["taskId"]
    for name in ("", MADE_UP):
        headers = {"mcp-name": name}
        params = {"taskId": task_id} | DECLARED
        answer = await app.node.post(app.ada.token, "tasks/get", params, revision=MODERN, headers=headers)
        assert refused(answer) == (400, -32020)


# --- clients without tasks --------------------------------------------------------------------------------------------


@on_shared_product
async def test_a_call_waits_for_its_job_with_progress(app: TaskApp) -> None:
    params = call_of("make", what="chair") | {"_meta": {"progressToken": "t"}}
    async with app.worker():
        answer = await app.node.post(app.ada.token, "tools/call", params, revision=NEWEST)
    assert answer.result["structuredContent"]["made"] == "chair"
    assert answer.result.keys() == {"content", "structuredContent", "isError"}


@on_shared_product
@pytest.mark.parametrize("revision", [NEWEST, MODERN, "2024-11-05"])
async def test_a_call_that_takes_longer_answers_with_its_job(app: TaskApp, revision: str) -> None:
    async with app.product.gateway(job_patience=0.1) as node:
        answer = await node.post(app.ada.token, "tools/call", call_of("make", what="chair"), revision=revision)
        job = answer.value["job"]
        assert "wait_for_job" in job["note"]
        async with app.worker():
            assert (await app.task("result", job["job_id"])).result["structuredContent"]["made"] == "chair"


@on_shared_product
async def test_the_progress_of_a_job_reaches_the_open_answer(app: TaskApp) -> None:
    async with app.product.gateway(job_patience=3.0) as node, app.worker():
        params = call_of("build") | {"_meta": {"progressToken": "t"}}
        waiting = asyncio.create_task(node.post(app.ada.token, "tools/call", params, revision=NEWEST))
        await asyncio.wait_for(app.workshop.started.wait(), 5)
        answer = await waiting
    told = [message["params"] for message in answer.messages[:-1]]
    assert told[0] == {"progressToken": "t", "progress": 3, "total": 10, "message": "laying bricks"}
    assert answer.value["job"]["title"] == "Workshop: Build"


@on_shared_product
async def test_the_checks_are_those_of_a_call(app: TaskApp) -> None:
    """Nothing of a refused call is queued."""
    reader = await app.product.with_token(app.ada, scopes={"mcp:read"})
    for start in (app.start_modern, app.start):
        await start("no_such_tool")
        await start("make", what=[1])
    answer = await app.node.post(reader.token, "tools/call", call_of("make", what="x") | {"task": {}}, revision=NEWEST)
    assert (answer.status, "insufficient_scope" in answer.header("www-authenticate")) == (403, True)
    assert (await app.post(app.ada, "tasks/list", {})).result["tasks"] == []
    denied = await app.product.events(app.ada.tenant, AuditEventKind.DENIED)
    assert [event.tool for event in denied] == ["no_such_tool"] * 2
    outcomes = await app.product.events(app.ada.tenant, AuditEventKind.CALL_OUTCOME)
    assert [event.detail for event in outcomes] == [{"refused": "arguments"}] * 2 + [{"refused": "scope"}]


FORMS = {"_meta": {CAPABILITIES: {"elicitation": {"form": {}}}}}
BOTH = {"_meta": {CAPABILITIES: {"elicitation": {"form": {}}, **DECLARED["_meta"][CAPABILITIES]}}}


@on_shared_product
@pytest.mark.parametrize("capabilities", [FORMS, BOTH])
async def test_what_a_job_asks_is_asked_by_the_call_that_waits(app: TaskApp, capabilities: dict[str, Any]) -> None:
    async with app.worker():
        call = call_of("ask") | capabilities
        asked = (await app.node.post(app.ada.token, "tools/call", call, revision=MODERN)).result
        assert asked["resultType"] == "input_required"
        form = asked["inputRequests"]["user-confirmation"]["params"]
        assert (form["message"], form["requestedSchema"]["properties"]["confirm"]["title"]) == ("Burn it?", "Yes")
        for content, outcome in (({"confirm": True}, "confirmed"), ({"confirm": False}, "declined")):
            said = {"action": "accept", "content": content}
            answered = {"requestState": asked["requestState"], "inputResponses": {"user-confirmation": said}}
            result = (await app.node.post(app.ada.token, "tools/call", call | answered, revision=MODERN)).result
            if capabilities is BOTH:  # what has been answered is not waited for
                assert result["resultType"] == "task"
                result = (await ended(app, result["taskId"]))["result"]
            assert result["structuredContent"]["made"] == outcome


@on_shared_product
async def test_a_task_whose_client_has_no_forms_says_what_to_ask(app: TaskApp) -> None:
    async with app.worker():
        task = await ended(app, (await app.start_modern("ask")).result["taskId"])
        core = await app.task("result", (await app.start("ask")).result["task"]["taskId"])
    assert task["result"]["structuredContent"]["made"] == core.result["structuredContent"]["made"] == "not_asked"


@with_own_people
async def test_a_person_who_was_suspended_meanwhile(app: TaskApp) -> None:
    task_id = (await app.start_modern("make", what="chair")).result["taskId"]
    await suspend_user(app.product, app.ada)
    async with app.worker():

        async def has_run() -> bool:
            async with app.product.database.admin_connection() as admin:
                return await admin.fetchval("SELECT state FROM jobs.jobs WHERE id = $1::uuid", task_id) == "failed"

        await within(5, has_run)
    assert app.workshop.effects == []
