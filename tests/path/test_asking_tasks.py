"""A task that has to ask its person first: asked and answered by the extension, and run with a mandate made anew."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest

from broker.interface import CredentialRefusal, RefusalReason
from core.caller import Caller
from gateway.tasks import job_starter
from gateway.tasks.core_tasks import ASKED_ELSEWHERE
from gateway.tasks.idempotency import IDEMPOTENCY_META
from gateway.tasks.own_jobs import OwnJobs
from gateway.tasks.task_form import NO_SUCH_TASK
from jobs.job import Job
from tests.path.conftest import on_shared_product, with_own_people
from tests.path.task_app import CAPABILITIES, DECLARED, EXTENSION, TaskApp, call_of
from tests.path.test_leaving_jobs import states
from tests.path.test_taking_effect import suspend_user
from tests.support.eventually import within
from tests.support.mcp_client import MODERN, Answer
from tests.support.product import Person

ABLE: dict[str, Any] = {"_meta": {CAPABILITIES: {"elicitation": {"form": {}}, "extensions": {EXTENSION: {}}}}}
YES = {"action": "accept", "content": {"confirm": True}}


@pytest.fixture
def app(task_app: TaskApp, monkeypatch: pytest.MonkeyPatch) -> TaskApp:
    monkeypatch.setattr(job_starter, "ASKING_SECONDS", 0.0)
    return task_app


async def send(app: TaskApp, method: str, person: Person | None = None, **params: Any) -> Answer:
    return await app.other.post((person or app.ada).token, method, params | ABLE, revision=MODERN)


async def get(app: TaskApp, task_id: str) -> dict[str, Any]:
    return (await send(app, "tasks/get", taskId=task_id)).result


async def asked(app: TaskApp) -> tuple[str, str]:
    """A task that asks; its id and the key of its question."""
    task_id = (await send(app, "tools/call", **call_of("ask"))).result["taskId"]

    async def asks() -> bool:
        return (await get(app, task_id))["status"] == "input_required"

    await within(5, asks)
    (key,) = (await get(app, task_id))["inputRequests"]
    return task_id, key


async def ended(app: TaskApp, task_id: str) -> dict[str, Any]:
    async def has_ended() -> bool:
        return (await get(app, task_id))["status"] not in ("working", "input_required")

    await within(5, has_ended)
    return await get(app, task_id)


async def move_clock(admin: Any, minutes: int) -> None:
    """Set the clock of jobs to so many minutes from now."""
    await admin.execute(
        f"""CREATE OR REPLACE FUNCTION jobs.clock() RETURNS timestamptz LANGUAGE sql VOLATILE
        RETURN clock_timestamp() + interval '{minutes} minutes'"""
    )


@contextlib.asynccontextmanager
async def moved_clock(admin: Any) -> AsyncIterator[None]:
    """Set it back at the end of the block."""
    try:
        yield
    finally:
        await move_clock(admin, 0)


async def live_mandates(app: TaskApp) -> int:
    async with app.product.database.admin_connection() as admin:
        return await admin.fetchval("SELECT count(*) FROM auth.mandates WHERE ended_at IS NULL")


@on_shared_product
@pytest.mark.parametrize(
    ("response", "outcome"),
    [
        (YES, "confirmed"),
        ({"action": "accept", "content": {"confirm": False}}, "declined"),
        ({"action": "accept", "content": {"confirm": "true"}}, "declined"),
        ({"action": "decline"}, "declined"),
        ({"action": "cancel"}, "declined"),
    ],
)
async def test_the_answer_reaches_the_tool(app: TaskApp, response: Any, outcome: str) -> None:
    async with app.worker():
        task_id, key = await asked(app)
        request = (await get(app, task_id))["inputRequests"][key]
        assert (request["method"], request["params"]["message"]) == ("elicitation/create", "Burn it?")
        answer = await send(app, "tasks/update", taskId=task_id, inputResponses={key: response})
        assert answer.result.keys() == {"resultType", "_meta"}
        task = await ended(app, task_id)
    assert (task["status"], task["result"]["structuredContent"]["made"]) == ("completed", outcome)


@on_shared_product
async def test_nothing_runs_and_nothing_may_before_the_answer(app: TaskApp) -> None:
    async with app.worker():
        task_id, key = await asked(app)

        async def is_over() -> bool:
            return await live_mandates(app) == 0

        await within(5, is_over)
    await send(app, "tasks/update", taskId=task_id, inputResponses={key: YES})
    assert await live_mandates(app) == 1, "made anew in the presence of the person"
    assert (await get(app, task_id))["status"] == "working"
    async with app.worker():
        await ended(app, task_id)
        await within(5, is_over)


@on_shared_product
async def test_wrong_answers_are_told_and_late_ones_change_nothing(app: TaskApp) -> None:
    async with app.worker():
        task_id, key = await asked(app)
        for wrong in (None, 1, [], {}, {"action": "yes"}, {"action": ["accept"]}, {"action": "accept", "content": 1}):
            answer = await send(app, "tasks/update", taskId=task_id, inputResponses={key: wrong})
            assert (answer.status, answer.message["error"]["code"]) == (400, -32602)
        for unknown in ("user-confirmation", f"{key}0", "x" * 100_000):
            await send(app, "tasks/update", taskId=task_id, inputResponses={unknown: YES})
        assert (await get(app, task_id))["status"] == "input_required"
        answers = await asyncio.gather(
            *(send(app, "tasks/update", taskId=task_id, inputResponses={key: YES}) for _ in range(5))
        )
        assert all(answer.result["resultType"] == "complete" for answer in answers)
        assert (await ended(app, task_id))["result"]["structuredContent"]["made"] == "confirmed"
        late = await send(app, "tasks/update", taskId=task_id, inputResponses={key: {"action": "decline"}})
        assert late.result["resultType"] == "complete"
        assert (await get(app, task_id))["result"]["structuredContent"]["made"] == "confirmed"
    async with app.product.database.admin_connection() as admin:
        assert await admin.fetchval("SELECT attempt FROM jobs.jobs") == 2, "it was run once with the answer"
    assert await live_mandates(app) == 0


@on_shared_product
@pytest.mark.parametrize(("method", "look"), [("tasks/get", 1), ("tasks/update", 1), ("tasks/update", 2)])
async def test_another_client_answers_between_two_looks_at_the_job(
    app: TaskApp, monkeypatch: pytest.MonkeyPatch, method: str, look: int
) -> None:
    """The task goes on, and an answer that came second is acknowledged."""
    async with app.worker():
        task_id, key = await asked(app)
    params = {"taskId": task_id, "inputResponses": {key: YES}}
    load, looks = OwnJobs.load_answer, itertools.count(1)

    async def load_late(jobs: OwnJobs, caller: Caller, job: Job) -> Any:
        if next(looks) == look:
            monkeypatch.setattr(OwnJobs, "load_answer", load)
            assert "result" in (await send(app, "tasks/update", **params)).message
        return await load(jobs, caller, job)

    monkeypatch.setattr(OwnJobs, "load_answer", load_late)
    answer = (await send(app, method, **params)).result
    assert (answer["resultType"], answer.get("status", "working")) == ("complete", "working")
    assert OwnJobs.load_answer is load
    async with app.worker():
        assert (await ended(app, task_id))["result"]["structuredContent"]["made"] == "confirmed"


@on_shared_product
async def test_the_key_of_a_call_finds_its_job_after_the_answer(app: TaskApp) -> None:
    """Also where another client of the person's has answered; another call with the key is still refused."""
    keyed = call_of("ask") | {"_meta": ABLE["_meta"] | {IDEMPOTENCY_META: "k"}}

    async def repeat(params: dict[str, Any]) -> Answer:
        return await app.other.post(app.ada.token, "tools/call", params, revision=MODERN)

    async with app.worker():
        task_id = (await repeat(keyed)).result["taskId"]

        async def asks() -> bool:
            return (await get(app, task_id))["status"] == "input_required"

        await within(5, asks)
        assert (await repeat(keyed)).result["taskId"] == task_id
        (key,) = (await get(app, task_id))["inputRequests"]
        await send(app, "tasks/update", taskId=task_id, inputResponses={key: YES})
        assert (await ended(app, task_id))["result"]["structuredContent"]["made"] == "confirmed"
        assert (await repeat(keyed)).result["taskId"] == task_id
        other = await repeat(keyed | {"arguments": call_of("watch")["arguments"]})
    assert "idempotency key" in str(other.message)
    assert len(await states(app)) == 1
    assert await live_mandates(app) == 0


