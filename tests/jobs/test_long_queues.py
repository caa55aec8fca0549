"""Long queues: a tenant with many jobs delays nobody, and what a claim costs does not grow with the queue."""

import asyncio
import resource
import statistics
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from uuid import UUID, uuid4

import pytest

from core.db import Database
from jobs.worker_store import CLAIM, LOOK, PRUNE, REGISTER, WorkerStore, load_queue_figures
from tests.jobs.harness import Plant, WorkerLimits, settle
from tests.support.postgres import MadeTenant, ScratchDatabase

MakeTenant = Callable[..., Awaitable[MadeTenant]]
FILL_PEOPLE = """WITH made AS (INSERT INTO core.tenants (tenant_id, slug, name)
        SELECT gen_random_uuid(), 'many-' || $1::int || '-' || n, 'Many' FROM generate_series(1, $1) n
        RETURNING tenant_id, slug)
    INSERT INTO core.users (tenant_id, id, email)
    SELECT tenant_id, gen_random_uuid(), 'a@' || slug || '.test' FROM made"""
FILL_JOBS = """INSERT INTO jobs.jobs (tenant_id, user_id, id, kind, module, tool, title, client, arguments,
        is_repeatable, retries_left, lifetime, expires_at)
    SELECT u.tenant_id, u.id, gen_random_uuid(), 'call', 'toys', '', '', '', '', true, 2, interval '1 hour', now()
    FROM core.users u, generate_series(1, $1) WHERE u.email LIKE 'a@many-%'"""
FILL_TENANT = """INSERT INTO jobs.jobs (tenant_id, user_id, id, kind, module, tool, title, client, arguments,
        is_repeatable, retries_left, lifetime, expires_at)
    SELECT $1, $2, gen_random_uuid(), 'none', 'toys', '', '', '', '', true, 2, interval '1 hour', now()
    FROM generate_series(1, $3)"""
FILL_TURNS = (
    """INSERT INTO jobs.tenant_turns (tenant_id, is_waiting) SELECT DISTINCT tenant_id, true FROM jobs.jobs
    ON CONFLICT (tenant_id) DO UPDATE SET is_waiting = true""",
    """INSERT INTO jobs.user_turns (tenant_id, user_id, module, is_waiting)
    SELECT DISTINCT tenant_id, user_id, module, true FROM jobs.jobs
    ON CONFLICT (tenant_id, user_id, module) DO UPDATE SET is_waiting = true""",
)
FILL_SCHEDULES = """INSERT INTO jobs.schedules (tenant_id, user_id, id, title, kind, module, tool, client, mandate_id,
        arguments, retries, lifetime, cron, every, time_zone, overlap, next_run_at)
    SELECT $1, $2, gen_random_uuid(), '', 'call', 'toys', '', '', gen_random_uuid(), '', 0, interval '1 hour', '',
        interval '1 hour', 'UTC', 'skip', now() + interval '1 minute'
    FROM generate_series(1, $3)"""
COUNT_READ = """SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))
    FROM pg_stat_xact_all_tables WHERE schemaname = 'jobs' AND relname = $1"""
NOT_DUE = 2_000
MILLION = 1_000_000
MOST_TIMES = 8
"""How many times what it costs in a queue of 100 jobs a claim or look may cost in one of a million."""
MOST_KIB = 30_000


async def fill(database: ScratchDatabase, tenants: int, jobs_of_each: int) -> None:
    """Add jobs without their triggers, which are not what is tested, and the turns that those would have taken."""
    async with database.admin_connection() as admin:
        await admin.execute("SET session_replication_role = replica")
        await admin.execute(FILL_PEOPLE, tenants, timeout=600)
        await admin.execute(FILL_JOBS, jobs_of_each, timeout=600)
        for statement in FILL_TURNS:
            await admin.execute(statement, timeout=600)
        await admin.execute("ANALYZE core.users, jobs.jobs, jobs.tenant_turns, jobs.user_turns", timeout=600)


