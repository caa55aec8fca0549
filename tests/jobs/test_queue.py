"""Adding, reading, cancelling and waiting; nobody sees or touches another's jobs."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from core.db import connect
from core.errors import Conflict, Invalid, LimitReached
from core.sealed_records import RecordSealer, UnreadableRecord
from core.secret import Secret
from jobs.events import JobEvents
from jobs.job import MAX_ARGUMENT_BYTES, JobState
from jobs.queue import JobQueue
from tests.jobs.harness import Plant, new_job
from tests.support.eventually import within
from tests.support.postgres import MadeTenant, ScratchDatabase

MakeTenant = Callable[..., Awaitable[MadeTenant]]


async def test_a_job_is_found_as_it_was_added(plant: Plant, make_tenant: MakeTenant) -> None:
    tenant = await make_tenant()
    mandate = uuid4()
    new = new_job(tenant, mandate_id=mandate, client="token:abc\x00" + "x" * 500, lifetime=timedelta(minutes=5))
    job = await plant.queue.enqueue(new)
    assert (job.state, job.attempt, job.title, job.client, job.mandate_id) == (
        JobState.QUEUED, 0, "Wind up a toy", "token:abc" + "x" * 190, mandate,
    )  # fmt: skip
    assert job.expires_at - job.created_at < timedelta(minutes=5, seconds=1)
    assert await plant.find(job) == job


async def test_nobody_else_sees_or_cancels_it(plant: Plant, make_tenant: MakeTenant) -> None:
    tenant, other = await make_tenant(users=2), await make_tenant()
    job = await plant.enqueue(tenant)
    for stranger in ((tenant.id, tenant.users[1]), (other.id, other.users[0]), (other.id, tenant.users[0])):
        assert await plant.queue.find_job(*stranger, job.id) is None
        assert await plant.queue.cancel_job(*stranger, job.id) is None
        assert await plant.queue.load_result(*stranger, job.id) is None
        assert await plant.queue.list_jobs(*stranger) == []
    assert await plant.find(job) == job


async def test_what_lies_in_the_database_is_sealed(
    plant: Plant, make_tenant: MakeTenant, database: ScratchDatabase
) -> None:
    tenant = await make_tenant()
    await plant.enqueue(tenant, arguments=b"a patterned secret " * 1000)
    async with database.admin_connection() as admin:
        row = await admin.fetchrow("SELECT * FROM jobs.jobs")
    assert not any(b"patterned" in value for value in row.values() if isinstance(value, bytes))
    other_key = JobQueue(plant.queue._database, RecordSealer(Secret("another key")), plant.events)
    with pytest.raises(UnreadableRecord):
        await other_key.enqueue(
            new_job(tenant, idempotency_key=(await plant.enqueue(tenant, idempotency_key="k")) and "k")
        )


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE jobs.jobs SET state = 'succeeded'",
        "UPDATE jobs.jobs SET result = 'x'",
        "UPDATE jobs.jobs SET user_id = gen_random_uuid()",
        "DELETE FROM jobs.jobs",
        "SELECT jobs.claim(gen_random_uuid(), 1, 1, 1, 1)",
        "SELECT jobs.register(gen_random_uuid())",
        "SELECT jobs.finish(gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 1, 'succeeded', NULL, '')",
        "SELECT jobs.figures()",
        "SELECT jobs.prune(1)",
        "SELECT * FROM jobs.tenant_turns",
        "SELECT * FROM jobs.workers",
        "SELECT nextval('jobs.turns')",
    ],
)
async def test_a_gateway_may_only_add_read_and_cancel(
    plant: Plant, make_tenant: MakeTenant, database: ScratchDatabase, statement: Any
) -> None:
    job = await plant.enqueue(await make_tenant())
    async with database.open("mcpist_gateway") as gateway:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await gateway.call(statement)
    assert await plant.find(job) == job


async def test_nobody_adds_a_job_for_another(plant: Plant, make_tenant: MakeTenant, database: ScratchDatabase) -> None:
    tenant, other = await make_tenant(users=2), await make_tenant()
    values = "gen_random_uuid(), 'call', '', '', '', '', '', false, 0, interval '1 hour', now()"
    async with database.open("mcpist_gateway") as gateway:
        for tenant_id, user_id in ((tenant.id, tenant.users[1]), (other.id, other.users[0])):
            async with gateway.personal(tenant.id, tenant.users[0]) as work:
                with pytest.raises(asyncpg.InsufficientPrivilegeError):
                    await work._connection.execute(
                        f"""INSERT INTO jobs.jobs (tenant_id, user_id, id, kind, module, tool, title, client, arguments,
                        is_repeatable, retries_left, lifetime, expires_at) VALUES ($1, $2, {values})""",
                        tenant_id, user_id,
                    )  # fmt: skip
                await work._connection.execute("ROLLBACK")
                await work._connection.execute("BEGIN")


async def test_one_idempotency_key_is_one_job(plant: Plant, make_tenant: MakeTenant) -> None:
    tenant = await make_tenant(users=2)
    jobs = await asyncio.gather(*(plant.enqueue(tenant, idempotency_key="k") for _ in range(5)))
    assert len({job.id for job in jobs}) == 1
    assert (await plant.enqueue(tenant, 1, idempotency_key="k")).id != jobs[0].id  # another person's key
    with pytest.raises(Conflict):
        await plant.enqueue(tenant, idempotency_key="k", arguments=b"others")


@pytest.mark.parametrize(
    "wrong",
    [
        {"lifetime": timedelta()},
        {"lifetime": timedelta(days=367)},
        {"arguments": b"x" * (MAX_ARGUMENT_BYTES + 1)},
        {"title": "x" * 201},
        {"max_attempts": 0},
        {"idempotency_key": ""},
        {"idempotency_key": "a\x00b"},
    ],
)
async def test_what_is_too_large_is_refused(plant: Plant, make_tenant: MakeTenant, wrong: dict[str, Any]) -> None:
    tenant = await make_tenant()
    with pytest.raises(Invalid):
        await plant.queue.enqueue(replace(new_job(tenant), **wrong))
    assert await plant.queue.list_jobs(tenant.id, tenant.users[0]) == []


async def test_a_person_may_have_a_thousand_waiting_jobs(
    plant: Plant, make_tenant: MakeTenant, database: ScratchDatabase
) -> None:
    tenant = await make_tenant(users=2)
    first = await plant.enqueue(tenant, idempotency_key="k")
    await fill(database, tenant, 999)
    with pytest.raises(LimitReached):
        await plant.enqueue(tenant)
    assert await plant.enqueue(tenant, idempotency_key="k") == first
    await plant.enqueue(tenant, 1)
    await plant.queue.cancel_job(tenant.id, tenant.users[0], first.id)
    await plant.enqueue(tenant)


async def fill(database: ScratchDatabase, tenant: MadeTenant, jobs: int) -> None:
    async with database.admin_connection() as admin:
        await admin.execute(
            """INSERT INTO jobs.jobs (tenant_id, user_id, id, kind, module, tool, title, client, arguments,
                is_repeatable, retries_left, lifetime, expires_at)
            SELECT $1, $2, gen_random_uuid(), 'call', 'toys', '', '', '', '', false, 0, interval '1 hour', now()
            FROM generate_series(1, $3)""",
            tenant.id, tenant.users[0], jobs,
        )  # fmt: skip


async def test_pages_end(plant: Plant, make_tenant: MakeTenant) -> None:
    tenant, other = await make_tenant(), await make_tenant()
    ids = [(await plant.enqueue(tenant)).id for _ in range(5)]
    foreign = await plant.enqueue(other)
    who = tenant.id, tenant.users[0]
    page = await plant.queue.list_jobs(*who, limit=3)
    assert [job.id for job in page] == ids[:1:-1]
    assert [job.id for job in await plant.queue.list_jobs(*who, before=page[-1].id, limit=3)] == ids[1::-1]
    assert await plant.queue.list_jobs(*who, before=foreign.id) == []


async def test_a_waiting_job_is_cancelled_at_once(plant: Plant, make_tenant: MakeTenant) -> None:
    tenant = await make_tenant()
    job = await plant.enqueue(tenant)
    cancelled = await plant.queue.cancel_job(tenant.id, tenant.users[0], job.id)
    assert cancelled is not None
    assert (cancelled.state, cancelled.finished_at is None) == (JobState.CANCELLED, False)
    assert await plant.queue.cancel_job(tenant.id, tenant.users[0], job.id) == cancelled
    worker = plant.create_worker()
    await worker.take_turn()
    assert (await plant.runs(), len(worker)) == ([], 0)
    await worker.drain(0)


async def test_whoever_waits_is_told_at_once(plant: Plant, make_tenant: MakeTenant) -> None:
    tenant = await make_tenant()
    job = await plant.enqueue(tenant)
    waiting = asyncio.create_task(plant.queue.wait_for_change(job, 30))
    await asyncio.sleep(0)
    await plant.queue.cancel_job(tenant.id, tenant.users[0], job.id)
    changed = await asyncio.wait_for(waiting, 10)
    assert changed is not None
    assert changed.state is JobState.CANCELLED
    assert await plant.queue.wait_for_change(changed, 0) == changed


async def test_listening_goes_on_after_a_refused_login(
    plant: Plant, make_tenant: MakeTenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.events.RETRY_SECONDS", 0.05)
    refused, heard = asyncio.Event(), asyncio.Event()

    async def connect_or_tell(*given: Any, **options: Any) -> Any:
        try:
            return await connect(*given, **options)
        except asyncpg.PostgresError:
            refused.set()
            raise

    async def is_heard() -> bool:
        await plant.enqueue(tenant)
        return heard.is_set()

    monkeypatch.setattr("jobs.events.connect", connect_or_tell)
    tenant = await make_tenant()
    events = JobEvents(plant.database.as_role("mcpist_gateway"))
    right = f'CONNECT ON DATABASE "{plant.database.name}"'
    async with plant.database.admin_connection() as admin:
        await admin.execute(f"REVOKE {right} FROM PUBLIC")
        with events.listen(lambda *_change: heard.set()):
            await asyncio.wait_for(refused.wait(), 5)
            await admin.execute(f"GRANT {right} TO PUBLIC")
            await within(5, is_heard)
    events.close()


async def test_waiting_needs_no_announcements(plant: Plant, make_tenant: MakeTenant) -> None:
    tenant = await make_tenant()
    deaf = JobQueue(plant.queue._database, plant.sealer, JobEvents(plant.database.as_role("mcpist_gateway")))
    job = await plant.enqueue(tenant)
    waiting = asyncio.create_task(deaf.wait_for_change(job, 30))
    await plant.queue.cancel_job(tenant.id, tenant.users[0], job.id)
    changed = await asyncio.wait_for(waiting, 10)
    assert changed is not None
    assert changed.state is JobState.CANCELLED


async def test_the_person_s_jobs_go_with_the_person(
    plant: Plant, make_tenant: MakeTenant, database: ScratchDatabase
) -> None:
    tenant = await make_tenant(users=2)
    gone, kept = await plant.enqueue(tenant), await plant.enqueue(tenant, 1)
    async with database.admin_connection() as admin:
        await admin.execute("DELETE FROM core.users WHERE id = $1", tenant.users[0])
        assert [row["id"] for row in await admin.fetch("SELECT id FROM jobs.jobs")] == [kept.id]
        assert await admin.fetchval("SELECT count(*) FROM jobs.user_turns") == 1
    assert await plant.queue.wait_for_change(gone, 5) is None