@on_shared_product
async def test_nobody_else_answers(app: TaskApp) -> None:
    async with app.worker():
        task_id, key = await asked(app)
        for person in (app.bob, app.eve):
            answer = await send(app, "tasks/update", person, taskId=task_id, inputResponses={key: YES})
            assert answer.message["error"] == {"code": -32602, "message": NO_SUCH_TASK}
        reader = await app.product.with_token(app.ada, read_only=True)
        answer = await send(app, "tasks/update", reader, taskId=task_id, inputResponses={key: YES})
        assert "withheld" in answer.message["error"]["message"]
        assert (await get(app, task_id))["status"] == "input_required"


@on_shared_product
async def test_who_cannot_ask_is_not_shown_the_question(app: TaskApp) -> None:
    async with app.worker():
        task_id, _ = await asked(app)
    answer = await app.modern("tasks/get", taskId=task_id)
    assert (answer.status, answer.message["error"]["code"]) == (400, -32021)
    assert answer.message["error"]["data"] == {"requiredCapabilities": {"elicitation": {"form": {}}}}
    core = await app.task("get", task_id)
    assert core.result["status"] == "input_required"
    assert (await app.task("result", task_id)).message["error"] == {"code": -32603, "message": ASKED_ELSEWHERE}


@on_shared_product
@pytest.mark.parametrize("form", ["core", "extension"])
async def test_a_task_that_asks_is_cancelled(app: TaskApp, form: str) -> None:
    async with app.worker():
        task_id, key = await asked(app)
        if form == "core":
            assert (await app.task("cancel", task_id)).result["status"] == "cancelled"
        else:
            await send(app, "tasks/cancel", taskId=task_id)
        await send(app, "tasks/update", taskId=task_id, inputResponses={key: YES})
        assert (await get(app, task_id))["status"] == "cancelled"
        assert (await app.task("cancel", task_id)).message["error"]["code"] == -32602


