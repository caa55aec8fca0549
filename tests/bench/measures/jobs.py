"""JB: jobs. From asking for one until its handler begins; how many a second are run; what a resting worker uses; what a
claim costs among 10,000 tenants with waiting jobs. One worker and the queue share this process, on the data folder's
own PostgreSQL. Beside it procrastinate on the same server, likewise in one process."""

import asyncio
import contextlib
import json
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID, uuid4

import asyncpg

from core.config.settings import Settings
from core.db import Database
from core.migrations import migrate
from core.sealed_records import RecordSealer
from jobs.events import JobEvents
from jobs.handler import JobOutcome, JobReport
from jobs.job import Job, NewJob
from jobs.queue import JobQueue
from jobs.worker import JobWorker, WorkerLimits
from jobs.worker_store import CLAIM, REGISTER, WorkerStore
from server.data_folder import start_database
from server.deployment import Deployment
from server.role_database import GATEWAY_ROLE, WORKER_ROLE, open_role_database
from tests.bench.lab import Lab
from tests.bench.peers.install import Missing, Recipe, installed, version_of
from tests.bench.processes import REST_SECONDS, cpu_seconds
from tests.bench.report import Result, Row

START_MUST, START_AIM = 50, 5
"""Milliseconds, of issue 16 and of knowledge.md §6."""
TENANT, PERSON = UUID(int=1600), UUID(int=1601)
PROCRASTINATE = Recipe("procrastinate", ("procrastinate>=3,<4", "psycopg[binary]"), ((3, 11), (3, 12), (3, 13)))
PEER_PROGRAM = Path(__file__).parents[1] / "peers" / "procrastinate_jobs.py"
PEER_SECONDS = 300
LIMITS = WorkerLimits(jobs=16, of_tenant=16, of_user=16, of_module=16)
FILL_PEOPLE = (
    """INSERT INTO core.tenants (tenant_id, slug, name)
    SELECT CASE n WHEN 0 THEN $1::uuid ELSE gen_random_uuid() END, 'jobs-' || n, 'Jobs'
    FROM generate_series(0, $3::int) n WHERE $2::uuid IS NOT NULL""",
    """INSERT INTO core.users (tenant_id, id, email)
    SELECT tenant_id, CASE tenant_id WHEN $1::uuid THEN $2::uuid ELSE gen_random_uuid() END, 'a@' || slug || '.test'
    FROM core.tenants WHERE slug LIKE 'jobs-%' AND $3::int > 0""",
)
FILL_JOBS = """INSERT INTO jobs.jobs (tenant_id, user_id, id, kind, module, tool, title, client, arguments,
        is_repeatable, retries_left, lifetime, expires_at)
    SELECT u.tenant_id, u.id, gen_random_uuid(), 'none', 'bench', '', '', '', '', true, 2, interval '1 hour',
        now() + interval '1 hour' FROM core.users u WHERE u.email LIKE 'a@jobs-%'"""


@dataclass(slots=True)
class Stopwatch:
    """A handler that notes when each job begins."""

    begun: dict[UUID, float] = field(default_factory=dict[UUID, float])
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, job: Job, arguments: bytes, report: JobReport) -> JobOutcome:
        self.begun[job.id] = time.perf_counter()
        self.news.set()
        return JobOutcome(arguments)

    async def wait_for(self, count: int) -> None:
        """Wait until so many have begun."""
        while len(self.begun) < count:
            self.news.clear()
            await self.news.wait()


