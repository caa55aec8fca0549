"""The built-in module ``jobs``, for clients without tasks."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gateway.tasks import module
from gateway.tasks.module import NO_SUCH_JOB
from gateway.tool_runner import NO_SUCH_TOOL
from tests.path.conftest import on_shared_product
from tests.path.task_app import BIG, TaskApp, call_of
from tests.path.test_core_tasks import MADE_UP, id_of
from tests.support.mcp_client import Answer
from tests.support.product import Person


@pytest.fixture
def app(task_app: TaskApp) -> TaskApp:
    return task_app


async def ask(app: TaskApp, tool_name: str, person: Person | None = None, **params: Any) -> Answer:
    return await app.other.call((person or app.ada).token, "jobs", tool_name, params)


@on_shared_product
async def test_a_job_is_waited_for_on_another_gateway(app: TaskApp) -> None:
    job_id = id_of(await app.start("build"))
    assert (await ask(app, "get_job", job_id=job_id)).value["state"] == "queued"
    async with app.worker():
        await asyncio.wait_for(app.workshop.started.wait(), 5)
        waiting = asyncio.create_task(ask(app, "wait_for_job", job_id=job_id))
        running = (await ask(app, "wait_for_job", job_id=job_id, seconds=0)).value
        assert (running["state"], "result" in running) == ("running", False)
        app.workshop.resume.set()
        ended = (await asyncio.wait_for(waiting, 10)).value
        assert (ended["state"], ended["is_error"], ended["result"]["made"]) == ("succeeded", False, "house")
        made = id_of(await app.start("make", what="chair"))
        answer = await ask(app, "wait_for_job", job_id=made)
        assert b'"number":%d' % BIG in answer.body
        failed = (await ask(app, "wait_for_job", job_id=id_of(await app.start("fail")))).value
    assert (failed["state"], failed["is_error"], failed["text"]) == ("failed", True, "the wood is wet")


@on_shared_product
async def test_the_whole_of_a_large_result_is_kept_as_long_as_its_job(app: TaskApp) -> None:
    text = " ".join(f"word{number}" for number in range(20_000))
    async with app.worker():
        job_id = id_of(await app.start("make", ttl=3 * 24 * 3600 * 1000, what=text))
        ended = (await ask(app, "wait_for_job", job_id=job_id)).value
    partial = ended["result"]["partial"]
    day = datetime.fromisoformat(ended["expires_at"]).date()
    assert datetime.fromisoformat(partial["expires_at"]).date() == day > datetime.now(UTC).date() + timedelta(days=1)
    rest = await app.node.call(
        app.ada.token, "results", "search_result", {"handle": partial["handle"], "text": "word19999"}
    )
    assert rest.value["total"] == 1


@on_shared_product
async def test_jobs_are_the_caller_s_own_and_need_no_role(app: TaskApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE_SIZE", 2)
    nobody = await app.product.person(app.ada.tenant, "nobody@acme.test")
    made = [id_of(await app.start("watch")) for _ in range(3)]
    first = (await ask(app, "list_jobs")).value
    rest = (await ask(app, "list_jobs", cursor=first["nextCursor"])).value
    assert [job["job_id"] for job in first["jobs"] + rest["jobs"]] == made[::-1]
    assert {job["title"] for job in first["jobs"]} == {"Workshop: Watch"}
    for person in (app.bob, app.eve, nobody):
        assert (await ask(app, "list_jobs", person)).value == {"jobs": []}
        for tool in ("get_job", "wait_for_job", "cancel_job"):
            assert (await ask(app, tool, person, job_id=made[0])).text == NO_SUCH_JOB
            assert (await ask(app, tool, person, job_id=MADE_UP)).text == NO_SUCH_JOB
    for odd in ("", "x", made[0].upper(), "a" * 100):
        assert (await ask(app, "get_job", job_id=odd)).text == NO_SUCH_JOB
    assert (await ask(app, "list_jobs", cursor="x")).failed


@on_shared_product
async def test_a_job_is_cancelled(app: TaskApp) -> None:
    job_id = id_of(await app.start("make", what="x"))
    reader = await app.product.with_token(app.ada, read_only=True)
    assert (await ask(app, "cancel_job", reader, job_id=job_id)).text == NO_SUCH_TOOL
    assert (await ask(app, "cancel_job", job_id=job_id)).value["state"] == "cancelled"
    async with app.worker():
        ended = (await ask(app, "wait_for_job", job_id=job_id)).value
    assert (ended["state"], ended["text"]) == ("cancelled", "the job was cancelled")
    assert app.workshop.effects == []


@on_shared_product
async def test_its_tools_do_not_run_as_jobs(app: TaskApp) -> None:
    call = call_of("x") | {"arguments": {"module": "jobs", "tool_name": "list_jobs"}, "task": {}}
    assert (await app.post(app.ada, "tools/call", call)).message["error"]["code"] == -32602
    async with app.worker():
        steps = [
            {"id": "a", "module": "workshop", "tool_name": "watch", "params": {"what": "x"}, "output": True},
            {"id": "b", "module": "jobs", "tool_name": "list_jobs", "after": ["a"], "output": True},
        ]
        answer = await app.node.tool(app.ada.token, "batch", {"commands": steps})
    listed = answer.result["structuredContent"]["steps"][1]["result"]["jobs"]
    assert [job["title"] for job in listed] == ["Batch of 2 steps"]
