"""Jobs that are none of this version, and work that is too large: each ends, and its person is told why."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from core.sealed_records import RecordSealer
from gateway.tasks.job_execution import NO_MANDATE
from gateway.tasks.own_jobs import _TEXTS
from jobs.events import JobEvents
from jobs.job import MAX_ARGUMENT_BYTES, JobError, NewJob
from jobs.queue import JobQueue
from tests.path.conftest import on_shared_product
from tests.path.task_app import TaskApp, call_of

CALL = (
    b'{"name":"call","arguments":{"module":"workshop","tool_name":"watch","params":{}},"tools":[["workshop","watch"]]'
)
NONE = [
    b"", b"\xff\xfe", b"null", b"[]", b"{}", b"[" * 100_000, b'{"name":"call"}',
    b'{"name":1,"arguments":{},"tools":[]}',
    b'{"name":"call","arguments":[],"tools":[]}', b'{"name":"call","arguments":{},"tools":[["a"]]}', CALL,
    CALL + b',"max_tokens":"many"}', CALL + b',"max_tokens":1e999}',
]  # fmt: skip
RUNNABLE = [CALL + b"}", CALL + b',"of_the_next_version":{"a":[1]}}']


async def ask(app: TaskApp, tool: str, **params: Any) -> Any:
    return (await app.node.call(app.ada.token, "jobs", tool, params)).value


@on_shared_product
async def test_what_is_no_job_of_this_version_fails_with_a_reason(task_app: TaskApp) -> None:
    """What lacks a later field, or has one of a later version, is a job, and asks for its mandate, which these lack."""
    app, database = task_app, task_app.product.database
    events = JobEvents(database.as_role("mcpist_gateway"))
    async with database.open("mcpist_gateway") as gateway:
        queue = JobQueue(gateway, RecordSealer(app.product.deployment.digest_key), events)
        made = [(await queue.enqueue(_new(app, stored))).id for stored in (*NONE, *RUNNABLE)]
    events.close()
    async with app.worker():
        ended = [await ask(app, "wait_for_job", job_id=str(one)) for one in made]
    assert {one["state"] for one in ended} == {"failed"}
    texts = [one["text"] for one in ended]
    assert set(texts[len(NONE) :]) == {NO_MANDATE}
    assert set(texts[: len(NONE)]) == {_TEXTS[JobError.NOT_SUPPORTED]}


def _new(app: TaskApp, stored: bytes) -> NewJob:
    who = app.ada.tenant.id, app.ada.id
    return NewJob(*who, uuid4(), "call", "workshop", "watch", "Watch", stored, timedelta(hours=1))


@on_shared_product
@pytest.mark.parametrize("size", [MAX_ARGUMENT_BYTES - 400, MAX_ARGUMENT_BYTES - 100])
async def test_arguments_over_the_limit_are_refused(task_app: TaskApp, size: int) -> None:
    """A request of this size comes through; what a job keeps of it is a little more."""
    app = task_app
    answer = await app.post(app.ada, "tools/call", call_of("make", what="x" * size) | {"task": {}})
    told = str(answer.message)
    if "task" in answer.message.get("result", {}):
        assert size < MAX_ARGUMENT_BYTES - 300
    else:
        assert f"at most {MAX_ARGUMENT_BYTES} bytes" in told or "too large" in told, told[:500]
        assert (await ask(app, "list_jobs")) == {"jobs": []}
        async with app.product.database.admin_connection() as admin:
            assert await admin.fetchval("SELECT count(*) FROM auth.mandates WHERE ended_at IS NULL") == 0
