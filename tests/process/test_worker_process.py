"""`mcpist worker`: jobs run in a process of its own, with its own database role and key."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import httpx2
import pytest

from core.sealed_records import RecordSealer
from jobs.events import JobEvents
from jobs.job import Job, JobError, JobState, NewJob
from jobs.queue import JobQueue
from tests.support.postgres import ScratchDatabase
from tests.support.split import Process, Split, add_worker, running, split_on

pytestmark = pytest.mark.timeout(180)


@contextlib.asynccontextmanager
async def worker_on(database: ScratchDatabase, folder: Path, **variables: str) -> AsyncIterator[tuple[Split, Process]]:
    async with split_on(database, folder, gateways=1) as deployment:
        process = add_worker(deployment, folder, **variables)
        async with running([process]):
            yield deployment, process


@contextlib.asynccontextmanager
async def open_queue(database: ScratchDatabase, deployment: Split) -> AsyncIterator[JobQueue]:
    events = JobEvents(database.as_role("mcpist_gateway"))
    async with database.open("mcpist_gateway") as gateway:
        yield JobQueue(gateway, RecordSealer(deployment.product.deployment.digest_key), events)
    events.close()


async def add_job(queue: JobQueue, tenant_id: object, user_id: object, kind: str) -> Job:
    return await queue.enqueue(
        NewJob(tenant_id, user_id, uuid4(), kind, "shop", "look", "Look", b"{}", timedelta(hours=1))  # type: ignore[arg-type]
    )


async def wait_for_end(queue: JobQueue, job: Job) -> Job:
    async with asyncio.timeout(30):
        while not job.state.is_final:
            changed = await queue.wait_for_change(job, 30)
            assert changed is not None
            job = changed
    return job


async def test_it_runs_jobs_and_is_ready(database: ScratchDatabase, tmp_path: Path) -> None:
    async with worker_on(database, tmp_path) as (deployment, process), open_queue(database, deployment) as queue:
        url = f"http://127.0.0.1:{process.port}"
        assert process.ready["ready"] is True
        async with httpx2.AsyncClient(base_url=url, trust_env=False) as http:
            answer = await http.get("/readyz")
            assert answer.status_code == 200, answer.text
            assert {one["name"] for one in answer.json()["components"]} >= {"database", "broker", "background tasks"}
            assert (await http.post("/mcp", json={})).status_code == 404
        tenant = await deployment.product.tenant("acme", services=["shop"])
        person = await deployment.product.person(tenant, "ada@acme.test")
        job = await add_job(queue, tenant.id, person.id, "of_another_version")
        ended = await wait_for_end(queue, job)
        assert (ended.state, ended.error, ended.attempt) == (JobState.FAILED, JobError.NOT_SUPPORTED, 1)
        async with database.admin_connection() as admin:
            logins = await admin.fetch(
                "SELECT DISTINCT usename::text FROM pg_stat_activity WHERE datname = $1", database.name
            )
        assert "mcpist_worker" in {row[0] for row in logins}
        assert await process.end(signal.SIGTERM) == 0
        waiting = await add_job(queue, tenant.id, person.id, "of_another_version")
        assert await queue.wait_for_change(waiting, 0) == waiting
        await process.start()
        assert (await wait_for_end(queue, waiting)).state is JobState.FAILED
