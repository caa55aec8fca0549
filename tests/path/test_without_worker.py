"""Asynchronous tools where no worker runs: the job waits, and whoever asks is told why."""

from pathlib import Path
from typing import Any
from uuid import UUID

from core.config.settings import Settings
from gateway.tasks.task_form import NO_WORKER
from server.diagnostics.deployment_checks import diagnose_deployment
from tests.path.task_app import TaskApp, call_of, open_task_app
from tests.path.test_core_tasks import id_of
from tests.support.eventually import within
from tests.support.postgres import ScratchDatabase


async def ready(app: TaskApp) -> tuple[bool, str]:
    """Whether the gateway is ready, and what it says of jobs; looked at anew."""
    health = app.node.gateway.health
    health._checked_at = float("-inf")
    parts = await health.check_components()
    return all(part.serves for part in parts), next(part.state for part in parts if part.name == "jobs")


async def diagnosed(app: TaskApp) -> tuple[str, str]:
    found = await diagnose_deployment(Settings(home=app.product.deployment.home), app.product.deployment)
    (finding,) = [one for one in found if one.check == "jobs"]
    return finding.state, finding.message


async def test_the_caller_is_told_that_no_worker_runs(database: ScratchDatabase, tmp_path: Path) -> None:
    async with open_task_app(database, tmp_path, job_patience=0.01) as app:
        assert await ready(app) == (True, "up")
        task_id = id_of(await app.start("make", what="chair"))
        waiting = await app.post(app.ada, "tools/call", call_of("make", what="table"))
        job = waiting.value["job"]
        listed = (await app.node.call(app.ada.token, "jobs", "list_jobs", {})).value["jobs"]
        task: dict[str, Any] = (await app.task("get", task_id)).result
        assert (task["status"], task["statusMessage"]) == ("working", NO_WORKER)
        assert NO_WORKER in job["note"]
        assert "wait_for_job" in job["note"]
        assert [one["message"] for one in listed] == [NO_WORKER, NO_WORKER]
        assert await ready(app) == (True, "degraded: no worker")
        state, message = await diagnosed(app)
        assert state == "warning"
        assert "mcpist worker" in message
        async with app.worker():

            async def has_ended() -> bool:
                return (await app.task("get", task_id)).result["status"] == "completed"

            await within(10, has_ended)
            assert await ready(app) == (True, "up")
            assert (await diagnosed(app))[1] == "a worker runs"
        assert (await diagnosed(app))[1] == "no worker runs, and no job waits"
        assert sorted(app.workshop.effects) == ["chair", "table"]


async def test_a_job_in_a_queue_with_a_worker_waits_for_its_turn(database: ScratchDatabase, tmp_path: Path) -> None:
    async with open_task_app(database, tmp_path) as app, app.worker():
        made = [id_of(await app.start("build")) for _ in range(5)]  # four of one person run at a time
        states = [(await app.task("get", one)).result.get("statusMessage") for one in made]
        assert states[-1] == "waiting for its turn"
        assert NO_WORKER not in states


async def test_the_end_of_a_job_ends_its_mandate_whoever_ends_it(database: ScratchDatabase, tmp_path: Path) -> None:
    """By the database, in one transaction: a worker that is lost ends nothing."""
    async with open_task_app(database, tmp_path) as app:
        made = [UUID(id_of(await app.start("make", what="x"))) for _ in range(3)]
        async with database.admin_connection() as admin:
            worker = made[0]
            await admin.execute("SELECT jobs.register($1)", worker)
            await admin.fetch("SELECT id FROM jobs.claim($1, 1, 9, 9, 9)", worker)
            assert await live(admin) == set(made)
            assert await admin.fetchval("SELECT jobs.reap($1, 1)", worker) == 1
            assert await live(admin) == set(made[1:])
            await admin.execute("UPDATE jobs.jobs SET cancel_requested_at = now() WHERE id = $1", made[1])
            assert await live(admin) == {made[2]}
            await admin.execute("SELECT jobs.end_restored()")
            assert await live(admin) == set()
            assert await admin.fetchval("SELECT count(*) FROM auth.mandates WHERE end_reason = 'completed'") == 3


async def live(admin: Any) -> set[UUID]:
    """The jobs whose mandate counts."""
    rows = await admin.fetch("SELECT purpose_id FROM auth.mandates WHERE ended_at IS NULL")
    return {row["purpose_id"] for row in rows}