@with_own_people
async def test_a_person_who_lost_the_right_meanwhile(app: TaskApp, monkeypatch: pytest.MonkeyPatch) -> None:
    async with app.worker():
        task_id, key = await asked(app)

        async def refuse(*_: Any) -> CredentialRefusal:
            return CredentialRefusal(RefusalReason.FORBIDDEN)

        with monkeypatch.context() as patch:
            patch.setattr(job_starter.JobStarter, "_create_mandate", refuse)
            answer = await send(app, "tasks/update", taskId=task_id, inputResponses={key: YES})
        assert answer.message["error"]["code"] == -32603
        await send(app, "tasks/update", taskId=task_id, inputResponses={key: YES})
        await ended(app, task_id)
        other, key = await asked(app)
        await suspend_user(app.product, app.ada)

        async def is_refused() -> bool:
            answer = await send(app, "tasks/update", taskId=other, inputResponses={key: YES})
            return answer.status == 401

        await within(5, is_refused)
    assert (await states(app))[-1] == ("failed", False)


@on_shared_product
async def test_a_subscription_tells_of_the_question_and_goes_on(app: TaskApp) -> None:
    async with app.worker():
        task_id, key = await asked(app)
        wanted = {"taskIds": [task_id]}
        listening = asyncio.create_task(send(app, "subscriptions/listen", notifications=wanted))
        deaf = asyncio.create_task(app.modern("subscriptions/listen", notifications=wanted))

        async def is_listening() -> bool:
            return app.other.gateway.metrics.observables["mcpist_streams"]() == 1

        await within(5, is_listening)
        await asyncio.sleep(0.1)
        await send(app, "tasks/update", taskId=task_id, inputResponses={key: YES})
        told = [message["params"] for message in (await asyncio.wait_for(listening, 10)).messages[1:-1]]
        unasked = [message["params"] for message in (await asyncio.wait_for(deaf, 10)).messages[1:-1]]
    assert (told[0]["status"], list(told[0]["inputRequests"])) == ("input_required", [key])
    assert [task["status"] for task in told].count("completed") == 1
    assert told[-1]["result"]["structuredContent"]["made"] == "confirmed"
    assert "input_required" not in [task["status"] for task in unasked]