def measure(lab: Lab) -> list[Result]:
    """Start, throughput and claims."""
    quick = lab.options.quick

    async def run(home: Path) -> list[Row]:
        # A running product would have a worker of its own.
        async with start_database(Settings(home=home), lambda _text: None) as deployment:
            await migrate(deployment.admin, deployment.passwords)
            await _fill(deployment, FILL_PEOPLE, 100 if quick else 10_000)
            async with _open_queue(deployment) as (queue, stopwatch):
                rows = await _measure_starts(queue, stopwatch, 20 if quick else 500)
                rows += await _measure_rate(queue, stopwatch, 50 if quick else 900)
                rows += await _measure_rest(deployment, lab.options.idle_seconds)
            if not quick:
                rows += await _measure_peer(lab, deployment, 500, 900)
            await _fill(deployment, (FILL_JOBS,))
            return rows + await _measure_claims(deployment, 20 if quick else 1000)

    with tempfile.TemporaryDirectory(prefix="mcpist-bench-jobs-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL runs as another user where root measures
        return [Result(tuple(asyncio.run(run(Path(folder) / "home"))))]


async def _fill(deployment: Deployment, statements: tuple[str, ...], tenants: int = 0) -> None:
    admin: Any = await asyncpg.connect(**deployment.admin.connect_args())
    try:
        if tenants:
            await admin.execute("SET session_replication_role = replica")  # generations are not read here
        for statement in statements:
            await admin.execute(statement, *((TENANT, PERSON, tenants) if tenants else ()))
        await admin.execute("ANALYZE core.users, jobs.jobs, jobs.tenant_turns, jobs.user_turns")
    finally:
        await admin.close()


@contextlib.asynccontextmanager
async def _open_queue(deployment: Deployment) -> AsyncIterator[tuple[JobQueue, Stopwatch]]:
    sealer, stopwatch = RecordSealer(deployment.digest_key), Stopwatch()
    async with (
        open_role_database(deployment, GATEWAY_ROLE, max_connections=16) as gateway,
        open_role_database(deployment, WORKER_ROLE, max_connections=4) as database,
    ):
        address = deployment.get_role_address(WORKER_ROLE)
        worker = JobWorker(address, WorkerStore(database), sealer, {"call": stopwatch}, limits=LIMITS)
        running = asyncio.create_task(worker.run())
        yield JobQueue(gateway, sealer, JobEvents(deployment.get_role_address(GATEWAY_ROLE))), stopwatch
        await worker.drain(10)
        running.cancel()
        await asyncio.wait([running])


def _new_job() -> NewJob:
    return NewJob(TENANT, PERSON, uuid4(), "call", "bench", "echo", "Echo", b"{}" * 100, timedelta(hours=1))


async def _measure_starts(queue: JobQueue, stopwatch: Stopwatch, jobs: int) -> list[Row]:
    milliseconds: list[float] = []
    for _ in range(jobs):
        new, before = _new_job(), len(stopwatch.begun)
        asked_at = time.perf_counter()
        await queue.enqueue(new)
        await stopwatch.wait_for(before + 1)
        milliseconds.append((stopwatch.begun[new.id] - asked_at) * 1000)
    what = "from asking for a job, with its commit, to its start"
    return [
        Row("JB", f"{what}: p50", "ms", (statistics.median(milliseconds),), START_MUST, START_AIM, False),
        Row("JB", f"{what}: p99", "ms", (_find_p99(milliseconds),), 1000, None, False),
    ]


async def _measure_rate(queue: JobQueue, stopwatch: Stopwatch, jobs: int) -> list[Row]:
    before, started_at, places = len(stopwatch.begun), time.perf_counter(), asyncio.Semaphore(16)

    async def add() -> None:
        async with places:
            await queue.enqueue(_new_job())

    await asyncio.gather(*(add() for _ in range(jobs)))
    added_at = time.perf_counter()
    await stopwatch.wait_for(before + jobs)
    seconds = time.perf_counter() - started_at
    return [
        Row("JB", "jobs of one tenant added a second, 16 connections", "1/s", (jobs / (added_at - started_at),)),
        Row("JB", "jobs of one tenant added and run a second", "1/s", (jobs / seconds,)),
    ]


async def _measure_rest(deployment: Deployment, seconds: float) -> list[Row]:
    """CPU of this process, in which nothing but the worker goes on, and of the worker's sessions of PostgreSQL."""
    await asyncio.sleep(REST_SECONDS)
    pids = await _find_sessions(deployment)
    own, sessions = time.process_time(), cpu_seconds(pids)
    await asyncio.sleep(seconds)
    own, sessions = time.process_time() - own, cpu_seconds(pids) - sessions
    what = "CPU of a worker that rests"
    return [
        Row(
            "JB", f"{what}, with its sessions of PostgreSQL", "ms/s", ((own + sessions) * 1e3 / seconds,), 1, 0.5, False
        ),
        Row("JB", f"{what}, its process alone", "ms/s", (own * 1e3 / seconds,), None, None, False),
    ]


async def _find_sessions(deployment: Deployment) -> list[int]:
    admin: Any = await asyncpg.connect(**deployment.admin.connect_args())
    try:
        return [
            row["pid"] for row in await admin.fetch("SELECT pid FROM pg_stat_activity WHERE usename = $1", WORKER_ROLE)
        ]
    finally:
        await admin.close()


async def _measure_peer(lab: Lab, deployment: Deployment, starts: int, jobs: int) -> list[Row]:
    try:
        python = await asyncio.to_thread(installed, PROCRASTINATE, lab.progress)
    except Missing as error:
        lab.progress(f"!!! procrastinate IS LEFT OUT: {error}")
        return []
    admin: Any = await asyncpg.connect(**deployment.admin.connect_args())
    try:
        await admin.execute("CREATE DATABASE procrastinate")
    finally:
        await admin.close()
    url = urlsplit(deployment.admin.url.reveal())._replace(path="/procrastinate").geturl()
    idle = lab.options.idle_seconds
    argv = [str(python), "-P", str(PEER_PROGRAM), url, str(starts), str(jobs), str(idle)]
    arguments = deployment.admin.connect_args()
    login = {"PGUSER": arguments.get("user"), "PGPASSWORD": arguments.get("password")}
    environment = {**os.environ, **{name: value for name, value in login.items() if value is not None}}
    running = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.PIPE, env=environment)
    async with asyncio.timeout(PEER_SECONDS + idle):
        said, _ = await running.communicate()
    if running.returncode:
        lab.progress("!!! procrastinate IS LEFT OUT: it failed, see above")
        return []
    found = json.loads(said)
    milliseconds = [one * 1000 for one in found["starts"]]
    name = f"procrastinate {version_of(python, 'procrastinate')}"
    return [
        Row("JB", f"{name}: from deferring to start: p50", "ms", (statistics.median(milliseconds),), None, None, False),
        Row("JB", f"{name}: from deferring to start: p99", "ms", (_find_p99(milliseconds),), None, None, False),
        Row("JB", f"{name}: jobs added a second, 16 at once", "1/s", (found["added"],)),
        Row("JB", f"{name}: jobs added and run a second", "1/s", (found["run"],)),
        Row("JB", f"{name}: CPU at rest, its process alone", "ms/s", (found["idle"] * 1e3 / idle,), None, None, False),
    ]


async def _measure_claims(deployment: Deployment, claims: int) -> list[Row]:
    async with open_role_database(deployment, WORKER_ROLE, max_connections=1) as database:
        worker = uuid4()
        await database.call(REGISTER, worker)
        milliseconds = [await _time_claim(database, worker) for _ in range(claims)]
    return [
        Row(
            "JB",
            "claim of a job, 10,000 tenants wait: p50",
            "ms",
            (statistics.median(milliseconds),),
            None,
            None,
            False,
        ),
        Row("JB", "claim of a job, 10,000 tenants wait: p99", "ms", (_find_p99(milliseconds),), None, None, False),
    ]


async def _time_claim(database: Database, worker: UUID) -> float:
    started_at = time.perf_counter()
    found = await database.fetch(CLAIM, worker, 1, 8, 4, 4)
    assert len(found) == 1
    return (time.perf_counter() - started_at) * 1000


def _find_p99(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.99)]