async def time_steps(database: Database, times: int) -> tuple[float, float]:
    """Median seconds of a claim and of a look; what was claimed is finished."""
    worker, store = uuid4(), WorkerStore(database)
    await database.call(REGISTER, worker)
    claims: list[float] = []
    looks: list[float] = []
    tenants: Counter[UUID] = Counter()
    for _ in range(times):
        started_at = time.perf_counter()
        (row,) = await database.fetch(CLAIM, worker, 1, 8, 4, 4)
        claims.append(time.perf_counter() - started_at)
        started_at = time.perf_counter()
        await database.fetch(LOOK, worker)
        looks.append(time.perf_counter() - started_at)
        tenants[row["tenant_id"]] += 1
        await database.call(
            "SELECT jobs.finish($1, $2, $3, $4, 'succeeded', NULL, '')",
            *(worker, row["tenant_id"], row["id"], row["attempt"]),
        )
    await store.leave(worker)
    assert max(tenants.values()) <= -(-times // len(tenants)) + 1, "tenants take turns"
    return statistics.median(claims), statistics.median(looks)


async def test_many_jobs_of_a_tenant_delay_nobody_else(
    plant: Plant, make_tenant: MakeTenant, database: ScratchDatabase
) -> None:
    """The first job of another begins with the next place that is free: after one job's length at most."""
    busy, calm = await make_tenant(users=3), await make_tenant()
    async with database.admin_connection() as admin:
        for user in busy.users:
            await admin.execute(FILL_TENANT, busy.id, user, 700)
    plant.ledger.holds = True
    worker = plant.create_worker(handlers={"call": plant.ledger, "none": plant.ledger}, limits=WorkerLimits(jobs=1))
    async with database.admin_connection() as admin:  # the ledger opens what is sealed
        sealed = await admin.fetch("SELECT DISTINCT ON (user_id) tenant_id, id FROM jobs.jobs ORDER BY user_id, number")
        for row in sealed:
            arguments = plant.sealer.seal(row["tenant_id"], "job arguments", row["id"], b"x")
            await admin.execute("UPDATE jobs.jobs SET arguments = $2 WHERE id = $1", row["id"], arguments)
    await worker.take_turn()
    assert (await asyncio.wait_for(plant.ledger.begun.get(), 10)).tenant_id == busy.id
    first = await plant.enqueue(calm)
    plant.ledger.let_go.set()
    await settle(worker)
    await worker.take_turn()
    assert (await asyncio.wait_for(plant.ledger.begun.get(), 10)).id == first.id
    await settle(worker)
    await worker.drain(0)


@pytest.mark.long
@pytest.mark.timeout(1800)
async def test_a_million_jobs_of_ten_thousand_tenants(plant: Plant, database: ScratchDatabase) -> None:
    await fill(database, 100, 1)
    async with database.open("mcpist_worker", max_connections=1, timeout=120) as worker:
        small = await time_steps(worker, 50)
        await fill(database, 9_900, 101)
        async with database.admin_connection() as admin:
            assert await admin.fetchval("SELECT count(*) FROM jobs.jobs WHERE state = 'queued'") >= MILLION - 10_000
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        large = await time_steps(worker, 2_000)
        figures = await load_queue_figures(worker)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(f"claim {small[0] * 1000:.2f} and {large[0] * 1000:.2f} ms, look {small[1] * 1000:.2f} and "
            f"{large[1] * 1000:.2f} ms, {grown} KiB more")  # fmt: skip
        assert large[0] <= small[0] * MOST_TIMES
        assert large[1] <= small[1] * MOST_TIMES
        assert figures.waiting == 100_000, "more are not counted"
        assert grown < MOST_KIB
        # Pruning keeps up: the worker removes 1,000 a second at most while there are more.
        async with database.admin_connection() as admin:
            await admin.execute(
                """UPDATE jobs.jobs SET state = 'succeeded', finished_at = now(), expires_at = now() - interval '1 hour'
                WHERE number % 10 = 0 AND state = 'queued'""", timeout=600,
            )  # fmt: skip
            await admin.execute("ANALYZE jobs.jobs", timeout=600)
        seconds: list[float] = []
        for _ in range(20):
            started_at = time.perf_counter()
            assert await worker.call(PRUNE, 1000) == 1000
            seconds.append(time.perf_counter() - started_at)
        print(f"1,000 pruned in {statistics.median(seconds) * 1000:.0f} ms")
        assert statistics.median(seconds) < 1.0, "slower than the worker's poll"


async def test_what_is_not_due_is_not_read(database: ScratchDatabase, make_tenant: MakeTenant) -> None:
    """By the transaction's own counters: a condition with a volatile function would read all that is in the index."""
    tenant = await make_tenant()
    who = tenant.id, tenant.users[0], NOT_DUE
    async with database.admin_connection() as admin:
        await admin.execute("SET session_replication_role = replica")
        await admin.execute("SET enable_seqscan = off")  # of so few rows all are read at once otherwise
        await admin.execute(FILL_TENANT, *who)
        await admin.execute("UPDATE jobs.jobs SET run_at = now() + interval '1 minute'")
        await admin.execute(FILL_SCHEDULES, *who)
        await admin.execute("ANALYZE jobs.jobs, jobs.schedules")
        for call, table in (
            ("jobs.due_schedules(10)", "schedules"), ("jobs.look(gen_random_uuid())", "jobs"),
            ("jobs.wake_delayed()", "jobs"),
        ):  # fmt: skip
            async with admin.transaction():
                before = await admin.fetchval(COUNT_READ, table)  # what the session has not passed on yet
                await admin.execute(f"SELECT * FROM {call}")
                assert await admin.fetchval(COUNT_READ, table) - before <= 5, call