@on_shared_product
async def test_a_question_that_the_call_itself_has_asked_is_not_left_open(
    app: TaskApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_starter, "ASKING_SECONDS", 5.0)
    async with app.worker():
        answer = (await send(app, "tools/call", **call_of("ask"))).result
        assert answer["resultType"] == "input_required"
        assert await states(app) == [("cancelled", False)]
        answered = {"requestState": answer["requestState"], "inputResponses": {"user-confirmation": YES}}
        # What has been answered is not waited for: the call becomes a task.
        task = (await send(app, "tools/call", **call_of("ask"), **answered)).result
        result = (await ended(app, task["taskId"]))["result"]
    assert result["structuredContent"]["made"] == "confirmed"
    assert [state for state, _ in await states(app)] == ["cancelled", "succeeded"]


@on_shared_product
async def test_several_questions_are_answered_one_after_the_other(app: TaskApp) -> None:
    async with app.worker():
        task_id = (await send(app, "tools/call", **call_of("fill_in"))).result["taskId"]

        async def asks() -> bool:
            return (await get(app, task_id))["status"] == "input_required"

        await within(5, asks)
        first, second = (await get(app, task_id))["inputRequests"]
        for wrong in ({first: {"action": "accept", "content": 7}}, {first: 7}):
            answer = await send(app, "tasks/update", taskId=task_id, inputResponses=wrong)
            assert answer.message["error"]["code"] == -32602
        names = {first: {"action": "accept", "content": {"name": "Ada"}}}
        assert (await send(app, "tasks/update", taskId=task_id, inputResponses=names)).result[
            "resultType"
        ] == "complete"
        partly = await get(app, task_id)
        assert (partly["status"], [*partly["inputRequests"]]) == ("input_required", [second])
        colours = {second: {"action": "accept", "content": {"name": "blue"}}}
        await send(app, "tasks/update", taskId=task_id, inputResponses=colours)
        assert (await ended(app, task_id))["result"]["structuredContent"]["made"] == "Ada blue"


@on_shared_product
async def test_a_core_task_is_never_asked(app: TaskApp) -> None:
    """A form of a handshake revision would need a request from the server to the client."""
    async with app.worker():
        core = await app.task("result", (await app.start("ask")).result["task"]["taskId"])
        unable = (await app.node.post(app.ada.token, "tools/call", call_of("ask") | DECLARED, revision=MODERN)).result
        task = await ended(app, unable["taskId"])
    assert core.result["structuredContent"]["made"] == task["result"]["structuredContent"]["made"] == "not_asked"


@on_shared_product
async def test_a_question_that_nobody_answers_is_gone_at_its_end(app: TaskApp) -> None:
    async with app.worker():
        task_id, key = await asked(app)
    async with app.product.database.admin_connection() as admin, moved_clock(admin):
        await move_clock(admin, 61)
        answer = await send(app, "tasks/update", taskId=task_id, inputResponses={key: YES})
        assert answer.message["error"]["message"] == NO_SUCH_TASK
        assert await states(app) == [("failed", False)], "too late"
        assert (await app.post(app.ada, "tasks/list", {})).result["tasks"] == []
        assert await admin.fetchval("SELECT jobs.prune(100)") == 1
        for method in ("get", "result", "cancel"):
            assert (await app.task(method, task_id)).message["error"]["message"] == NO_SUCH_TASK
        answer = await send(app, "tasks/update", taskId=task_id, inputResponses={key: YES})
        assert answer.message["error"]["message"] == NO_SUCH_TASK
        assert await live_mandates(app) == 0


@on_shared_product
async def test_a_task_whose_client_never_returns_is_gone_at_its_end(app: TaskApp) -> None:
    async with app.worker():
        core = (await app.start("watch", ttl=120_000)).result["task"]["taskId"]
        modern = (await send(app, "tools/call", **call_of("watch"))).result["taskId"]
        await ended(app, modern)
        await app.task("result", core)
    async with app.product.database.admin_connection() as admin, moved_clock(admin):
        for minutes, left in ((1, {core, modern}), (6, {modern}), (61, set[str]())):
            await move_clock(admin, minutes)
            await admin.fetchval("SELECT jobs.prune(100)")
            tasks = (await app.post(app.ada, "tasks/list", {})).result["tasks"]
            assert {task["taskId"] for task in tasks} == left
